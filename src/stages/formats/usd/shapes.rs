//! The meshes of a USD as parts, one for each mesh and material.

use super::looks::{Looks, Place};
use super::values::{self, Reader};
use crate::preview::scene::Part;
use crate::protocol::work::Failure;
use crate::stages::formats::mesh::{Budget, Mended, complete};
use crate::stages::formats::{corrupt, polygon};
use glam::{DMat4, Mat3, Vec2, Vec3, Vec4};
use openusd::sdf::Value;
use openusd::usd::Prim;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// What the values of a list belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Whole,
    Faces,
    Points,
    Corners,
}

/// A list of values, spread over a mesh.
#[derive(Debug, Clone)]
struct Spread<T> {
    values: Vec<T>,
    indices: Option<Vec<i64>>,
    over: Over,
}

/// A corner of a face: the numbers of its face, its point, and of itself.
#[derive(Debug, Clone, Copy)]
struct Corner {
    face: usize,
    point: usize,
    at: usize,
}

impl<T: Copy> Spread<T> {
    /// The place of a corner's value in the list.
    fn place(&self, corner: Corner) -> u32 {
        let at = match self.over {
            Over::Whole => 0,
            Over::Faces => corner.face,
            Over::Points => corner.point,
            Over::Corners => corner.at,
        };
        let at = match &self.indices {
            Some(indices) => indices.get(at).and_then(|index| usize::try_from(*index).ok()),
            None => Some(at),
        };
        at.and_then(|at| u32::try_from(at).ok()).unwrap_or(u32::MAX)
    }

    fn get(&self, place: u32) -> Option<T> {
        self.values.get(place as usize).copied()
    }
}

/// A mesh as the file has it.
#[derive(Debug)]
pub(super) struct Mesh {
    path: openusd::sdf::Path,
    label: String,
    points: Vec<Vec3>,
    /// The point of each corner.
    corners: Vec<usize>,
    /// The corners of each face.
    faces: Vec<Range<usize>>,
    holes: HashSet<i64>,
    normals: Option<Spread<Vec3>>,
    colors: Option<Spread<Vec3>>,
    opacities: Option<Spread<f32>>,
    left_handed: bool,
    subdivided: bool,
    /// Materials of single faces.
    dressed: HashMap<usize, usize>,
}

impl Mesh {
    /// Reads a mesh; none where it has no faces.
    pub(super) fn read(reader: &Reader<'_>, prim: &Prim) -> Result<Option<Self>, Failure> {
        let label = prim.path().name().unwrap_or("mesh").to_owned();
        let points = reader.get(prim, "points")?.and_then(values::vectors).unwrap_or_default();
        let counts = reader.indices(prim, "faceVertexCounts")?.unwrap_or_default();
        let indices = reader.indices(prim, "faceVertexIndices")?.unwrap_or_default();
        let bad = |why: String| {
            corrupt(format!("{}: the mesh '{label}' {why}. Export it again", reader.name))
        };
        let mut corners = Vec::with_capacity(indices.len());
        for index in indices {
            let point = usize::try_from(index).ok().filter(|at| *at < points.len());
            corners.push(point.ok_or_else(|| {
                bad(format!("uses point {index}, but has only {}", points.len()))
            })?);
        }
        let (mut faces, mut at) = (Vec::with_capacity(counts.len()), 0_usize);
        for count in counts {
            let end = usize::try_from(count).ok().and_then(|count| at.checked_add(count));
            let end = end.filter(|end| *end <= corners.len());
            let end = end.ok_or_else(|| {
                bad(format!("has faces of more corners than its {}", corners.len()))
            })?;
            faces.push(at..end);
            at = end;
        }
        if faces.is_empty() {
            return Ok(None);
        }
        let normals = match Self::spread(reader, prim, "primvars:normals", values::vectors)? {
            Some(normals) => Some(normals),
            None => Self::spread(reader, prim, "normals", values::vectors)?,
        };
        let scheme = reader.word(prim, "subdivisionScheme")?;
        let subdivided = scheme.is_none_or(|scheme| scheme != "none");
        Ok(Some(Self {
            path: prim.path().clone(),
            points,
            corners,
            faces,
            holes: reader.indices(prim, "holeIndices")?.into_iter().flatten().collect(),
            normals,
            colors: Self::spread(reader, prim, "primvars:displayColor", values::vectors)?,
            opacities: Self::spread(reader, prim, "primvars:displayOpacity", values::numbers)?,
            left_handed: reader.word(prim, "orientation")?.as_deref() == Some("leftHanded"),
            subdivided,
            dressed: HashMap::new(),
            label,
        }))
    }

