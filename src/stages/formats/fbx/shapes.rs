//! The meshes of an FBX as parts, one for each node and material.

use super::looks::{Looks, Place};
use crate::preview::scene::Part;
use crate::protocol::work::Failure;
use crate::stages::formats::mesh::{Budget, Mended, complete};
use crate::stages::formats::polygon;
use glam::{DMat4, DVec3, DVec4, Mat3, Vec2, Vec3};
use std::collections::HashMap;
use ufbx::{Face, Matrix, Mesh, MeshPart, Node, VertexVec3};

/// Meshes read so far.
pub(super) struct Shapes<'a> {
    pub name: &'a str,
    pub budget: Budget,
    pub parts: Vec<Part>,
    /// Meshes that the file hides.
    pub hidden: usize,
}

/// A mesh at its place.
struct Placed<'a> {
    mesh: &'a Mesh,
    positions: &'a VertexVec3,
    normals: &'a VertexVec3,
    world: DMat4,
    for_normals: Mat3,
    flipped: bool,
}

impl Shapes<'_> {
    /// Reads the mesh of a node, if it has one.
    pub(super) fn node(&mut self, node: &Node, looks: &mut Looks<'_>) -> Result<(), Failure> {
        let Some(mesh) = node.mesh.as_ref().map(AsRef::as_ref) else { return Ok(()) };
        if !node.visible {
            self.hidden += 1;
            return Ok(());
        }
        let placed = Placed::of(node, mesh);
        for part in &mesh.material_parts {
            if part.num_triangles == 0 {
                continue;
            }
            let corners = part.num_triangles.saturating_mul(3);
            self.budget.take(corners, corners, self.name)?;
            let at = part.index as usize;
            // A node may have other materials than the mesh that it shares with others.
            let own = node.materials.get(at).or_else(|| mesh.materials.get(at));
            let look = looks.of(own.map(AsRef::as_ref))?;
            let label = if node.element.name.is_empty() {
                format!("node {}", node.element.typed_id)
            } else {
                node.element.name.to_string()
            };
            let place = looks.place(look);
            self.parts.push(Part { material: look, ..placed.part(part, label, &place) });
        }
        Ok(())
    }

    /// The parts, what was mended in them, and how many meshes are hidden.
    pub(super) fn finish(mut self) -> Result<(Vec<Part>, Mended, usize), Failure> {
        let mut mended = Mended::default();
        for part in &mut self.parts {
            mended.add(complete(part, self.name)?);
        }
        Ok((self.parts, mended, self.hidden))
    }
}

impl<'a> Placed<'a> {
    fn of(node: &Node, mesh: &'a Mesh) -> Self {
        let own = matrix(&node.geometry_to_world);
        let flipped = own.determinant() < 0.0;
        // Posed corners are in the world already.
        let world = if mesh.skinned_is_local { own } else { DMat4::IDENTITY };
        let linear = world.as_mat4();
        let linear = Mat3::from_mat4(linear);
        let sign = if linear.determinant() < 0.0 { -1.0 } else { 1.0 };
        let (x, y, z) = (linear.x_axis, linear.y_axis, linear.z_axis);
        let cofactors = Mat3::from_cols(y.cross(z), z.cross(x), x.cross(y));
        let most = cofactors.to_cols_array().into_iter().fold(0.0_f32, |a, b| a.max(b.abs()));
        let scale = if most > 0.0 && most.is_finite() { sign / most } else { 1.0 };
        Self {
            mesh,
            positions: &mesh.skinned_position,
            normals: &mesh.skinned_normal,
            world,
            for_normals: cofactors * scale,
            flipped,
        }
    }

    fn part(&self, part: &MeshPart, name: String, place: &Place) -> Part {
        let uvs = place.uvs(self.mesh);
        let colors = &self.mesh.vertex_color;
        let mut made = Part { name, ..Part::default() };
        let mut known: HashMap<[u32; 4], u32> = HashMap::new();
        let faces = part.face_indices.iter().filter_map(|at| self.mesh.faces.get(*at as usize));
        for (corner, at) in faces.flat_map(|face| self.triangles(*face)).enumerate() {
            let entry = |list: &[u32]| list.get(at as usize).copied().unwrap_or(u32::MAX);
            let key = [
                entry(&self.positions.indices),
                entry(&self.normals.indices),
                uvs.map_or(u32::MAX, |uvs| entry(&uvs.indices)),
                if colors.exists { entry(&colors.indices) } else { u32::MAX },
            ];
            let index = *known.entry(key).or_insert_with(|| {
                let [position, normal, uv, color] = key.map(|index| index as usize);
                made.positions.push(self.position(position));
                if self.normals.exists {
                    let normal = self.normals.values.get(normal);
                    let normal = normal.map_or(Vec3::ZERO, |n| vector(*n).as_vec3());
                    made.normals.push(self.for_normals * normal);
                }
                if let Some(uvs) = uvs {
                    let uv = uvs.values.get(uv).map_or(Vec2::ZERO, |uv| place.uv(uv.x, uv.y));
                    made.uvs.push(uv);
                }
                if colors.exists {
                    let color = colors.values.get(color);
                    let color = color.map_or(DVec4::ONE, |c| DVec4::new(c.x, c.y, c.z, c.w));
                    made.colors.push(color.as_vec4());
                }
                made.positions.len() as u32 - 1
            });
            made.indices.push(index);
            if self.flipped && corner % 3 == 2 {
                let last = made.indices.len() - 1;
                made.indices.swap(last, last - 1);
            }
        }
        made
    }

    /// The corners of a face, three a triangle, as places in the mesh's lists.
    fn triangles(&self, face: Face) -> Vec<u32> {
        let corners = face.index_begin..face.index_begin.saturating_add(face.num_indices);
        let positions: Vec<Vec3> = corners
            .clone()
            .map(|at| self.positions.indices.get(at as usize).copied().unwrap_or(u32::MAX))
            .map(|at| {
                self.positions.values.get(at as usize).map_or(Vec3::NAN, |p| vector(*p).as_vec3())
            })
            .collect();
        let triangles = polygon::triangulate(&positions);
        triangles.iter().flatten().map(|at| face.index_begin + *at as u32).collect()
    }

    fn position(&self, at: usize) -> Vec3 {
        let position = self.positions.values.get(at).map_or(DVec3::NAN, |p| vector(*p));
        self.world.transform_point3(position).as_vec3()
    }
}

fn vector(from: ufbx::Vec3) -> DVec3 {
    DVec3::new(from.x, from.y, from.z)
}

fn matrix(from: &Matrix) -> DMat4 {
    DMat4::from_cols(
        DVec4::new(from.m00, from.m10, from.m20, 0.0),
        DVec4::new(from.m01, from.m11, from.m21, 0.0),
        DVec4::new(from.m02, from.m12, from.m22, 0.0),
        DVec4::new(from.m03, from.m13, from.m23, 1.0),
    )
}
