//! Gives the parts with a normal texture the tangents that it lies along.

use super::mapping::{Mapping, UvSet};
use super::mikktspace::{self, Mesh};
use super::scene::{Part, Scene};
use glam::{Vec2, Vec3, Vec4};
use std::collections::HashMap;

/// Most triangles of one part that tangents are made for: about two seconds of work.
pub const TANGENT_TRIANGLES: usize = 2_000_000;

/// Makes tangents by `MikkTSpace` for the parts that a normal texture lies on and that have none.
/// Corners are split where two tangents meet, up to `most_corners` in the whole scene.
///
/// Gives a note for each part that was passed over: the renderers find directions by the picture
/// there, which shows facets on round shapes.
pub fn give_tangents(scene: &mut Scene, most_corners: usize) -> Vec<String> {
    let mut notes = Vec::new();
    let mut corners: usize = scene.parts.iter().map(|part| part.positions.len()).sum();
    for part in &mut scene.parts {
        let material = scene.materials.get(part.material);
        let textured = material.filter(|one| one.normal_texture.is_some() && !one.unlit);
        let Some(mapping) = textured.map(|material| material.mappings.normal) else { continue };
        let Some(uvs) = lacking(part, &mapping) else { continue };
        let before = part.positions.len();
        let room = most_corners.saturating_sub(corners);
        if part.indices.len() / 3 > TANGENT_TRIANGLES || part.indices.len() > room {
            notes.push(format!(
                "part '{}' has {} triangles, too many to make tangents for its normal texture",
                part.name,
                part.indices.len() / 3
            ));
            continue;
        }
        give(part, &uvs);
        corners += part.positions.len() - before;
    }
    notes
}

/// The coordinates of the normal texture, where a part lacks tangents and can have some.
fn lacking(part: &Part, mapping: &Mapping) -> Option<Vec<Vec2>> {
    let uvs = match mapping.uv_set {
        UvSet::First => &part.uvs,
        UvSet::Second => &part.more_uvs,
    };
    let count = part.positions.len();
    let whole = part.tangents.is_empty()
        && [part.normals.len(), uvs.len()] == [count; 2]
        && part.indices.iter().all(|index| (*index as usize) < count);
    let finite = |uv: Vec2| if uv.is_finite() { uv } else { Vec2::ZERO };
    whole.then(|| uvs.iter().map(|uv| finite(mapping.place(*uv))).collect())
}

fn give(part: &mut Part, uvs: &[Vec2]) {
    let (positions, normals) = (&part.positions, &part.normals);
    let found = mikktspace::tangents(Mesh { positions, normals, uvs, indices: &part.indices });
    let mut tangents = vec![Vec4::ZERO; part.positions.len()];
    let mut split: HashMap<(u32, [u32; 4]), u32> = HashMap::new();
    let mut indices = std::mem::take(&mut part.indices);
    for (index, tangent) in indices.iter_mut().zip(found) {
        let Some(first) = tangents.get_mut(*index as usize) else { continue };
        if *first == Vec4::ZERO {
            *first = tangent;
        } else if *first != tangent && tangent != Vec4::ZERO {
            let key = (*index, tangent.to_array().map(f32::to_bits));
            *index = *split.entry(key).or_insert_with(|| {
                part.repeat(*index as usize);
                tangents.push(tangent);
                tangents.len() as u32 - 1
            });
        }
    }
    for (tangent, normal) in tangents.iter_mut().zip(&part.normals) {
        if *tangent == Vec4::ZERO {
            *tangent = across(*normal).extend(1.0);
        }
    }
    part.indices = indices;
    part.tangents = tangents;
}

