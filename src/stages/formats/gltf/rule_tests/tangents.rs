//! Rules about the directions along which a normal texture bends.

use super::board::{Board, factors, place, tile, with};
use super::shot::{Shot, corner, front};
use super::surfaces::texel;
use crate::preview::give_tangents;
use crate::preview::scene::{Part, Scene};
use glam::{Vec2, Vec3, Vec4};
use serde_json::{Value, json};

const RIGHT: Vec3 = Vec3::new(0.5, 0.0, 0.866);
const UP: Vec3 = Vec3::new(0.0, 0.5, 0.866);
const DOWN: Vec3 = Vec3::new(0.0, -0.5, 0.866);

fn clay() -> Value {
    factors([0.6, 0.5, 0.45, 1.0], 0.0, 0.7)
}

fn scene(board: Board) -> Scene {
    let mut scene = board.read().scene;
    assert_eq!(give_tangents(&mut scene, 1_000_000), Vec::<String>::new());
    scene
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    Geometry,
    /// The file says them.
    Said,
    /// Made of the coordinates.
    Made,
    /// Found by the picture.
    Found,
}

#[test]
fn the_file_says_where_a_bump_looks() {
    // Place, what the texture says, the tangent, the node's scale, and the normal meant.
    let plain = Vec4::new(1.0, 0.0, 0.0, 1.0);
    let mirrored = Vec4::new(-1.0, 0.0, 0.0, -1.0);
    let one = [1.0, 1.0, 1.0];
    let cases = [
        ((0, 0), RIGHT, plain, one, RIGHT),
        ((1, 0), RIGHT, mirrored, one, Vec3::new(-0.5, 0.0, 0.866)),
        ((2, 0), UP, mirrored, one, UP),
        // A mirrored node, and one that turns the card upside down.
        ((0, 1), RIGHT, plain, [-1.0, 1.0, 1.0], Vec3::new(-0.5, 0.0, 0.866)),
        ((1, 1), UP, plain, [-1.0, 1.0, 1.0], UP),
        ((2, 1), UP, plain, [1.0, -1.0, 1.0], DOWN),
        // Seen from behind a bump is a dent: the normal is turned after it was bent.
        ((0, 2), RIGHT, plain, [1.0, 1.0, -1.0], RIGHT),
        ((1, 2), UP, plain, [1.0, 1.0, -1.0], UP),
    ];
    let make = |how: How| {
        let mut board = Board::new();
        for ((column, row), said, tangent, scale, meant) in cases {
            let mut part = tile(Vec3::ZERO, 0.5);
            let behind = scale[2] < 0.0;
            if behind {
                // Both faces away from us and is mirrored, so that u still runs to the right.
                part.normals = vec![Vec3::NEG_Z; 4];
                part.indices.chunks_exact_mut(3).for_each(|triangle| triangle.swap(1, 2));
            }
            if tangent == mirrored {
                part.uvs.iter_mut().for_each(|uv| uv.x = 1.0 - uv.x);
            }
            let mut material = with(clay(), json!({ "doubleSided": true }));
            let mut shown = json!({ "translation": place(column, row).to_array() });
            if how == How::Geometry {
                let meant = if behind { -meant } else { meant };
                part.normals = vec![meant.normalize(); 4];
            } else {
                let said = if behind { Vec3::new(-said.x, -said.y, said.z) } else { said };
                material["normalTexture"] = json!({ "index": board.dye(texel(said)) });
                if !behind {
                    shown["scale"] = json!(scale);
                }
            }
            if how == How::Said {
                let side = if behind { -tangent.w } else { tangent.w };
                part.tangents = vec![tangent.truncate().extend(side); 4];
            }
            let material = board.material(material);
            shown["mesh"] = board.mesh(&part, Some(material)).into();
            board.node(shown);
        }
        let scene = if how == How::Found { board.read().scene } else { scene(board) };
        Shot::of(&scene, front())
    };
    let shot = make(How::Said);
    for taken in &shot.taken {
        // The key light comes from the upper left.
        let at = |column, row| taken.at(place(column, row)).x;
        assert!(at(1, 0) > at(0, 0) + 0.1, "{}: {} {}", taken.by, at(1, 0), at(0, 0));
        assert!(at(1, 1) > at(2, 1) + 0.1, "{}: {} {}", taken.by, at(1, 1), at(2, 1));
    }
    for other in [How::Geometry, How::Made, How::Found] {
        // A byte of a normal is up to 0.004.
        shot.same_as(&make(other), 3);
    }
    shot.holds("rule-18-tangents");
}

#[test]
fn the_handedness_of_the_file_counts() {
    let make = |side: f32, meant: Vec3| {
        let mut board = Board::new();
        let mut part = tile(Vec3::ZERO, 0.5);
        let mut material = clay();
        if side == 0.0 {
            part.normals = vec![meant.normalize(); 4];
        } else {
            part.tangents = vec![Vec3::X.extend(side); 4];
            material["normalTexture"] = json!({ "index": board.dye(texel(UP)) });
        }
        board.show(&part, material);
        Shot::of(&scene(board), front())
    };
    make(1.0, UP).same_as(&make(0.0, UP), 3);
    make(-1.0, UP).same_as(&make(0.0, DOWN), 3);
    make(-1.0, UP).differs_from(&make(0.0, UP), 8);
}

/// A ball of few triangles, smooth, without its poles.
fn coarse_ball() -> Part {
    let mut part = Part::default();
    let (rings, spokes) = (6_u32, 12_u32);
    for ring in 0..=rings {
        let up = (ring as f32 / rings as f32 - 0.5) * 2.4;
        for spoke in 0..=spokes {
            let around = spoke as f32 / spokes as f32;
            let (sin, cos) = (around * std::f32::consts::TAU).sin_cos();
            let normal = Vec3::new(up.cos() * sin, up.sin(), up.cos() * cos);
            part.positions.push(normal);
            part.normals.push(normal);
            part.uvs.push(Vec2::new(around, -up / 2.4 + 0.5));
        }
    }
    for ring in 0..rings {
        for spoke in 0..spokes {
            let a = ring * (spokes + 1) + spoke;
            let b = a + spokes + 1;
            part.indices.extend([a, a + 1, b + 1, a, b + 1, b]);
        }
    }
    part
}

#[test]
fn a_smooth_ball_of_few_triangles_shows_no_facets() {
    let make = |said: Option<Vec3>, made: bool| {
        let mut board = Board::new();
        let mut material = with(clay(), json!({ "doubleSided": true }));
        if let Some(said) = said {
            material["normalTexture"] = json!({ "index": board.dye(texel(said)) });
        }
        board.show(&coarse_ball(), material);
        if made { scene(board) } else { board.read().scene }
    };
    let seen = |scene: &Scene| Shot::of(scene, corner());
    // What does not bend changes nothing.
    seen(&make(Some(Vec3::Z), true)).same_as(&seen(&make(None, true)), 3);
    // Bent alike everywhere, it is lit as with vertex normals that are bent: without a crease.
    let bent = make(Some(RIGHT), true);
    let mut smooth = bent.clone();
    for part in &mut smooth.parts {
        for (normal, tangent) in part.normals.iter_mut().zip(std::mem::take(&mut part.tangents)) {
            *normal = *normal * RIGHT.z + tangent.truncate() * RIGHT.x;
        }
    }
    smooth.materials[0].normal_texture = None;
    let shot = seen(&bent);
    shot.same_as(&seen(&smooth), 4);
    shot.differs_from(&seen(&make(Some(RIGHT), false)), 4);
    shot.holds("rule-19-smooth");
}
