//! One small generated glTF for each rule about tangents.

use super::tests::{Doc, FLOAT, UBYTE, floats};
use crate::preview::scene::Part;
use crate::stages::formats::image_writer::png_bytes;
use glam::{Mat4, Vec3, Vec4};
use serde_json::json;

/// The triangle with normals along +Z, coordinates, a normal texture and these tangents.
fn bumpy(tangents: [Vec4; 3]) -> Doc {
    let mut doc = Doc::triangle();
    let normals = doc.add(FLOAT, "VEC3", &floats(&[0., 0., 1., 0., 0., 1., 0., 0., 1.]));
    let uvs = doc.add(FLOAT, "VEC2", &floats(&[0., 1., 1., 1., 0., 0.]));
    let tangents = tangents.map(|tangent| tangent.to_array()).concat();
    let tangents = doc.add(FLOAT, "VEC4", &floats(&tangents));
    doc.attribute("NORMAL", normals);
    doc.attribute("TEXCOORD_0", uvs);
    doc.attribute("TANGENT", tangents);
    let png = doc.view(&png_bytes(1, 1, &[128, 128, 255, 255]).expect("encoded"));
    doc.root["images"] = json!([{ "bufferView": png, "mimeType": "image/png" }]);
    doc.root["textures"] = json!([{ "source": 0 }]);
    doc.root["materials"] = json!([{ "normalTexture": { "index": 0 } }]);
    doc.root["meshes"][0]["primitives"][0]["material"] = 0.into();
    doc
}

const ALONG: Vec4 = Vec4::new(1.0, 0.0, 0.0, 1.0);

#[track_caller]
fn all(part: &Part, expected: Vec4) {
    assert_eq!(part.tangents.len(), 3);
    for tangent in &part.tangents {
        assert!(tangent.abs_diff_eq(expected, 1e-6), "{tangent} instead of {expected}");
    }
}

#[test]
fn tangents_go_with_their_node_and_change_sides_in_a_mirror() {
    all(&bumpy([ALONG; 3]).part(), ALONG);
    let half = std::f32::consts::FRAC_1_SQRT_2;
    for (node, expected) in [
        (json!({ "mesh": 0, "scale": [-1, 1, 1] }), Vec4::new(-1.0, 0.0, 0.0, -1.0)),
        (json!({ "mesh": 0, "scale": [1, -1, 1] }), Vec4::new(1.0, 0.0, 0.0, -1.0)),
        (json!({ "mesh": 0, "scale": [-2, -3, 1e-3] }), Vec4::new(-1.0, 0.0, 0.0, 1.0)),
        // They lie along the surface, so a stretch bends them as it does positions.
        (json!({ "mesh": 0, "rotation": [0, 0, half, half] }), Vec4::new(0.0, 1.0, 0.0, 1.0)),
        (json!({ "mesh": 0, "scale": [1e-10, 1e-10, 1e-10] }), ALONG),
    ] {
        let mut doc = bumpy([ALONG; 3]);
        doc.root["nodes"] = json!([node]);
        all(&doc.part(), expected);
    }
    let mut doc = bumpy([Vec4::new(1.0, 1.0, 0.0, 1.0); 3]);
    doc.root["nodes"] = json!([{ "mesh": 0, "scale": [1, 3, 1] }]);
    all(&doc.part(), Vec3::new(1.0, 3.0, 0.0).normalize().extend(1.0));
}

#[test]
fn joints_and_morph_targets_move_tangents() {
    let mut doc = bumpy([ALONG; 3]);
    let joints = doc.add(UBYTE, "VEC4", &[0; 12]);
    let weights = doc.add(FLOAT, "VEC4", &floats(&[1., 0., 0., 0.].repeat(3)));
    let inverse = doc.add(FLOAT, "MAT4", &floats(&Mat4::IDENTITY.to_cols_array()));
    doc.attribute("JOINTS_0", joints);
    doc.attribute("WEIGHTS_0", weights);
    let half = std::f32::consts::FRAC_1_SQRT_2;
    // Turned about Z and mirrored; the place of the node itself does not count.
    doc.root["nodes"] = json!([
        { "mesh": 0, "skin": 0, "scale": [-1, 1, 1] },
        { "rotation": [0, 0, half, half], "scale": [1, 1, -1] },
    ]);
    doc.root["scenes"][0]["nodes"] = json!([0, 1]);
    doc.root["skins"] = json!([{ "joints": [1], "inverseBindMatrices": inverse }]);
    all(&doc.part(), Vec4::new(0.0, 1.0, 0.0, -1.0));

    let mut doc = bumpy([ALONG; 3]);
    let deltas = doc.add(FLOAT, "VEC3", &floats(&[-2., 2., 0.].repeat(3)));
    doc.root["meshes"][0]["primitives"][0]["targets"] = json!([{ "TANGENT": deltas }]);
    doc.root["meshes"][0]["weights"] = json!([0.5]);
    all(&doc.part(), Vec4::new(0.0, 1.0, 0.0, 1.0));
}

#[test]
fn tangents_count_with_normals_and_a_normal_texture_only() {
    let mut doc = bumpy([ALONG; 3]);
    doc.root["materials"] = json!([{}]);
    assert!(doc.part().tangents.is_empty());
    let mut doc = bumpy([ALONG; 3]);
    let attributes = &mut doc.root["meshes"][0]["primitives"][0]["attributes"];
    attributes.as_object_mut().expect("is one").remove("NORMAL");
    assert!(doc.part().tangents.is_empty());
}

#[test]
fn unusable_tangents_are_a_warning_and_made_anew() {
    let mut short = bumpy([ALONG; 3]);
    let two = short.add(FLOAT, "VEC4", &floats(&[1., 0., 0., 1., 1., 0., 0., 1.]));
    short.attribute("TANGENT", two);
    let mut gone = bumpy([ALONG; 3]);
    gone.attribute("TANGENT", 99);
    for doc in [bumpy([ALONG, Vec4::W, ALONG]), bumpy([ALONG, Vec4::NAN, ALONG]), short, gone] {
        let mut loaded = doc.read().expect("reads");
        assert_eq!(loaded.warnings.len(), 1);
        assert!(loaded.warnings[0].message.contains("tangents"), "{:?}", loaded.warnings);
        assert!(loaded.scene.parts[0].tangents.is_empty());
        assert!(crate::stages::formats::with_tangents(&mut loaded).is_empty());
        all(&loaded.scene.parts[0], ALONG);
    }
}
