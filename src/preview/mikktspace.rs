//! Tangents at the corners of triangles, by `MikkTSpace`: the way that programs which bake normal
//! textures share, so that a picture undoes what was baked.
//!
//! Corners that are alike in place, normal and coordinates are one. Around such a corner the
//! triangles that hang together by edges and are mirrored alike have one tangent: the sum of their
//! own, each weighed by its angle there. All steps take time in proportion to the triangles, however
//! they are joined, and none calls itself.

use glam::{Vec2, Vec3, Vec4};
use std::collections::HashMap;

/// No triangle, no corner.
const NONE: u32 = u32::MAX;

/// Triangles with normals and texture coordinates (origin top left): one entry a vertex, all indices
/// within them.
#[derive(Clone, Copy)]
pub(super) struct Mesh<'a> {
    pub(super) positions: &'a [Vec3],
    pub(super) normals: &'a [Vec3],
    pub(super) uvs: &'a [Vec2],
    pub(super) indices: &'a [u32],
}

/// A triangle.
#[derive(Clone)]
struct Face {
    /// Its corners: the first vertex that is alike.
    corners: [u32; 3],
    /// The direction in which u grows.
    along_u: Vec3,
    /// Not mirrored on its texture.
    upright: bool,
    /// It says no direction and goes along with what is beside it.
    vague: bool,
    /// Two of its corners are at one place.
    flat: bool,
    /// Which of its corners have a group.
    grouped: [bool; 3],
    /// The triangle beyond each edge; the first edge runs from the first corner to the second.
    beside: [u32; 3],
}

/// The tangent of each index: a unit vector along growing u, and in w 1 or, where the texture is
/// mirrored, −1. Zero where none can be found.
pub(super) fn tangents(mesh: Mesh<'_>) -> Vec<Vec4> {
    let same = welded(mesh);
    let triangles = mesh.indices.chunks_exact(3);
    let mut faces: Vec<Face> = triangles.map(|corners| Face::of(mesh, &same, corners)).collect();
    join(&mut faces);
    let mut tangents = vec![Vec4::ZERO; faces.len() * 3];
    let (mut open, mut group) = (Vec::new(), Vec::new());
    for at in 0..faces.len() {
        for corner in 0..3 {
            gather(&mut faces, at, corner, &mut open, &mut group);
            // In the order of the file, however they were found: sums of floats depend on it.
            group.sort_unstable();
            let tangent = mean(mesh, &faces, &group);
            for (face, corner) in group.drain(..) {
                if let Some(place) = tangents.get_mut(face as usize * 3 + corner) {
                    *place = tangent;
                }
            }
        }
    }
    borrow(&faces, same.len(), &mut tangents);
    tangents
}

/// The first vertex that is alike, for each.
fn welded(mesh: Mesh<'_>) -> Vec<u32> {
    let mut known: HashMap<[u32; 8], u32> = HashMap::with_capacity(mesh.positions.len());
    let lists = mesh.positions.iter().zip(mesh.normals).zip(mesh.uvs);
    let alike = lists.zip(0_u32..).map(|(((position, normal), uv), at)| {
        let [place, normal] = [position, normal].map(Vec3::to_array);
        let [first, second, third] = place;
        let [right, up, out] = normal;
        // The two zeros are one.
        let key = [first, second, third, right, up, out, uv.x, uv.y];
        let key = key.map(|value| (value + 0.0).to_bits());
        *known.entry(key).or_insert(at)
    });
    alike.collect()
}

fn at<T: Copy + Default>(list: &[T], index: u32) -> T {
    list.get(index as usize).copied().unwrap_or_default()
}

impl Face {
    fn of(mesh: Mesh<'_>, same: &[u32], corners: &[u32]) -> Self {
        let corners = <[u32; 3]>::try_from(corners).unwrap_or_default();
        let corners = corners.map(|index| at(same, index));
        let [a, b, c] = corners.map(|index| at(mesh.positions, index));
        let [uv_a, uv_b, uv_c] = corners.map(|index| at(mesh.uvs, index));
        // Growing v runs down the texture, and its green points up.
        let steps = [uv_b - uv_a, uv_c - uv_a].map(|step| Vec2::new(step.x, -step.y));
        let [first, second] = steps;
        let area = first.x * second.y - first.y * second.x;
        let (side, other) = (b - a, c - a);
        let along_u = side * second.y - other * first.y;
        let along_v = other * first.x - side * second.x;
        let says = |value: f32| value.abs() > f32::MIN_POSITIVE;
        let vague = !says(area)
            || !says(along_u.length() / area.abs())
            || !says(along_v.length() / area.abs());
        let upright = area > 0.0;
        Self {
            corners,
            along_u: along_u.normalize_or_zero() * if upright { 1.0 } else { -1.0 },
            upright,
            vague,
            flat: a == b || b == c || c == a,
            grouped: [false; 3],
            beside: [NONE; 3],
        }
    }

