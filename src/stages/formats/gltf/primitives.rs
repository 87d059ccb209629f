//! Triangles of a glTF primitive, posed and moved to the world.

use super::data::Data;
use super::materials::Look;
use super::skins;
use super::suspect::Suspect;
use crate::preview::scene::Part;
use crate::protocol::work::Failure;
use crate::stages::formats::corrupt;
use crate::stages::formats::strokes::Strokes;
use glam::{Mat3, Mat4, Vec2, Vec3, Vec4};
use gltf::json::accessor::Type;
use gltf::json::mesh::{Mode, Primitive, Semantic};
use gltf::json::validation::Checked;

/// How a primitive is brought to the world.
pub(super) struct Pose<'a> {
    pub world: Mat4,
    /// Matrices of the joints; then `world` does not count.
    pub joints: Option<&'a [Mat4]>,
    /// Weights of the morph targets.
    pub weights: &'a [f32],
}

/// What a pose moves: one entry a corner each, or none.
#[derive(Default)]
pub(super) struct Corners {
    pub positions: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    /// w says on which side the bitangent lies.
    pub tangents: Vec<Vec4>,
}

/// What became of a primitive.
pub(super) enum Outcome {
    Part(Part),
    /// Points or lines.
    Strokes(Strokes),
    /// It has no corners.
    Nothing,
}

/// Reads a primitive. The part's material is left to the caller.
pub(super) fn read(
    data: &Data<'_>,
    primitive: &Primitive,
    look: &Look,
    pose: &Pose<'_>,
    name: &str,
    suspect: &mut Suspect,
) -> Result<Outcome, Failure> {
    let Checked::Valid(mode) = primitive.mode else {
        return Err(corrupt(format!("{}: '{name}' is of an unknown kind", data.name)));
    };
    let find = |semantic: Semantic| find(primitive, semantic);
    let Some(position) = find(Semantic::Positions) else { return Ok(Outcome::Nothing) };
    let positions = vectors(data, position)?;
    let count = positions.len();
    suspect.bounds(data, position, &positions);
    let normals =
        find(Semantic::Normals).map(|at| vectors(data, at)).transpose()?.unwrap_or_default();
    let Paint { uvs, more_uvs, colors } = Paint::read(data, primitive, look)?;
    let has_uvs = !uvs.is_empty() && (look.places.second.is_none() || !more_uvs.is_empty());
    suspect.coordinates(look, has_uvs, name);
    for (what, length) in [
        ("normals", normals.len()),
        ("texture coordinates", uvs.len()),
        ("texture coordinates", more_uvs.len()),
        ("colours", colors.len()),
    ] {
        if length != 0 && length != count {
            return Err(corrupt(format!(
                "{}: '{name}' has {count} corners, but {length} {what}. Export it again",
                data.name
            )));
        }
    }
    let tangents = tangents(data, primitive, look, &normals);
    let mut corners = Corners { positions, normals, tangents };
    morph(data, primitive, pose.weights, &mut corners)?;
    let flipped = match pose.joints {
        Some(joints) => {
            let bones = skins::bones(data, primitive, joints.len(), count, name)?;
            skins::bend(joints, &bones, &mut corners)
        }
        None => transform(pose.world, &mut corners),
    };
    let Corners { positions, normals, tangents } = corners;
    let indices = indices(data, primitive, count, name)?;
    if matches!(mode, Mode::Points | Mode::Lines | Mode::LineLoop | Mode::LineStrip) {
        let mut strokes =
            Strokes { name: name.to_owned(), positions, colors, ..Strokes::default() };
        match mode {
            Mode::Points => strokes.points = indices,
            _ => strokes.lines = lines(mode, &indices),
        }
        return Ok(Outcome::Strokes(strokes));
    }
    let indices = triangles(mode, &indices, flipped);
    Ok(Outcome::Part(Part {
        name: name.to_owned(),
        positions,
        normals,
        uvs,
        more_uvs,
        tangents,
        colors,
        indices,
        material: 0,
    }))
}

