//! Rules about textures of one material that lie at different coordinates.

use super::board::{Board, factors, place, tile};
use super::shot::{Shot, front};
use super::surfaces::texel;
use crate::preview::give_tangents;
use glam::{Vec2, Vec3};
use serde_json::{Value, json};

const NEAREST: u32 = 9728;

/// How a texture comes to lie mirrored from left to right.
#[derive(Clone, Copy, PartialEq)]
enum How {
    /// Its pixels are.
    Painted,
    /// By the second set of coordinates.
    Set,
    /// By a transform of its own.
    Transform,
    /// By a transform that chooses the second set, which is not mirrored yet.
    Both,
}

/// A use of a texture of 2 × 2 pixels.
fn used(board: &mut Board, how: How, [a, b, c, d]: [[u8; 4]; 4]) -> Value {
    let sampler = json!({ "magFilter": NEAREST });
    let rows = if how == How::Painted { [b, a, d, c] } else { [a, b, c, d] };
    let index = board.texture(2, &rows, sampler);
    let transform = |value: Value| json!({ "KHR_texture_transform": value });
    match how {
        How::Painted => json!({ "index": index }),
        How::Set => json!({ "index": index, "texCoord": 1 }),
        How::Transform => json!({
            "index": index, "extensions": transform(json!({ "scale": [-1, 1], "offset": [1, 0] })),
        }),
        How::Both => json!({ "index": index, "extensions": transform(json!({
            "scale": [-2, 0.5], "offset": [1, -1], "texCoord": 1,
        }))}),
    }
}

fn board(how: How) -> Board {
    let mut board = Board::new();
    let grey = |tone: u8| [tone, tone, tone, 255];
    let paint = [[255, 90, 60, 255], [90, 255, 60, 255], [60, 90, 255, 255], [255; 4]];
    let shade = [grey(0), grey(255), grey(128), grey(255)];
    let [up, down] = [Vec3::new(0.0, 0.5, 0.866), Vec3::new(0.0, -0.5, 0.866)].map(texel);
    for (row, slot) in (0..).zip(["occlusion", "emissive", "rough", "normal"]) {
        let base = used(&mut board, How::Painted, paint);
        let mut material = factors([0.5, 0.5, 0.5, 1.0], 0.0, 0.8);
        material["pbrMetallicRoughness"]["baseColorTexture"] = base;
        match slot {
            "occlusion" => material["occlusionTexture"] = used(&mut board, how, shade),
            "emissive" => {
                material["emissiveFactor"] = json!([0.4, 0.4, 0.4]);
                material["emissiveTexture"] = used(&mut board, how, paint);
            }
            "rough" => {
                let metal = [[0, 40, 255, 255], [0, 255, 0, 255], [0, 128, 128, 255], [255; 4]];
                material["pbrMetallicRoughness"]["metallicFactor"] = json!(1);
                material["pbrMetallicRoughness"]["metallicRoughnessTexture"] =
                    used(&mut board, how, metal);
            }
            _ => material["normalTexture"] = used(&mut board, how, [up, down, down, up]),
        }
        let mut part = tile(place(row % 2, row / 2), 0.5);
        part.more_uvs = part
            .uvs
            .iter()
            .map(|uv| match how {
                How::Both => Vec2::new(uv.x * 0.5, uv.y * 2.0 + 2.0),
                _ => Vec2::new(1.0 - uv.x, uv.y),
            })
            .collect();
        board.show(&part, material);
    }
    board
}

#[test]
fn each_texture_lies_at_its_own_coordinates() {
    let make = |how: How| {
        let mut scene = board(how).read().scene;
        assert_eq!(give_tangents(&mut scene, 1_000), Vec::<String>::new());
        Shot::of(&scene, front())
    };
    let shot = make(How::Set);
    for taken in &shot.taken {
        // Indirect light is gone where the occlusion's black pixel lies: at the upper right.
        let at = |x: f32| taken.at(place(0, 0) + Vec3::new(x, 0.25, 0.0));
        let (left, right) = (at(-0.25), at(0.25));
        assert!(left.y > 0.3 && left.x < 0.1, "{}: the base colour stays: {left}", taken.by);
        assert!(right.x < left.y * 0.8, "{}: {left} {right}", taken.by);
    }
    for other in [How::Painted, How::Transform, How::Both] {
        shot.same_as(&make(other), 2);
    }
    shot.holds("rule-20-own-coordinates");
}

#[test]
fn a_written_scene_keeps_where_its_textures_lie() {
    for how in [How::Set, How::Transform, How::Both] {
        let mut scene = board(how).read().scene;
        give_tangents(&mut scene, 1_000);
        let bytes = crate::stages::formats::glb_writer::glb_bytes(&scene).expect("written");
        let back = crate::stages::formats::tests::load("a.glb", &bytes).expect("reads");
        assert_eq!(back.warnings, []);
        assert_eq!(back.scene.materials, scene.materials);
        for (read, written) in back.scene.parts.iter().zip(&scene.parts) {
            assert_eq!((&read.uvs, &read.more_uvs), (&written.uvs, &written.more_uvs));
            let pairs = read.tangents.iter().zip(&written.tangents);
            assert_eq!(read.tangents.len(), written.tangents.len());
            assert!(pairs.clone().all(|(a, b)| a.abs_diff_eq(*b, 1e-6)));
        }
    }
}
