//! What all mesh readers share: bounds, flat normals, and the last check of a scene.

use super::card::card;
use super::{LoadedScene, bounds, corrupt, too_large, warning};
use crate::model::{Reason, limits};
use crate::preview::scene::Part;
use crate::protocol::work::Failure;
use glam::{Vec2, Vec3, Vec4};

/// Beyond this distance from the origin a corner counts as not finite: its square would not be.
const FARTHEST: f32 = 1e18;

/// Counts what a scene grows to.
#[derive(Debug, Default)]
pub(super) struct Budget {
    corners: usize,
    indices: usize,
    parts: usize,
}

impl Budget {
    /// Takes on one more part, or fails with `input.too_large`.
    pub(super) fn take(
        &mut self,
        corners: usize,
        indices: usize,
        name: &str,
    ) -> Result<(), Failure> {
        self.parts += 1;
        self.grow(corners, indices, name)
    }

    /// Takes on more of the same part, or fails with `input.too_large`.
    pub(super) fn grow(
        &mut self,
        corners: usize,
        indices: usize,
        name: &str,
    ) -> Result<(), Failure> {
        self.corners = self.corners.saturating_add(corners);
        self.indices = self.indices.saturating_add(indices);
        let beyond = |what: &str, limit: usize| {
            too_large(format!("{name} has more than {limit} {what}. Simplify or split it"))
        };
        if self.corners > bounds::CORNERS {
            return Err(beyond("corners", bounds::CORNERS));
        }
        if self.indices > bounds::INDICES {
            return Err(beyond("indices", bounds::INDICES));
        }
        if self.parts > bounds::PARTS {
            return Err(beyond("parts", bounds::PARTS));
        }
        Ok(())
    }
}

/// What had to be mended in a part.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mended {
    /// Triangles left out because a corner is not finite.
    pub dropped: usize,
    /// Normals that were zero or not finite.
    pub normals: usize,
    /// Tangents without a direction or a side; then all of their part are left out.
    pub tangents: usize,
    /// Texture coordinates that were not finite.
    pub uvs: usize,
    /// Vertex colours that were not finite.
    pub colors: usize,
}

impl Mended {
    pub(super) fn add(&mut self, other: Self) {
        self.dropped += other.dropped;
        self.normals += other.normals;
        self.tangents += other.tangents;
        self.uvs += other.uvs;
        self.colors += other.colors;
    }

    pub(super) fn warnings(self, name: &str) -> Vec<crate::protocol::work::Warning> {
        let mut warnings = Vec::new();
        if self.dropped > 0 {
            warnings.push(warning(
                Reason::InputCorrupt,
                format!(
                    "{name}: {} triangles are left out, because a corner of theirs is not a finite number",
                    self.dropped
                ),
            ));
        }
        for (count, what, now) in [
            (self.normals, "normals", "have no direction and were made anew"),
            (self.tangents, "tangents", "have no direction, so those of their parts are made anew"),
            (self.uvs, "texture coordinates", "are not finite numbers and count as 0"),
            (self.colors, "vertex colours", "are not finite numbers and count as white"),
        ] {
            if count > 0 {
                warnings
                    .push(warning(Reason::InputCorrupt, format!("{name}: {count} {what} {now}")));
            }
        }
        warnings
    }
}

/// Brings a part as read into the form that renderers expect: every index checked, finite corners
/// only, a unit normal each (flat ones where the file has none).
pub(super) fn complete(part: &mut Part, name: &str) -> Result<Mended, Failure> {
    let count = part.positions.len();
    if let Some(index) = part.indices.iter().find(|index| **index as usize >= count) {
        return Err(corrupt(format!(
            "{name}: part '{}' uses corner {index}, but has only {count}. Export it again",
            part.name
        )));
    }
    let mut mended = Mended { dropped: drop_infinite(part), ..Mended::default() };
    let uvs = part.uvs.iter_mut().chain(&mut part.more_uvs);
    for uv in uvs.filter(|uv| !uv.is_finite()) {
        *uv = Vec2::ZERO;
        mended.uvs += 1;
    }
    for color in part.colors.iter_mut().filter(|color| !color.is_finite()) {
        *color = Vec4::ONE;
        mended.colors += 1;
    }
    if part.normals.is_empty() {
        flatten(part);
    } else {
        mended.normals = mend_normals(part);
        mended.tangents = mend_tangents(part);
    }
    Ok(mended)
}

fn drop_infinite(part: &mut Part) -> usize {
    let good = |corner: &Vec3| corner.is_finite() && corner.abs().max_element() < FARTHEST;
    if part.positions.iter().all(good) {
        return 0;
    }
    let keeps: Vec<bool> = part.positions.iter().map(good).collect();
    let before = part.indices.len();
    let kept = part.indices.chunks_exact(3).filter(|triangle| {
        triangle.iter().all(|index| keeps.get(*index as usize).copied().unwrap_or(false))
    });
    part.indices = kept.flatten().copied().collect();
    for (corner, keep) in part.positions.iter_mut().zip(keeps) {
        if !keep {
            *corner = Vec3::ZERO;
        }
    }
    (before - part.indices.len()) / 3
}

fn picked<T: Copy>(list: &[T], indices: &[u32]) -> Vec<T> {
    indices.iter().filter_map(|index| list.get(*index as usize).copied()).collect()
}