/// What a corner wears: one entry a corner each, or none.
struct Paint {
    uvs: Vec<Vec2>,
    more_uvs: Vec<Vec2>,
    colors: Vec<Vec4>,
}

impl Paint {
    fn read(data: &Data<'_>, primitive: &Primitive, look: &Look) -> Result<Self, Failure> {
        let uvs = |set| {
            let at = find(primitive, Semantic::TexCoords(set));
            let list = at.map(|at| data.floats::<2>(at)).transpose()?;
            Ok::<Vec<Vec2>, Failure>(list.into_iter().flatten().map(Vec2::from).collect())
        };
        let places = &look.places;
        let first = uvs(places.first)?.into_iter().map(|uv| places.place(uv)).collect();
        let colors = find(primitive, Semantic::Colors(0)).map(|at| colors(data, at)).transpose()?;
        Ok(Self {
            uvs: first,
            more_uvs: places.second.map(uvs).transpose()?.unwrap_or_default(),
            colors: colors.unwrap_or_default(),
        })
    }
}

/// The corners in their order; each one exists.
fn indices(
    data: &Data<'_>,
    primitive: &Primitive,
    count: usize,
    name: &str,
) -> Result<Vec<u32>, Failure> {
    let indices = match primitive.indices {
        Some(accessor) => data.integers::<1>(accessor.value())?.into_iter().map(|[i]| i).collect(),
        None => (0..count as u32).collect::<Vec<u32>>(),
    };
    if let Some(index) = indices.iter().find(|index| **index as usize >= count) {
        return Err(corrupt(format!(
            "{}: '{name}' uses corner {index}, but has only {count}. Export it again",
            data.name
        )));
    }
    Ok(indices)
}

/// The accessor of an attribute.
pub(super) fn find(primitive: &Primitive, semantic: Semantic) -> Option<usize> {
    primitive.attributes.get(&Checked::Valid(semantic)).map(gltf::json::Index::value)
}

fn vectors(data: &Data<'_>, accessor: usize) -> Result<Vec<Vec3>, Failure> {
    Ok(data.floats::<3>(accessor)?.into_iter().map(Vec3::from).collect())
}

/// The tangents, where a normal texture wants them. Without normals they do not count (glTF 2.0
/// §3.7.2.1). Those that cannot be read are no numbers, so that they are made anew as all bad ones.
fn tangents(data: &Data<'_>, primitive: &Primitive, look: &Look, normals: &[Vec3]) -> Vec<Vec4> {
    let wanted = look.material.normal_texture.is_some() && !normals.is_empty();
    let Some(accessor) = find(primitive, Semantic::Tangents).filter(|_| wanted) else {
        return Vec::new();
    };
    let list = data.floats::<4>(accessor).ok().filter(|list| list.len() == normals.len());
    match list {
        Some(list) => list.into_iter().map(Vec4::from).collect(),
        None => vec![Vec4::NAN; normals.len()],
    }
}

fn colors(data: &Data<'_>, accessor: usize) -> Result<Vec<Vec4>, Failure> {
    if data.width(accessor)? == Type::Vec3.multiplicity() {
        let colors = data.fractions::<3>(accessor)?;
        Ok(colors.into_iter().map(|color| Vec3::from(color).extend(1.0)).collect())
    } else {
        Ok(data.fractions::<4>(accessor)?.into_iter().map(Vec4::from).collect())
    }
}

