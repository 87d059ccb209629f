//! Where the nodes of a glTF stand in the world.

use crate::protocol::work::Failure;
use crate::stages::formats::{bounds, corrupt, too_large};
use glam::{Mat4, Quat, Vec3};
use gltf::json::Root;
use gltf::json::scene::Node;

/// The nodes of the shown scene with their place, parents before children.
pub(super) struct Placed {
    /// Index of the node and its matrix to the world.
    pub nodes: Vec<(usize, Mat4)>,
    /// By the node's index; none for those that the scene does not show.
    worlds: Vec<Option<Mat4>>,
    /// By the node's index.
    parents: Vec<Option<usize>>,
}

impl Placed {
    /// Where a node stands. Joints may lie outside the shown scene: their own chain of parents
    /// counts then.
    pub(super) fn world(&self, root: &Root, index: usize) -> Mat4 {
        let mut world = Mat4::IDENTITY;
        let mut next = Some(index);
        for _ in 0..bounds::GLTF_DEPTH {
            let Some(index) = next else { break };
            if let Some(known) = self.worlds.get(index).copied().flatten() {
                return known * world;
            }
            let Some(node) = root.nodes.get(index) else { break };
            world = local(node) * world;
            next = self.parents.get(index).copied().flatten();
        }
        world
    }
}

/// Walks the default scene (or the first one, or all nodes without a parent). Fails on loops, on
/// nodes with two parents and on indices that point to nothing.
pub(super) fn place(root: &Root, name: &str) -> Result<Placed, Failure> {
    let count = root.nodes.len();
    if count > bounds::NODES {
        return Err(too_large(format!("{name} has {count} nodes; at most {}", bounds::NODES)));
    }
    let mut seen = vec![false; count];
    let mut nodes = Vec::new();
    let mut open: Vec<(usize, Mat4)> =
        roots(root, name)?.into_iter().rev().map(|node| (node, Mat4::IDENTITY)).collect();
    while let Some((index, parent)) = open.pop() {
        let bad = |what: &str| corrupt(format!("{name}: node {index} {what}. Export it again"));
        let node = root.nodes.get(index).ok_or_else(|| bad("does not exist"))?;
        match seen.get_mut(index) {
            Some(seen) if !*seen => *seen = true,
            _ => return Err(bad("is its own ancestor or has two parents")),
        }
        let world = parent * local(node);
        if !world.is_finite() {
            return Err(bad("stands at no finite place"));
        }
        nodes.push((index, world));
        for child in node.children.iter().flatten().rev() {
            open.push((child.value(), world));
        }
        if open.len() > count {
            return Err(bad("is its own ancestor or has two parents"));
        }
    }
    let mut worlds = vec![None; count];
    for (index, world) in &nodes {
        if let Some(place) = worlds.get_mut(*index) {
            *place = Some(*world);
        }
    }
    let mut parents = vec![None; count];
    for (index, node) in root.nodes.iter().enumerate() {
        for child in node.children.iter().flatten() {
            if let Some(parent) = parents.get_mut(child.value()) {
                *parent = Some(index);
            }
        }
    }
    Ok(Placed { nodes, worlds, parents })
}

fn roots(root: &Root, name: &str) -> Result<Vec<usize>, Failure> {
    let shown = root.scene.map(|scene| scene.value());
    if let Some(scene) = root.scenes.get(shown.unwrap_or(0)) {
        let mut nodes: Vec<usize> = scene.nodes.iter().map(gltf::json::Index::value).collect();
        // The same root twice is a slip of some exporters that changes nothing.
        let mut seen = std::collections::HashSet::new();
        nodes.retain(|node| seen.insert(*node));
        return Ok(nodes);
    }
    if let Some(scene) = shown {
        return Err(corrupt(format!("{name}: scene {scene} does not exist. Export it again")));
    }
    let children: std::collections::HashSet<usize> = root
        .nodes
        .iter()
        .flat_map(|node| node.children.iter().flatten())
        .map(gltf::json::Index::value)
        .collect();
    Ok((0..root.nodes.len()).filter(|node| !children.contains(node)).collect())
}

fn local(node: &Node) -> Mat4 {
    if let Some(matrix) = &node.matrix {
        return Mat4::from_cols_array(matrix);
    }
    let rotation = node.rotation.map_or(Quat::IDENTITY, |rotation| Quat::from_array(rotation.0));
    // A rotation that is not of unit length would scale.
    let length = rotation.length_squared();
    let rotation =
        if length > 1e-12 && length.is_finite() { rotation.normalize() } else { Quat::IDENTITY };
    Mat4::from_scale_rotation_translation(
        node.scale.map_or(Vec3::ONE, Vec3::from),
        rotation,
        node.translation.map_or(Vec3::ZERO, Vec3::from),
    )
}