/// Any direction along the surface.
fn across(normal: Vec3) -> Vec3 {
    normal.try_normalize().map_or(Vec3::X, Vec3::any_orthonormal_vector)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preview::scene::Material;

    /// A square that faces +Z, the texture upright on it, or mirrored.
    fn quad(mirrored: bool) -> Part {
        let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
        let u = |x: f32| if mirrored { -x } else { x };
        Part {
            positions: corners.map(|(x, y)| Vec3::new(x, y, 0.0)).to_vec(),
            normals: vec![Vec3::Z; 4],
            uvs: corners.map(|(x, y)| Vec2::new(u(x) * 0.5 + 0.5, 0.5 - y * 0.5)).to_vec(),
            indices: vec![0, 1, 2, 0, 2, 3],
            ..Part::default()
        }
    }

    fn scene(part: Part) -> Scene {
        let material = Material { normal_texture: Some(0), ..Material::default() };
        Scene { parts: vec![part], materials: vec![material], ..Scene::default() }
    }

    fn given(scene: &mut Scene) -> &Part {
        assert_eq!(give_tangents(scene, 1_000), Vec::<String>::new());
        &scene.parts[0]
    }

    #[test]
    fn tangents_run_along_u_and_tell_mirrors() {
        for (mirrored, expected) in
            [(false, Vec4::new(1.0, 0.0, 0.0, 1.0)), (true, -Vec4::X - Vec4::W)]
        {
            let mut scene = scene(quad(mirrored));
            let part = given(&mut scene);
            assert_eq!((part.positions.len(), part.tangents.len()), (4, 4));
            for tangent in &part.tangents {
                assert!(tangent.abs_diff_eq(expected, 1e-6), "{tangent}");
            }
        }
    }

    #[test]
    fn the_mapping_of_the_normal_texture_counts() {
        let mut scene = scene(quad(false));
        let quarter = std::f32::consts::FRAC_PI_2;
        scene.materials[0].mappings.normal =
            Mapping { uv_set: UvSet::Second, rotation: quarter, ..Mapping::default() };
        assert!(given(&mut scene).tangents.is_empty(), "it has no second set");
        scene.parts[0].more_uvs = scene.parts[0].uvs.clone();
        let part = given(&mut scene);
        // The texture's u is the part's v, which runs down.
        assert!(part.tangents[0].abs_diff_eq(Vec4::new(0.0, -1.0, 0.0, 1.0), 1e-6));
        assert_eq!(part.more_uvs.len(), 4);
    }

    #[test]
    fn corners_are_split_where_tangents_differ_and_only_there() {
        // Two squares that share an edge; the right one mirrors the left one's texture.
        let mut part = quad(false);
        part.positions.extend([Vec3::new(3.0, -1.0, 0.0), Vec3::new(3.0, 1.0, 0.0)]);
        part.normals.extend([Vec3::Z; 2]);
        part.uvs.extend([Vec2::new(0.0, 1.0), Vec2::ZERO]);
        part.colors = (0..6).map(|at| Vec4::splat(at as f32)).collect();
        part.indices.extend([1, 4, 5, 1, 5, 2]);
        let before = part.clone();
        let mut scene = scene(part);
        let part = given(&mut scene);
        assert_eq!([part.positions.len(), part.tangents.len(), part.colors.len()], [8; 3]);
        for (new, old) in part.indices.iter().zip(&before.indices) {
            let (new, old) = (*new as usize, *old as usize);
            assert_eq!(part.positions[new], before.positions[old]);
            assert_eq!((part.uvs[new], part.colors[new]), (before.uvs[old], before.colors[old]));
        }
        let sides: Vec<f32> = part.indices.iter().map(|at| part.tangents[*at as usize].w).collect();
        assert_eq!(sides, [[1.0; 6], [-1.0; 6]].concat());
    }

    #[test]
    fn what_has_tangents_or_needs_none_is_left_alone_and_the_bound_is_told() {
        let mut own = scene(quad(false));
        own.parts[0].tangents = vec![Vec4::new(0.0, 1.0, 0.0, -1.0); 4];
        assert_eq!(given(&mut own).tangents[0], Vec4::new(0.0, 1.0, 0.0, -1.0));
        let mut bare = scene(quad(false));
        bare.materials[0].normal_texture = None;
        assert!(given(&mut bare).tangents.is_empty());
        let mut large = scene(quad(false));
        let notes = give_tangents(&mut large, 9);
        assert!(notes[0].contains("2 triangles"), "{notes:?}");
        assert!(large.parts[0].tangents.is_empty());
        // A point where nothing has a direction has a tangent all the same.
        let mut point = scene(quad(false));
        point.parts[0].uvs = vec![Vec2::ZERO; 4];
        for tangent in &given(&mut point).tangents {
            assert!(tangent.truncate().is_normalized() && tangent.z == 0.0, "{tangent}");
        }
    }
}
