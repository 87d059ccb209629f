//! One small generated glTF for each rule about materials and textures.

use super::tests::{Doc, FLOAT, floats};
use crate::model::Reason;
use crate::preview::scene::{AlphaMode, Mapping, UvSet};
use crate::stages::formats::image_writer::png_bytes;
use glam::{Vec2, Vec3, Vec4};
use serde_json::{Value, json};

fn painted(material: &Value) -> Doc {
    let mut doc = Doc::triangle();
    let uvs = doc.add(FLOAT, "VEC2", &floats(&[0., 0., 1., 0., 0., 1.]));
    doc.attribute("TEXCOORD_0", uvs);
    doc.attribute("TEXCOORD_1", uvs);
    let png = doc.view(&png_bytes(1, 1, &[9, 8, 7, 255]).expect("encoded"));
    doc.root["images"] = json!([{ "bufferView": png, "mimeType": "image/png" }]);
    doc.root["textures"] = json!([{ "source": 0 }]);
    doc.root["materials"] = json!([material]);
    doc.root["meshes"][0]["primitives"][0]["material"] = 0.into();
    doc
}

#[test]
fn texture_transforms_move_the_coordinates() {
    let transform = json!({
        "offset": [0.25, 0.5], "rotation": std::f32::consts::FRAC_PI_2, "scale": [2, 3],
    });
    let doc = painted(&json!({ "pbrMetallicRoughness": { "baseColorTexture": {
        "index": 0, "texCoord": 1, "extensions": { "KHR_texture_transform": transform },
    }}}));
    let uvs = doc.part().uvs;
    // Scaled, then turned so that u goes to −v and v to u, then moved.
    for (uv, expected) in uvs.iter().zip([(0.25, 0.5), (0.25, -1.5), (3.25, 0.5)]) {
        assert!(uv.abs_diff_eq(Vec2::from(expected), 1e-5), "{uvs:?}");
    }
}

#[test]
fn each_texture_keeps_its_own_coordinates() {
    let base = json!({ "baseColorTexture": { "index": 0 } });
    let moved = json!({ "KHR_texture_transform": { "scale": [2, 3], "texCoord": 2 } });
    let cases = [
        (json!({ "index": 0, "texCoord": 1 }), UvSet::Second, Vec2::ONE),
        (json!({ "index": 0, "extensions": moved }), UvSet::Second, Vec2::new(2.0, 3.0)),
        (
            json!({ "index": 0, "extensions": { "KHR_texture_transform": { "scale": [2, 2] } } }),
            UvSet::First,
            Vec2::splat(2.0),
        ),
    ];
    for (other, uv_set, scale) in cases {
        let mut doc = painted(&json!({ "pbrMetallicRoughness": base, "occlusionTexture": other }));
        let more = doc.add(FLOAT, "VEC2", &floats(&[5., 6., 5., 6., 5., 6.]));
        for name in ["TEXCOORD_1", "TEXCOORD_2"] {
            doc.attribute(name, more);
        }
        let loaded = doc.read().expect("reads");
        assert_eq!(loaded.warnings, []);
        let material = &loaded.scene.materials[0];
        assert_eq!((material.base_color_texture, material.occlusion_texture), (Some(0), Some(0)));
        assert!(material.mappings.base_color == Mapping::default());
        let mapping = material.mappings.occlusion;
        assert_eq!((mapping.uv_set, mapping.scale), (uv_set, scale));
        let part = &loaded.scene.parts[0];
        assert_eq!(part.uvs, [Vec2::ZERO, Vec2::X, Vec2::Y], "as the file has them");
        let more = if uv_set == UvSet::Second { vec![Vec2::new(5.0, 6.0); 3] } else { vec![] };
        assert_eq!(part.more_uvs, more);
    }
}

#[test]
fn a_third_set_of_coordinates_is_left_out_with_a_warning() {
    let loaded = painted(&json!({
        "pbrMetallicRoughness": { "baseColorTexture": { "index": 0, "texCoord": 1 } },
        "normalTexture": { "index": 0 }, "occlusionTexture": { "index": 0, "texCoord": 2 },
    }))
    .read()
    .expect("reads");
    let material = &loaded.scene.materials[0];
    assert_eq!((material.normal_texture, material.occlusion_texture), (Some(0), None));
    // The lower number comes first, whichever texture wants it.
    let maps = &material.mappings;
    assert_eq!((maps.base_color.uv_set, maps.normal.uv_set), (UvSet::Second, UvSet::First));
    assert!(loaded.warnings[0].message.contains("occlusion"), "{:?}", loaded.warnings);
}

#[test]
fn materials_of_all_models_are_read() {
    let loaded = painted(&json!({
        "emissiveFactor": [1, 0.5, 0], "alphaMode": "MASK", "doubleSided": true,
        "extensions": {
            "KHR_materials_unlit": {}, "KHR_materials_emissive_strength": { "emissiveStrength": 4 },
        },
    }));
    let material = loaded.read().expect("reads").scene.materials.remove(0);
    assert_eq!((material.unlit, material.emissive), (true, Vec3::new(4.0, 2.0, 0.0)));
    assert_eq!(material.alpha, AlphaMode::Mask { cutoff: 0.5 });
    let loaded = painted(&json!({ "extensions": { "KHR_materials_pbrSpecularGlossiness": {
        "diffuseFactor": [0.5, 0.25, 1, 1], "diffuseTexture": { "index": 0 },
        "glossinessFactor": 0.25,
    }}}));
    let material = loaded.read().expect("reads").scene.materials.remove(0);
    assert_eq!(material.base_color, Vec4::new(0.5, 0.25, 1.0, 1.0));
    assert_eq!((material.metallic, material.roughness), (0.0, 0.75));
    assert_eq!(material.base_color_texture, Some(0));
}

#[test]
fn a_texture_that_cannot_be_read_is_a_warning_and_grey() {
    let material = json!({
        "emissiveFactor": [1, 1, 1], "emissiveTexture": { "index": 0 },
        "pbrMetallicRoughness": {
            "baseColorTexture": { "index": 0 }, "metallicRoughnessTexture": { "index": 0 },
        },
    });
    let cases = [
        (json!([{ "uri": "gone.png" }]), json!([{ "source": 0 }]), Reason::ReferenceMissing),
        (json!([{ "uri": "data:,nonsense" }]), json!([{ "source": 0 }]), Reason::InputUnsupported),
        (json!([]), json!([{}]), Reason::InputCorrupt),
        (
            json!([{ "uri": "gone.webp" }]),
            json!([{ "extensions": { "EXT_texture_webp": { "source": 0 } } }]),
            Reason::ReferenceMissing,
        ),
    ];
    for (images, textures, reason) in cases {
        let mut doc = painted(&material);
        doc.root["images"] = images;
        doc.root["textures"] = textures;
        let loaded = doc.read().expect("reads");
        let reasons: Vec<Reason> = loaded.warnings.iter().map(|warning| warning.reason).collect();
        assert_eq!(reasons, [reason], "{:?}", loaded.warnings);
        let material = &loaded.scene.materials[0];
        assert!((material.base_color.x - 0.72).abs() < 1e-6);
        assert_eq!((material.metallic, material.emissive), (0.0, Vec3::ZERO));
    }
    let mut doc = painted(&material);
    doc.root["images"] = json!([{ "uri": "../secret.png" }]);
    doc.refused(Reason::ReferenceOutside, "../secret.png");
}
