//! Rules about textures: where they lie, how they are sampled, and the files that hold them.

use super::board::{Board, place, tile, unlit};
use super::shot::{Shot, front};
use crate::model::Reason;
use crate::protocol::work::Failure;
use crate::stages::formats::gltf::tests::{FLOAT, floats};
use crate::stages::formats::image_writer::png_bytes;
use crate::stages::formats::tests::Quiet;
use crate::stages::formats::{LoadedScene, load_scene};
use glam::Vec3;
use serde_json::{Value, json};
use std::fs;

const NEAREST: u32 = 9728;
const LINEAR: u32 = 9729;
const CLAMP: u32 = 33_071;
const MIRROR: u32 = 33_648;

const RED: [u8; 4] = [255, 0, 0, 255];
const GREEN: [u8; 4] = [0, 255, 0, 255];
const BLUE: [u8; 4] = [0, 0, 255, 255];
const WHITE: [u8; 4] = [255; 4];

fn quarters(board: &mut Board, sampler: Value) -> usize {
    board.texture(2, &[RED, GREEN, BLUE, WHITE], sampler)
}

fn sharp(wrap: u32) -> Value {
    json!({ "magFilter": NEAREST, "wrapS": wrap, "wrapT": wrap })
}

/// Unlit with a texture at transformed coordinates.
#[expect(clippy::needless_pass_by_value, reason = "each is written where it is used")]
fn placed(texture: usize, transform: Value) -> Value {
    let mut material = unlit([1.0; 4]);
    material["pbrMetallicRoughness"]["baseColorTexture"] = json!({
        "index": texture, "extensions": { "KHR_texture_transform": transform },
    });
    material
}

#[test]
fn textures_lie_turn_repeat_and_stay_sharp_as_they_say() {
    const REPEAT: u32 = 10_497;
    let mut board = Board::new();
    let plain = quarters(&mut board, sharp(REPEAT));
    let soft = quarters(&mut board, json!({ "magFilter": LINEAR }));
    let mirrored = quarters(&mut board, sharp(MIRROR));
    let clamped = quarters(&mut board, sharp(CLAMP));
    let quarter = std::f32::consts::FRAC_PI_2;
    board.tile(0, 0, placed(plain, json!({})));
    board.tile(1, 0, placed(plain, json!({ "rotation": quarter, "offset": [0, 1] })));
    board.tile(2, 0, placed(soft, json!({})));
    let twice = json!({ "scale": [2, 2] });
    for (column, texture) in [(0, plain), (1, mirrored), (2, clamped)] {
        board.tile(column, 1, placed(texture, twice.clone()));
    }
    // Moved after it was scaled, and scaled before it was turned.
    board.tile(0, 2, placed(plain, json!({ "scale": [0.5, 0.5], "offset": [0.5, 0] })));
    let all = json!({ "scale": [2, 1], "rotation": quarter, "offset": [0, 0.5] });
    board.tile(1, 2, placed(plain, all));
    // The transform may choose another set.
    let mesh = board.tile(2, 2, placed(plain, json!({ "texCoord": 1 })));
    let backwards = board.doc.add(FLOAT, "VEC2", &floats(&[1., 1., 0., 1., 0., 0., 1., 0.]));
    board.attribute(mesh, "TEXCOORD_1", backwards);
    let shot = Shot::of(&board.read().scene, front());
    let on = |column, row, u: f32, v: f32| place(column, row) + Vec3::new(u - 0.5, 0.5 - v, 0.0);
    let light = |color: [u8; 4]| color.map(|byte| f32::from(byte) / 255.0);
    for taken in &shot.taken {
        let shows = |column, row, u, v, color| taken.is(on(column, row, u, v), light(color), 0.005);
        let four = |column, row, colors: [[u8; 4]; 4]| {
            let places = [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)];
            for ((u, v), color) in places.into_iter().zip(colors) {
                shows(column, row, u, v, color);
            }
        };
        four(0, 0, [RED, GREEN, BLUE, WHITE]);
        // Coordinates turn against the clock, so the picture turns with it.
        four(1, 0, [BLUE, RED, WHITE, GREEN]);
        // Nearest keeps its edges; linear runs from one texel's middle to the next.
        shows(0, 0, 0.44, 0.25, RED);
        shows(0, 0, 0.56, 0.25, GREEN);
        taken.is(on(2, 0, 0.5, 0.25), [0.5, 0.5, 0.0, 1.0], 0.06);
        taken.is(on(2, 0, 0.375, 0.25), [0.75, 0.25, 0.0, 1.0], 0.06);
        for (column, second, third) in [(0, RED, GREEN), (1, GREEN, RED), (2, GREEN, GREEN)] {
            shows(column, 1, 0.125, 0.125, RED);
            shows(column, 1, 0.375, 0.125, GREEN);
            shows(column, 1, 0.625, 0.125, second);
            shows(column, 1, 0.875, 0.125, third);
        }
        four(0, 2, [GREEN, GREEN, GREEN, GREEN]);
        // (u, v) lands at (v, 0.5 − 2u).
        shows(1, 2, 0.125, 0.25, RED);
        shows(1, 2, 0.375, 0.25, BLUE);
        shows(1, 2, 0.125, 0.75, GREEN);
        shows(1, 2, 0.375, 0.75, WHITE);
        four(2, 2, [GREEN, RED, WHITE, BLUE]);
    }
    shot.holds("rule-08-texture-places");
}

