//! The statistics of a scene, the same for every format of meshes.

use crate::preview::Scene;
use crate::preview::scene::{AlphaMode, Bounds, Material};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Counts, materials, textures with their size and use, and the box around everything.
pub(super) fn card(scene: &Scene, around: Bounds) -> Value {
    let alpha = |is: fn(AlphaMode) -> bool| {
        scene.materials.iter().filter(|material| is(material.alpha)).count()
    };
    json!({
        "corners": scene.parts.iter().map(|part| part.positions.len()).sum::<usize>(),
        "triangles": scene.triangles(),
        "flat_triangles": flat(scene),
        "parts": scene.parts.len(),
        "materials": scene.materials.iter().map(|material| &material.name).collect::<Vec<_>>(),
        "alpha": {
            "opaque": alpha(|mode| mode == AlphaMode::Opaque),
            "mask": alpha(|mode| matches!(mode, AlphaMode::Mask { .. })),
            "blend": alpha(|mode| mode == AlphaMode::Blend),
        },
        "textures": textures(scene),
        "texture_bytes": scene.textures.iter().map(|texture| texture.rgba.len()).sum::<usize>(),
        "has_uvs": scene.parts.iter().any(|part| !part.uvs.is_empty()),
        "has_colors": scene.parts.iter().any(|part| !part.colors.is_empty()),
        "bounds": { "min": around.min, "max": around.max, "size": around.max - around.min },
    })
}

/// Triangles without an area, which nothing is seen of.
fn flat(scene: &Scene) -> usize {
    let triangles = scene.parts.iter().flat_map(|part| {
        part.indices.chunks_exact(3).filter_map(|triangle| match triangle {
            [a, b, c] => {
                let corner = |at: &u32| part.positions.get(*at as usize).copied();
                Some([corner(a)?, corner(b)?, corner(c)?])
            }
            _ => None,
        })
    });
    triangles.filter(|[a, b, c]| (*b - *a).cross(*c - *a) == glam::Vec3::ZERO).count()
}

fn textures(scene: &Scene) -> Vec<Value> {
    let slots = |material: &Material| {
        [
            (material.base_color_texture, "base colour"),
            (material.metallic_roughness_texture, "metal and roughness"),
            (material.normal_texture, "normal"),
            (material.occlusion_texture, "occlusion"),
            (material.emissive_texture, "emissive"),
        ]
    };
    let used: BTreeSet<(usize, &str)> = scene
        .materials
        .iter()
        .flat_map(slots)
        .filter_map(|(texture, what)| Some((texture?, what)))
        .collect();
    let texture = |(at, texture): (usize, &crate::preview::scene::Texture)| {
        let roles: Vec<&str> =
            used.iter().filter(|(index, _)| *index == at).map(|(_, what)| *what).collect();
        json!({
            "name": texture.name,
            "width": texture.width,
            "height": texture.height,
            "bytes": texture.rgba.len(),
            "used_as": roles,
        })
    };
    scene.textures.iter().enumerate().map(texture).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::formats::tests::rich_scene;
    use glam::Vec3;

    #[test]
    fn the_card_counts_what_the_scene_has() {
        let mut scene = rich_scene();
        let part = &mut scene.parts[0];
        part.indices.extend([0, 1, 1]);
        part.positions[1] = Vec3::X * 4.0;
        let around = scene.bounds().expect("has corners");
        let card = card(&scene, around);
        assert_eq!((&card["corners"], &card["triangles"]), (&json!(3), &json!(2)));
        assert_eq!(card["flat_triangles"], 1);
        assert_eq!(card["alpha"], json!({ "opaque": 0, "mask": 1, "blend": 0 }));
        let texture = json!({
            "name": "checker", "width": 2, "height": 1, "bytes": 8,
            "used_as": ["base colour", "emissive", "metal and roughness", "normal", "occlusion"],
        });
        assert_eq!(card["textures"], json!([texture]));
        assert_eq!(card["bounds"]["size"], json!([4.0, 1.0, 0.0]));
    }
}
