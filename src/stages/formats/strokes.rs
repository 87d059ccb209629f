//! Points and lines as triangles, so that point clouds and wires can be seen.
//!
//! A point becomes an octahedron, a line a bar of three sides. How thick they are follows from the
//! size of the whole scene, which is known at the end only; so they are kept until then.

use super::mesh::{Budget, complete};
use super::{bounds, warning};
use crate::model::Reason;
use crate::preview::scene::{Part, Scene};
use crate::protocol::work::{Failure, Warning};
use glam::{Vec3, Vec4};

/// Half the thickness of a line, in parts of the scene's diagonal: about a pixel of a still.
const LINE: f32 = 0.001_5;
/// Half the size of a point, in parts of the mean distance of points that cover a surface.
const POINT: f32 = 0.4;
/// Least and greatest half size of a point, in parts of the scene's diagonal.
const POINT_RANGE: (f32, f32) = (0.000_8, 0.01);

/// The corners of an octahedron of half size 1, and its faces.
const OCTAHEDRON: [Vec3; 6] = [Vec3::X, Vec3::NEG_X, Vec3::Y, Vec3::NEG_Y, Vec3::Z, Vec3::NEG_Z];
const FACES: [u32; 24] = [0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5];

/// Points and lines of one material.
#[derive(Debug, Default)]
pub(super) struct Strokes {
    /// Name for people.
    pub name: String,
    /// Corners in the world.
    pub positions: Vec<Vec3>,
    /// Linear colours, one a corner; empty where there are none.
    pub colors: Vec<Vec4>,
    /// Corners that are points.
    pub points: Vec<u32>,
    /// Pairs of corners that are lines.
    pub lines: Vec<[u32; 2]>,
    /// Index into the scene's materials.
    pub material: usize,
}

impl Strokes {
    /// A cloud of points; colours count where all points have one.
    pub(super) fn cloud(positions: Vec<Vec3>, colors: Option<Vec<Vec4>>) -> Self {
        Self {
            name: "points".to_owned(),
            points: (0..positions.len() as u32).collect(),
            positions,
            colors: colors.unwrap_or_default(),
            ..Self::default()
        }
    }
}

/// Adds strokes to a scene that holds everything else. Beyond [`bounds::STROKES`] only some of
/// them are drawn, evenly picked, with a warning.
pub(super) fn add(
    scene: &mut Scene,
    strokes: &[Strokes],
    budget: &mut Budget,
    name: &str,
) -> Result<Vec<Warning>, Failure> {
    let finite = |at: &Vec3| at.is_finite() && at.abs().max_element() < 1e18;
    let corners = strokes.iter().flat_map(|one| one.positions.iter()).copied().filter(finite);
    let around = scene.bounds();
    let (least, most) = corners
        .chain(around.iter().flat_map(|all| [all.min, all.max]))
        .fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(least, most), corner| {
            (least.min(corner), most.max(corner))
        });
    let diagonal = (most - least).length();
    // A single point has no size of its own.
    let diagonal = if diagonal > 0.0 && diagonal.is_finite() { diagonal } else { 1.0 };
    let points: usize = strokes.iter().map(|one| one.points.len()).sum();
    let lines: usize = strokes.iter().map(|one| one.lines.len()).sum();
    let step = (points + lines).div_ceil(bounds::STROKES).max(1);
    let (small, large) = POINT_RANGE;
    let point = diagonal * (POINT / (points.max(1) as f32).sqrt()).clamp(small, large);
    for one in strokes {
        let mut part = Part { name: one.name.clone(), material: one.material, ..Part::default() };
        let mut colors = Vec::new();
        let place = |at: u32| one.positions.get(at as usize).copied().filter(finite);
        let color = |at: u32| one.colors.get(at as usize).copied();
        for at in one.points.iter().step_by(step) {
            let Some(center) = place(*at) else { continue };
            let first = part.positions.len() as u32;
            part.positions.extend(OCTAHEDRON.map(|corner| center + corner * point));
            part.normals.extend(OCTAHEDRON);
            colors.extend([color(*at); 6].into_iter().flatten());
            part.indices.extend(FACES.map(|index| first + index));
        }
        for [from, to] in one.lines.iter().step_by(step) {
            let (Some(start), Some(end)) = (place(*from), place(*to)) else { continue };
            bar(&mut part, start, end, diagonal * LINE);
            colors.extend([color(*from); 3].into_iter().flatten());
            colors.extend([color(*to); 3].into_iter().flatten());
        }
        budget.take(part.positions.len(), part.indices.len(), name)?;
        part.colors = if colors.len() == part.positions.len() { colors } else { Vec::new() };
        complete(&mut part, name)?;
        scene.parts.push(part);
    }
    let thinned = (step > 1).then(|| {
        warning(
            Reason::InputTooLarge,
            format!("{name}: of {} points and lines one in {step} is drawn", points + lines),
        )
    });
    Ok(thinned.into_iter().collect())
}