fn morph(
    data: &Data<'_>,
    primitive: &Primitive,
    weights: &[f32],
    corners: &mut Corners,
) -> Result<(), Failure> {
    let targets = primitive.targets.iter().flatten();
    for (target, weight) in targets.zip(weights).filter(|(_, weight)| **weight != 0.0) {
        let deltas = |accessor: Option<gltf::json::Index<gltf::json::Accessor>>, count: usize| {
            let Some(accessor) = accessor.filter(|_| count > 0) else { return Ok(Vec::new()) };
            let deltas = vectors(data, accessor.value())?;
            if deltas.len() < count {
                return Err(corrupt(format!(
                    "{}: a morph target has {} corners instead of {count}. Export it again",
                    data.name,
                    deltas.len(),
                )));
            }
            Ok(deltas)
        };
        for (accessor, list) in
            [(target.positions, &mut corners.positions), (target.normals, &mut corners.normals)]
        {
            let deltas = deltas(accessor, list.len())?;
            for (value, delta) in list.iter_mut().zip(deltas) {
                *value += delta * *weight;
            }
        }
        let deltas = deltas(target.tangents, corners.tangents.len())?;
        for (value, delta) in corners.tangents.iter_mut().zip(deltas) {
            *value += (delta * *weight).extend(0.0);
        }
    }
    Ok(())
}

/// Moves to the world; whether the matrix mirrors, so that triangles must be turned.
fn transform(world: Mat4, corners: &mut Corners) -> bool {
    let linear = Mat3::from_mat4(world);
    let for_normals = normal_matrix(linear);
    for position in &mut corners.positions {
        *position = world.transform_point3(*position);
    }
    for normal in &mut corners.normals {
        *normal = for_normals * *normal;
    }
    for tangent in &mut corners.tangents {
        *tangent = turned_tangent(linear, *tangent);
    }
    linear.determinant() < 0.0
}

/// A tangent lies along the surface and goes with it; where the matrix mirrors, so does the side on
/// which its bitangent lies.
pub(super) fn turned_tangent(linear: Mat3, tangent: Vec4) -> Vec4 {
    let side = if linear.determinant() < 0.0 { -tangent.w } else { tangent.w };
    // Tiny and huge models keep their tangents.
    let along = linear * tangent.truncate();
    let most = along.abs().max_element();
    let along = if most > 0.0 && most.is_finite() { along / most } else { along };
    along.extend(side)
}

/// The inverse transpose up to a positive factor: the cofactors, which exist for flat scales too.
pub(super) fn normal_matrix(linear: Mat3) -> Mat3 {
    let (x, y, z) = (linear.x_axis, linear.y_axis, linear.z_axis);
    let sign = if linear.determinant() < 0.0 { -1.0 } else { 1.0 };
    let columns = Mat3::from_cols(y.cross(z), z.cross(x), x.cross(y));
    // Scaled to about 1, so that tiny models keep their normals.
    let most =
        columns.to_cols_array().into_iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    if most > 0.0 && most.is_finite() { columns * (sign / most) } else { Mat3::IDENTITY }
}

/// Two indices a line.
fn lines(mode: Mode, indices: &[u32]) -> Vec<[u32; 2]> {
    let pair = |pair: &[u32]| <[u32; 2]>::try_from(pair).ok();
    if mode == Mode::Lines {
        return indices.chunks_exact(2).filter_map(pair).collect();
    }
    let mut lines: Vec<[u32; 2]> = indices.windows(2).filter_map(pair).collect();
    if let (Mode::LineLoop, Some(first), Some(last)) = (mode, indices.first(), indices.last()) {
        lines.push([*last, *first]);
    }
    lines
}

/// Three indices a triangle; `flipped` turns each one.
fn triangles(mode: Mode, indices: &[u32], flipped: bool) -> Vec<u32> {
    let mut list: Vec<u32> = match mode {
        Mode::TriangleStrip => indices
            .windows(3)
            .enumerate()
            .flat_map(|(at, window)| match window {
                [a, b, c] if at % 2 == 0 => [*a, *b, *c],
                [a, b, c] => [*a, *c, *b],
                _ => [0; 3],
            })
            .collect(),
        Mode::TriangleFan => indices
            .get(1..)
            .unwrap_or_default()
            .windows(2)
            .flat_map(|window| match (indices.first(), window) {
                (Some(first), [b, c]) => [*first, *b, *c],
                _ => [0; 3],
            })
            .collect(),
        _ => indices.to_vec(),
    };
    list.truncate(list.len() / 3 * 3);
    if flipped {
        for triangle in list.chunks_exact_mut(3) {
            triangle.swap(1, 2);
        }
    }
    list
}