    fn spread<T>(
        reader: &Reader<'_>,
        prim: &Prim,
        name: &str,
        list: impl Fn(Value) -> Option<Vec<T>>,
    ) -> Result<Option<Spread<T>>, Failure> {
        let values = reader.get(prim, name)?.and_then(list);
        let Some(values) = values.filter(|values| !values.is_empty()) else { return Ok(None) };
        let indices = reader.indices(prim, &format!("{name}:indices"))?;
        // What a file does not say is a constant, but for normals, which belong to the points.
        let over = match reader.spread(prim, name)?.as_deref() {
            Some("uniform") => Over::Faces,
            Some("vertex" | "varying") => Over::Points,
            Some("faceVarying") => Over::Corners,
            None if name == "normals" => Over::Points,
            _ => Over::Whole,
        };
        Ok(Some(Spread { values, indices, over }))
    }

    /// Gives some faces a material of their own.
    pub(super) fn dress(&mut self, faces: &[i64], look: usize) {
        let faces = faces.iter().filter_map(|face| usize::try_from(*face).ok());
        self.dressed.extend(faces.map(|face| (face, look)));
    }
}

/// Meshes read so far.
pub(super) struct Shapes<'a> {
    reader: &'a Reader<'a>,
    budget: Budget,
    parts: Vec<Part>,
    /// Meshes that stand for a smoother surface.
    pub subdivided: usize,
}

/// A mesh at its place.
struct Placed<'a> {
    mesh: &'a Mesh,
    world: DMat4,
    for_normals: Mat3,
    flipped: bool,
    normals: Option<Spread<Vec3>>,
    uvs: Option<Spread<Vec2>>,
    place: Place,
    has_colors: bool,
}

impl<'a> Shapes<'a> {
    pub(super) fn new(reader: &'a Reader<'a>) -> Self {
        Self { reader, budget: Budget::default(), parts: Vec::new(), subdivided: 0 }
    }

    /// Adds a mesh, at its place in the world and with the material of most of its faces.
    pub(super) fn add(
        &mut self,
        mesh: &Mesh,
        look: usize,
        world: DMat4,
        looks: &mut Looks<'_>,
    ) -> Result<(), Failure> {
        self.subdivided += usize::from(mesh.subdivided);
        let mut by_look: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for face in 0..mesh.faces.len() {
            if !i64::try_from(face).is_ok_and(|face| mesh.holes.contains(&face)) {
                let own = mesh.dressed.get(&face).copied().unwrap_or(look);
                by_look.entry(own).or_default().push(face);
            }
        }
        let prim = self.reader.stage.prim(mesh.path.clone());
        for (look, faces) in by_look {
            let place = looks.place(look);
            let name = format!("primvars:{}", place.set);
            let uvs = Mesh::spread(self.reader, &prim, &name, values::pairs)?;
            let has_colors =
                looks.is_bare(look) && (mesh.colors.is_some() || mesh.opacities.is_some());
            let placed = Placed::of(mesh, world, uvs, place, has_colors);
            let corners = faces.iter().filter_map(|face| mesh.faces.get(*face));
            let corners: usize = corners.map(|face| face.len().saturating_sub(2) * 3).sum();
            self.budget.take(corners, corners, self.reader.name)?;
            let see_through = mesh
                .opacities
                .as_ref()
                .is_some_and(|list| has_colors && list.values.iter().any(|opacity| *opacity < 1.0));
            let material = if see_through { looks.clear() } else { look };
            self.parts.push(Part { material, ..placed.part(&faces) });
        }
        Ok(())
    }

    /// The parts, and what was mended in them.
    pub(super) fn finish(mut self) -> Result<(Vec<Part>, Mended), Failure> {
        let mut mended = Mended::default();
        for part in &mut self.parts {
            mended.add(complete(part, self.reader.name)?);
        }
        Ok((self.parts, mended))
    }
}

impl<'a> Placed<'a> {
    fn of(
        mesh: &'a Mesh,
        world: DMat4,
        uvs: Option<Spread<Vec2>>,
        place: Place,
        has_colors: bool,
    ) -> Self {
        let linear = Mat3::from_mat4(world.as_mat4());
        let mirrored = linear.determinant() < 0.0;
        let sign = if mirrored { -1.0 } else { 1.0 };
        let (x, y, z) = (linear.x_axis, linear.y_axis, linear.z_axis);
        let cofactors = Mat3::from_cols(y.cross(z), z.cross(x), x.cross(y));
        let most = cofactors.to_cols_array().into_iter().fold(0.0_f32, |a, b| a.max(b.abs()));
        let scale = if most > 0.0 && most.is_finite() { sign / most } else { 1.0 };
        let mut placed = Self {
            mesh,
            world,
            for_normals: cofactors * scale,
            flipped: mesh.left_handed != mirrored,
            normals: mesh.normals.clone(),
            uvs,
            place,
            has_colors,
        };
        // The smooth surface that a cage stands for has smooth normals.
        if mesh.subdivided && placed.normals.is_none() {
            placed.normals = Some(placed.smooth());
        }
        placed
    }