    /// From where to where each edge runs.
    fn edges(&self) -> [(u32, u32); 3] {
        let [a, b, c] = self.corners;
        [(a, b), (b, c), (c, a)]
    }
}

/// Finds what is beside each triangle: the next one with the same edge in the other direction.
fn join(faces: &mut [Face]) {
    // Both ends in order, then the triangle, then which edge of it.
    let mut edges: Vec<(u32, u32, u32, u8)> = Vec::with_capacity(faces.len() * 3);
    for (face, at) in faces.iter().zip(0_u32..).filter(|(face, _)| !face.flat) {
        let named = face.edges().into_iter().zip(0_u8..);
        edges.extend(named.map(|((from, to), edge)| (from.min(to), from.max(to), at, edge)));
    }
    edges.sort_unstable();
    // Triangles along one edge that nothing is beside yet, all in one direction.
    let mut waiting: std::collections::VecDeque<(u32, u8)> = std::collections::VecDeque::new();
    let (mut here, mut rising) = ((NONE, NONE), false);
    for (low, high, at, edge) in edges {
        if (low, high) != here {
            waiting.clear();
            here = (low, high);
        }
        let runs = faces.get(at as usize).and_then(|face| face.edges().get(edge as usize).copied());
        let rises = runs.is_some_and(|(from, _)| from == low);
        if waiting.is_empty() {
            rising = rises;
        }
        if rises == rising {
            waiting.push_back((at, edge));
        } else if let Some((other, its)) = waiting.pop_front() {
            for (one, its, other) in [(at, edge, other), (other, its, at)] {
                let face = faces.get_mut(one as usize);
                if let Some(place) = face.and_then(|face| face.beside.get_mut(its as usize)) {
                    *place = other;
                }
            }
        }
    }
}

/// Collects the group of a corner, unless it has one already, as triangles and which of their
/// corners it is.
fn gather(
    faces: &mut [Face],
    first: usize,
    corner: usize,
    open: &mut Vec<u32>,
    group: &mut Vec<(u32, usize)>,
) {
    let Some(face) = faces.get(first) else { return };
    if face.vague || face.flat || face.grouped.get(corner) != Some(&false) {
        return;
    }
    let (upright, vertex) = (face.upright, face.corners.get(corner).copied());
    open.push(first as u32);
    while let Some(at) = open.pop() {
        let Some(face) = faces.get_mut(at as usize) else { continue };
        let Some(corner) = face.corners.iter().position(|one| Some(*one) == vertex) else {
            continue;
        };
        if face.grouped.get(corner) != Some(&false) {
            continue;
        }
        // The first group that comes by decides for a vague one.
        if face.vague && face.grouped == [false; 3] {
            face.upright = upright;
        }
        if face.upright != upright {
            continue;
        }
        if let Some(grouped) = face.grouped.get_mut(corner) {
            *grouped = true;
        }
        group.push((at, corner));
        let around = [(corner + 2) % 3, corner].map(|edge| face.beside.get(edge).copied());
        open.extend(around.into_iter().flatten().filter(|at| *at != NONE));
    }
}

/// The tangent of a group.
fn mean(mesh: Mesh<'_>, faces: &[Face], group: &[(u32, usize)]) -> Vec4 {
    let mut sum = Vec3::ZERO;
    let mut upright = true;
    for (face, corner) in group {
        let Some(face) = faces.get(*face as usize) else { continue };
        upright = face.upright;
        if face.vague {
            continue;
        }
        let [here, next, last] =
            [0, 1, 2].map(|step| at(&face.corners, (*corner as u32 + step) % 3));
        let normal = at(mesh.normals, here);
        let flat = |along: Vec3| (along - normal * normal.dot(along)).normalize_or_zero();
        let place = at(mesh.positions, here);
        let [next, last] = [next, last].map(|one| flat(at(mesh.positions, one) - place));
        let angle = next.dot(last).clamp(-1.0, 1.0).acos();
        sum += flat(face.along_u) * angle;
    }
    match sum.try_normalize() {
        Some(tangent) => tangent.extend(if upright { 1.0 } else { -1.0 }),
        None => Vec4::ZERO,
    }
}

