//! Rules about light: encodings, channels, models of materials, tone.

use super::board::{Board, factors, place, tile, unlit, with};
use super::shot::{Shot, corner, front};
use crate::preview::samples::ball;
use glam::Vec3;
use image::{ExtendedColorType, ImageEncoder};
use serde_json::{Value, json};

/// The byte 188 as light.
const LIGHT_188: f32 = 0.502_886;
const SHARE_188: f32 = 188.0 / 255.0;

fn base_texture(texture: usize) -> Value {
    json!({ "pbrMetallicRoughness": { "baseColorTexture": { "index": texture } } })
}

fn even(value: f32) -> [f32; 3] {
    [value; 3]
}

/// Emits, and neither mirrors nor scatters anything.
fn lamp(more: Value) -> Value {
    with(factors([0.0, 0.0, 0.0, 1.0], 1.0, 1.0), more)
}

/// A PNG of one grey with 16 bits a channel.
fn deep_png(grey: u16) -> Vec<u8> {
    let mut png = Vec::new();
    let bytes: Vec<u8> = [grey; 12].iter().flat_map(|value| value.to_ne_bytes()).collect();
    image::codecs::png::PngEncoder::new(&mut png)
        .write_image(&bytes, 2, 2, ExtendedColorType::Rgb16)
        .expect("encoded");
    png
}

#[test]
fn colours_are_encoded_and_other_numbers_are_not() {
    let make = |textured: bool| {
        let mut board = Board::new();
        let grey = board.dye([188, 188, 188, 255]);
        let deep = board.encoded(&deep_png(188 * 257), json!({}));
        let flat = json!({ "extensions": { "KHR_materials_unlit": {} } });
        board.tile(0, 0, with(base_texture(grey), flat.clone()));
        board.tile(1, 0, unlit([LIGHT_188, LIGHT_188, LIGHT_188, 1.0]));
        board.tile(2, 0, with(base_texture(deep), flat));
        let glow = json!({ "emissiveFactor": [1, 1, 1], "emissiveTexture": { "index": grey } });
        board.tile(0, 1, lamp(glow));
        board.tile(1, 1, lamp(json!({ "emissiveFactor": even(LIGHT_188) })));
        // One image in both roles.
        let both = json!({ "pbrMetallicRoughness": {
            "baseColorTexture": { "index": grey }, "metallicRoughnessTexture": { "index": grey },
        }});
        let plain = factors([LIGHT_188, LIGHT_188, LIGHT_188, 1.0], SHARE_188, SHARE_188);
        board.show(&ball(place(2, 1), 0.5, 0), if textured { both } else { plain });
        Shot::of(&board.read().scene, front())
    };
    let shot = make(true);
    for taken in &shot.taken {
        for column in 0..3 {
            for byte in taken.bytes(place(column, 0)) {
                assert!(byte.abs_diff(188) <= 1, "{} column {column}: {byte}", taken.by);
            }
        }
        // The tone map takes 0.04 away.
        let shown = LIGHT_188 - 0.04;
        taken.is(place(0, 1), [shown, shown, shown, 1.0], 0.005);
        taken.is(place(1, 1), [shown, shown, shown, 1.0], 0.005);
    }
    shot.same_as(&make(false), 1);
    shot.holds("rule-01-encodings");
}