    /// Normals of the points, in the file's space.
    fn smooth(&self) -> Spread<Vec3> {
        let mesh = self.mesh;
        let mut values = vec![Vec3::ZERO; mesh.points.len()];
        let sign = if mesh.left_handed { -1.0 } else { 1.0 };
        let point = |corner: usize| {
            let at = mesh.corners.get(corner).copied().unwrap_or(usize::MAX);
            mesh.points.get(at).copied().unwrap_or(Vec3::ZERO)
        };
        for face in &mesh.faces {
            let first = point(face.start);
            let pairs = face.clone().zip(face.clone().skip(1));
            let normal: Vec3 = pairs.map(|(a, b)| (point(a) - first).cross(point(b) - first)).sum();
            for corner in face.clone() {
                let at = mesh.corners.get(corner).copied().unwrap_or(usize::MAX);
                if let Some(value) = values.get_mut(at) {
                    *value += normal * sign;
                }
            }
        }
        Spread { values, indices: None, over: Over::Points }
    }

    fn part(&self, faces: &[usize]) -> Part {
        let mut made = Part { name: self.mesh.label.clone(), ..Part::default() };
        let mut known: HashMap<[u32; 5], u32> = HashMap::new();
        for face in faces {
            for triangle in self.triangles(*face) {
                let [a, b, c] = triangle.map(|corner| self.corner(corner, &mut made, &mut known));
                made.indices.extend(if self.flipped { [a, c, b] } else { [a, b, c] });
            }
        }
        made
    }

    fn triangles(&self, face: usize) -> Vec<[Corner; 3]> {
        let Some(range) = self.mesh.faces.get(face).cloned() else { return Vec::new() };
        let corners: Vec<Corner> = range
            .map(|at| Corner {
                face,
                point: self.mesh.corners.get(at).copied().unwrap_or(usize::MAX),
                at,
            })
            .collect();
        let positions: Vec<Vec3> = corners
            .iter()
            .map(|corner| self.mesh.points.get(corner.point).copied().unwrap_or(Vec3::NAN))
            .collect();
        let triangles = polygon::triangulate(&positions).into_iter();
        let corner = |at: usize| corners.get(at).copied();
        triangles.filter_map(|[a, b, c]| Some([corner(a)?, corner(b)?, corner(c)?])).collect()
    }

    /// The number of a corner in the part; made where it is new.
    fn corner(&self, corner: Corner, made: &mut Part, known: &mut HashMap<[u32; 5], u32>) -> u32 {
        let mesh = self.mesh;
        let none = u32::MAX;
        let colors = mesh.colors.as_ref().filter(|_| self.has_colors);
        let opacities = mesh.opacities.as_ref().filter(|_| self.has_colors);
        let key = [
            u32::try_from(corner.point).unwrap_or(none),
            self.normals.as_ref().map_or(none, |list| list.place(corner)),
            self.uvs.as_ref().map_or(none, |list| list.place(corner)),
            colors.map_or(none, |list| list.place(corner)),
            opacities.map_or(none, |list| list.place(corner)),
        ];
        let [_, normal_at, uv_at, color_at, opacity_at] = key;
        *known.entry(key).or_insert_with(|| {
            let position = mesh.points.get(corner.point).copied().unwrap_or(Vec3::NAN);
            made.positions.push(self.world.transform_point3(position.as_dvec3()).as_vec3());
            if let Some(list) = &self.normals {
                let normal = list.get(normal_at).unwrap_or(Vec3::ZERO);
                made.normals.push(self.for_normals * normal);
            }
            if let Some(list) = &self.uvs {
                made.uvs.push(list.get(uv_at).map_or(Vec2::ZERO, |uv| self.place.uv(uv)));
            }
            if self.has_colors {
                let color = colors.and_then(|list| list.get(color_at)).unwrap_or(Vec3::ONE);
                let opacity = opacities.and_then(|list| list.get(opacity_at)).unwrap_or(1.0);
                let color: Vec4 = color.extend(opacity);
                made.colors.push(color);
            }
            made.positions.len() as u32 - 1
        })
    }
}