/// Gives each triangle its own corners with the triangle's normal.
fn flatten(part: &mut Part) {
    part.positions = picked(&part.positions, &part.indices);
    part.uvs = picked(&part.uvs, &part.indices);
    part.more_uvs = picked(&part.more_uvs, &part.indices);
    part.colors = picked(&part.colors, &part.indices);
    // They belong to the normals that the file does not have.
    part.tangents = Vec::new();
    part.normals = part
        .positions
        .chunks_exact(3)
        .flat_map(|triangle| [face_normal(triangle).try_normalize().unwrap_or(Vec3::Y); 3])
        .collect();
    part.indices = (0..part.positions.len() as u32).collect();
}

/// The normal of a triangle, as long as twice its area.
fn face_normal(triangle: &[Vec3]) -> Vec3 {
    match triangle {
        [a, b, c] => (*b - *a).cross(*c - *a),
        _ => Vec3::ZERO,
    }
}

fn mend_normals(part: &mut Part) -> usize {
    let unit = |normal: Vec3| normal.is_finite().then(|| normal.try_normalize()).flatten();
    let bad = part.normals.iter().filter(|normal| unit(**normal).is_none()).count();
    let mut made = vec![Vec3::ZERO; if bad > 0 { part.positions.len() } else { 0 }];
    if bad > 0 {
        for triangle in part.indices.chunks_exact(3) {
            let normal = face_normal(&picked(&part.positions, triangle));
            for index in triangle {
                if let Some(sum) = made.get_mut(*index as usize) {
                    *sum += normal;
                }
            }
        }
    }
    for (index, normal) in part.normals.iter_mut().enumerate() {
        let other = || made.get(index).and_then(|made| made.try_normalize()).unwrap_or(Vec3::Y);
        *normal = unit(*normal).unwrap_or_else(other);
    }
    bad
}

/// Brings tangents to unit length; where one is unusable all of them go.
fn mend_tangents(part: &mut Part) -> usize {
    let sound = |tangent: Vec4| {
        let along = tangent.truncate().try_normalize().filter(|_| tangent.is_finite())?;
        (tangent.w != 0.0).then(|| along.extend(tangent.w.signum()))
    };
    let bad = part.tangents.iter().filter(|tangent| sound(**tangent).is_none()).count();
    if bad > 0 {
        part.tangents = Vec::new();
    }
    for tangent in &mut part.tangents {
        *tangent = sound(*tangent).unwrap_or(*tangent);
    }
    bad
}

/// The last check of a loaded scene: something to draw, bounded warnings, common facts.
pub(super) fn finished(mut loaded: LoadedScene, name: &str) -> Result<LoadedScene, Failure> {
    loaded.scene.parts.retain(|part| !part.indices.is_empty());
    let Some(box_around) = loaded.scene.bounds() else {
        return Err(Failure::new(
            Reason::InputNothingToDraw,
            format!(
                "{name} has no triangle with finite corners, so there is nothing to draw. Export its mesh too"
            ),
        ));
    };
    loaded.warnings.truncate(limits::WARNINGS_PER_JOB);
    let common = card(&loaded.scene, box_around);
    if let (Some(facts), serde_json::Value::Object(common)) = (loaded.facts.as_object_mut(), common)
    {
        facts.extend(common);
    }
    Ok(loaded)
}

/// sRGB to linear, for colours that files write as they are seen.
pub(super) fn linear(value: f32) -> f32 {
    let value = value.clamp(0.0, 1.0);
    if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triangle() -> Part {
        Part {
            name: "t".to_owned(),
            positions: vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::splat(f32::NAN)],
            indices: vec![0, 1, 2, 1, 2, 3],
            ..Part::default()
        }
    }

    #[test]
    fn infinite_corners_go_and_flat_normals_come() {
        let mut part = triangle();
        let mended = complete(&mut part, "x").expect("indices are good");
        assert_eq!(mended.dropped, 1);
        assert_eq!(part.normals, [Vec3::Z; 3]);
        assert_eq!(part.indices, [0, 1, 2]);
    }

    #[test]
    fn one_unusable_tangent_takes_all_of_its_part_away() {
        let good = Vec4::new(3.0, 0.0, 0.0, -0.5);
        for (bad, mended) in [
            (Vec4::ZERO, 1),
            (Vec4::NAN, 1),
            (Vec4::X, 1),
            (Vec4::new(0.0, 1.0, 0.0, f32::INFINITY), 1),
            (good, 0),
        ] {
            let mut part = triangle();
            part.normals = vec![Vec3::Z; 4];
            part.tangents = vec![good, good, good, bad];
            assert_eq!(complete(&mut part, "x").map(|mended| mended.tangents), Ok(mended), "{bad}");
            let kept = if mended > 0 { vec![] } else { vec![Vec4::new(1.0, 0.0, 0.0, -1.0); 4] };
            assert_eq!(part.tangents, kept);
        }
        let mut flat = triangle();
        flat.tangents = vec![good; 4];
        assert_eq!(complete(&mut flat, "x").map(|mended| mended.tangents), Ok(0));
        assert!(flat.tangents.is_empty(), "they belong to normals that are not there");
    }

    #[test]
    fn a_wild_index_is_corrupt_and_a_zero_normal_is_made_anew() {
        let mut part = triangle();
        part.indices.push(9);
        assert_eq!(complete(&mut part, "x").map_err(|f| f.reason), Err(Reason::InputCorrupt));
        let mut part = triangle();
        part.normals = vec![Vec3::ZERO, Vec3::X * 2.0, Vec3::NAN, Vec3::Y];
        assert_eq!(complete(&mut part, "x").map(|mended| mended.normals), Ok(2));
        assert_eq!(part.normals, [Vec3::Z, Vec3::X, Vec3::Z, Vec3::Y]);
    }
}