/// Corners without a tangent take the first one at the same vertex.
fn borrow(faces: &[Face], vertices: usize, tangents: &mut [Vec4]) {
    let mut first = vec![Vec4::ZERO; vertices];
    let corners = || faces.iter().flat_map(|face| face.corners);
    for (vertex, tangent) in corners().zip(tangents.iter()) {
        if let Some(place) = first.get_mut(vertex as usize).filter(|place| **place == Vec4::ZERO) {
            *place = *tangent;
        }
    }
    for (vertex, tangent) in corners().zip(tangents.iter_mut()) {
        if *tangent == Vec4::ZERO {
            *tangent = at(&first, vertex);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy_mikktspace::{Geometry, TangentSpace, generate_tangents_with_threshold};
    use proptest::prelude::*;

    /// Triangles handed to the yardstick.
    struct Measured<'a> {
        mesh: Mesh<'a>,
        tangents: Vec<Option<Vec4>>,
    }

    impl Measured<'_> {
        fn vertex(&self, face: usize, corner: usize) -> usize {
            self.mesh.indices[face * 3 + corner] as usize
        }
    }

    impl Geometry for Measured<'_> {
        fn num_faces(&self) -> usize {
            self.mesh.indices.len() / 3
        }

        fn num_vertices_of_face(&self, _: usize) -> usize {
            3
        }

        fn position(&self, face: usize, corner: usize) -> [f32; 3] {
            self.mesh.positions[self.vertex(face, corner)].to_array()
        }

        fn normal(&self, face: usize, corner: usize) -> [f32; 3] {
            self.mesh.normals[self.vertex(face, corner)].to_array()
        }

        fn tex_coord(&self, face: usize, corner: usize) -> [f32; 2] {
            let uv = self.mesh.uvs[self.vertex(face, corner)];
            [uv.x, -uv.y]
        }

        fn set_tangent(&mut self, found: Option<TangentSpace>, face: usize, corner: usize) {
            self.tangents[face * 3 + corner] = found.map(|one| one.tangent_encoded().into());
        }
    }

    /// The tangents of the widely used implementation. Its usual threshold takes directions that
    /// are exactly opposite apart; a lower one takes nothing apart.
    fn measured(mesh: Mesh<'_>) -> Vec<Option<Vec4>> {
        let mut measured = Measured { mesh, tangents: vec![None; mesh.indices.len()] };
        generate_tangents_with_threshold(&mut measured, -2.0).expect("cannot fail");
        measured.tangents
    }

    #[derive(Debug, Clone)]
    struct Soup {
        positions: Vec<Vec3>,
        normals: Vec<Vec3>,
        uvs: Vec<Vec2>,
        indices: Vec<u32>,
    }

    /// Triangles between few places, so that they share corners and edges, mirror each other, lie
    /// twofold and have no area now and then.
    fn soup() -> impl Strategy<Value = Soup> {
        let number = || -1.0_f32..1.0;
        let places = prop::collection::vec((number(), number(), number()), 5);
        let uvs = prop::collection::vec((number(), number()), 4);
        let vertices = prop::collection::vec((0..5_usize, 0..2_usize, 0..4_usize), 10);
        let indices = prop::collection::vec(0..10_u32, 90);
        (places, uvs, vertices, indices).prop_map(|(places, uvs, vertices, indices)| Soup {
            positions: vertices.iter().map(|one| Vec3::from(places[one.0])).collect(),
            normals: vertices.iter().map(|one| [Vec3::Z, Vec3::X][one.1]).collect(),
            uvs: vertices.iter().map(|one| Vec2::from(uvs[one.2])).collect(),
            indices,
        })
    }

    proptest! {
        #[test]
        fn tangents_are_those_of_the_widely_used_implementation(soup in soup()) {
            let Soup { positions, normals, uvs, indices } = &soup;
            let mesh = Mesh { positions, normals, uvs, indices };
            for (at, (ours, theirs)) in tangents(mesh).into_iter().zip(measured(mesh)).enumerate() {
                // Where triangles pull against each other nothing but rounding is left.
                let Some(theirs) = theirs.filter(|one| one.truncate().length() > 0.5) else {
                    continue;
                };
                prop_assert!(ours.abs_diff_eq(theirs, 2e-3), "{at}: {ours} instead of {theirs}");
            }
        }
    }

    #[test]
    fn a_fan_of_any_size_takes_time_in_proportion() {
        let spokes = 100_000_u32;
        let around = |at: u32| Vec2::from_angle(at as f32 / spokes as f32 * 6.0);
        let positions: Vec<Vec3> = std::iter::once(Vec3::ZERO)
            .chain((0..=spokes).map(|at| around(at).extend(0.0)))
            .collect();
        let normals = vec![Vec3::Z; positions.len()];
        let uvs: Vec<Vec2> = positions.iter().map(|at| Vec2::new(at.x, -at.y)).collect();
        let indices: Vec<u32> = (1..=spokes).flat_map(|at| [0, at, at + 1]).collect();
        let mesh = Mesh { positions: &positions, normals: &normals, uvs: &uvs, indices: &indices };
        for tangent in tangents(mesh) {
            assert!(tangent.abs_diff_eq(Vec4::new(1.0, 0.0, 0.0, 1.0), 0.02), "{tangent}");
        }
    }
}
