//! Skins of a glTF: corners follow their joints.

use super::data::Data;
use super::nodes::Placed;
use super::primitives::{Corners, find, normal_matrix, turned_tangent};
use crate::protocol::work::Failure;
use crate::stages::formats::{bounds, corrupt};
use glam::{Mat3, Mat4};
use gltf::json::mesh::{Primitive, Semantic};

/// Joints and weights of each corner, four at a time (`JOINTS_0`, `JOINTS_1` and so on).
pub(super) struct Bones {
    sets: Vec<BoneSet>,
}

/// Four joints a corner, and their weights.
type BoneSet = (Vec<[u32; 4]>, Vec<[f32; 4]>);

/// From the bind pose to the posed world, one matrix a joint.
pub(super) fn joints(data: &Data<'_>, placed: &Placed, index: usize) -> Result<Vec<Mat4>, Failure> {
    let bad = |what: &str| corrupt(format!("{}: skin {index} {what}. Export it again", data.name));
    let skin = data.root.skins.get(index).ok_or_else(|| bad("does not exist"))?;
    let inverse = match skin.inverse_bind_matrices {
        Some(accessor) => data.floats::<16>(accessor.value())?,
        None => Vec::new(),
    };
    if !inverse.is_empty() && inverse.len() < skin.joints.len() {
        return Err(bad(&format!(
            "has {} joints, but {} bind matrices",
            skin.joints.len(),
            inverse.len()
        )));
    }
    let mut joints = Vec::new();
    for (at, joint) in skin.joints.iter().enumerate() {
        if data.root.nodes.get(joint.value()).is_none() {
            return Err(bad("has a joint that does not exist"));
        }
        let world = placed.world(data.root, joint.value());
        let inverse = inverse.get(at).map_or(Mat4::IDENTITY, Mat4::from_cols_array);
        joints.push(world * inverse);
    }
    Ok(joints)
}

/// Reads which joints move the `count` corners of a primitive; each joint must exist.
pub(super) fn bones(
    data: &Data<'_>,
    primitive: &Primitive,
    joints: usize,
    count: usize,
    name: &str,
) -> Result<Bones, Failure> {
    let bad = |what: String| corrupt(format!("{}: '{name}' {what}. Export it again", data.name));
    let mut sets = Vec::new();
    for set in 0..bounds::GLTF_JOINT_SETS {
        let place = find(primitive, Semantic::Joints(set));
        let weight = find(primitive, Semantic::Weights(set));
        let (Some(place), Some(weight)) = (place, weight) else { break };
        let (places, weights) = (data.integers::<4>(place)?, data.fractions::<4>(weight)?);
        if places.len() != count || weights.len() != count {
            return Err(bad(format!(
                "has {count} corners, but {} joints and {} weights",
                places.len(),
                weights.len()
            )));
        }
        let used = places.iter().zip(&weights).flat_map(|(all, weights)| all.iter().zip(weights));
        let wild =
            used.filter(|(_, weight)| **weight > 0.0).find(|(at, _)| **at as usize >= joints);
        if let Some((joint, _)) = wild {
            return Err(bad(format!("follows joint {joint}, but its skin has {joints}")));
        }
        sets.push((places, weights));
    }
    if sets.is_empty() {
        return Err(bad("has a skin, but no joints and weights".to_owned()));
    }
    Ok(Bones { sets })
}

/// Moves corners with their joints; whether the joints mirror, so that triangles must
/// be turned. The place of the skinned node itself does not count.
pub(super) fn bend(joints: &[Mat4], bones: &Bones, corners: &mut Corners) -> bool {
    for (at, position) in corners.positions.iter_mut().enumerate() {
        let mut matrix = Mat4::ZERO;
        let mut sum = 0.0;
        for (places, weights) in &bones.sets {
            let (Some(places), Some(weights)) = (places.get(at), weights.get(at)) else { continue };
            for (place, weight) in places.iter().zip(weights) {
                if let Some(joint) = joints.get(*place as usize).filter(|_| *weight > 0.0) {
                    matrix += *joint * *weight;
                    sum += *weight;
                }
            }
        }
        if sum > 0.0 {
            matrix *= 1.0 / sum;
            *position = matrix.transform_point3(*position);
            let linear = Mat3::from_mat4(matrix);
            if let Some(normal) = corners.normals.get_mut(at) {
                *normal = normal_matrix(linear) * *normal;
            }
            if let Some(tangent) = corners.tangents.get_mut(at) {
                *tangent = turned_tangent(linear, *tangent);
            }
        }
    }
    !joints.is_empty() && joints.iter().all(|joint| joint.determinant() < 0.0)
}
