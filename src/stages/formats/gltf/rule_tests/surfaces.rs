//! Rules about which points of a surface are seen, and how they face.

use super::board::{Board, factors, place, tile, unlit, with};
use super::shot::{Shot, corner, front};
use crate::preview::samples::cuboid;
use glam::{Quat, Vec3, Vec4};
use serde_json::{Value, json};

const NEAREST: u32 = 9728;

#[test]
fn alpha_is_ignored_cut_or_blended() {
    let mut board = Board::new();
    let green = [0.1, 0.6, 0.2, 0.25];
    board.tile(0, 0, unlit(green));
    // Left 0.4, right 0.6: the usual cutoff is 0.5.
    let halves = board.texture(
        2,
        &[[255, 255, 255, 102], [255, 255, 255, 153], [255, 255, 255, 102], [255, 255, 255, 153]],
        json!({ "magFilter": NEAREST }),
    );
    let mut masked = with(unlit([0.1, 0.3, 0.9, 1.0]), json!({ "alphaMode": "MASK" }));
    masked["pbrMetallicRoughness"]["baseColorTexture"] = json!({ "index": halves });
    board.tile(1, 0, masked);
    // The vertex colour's alpha counts before the cut.
    let mut fading = tile(place(2, 0), 0.5);
    fading.colors = [0.0, 1.0, 1.0, 0.0].map(|alpha| Vec4::new(1.0, 1.0, 1.0, alpha)).to_vec();
    let cut = json!({ "alphaMode": "MASK", "alphaCutoff": 0.25 });
    board.show(&fading, with(unlit([0.9, 0.6, 0.1, 0.5]), cut));
    let blended = |color| with(unlit(color), json!({ "alphaMode": "BLEND" }));
    board.tile(0, 1, blended([0.8, 0.2, 0.1, 0.5]));
    // The nearer one comes first in the file.
    board.show(&tile(place(1, 1) + Vec3::Z * 0.2, 0.5), blended([0.0, 1.0, 0.0, 0.5]));
    board.tile(1, 1, blended([1.0, 0.0, 0.0, 0.5]));
    // Blended before solid, and solid before blended.
    board.show(&tile(place(2, 1) + Vec3::Z * 0.2, 0.4), blended([1.0, 0.0, 0.0, 0.5]));
    board.tile(2, 1, unlit([0.0, 0.0, 1.0, 1.0]));
    board.show(&tile(place(2, 1) - Vec3::Z * 0.2, 0.4), blended([0.0, 1.0, 0.0, 0.5]));
    let shot = Shot::of(&board.read().scene, front());
    let aside = |column, row, x| place(column, row) + Vec3::X * x;
    for taken in &shot.taken {
        taken.is(place(0, 0), [0.1, 0.6, 0.2, 1.0], 0.005);
        taken.is(aside(1, 0, -0.25), [0.0; 4], 0.0);
        taken.is(aside(1, 0, 0.25), [0.1, 0.3, 0.9, 1.0], 0.005);
        // Alpha 0.5 · x reaches 0.25 in the middle.
        taken.is(aside(2, 0, -0.1), [0.0; 4], 0.0);
        taken.is(aside(2, 0, 0.1), [0.9, 0.6, 0.1, 1.0], 0.005);
        taken.is(place(0, 1), [0.4, 0.1, 0.05, 0.5], 0.005);
        taken.is(place(1, 1), [0.25, 0.5, 0.0, 0.75], 0.005);
        taken.is(place(2, 1), [0.5, 0.0, 0.5, 1.0], 0.005);
    }
    shot.holds("rule-03-alpha");
}

/// The normal as a texel.
pub(super) fn texel(normal: Vec3) -> [u8; 4] {
    let [x, y, z] = ((normal * 0.5 + 0.5) * 255.0).round().to_array().map(|value| value as u8);
    [x, y, z, 255]
}