#[test]
fn channels_of_one_texture_and_occlusion_of_indirect_light_only() {
    let make = |textured: bool| {
        let mut board = Board::new();
        for (column, [rough, metal]) in [(0, [128, 255]), (1, [220, 0]), (2, [77, 102])] {
            // Red means nothing.
            let texture = board.dye([column * 120, rough, metal, 255]);
            let shares = [rough, metal].map(|byte| f32::from(byte) / 255.0);
            let mut material = factors([0.9, 0.6, 0.2, 1.0], shares[1], shares[0]);
            if textured {
                material = factors([0.9, 0.6, 0.2, 1.0], 1.0, 1.0);
                material["pbrMetallicRoughness"]["metallicRoughnessTexture"] =
                    json!({ "index": texture });
            }
            board.show(&ball(place(column, 0), 0.5, 0), material);
        }
        let dark = board.dye([0, 255, 255, 255]);
        for (column, strength) in [(0, 1.0), (1, 0.5), (2, 0.0)] {
            let shade = json!({ "occlusionTexture": { "index": dark, "strength": strength } });
            board.tile(column, 1, with(factors([0.6, 0.6, 0.6, 1.0], 0.0, 1.0), shade));
        }
        let glow = json!({
            "occlusionTexture": { "index": dark }, "emissiveFactor": [0.5, 0.5, 0.5],
        });
        board.tile(1, 2, lamp(glow));
        Shot::of(&board.read().scene, front())
    };
    let shot = make(true);
    for taken in &shot.taken {
        let [full, half, none] = [0, 1, 2].map(|column| taken.at(place(column, 1)).x);
        assert!(full > 0.1, "{}: the lamps still light it: {full}", taken.by);
        assert!(none - full > 0.08, "{}: {full} {none}", taken.by);
        assert!(
            (half - f32::midpoint(full, none)).abs() < 0.01,
            "{}: {full} {half} {none}",
            taken.by
        );
        taken.is(place(1, 2), [0.46, 0.46, 0.46, 1.0], 0.005);
    }
    shot.same_as(&make(false), 1);
    shot.holds("rule-02-channels");
}

#[test]
fn models_of_materials_beside_the_usual_one() {
    let make = |extended: bool| {
        let mut board = Board::new();
        if extended {
            board.doc.root["extensionsUsed"] =
                json!(["KHR_materials_unlit", "KHR_materials_emissive_strength"]);
        }
        // Neither light nor a missing normal changes what is unlit.
        let mut bare = tile(place(0, 0), 0.5);
        bare.normals.clear();
        bare.colors = vec![glam::Vec4::new(0.5, 1.0, 0.25, 1.0); 4];
        board.show(&bare, unlit([0.8, 0.4, 0.8, 1.0]));
        let strong = |strength: f32, factor: f32| {
            if extended {
                json!({ "emissiveFactor": even(factor), "extensions": {
                    "KHR_materials_emissive_strength": { "emissiveStrength": strength },
                }})
            } else {
                json!({ "emissiveFactor": even(factor * strength) })
            }
        };
        board.tile(1, 0, lamp(strong(4.0, 0.1)));
        if extended {
            board.tile(2, 0, lamp(strong(20.0, 0.5)));
        } else {
            // Past 1 only the extension reaches.
            let ten = json!({ "emissiveFactor": even(1.0), "extensions": {
                "KHR_materials_emissive_strength": { "emissiveStrength": 10 } } });
            board.tile(2, 0, lamp(ten));
        }
        let glossy = json!({ "extensions": { "KHR_materials_pbrSpecularGlossiness": {
            "diffuseFactor": [0.2, 0.5, 0.3, 1], "glossinessFactor": 0.6,
        }}});
        let plain = factors([0.2, 0.5, 0.3, 1.0], 0.0, 0.4);
        board.show(&ball(place(0, 1), 0.5, 0), if extended { glossy } else { plain });
        let mut coated = factors([0.7, 0.3, 0.3, 1.0], 0.0, 0.5);
        if extended {
            coated["extensions"] = json!({ "KHR_materials_clearcoat": { "clearcoatFactor": 0 } });
        }
        board.show(&ball(place(1, 1), 0.5, 0), coated);
        Shot::of(&board.read().scene, front())
    };
    let shot = make(true);
    for taken in &shot.taken {
        taken.is(place(0, 0), [0.4, 0.4, 0.2, 1.0], 0.003);
        taken.is(place(1, 0), [0.36, 0.36, 0.36, 1.0], 0.005);
        let bright = taken.at(place(2, 0)).x;
        assert!(bright > 0.98 && bright <= 1.0, "{}: {bright}", taken.by);
    }
    shot.same_as(&make(false), 1);
    shot.holds("rule-09-models");
}