/// A bar of three sides, without ends.
fn bar(part: &mut Part, start: Vec3, end: Vec3, radius: f32) {
    let along = (end - start).try_normalize().unwrap_or(Vec3::X);
    let (side, up) = along.any_orthonormal_pair();
    let first = part.positions.len() as u32;
    let corners = [0.0_f32, 1.0, 2.0].map(|third| {
        let (sin, cos) = (third * std::f32::consts::TAU / 3.0).sin_cos();
        side * cos + up * sin
    });
    for place in [start, end] {
        part.positions.extend(corners.map(|corner| place + corner * radius));
        part.normals.extend(corners);
    }
    for at in 0..3 {
        let next = (at + 1) % 3;
        let [a, b, c, d] = [at, next, at + 3, next + 3].map(|index| first + index);
        part.indices.extend([a, b, c, b, d, c]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(strokes: Strokes) -> Part {
        let mut scene = Scene::default();
        let warnings = add(&mut scene, &[strokes], &mut Budget::default(), "x").expect("fits");
        assert_eq!(warnings, []);
        scene.parts.remove(0)
    }

    fn faces_outwards(part: &Part) -> bool {
        part.indices.chunks_exact(3).all(|triangle| {
            let corner = |at: usize| part.positions[triangle[at] as usize];
            let normal: Vec3 = triangle.iter().map(|index| part.normals[*index as usize]).sum();
            (corner(1) - corner(0)).cross(corner(2) - corner(0)).dot(normal) > 0.0
        })
    }

    #[test]
    fn points_and_lines_are_small_solids_that_face_outwards() {
        let colors = vec![Vec4::ONE, Vec4::W];
        let positions = vec![Vec3::ZERO, Vec3::splat(10.0)];
        let points = drawn(Strokes {
            positions: positions.clone(),
            colors,
            points: vec![0, 1],
            ..Strokes::default()
        });
        assert_eq!((points.positions.len(), points.indices.len() / 3), (12, 16));
        assert_eq!((points.colors[0], points.colors[11]), (Vec4::ONE, Vec4::W));
        assert!(faces_outwards(&points));
        let size = (points.positions[0] - points.positions[1]).length();
        assert!(size > 0.01 && size < 0.5, "{size}");
        let lines = drawn(Strokes { positions, lines: vec![[0, 1]], ..Strokes::default() });
        assert_eq!((lines.positions.len(), lines.indices.len() / 3), (6, 6));
        assert!(faces_outwards(&lines));
    }

    #[test]
    fn a_single_point_is_seen_and_one_at_no_place_is_not() {
        let positions = vec![Vec3::ONE, Vec3::NAN];
        let part = drawn(Strokes { positions, points: vec![0, 1], ..Strokes::default() });
        assert_eq!(part.indices.len() / 3, 8);
    }

    #[test]
    fn too_many_points_are_thinned_with_a_warning() {
        let count = bounds::STROKES as u32 + 1;
        let strokes = Strokes {
            positions: vec![Vec3::ZERO, Vec3::ONE],
            points: (0..count).map(|at| at % 2).collect(),
            ..Strokes::default()
        };
        let mut scene = Scene::default();
        let warnings = add(&mut scene, &[strokes], &mut Budget::default(), "x").expect("fits");
        assert!(warnings[0].message.contains("one in 2"), "{warnings:?}");
        assert_eq!(scene.triangles(), count.div_ceil(2) as usize * 8);
    }
}