#[test]
fn normal_textures_bend_as_geometry_does() {
    // Place, what the texture says, its scale, whether u runs backwards, and the normal meant.
    let right = Vec3::new(0.5, 0.0, 0.866);
    let left = Vec3::new(-0.5, 0.0, 0.866);
    let up = Vec3::new(0.0, 0.5, 0.866);
    let down = Vec3::new(0.0, -0.5, 0.866);
    let cases = [
        ((0, 0), right, 1.0, false, right),
        ((1, 0), left, 1.0, false, left),
        ((2, 0), left, 1.0, true, right),
        ((0, 1), up, 1.0, false, up),
        ((1, 1), down, 1.0, false, down),
        ((2, 1), up, 0.5, false, Vec3::new(0.0, 0.25, 0.866)),
        ((0, 2), up, 1.0, true, up),
        ((1, 2), Vec3::Z, 1.0, false, Vec3::Z),
    ];
    let make = |textured: bool| {
        let mut board = Board::new();
        for ((column, row), said, scale, backwards, meant) in cases {
            let mut part = tile(place(column, row), 0.5);
            if backwards {
                part.uvs.iter_mut().for_each(|uv| uv.x = 1.0 - uv.x);
            }
            let texture = board.dye(texel(said));
            let mut material = factors([0.6, 0.5, 0.45, 1.0], 0.0, 0.7);
            if textured {
                material["normalTexture"] = json!({ "index": texture, "scale": scale });
            } else {
                part.normals = vec![meant.normalize(); 4];
            }
            board.show(&part, material);
        }
        Shot::of(&board.read().scene, front())
    };
    let shot = make(true);
    for taken in &shot.taken {
        // The key light comes from the upper left.
        let at = |column, row| taken.at(place(column, row)).x;
        assert!(at(1, 0) > at(0, 0) + 0.1, "{}: {} {}", taken.by, at(1, 0), at(0, 0));
        assert!(at(0, 1) > at(1, 1) + 0.1, "{}: {} {}", taken.by, at(0, 1), at(1, 1));
        assert!(at(0, 1) > at(2, 1) && at(2, 1) > at(1, 2), "{}: half as much", taken.by);
    }
    // A byte of a normal is up to 0.004.
    shot.same_as(&make(false), 3);
    shot.holds("rule-04-normal-texture");
}

#[test]
fn sides_are_culled_or_turned_and_mirrored_nodes_keep_their_fronts() {
    let red = factors([0.7, 0.2, 0.15, 1.0], 0.0, 0.6);
    let blue = factors([0.15, 0.3, 0.7, 1.0], 0.0, 0.6);
    let both = |material: &Value| with(material.clone(), json!({ "doubleSided": true }));
    let around = Quat::from_rotation_y(std::f32::consts::PI).to_array();
    let make = |turned: bool| {
        let mut board = Board::new();
        let flat = tile(Vec3::ZERO, 0.5);
        let single = board.material(red.clone());
        let double = board.material(both(&blue));
        let [single, double] = [single, double].map(|one| board.mesh(&flat, Some(one)));
        let at = |column, row| place(column, row).to_array();
        let away = if turned { json!(around) } else { json!([0, 0, 0, 1]) };
        // Seen from behind: gone.
        board.node(json!({ "mesh": single, "rotation": around, "translation": at(0, 0) }));
        board.node(json!({ "mesh": double, "rotation": away, "translation": at(1, 0) }));
        board.node(json!({ "mesh": single, "translation": at(2, 0) }));
        let solid = board.material(red.clone());
        let solid = board.mesh(&cuboid(Vec3::ZERO, Vec3::new(0.5, 0.3, 0.4), 0), Some(solid));
        let scale = |scale: [f32; 3]| if turned { scale } else { [1.0; 3] };
        let tilt = Quat::from_rotation_x(0.4).to_array();
        for (column, mirror) in [(0, [-1.0, 1.0, 1.0]), (1, [-1.0, -1.0, -1.0])] {
            board.node(json!({
                "mesh": solid, "scale": scale(mirror), "translation": at(column, 1),
            }));
        }
        // Mirrored twice, once by the parent.
        let inner = board.loose(json!({ "mesh": solid, "scale": scale([1.0, -1.0, 1.0]) }));
        board.node(json!({
            "children": [inner], "scale": scale([-1.0, 1.0, 1.0]), "translation": at(2, 1),
            "rotation": tilt,
        }));
        Shot::of(&board.read().scene, corner())
    };
    let shot = make(true);
    for taken in &shot.taken {
        taken.is(place(0, 0), [0.0; 4], 0.0);
        let [behind, before] = [taken.at(place(1, 0)), taken.at(place(2, 0))];
        assert!(behind.w == 1.0 && before.w == 1.0, "{}: {behind} {before}", taken.by);
        // Lit on the side that is seen.
        assert!(behind.z > 0.3, "{}: {behind}", taken.by);
        for column in 0..3 {
            let face = taken.at(place(column, 1) + Vec3::Z * 0.4);
            assert!(face.w == 1.0 && face.x > 0.25, "{}: {face}", taken.by);
        }
    }
    shot.same_as(&make(false), 1);
    shot.holds("rule-06-sides");
}