#[test]
fn metals_have_no_diffuse_light_and_colour_what_they_mirror() {
    let mut board = Board::new();
    for (row, metallic) in [(0, 0.0), (1, 1.0)] {
        for (column, roughness) in [(0, 0.1), (1, 0.4), (2, 1.0)] {
            let material = factors([0.8, 0.02, 0.02, 1.0], metallic, roughness);
            board.show(&ball(place(column, row), 0.5, 0), material);
        }
        let black = factors([0.0, 0.0, 0.0, 1.0], metallic, 0.6);
        board.show(&ball(place(row, 2), 0.5, 0), black);
    }
    board.show(&ball(place(2, 2), 0.5, 0), factors([1.0; 4], 0.0, 1.0));
    let shot = Shot::of(&board.read().scene, front());
    for taken in &shot.taken {
        let most = |column, row| taken.most(place(column, row), 16);
        assert!(most(0, 0).y > 0.3, "{}: a white gleam on red: {}", taken.by, most(0, 0));
        let dull = most(2, 1);
        assert!(dull.y < dull.x * 0.15, "{}: a red gleam on red: {dull}", taken.by);
        let gleams = [0, 1, 2].map(|column| taken.most(place(column, 1), 20).x);
        assert!(gleams[0] > gleams[1] && gleams[1] > gleams[2], "{}: {gleams:?}", taken.by);
        let [dielectric, metal] = [0, 1].map(|column| taken.most(place(column, 2), 14).x);
        assert!(metal < 0.02 && dielectric > metal + 0.01, "{}: {dielectric} {metal}", taken.by);
        let white = taken.most(place(2, 2), 20);
        assert!(white.x > 0.7 && white.x < 1.0, "{}: {white}", taken.by);
    }
    shot.holds("rule-10-metal-and-roughness");
}

/// The Khronos PBR Neutral tone map as its text says it, for light whose least channel is given.
fn neutral(light: [f32; 3]) -> [f32; 3] {
    let least = light.into_iter().fold(f32::MAX, f32::min);
    let offset = if least >= 0.08 { 0.04 } else { least - least * least / 0.16 };
    let light = light.map(|channel| channel - offset);
    let peak = light.into_iter().fold(0.0, f32::max);
    if peak <= 0.76 {
        return light;
    }
    let pressed = 1.0 - 0.24_f32.powi(2) / (peak - 0.76 + 0.24);
    let kept = 1.0 / (0.15 * (peak - pressed) + 1.0);
    light.map(|channel| channel / peak * pressed * kept + pressed * (1.0 - kept))
}

#[test]
fn the_neutral_tone_map_keeps_colours_and_presses_highlights() {
    let lights: [[f32; 3]; 9] = [
        [0.03, 0.03, 0.03],
        [0.2, 0.2, 0.2],
        [0.7, 0.7, 0.7],
        [0.9, 0.9, 0.9],
        [2.0, 2.0, 2.0],
        [8.0, 8.0, 8.0],
        [0.6, 0.2, 0.1],
        [2.0, 0.2, 0.1],
        [12.0, 0.6, 0.6],
    ];
    let mut board = Board::new();
    for (at, light) in (0..).zip(lights) {
        let strength = light[0].max(1.0);
        let glow = json!({ "emissiveFactor": light.map(|channel| channel / strength), "extensions": {
            "KHR_materials_emissive_strength": { "emissiveStrength": strength },
        }});
        board.tile(at % 3, at / 3, lamp(glow));
    }
    let shot = Shot::of(&board.read().scene, front());
    for taken in &shot.taken {
        for (at, light) in (0..).zip(lights) {
            let [red, green, blue] = neutral(light);
            taken.is(place(at % 3, at / 3), [red, green, blue, 1.0], 0.006);
        }
        let (plain, bright) = (taken.at(place(0, 2)), taken.at(place(2, 2)));
        assert!(bright.y / bright.x > plain.y / plain.x, "{}: {plain} {bright}", taken.by);
    }
    shot.holds("rule-17-tone");
}

#[test]
fn the_light_of_a_picture_does_not_turn_with_the_object() {
    // Not a rule of the file format, but what the numbers above stand on.
    let mut board = Board::new();
    board.show(&ball(Vec3::ZERO, 0.5, 0), factors([0.5, 0.5, 0.5, 1.0], 0.0, 0.5));
    let scene = board.read().scene;
    let turned = crate::preview::Camera { azimuth: 2.1, ..corner() };
    Shot::of(&scene, corner()).same_as(&Shot::of(&scene, turned), 6);
}