/// Bytes as a URI writes them.
fn escaped(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for byte in bytes {
        write!(text, "%{byte:02X}").expect("written");
    }
    text
}

/// Three tiles: a picture in a file with a hard name, one in a data URI, and one that is missing.
fn with_files(third: &str) -> Result<LoadedScene, Failure> {
    let folder = tempfile::tempdir().expect("a folder");
    let inside = folder.path().join("tex tures");
    fs::create_dir(&inside).expect("made");
    let png = |color: [u8; 4]| png_bytes(2, 2, [color; 4].as_flattened()).expect("encoded");
    fs::write(inside.join("rot ❤ #1.png"), png([200, 30, 20, 255])).expect("written");
    let data = escaped(&png([20, 160, 60, 255]));
    let mut board = Board::new();
    let uris = ["tex%20tures/rot%20%E2%9D%A4%20%231.png", &format!("data:image/png,{data}"), third];
    for (column, uri) in (0..).zip(uris) {
        let image = board.push("images", json!({ "uri": uri }));
        let texture = board.push("textures", json!({ "source": image }));
        let mut material = unlit([1.0; 4]);
        material["pbrMetallicRoughness"]["baseColorTexture"] = json!({ "index": texture });
        board.show(&tile(place(column, 0), 0.5), material);
    }
    // The buffer is longer than it says.
    let mut binary = board.doc.binary().to_vec();
    board.doc.root["buffers"] = json!([{ "uri": "n%C3%BAmeros.bin", "byteLength": binary.len() }]);
    binary.extend([7; 33]);
    fs::write(folder.path().join("números.bin"), binary).expect("written");
    let path = folder.path().join("a scene.gltf");
    fs::write(&path, serde_json::to_vec(&board.doc.root).expect("is JSON")).expect("written");
    load_scene(&path, folder.path(), &Quiet)
}

#[test]
fn files_are_found_by_their_written_names_and_only_inside() {
    let loaded = with_files("gone.png").expect("reads");
    let reasons: Vec<Reason> = loaded.warnings.iter().map(|warning| warning.reason).collect();
    assert_eq!(reasons, [Reason::ReferenceMissing], "{:?}", loaded.warnings);
    let shot = Shot::of(&loaded.scene, front());
    for taken in &shot.taken {
        for (column, color) in [(0, [200, 30, 20]), (1, [20, 160, 60])] {
            let found = taken.bytes(place(column, 0));
            let near = found.iter().zip(color).all(|(a, b)| a.abs_diff(b) <= 1);
            assert!(near, "{}: {found:?} instead of {color:?}", taken.by);
        }
        let [red, green, blue] = taken.bytes(place(2, 0));
        assert!(red == green && green == blue && (150..250).contains(&red), "{}: {red}", taken.by);
    }
    shot.holds("rule-14-files");
    for outside in ["../secret.png", "/etc/passwd", "tex%20tures/%2E%2E/%2E%2E/secret.png"] {
        let failure = with_files(outside).expect_err("is outside");
        assert_eq!(failure.reason, Reason::ReferenceOutside, "{outside}: {}", failure.message);
    }
}
