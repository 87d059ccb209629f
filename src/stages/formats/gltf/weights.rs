//! Morph weights at the start of an animation.

use super::data::Data;
use crate::protocol::work::Failure;
use crate::stages::formats::corrupt;
use gltf::json::animation::{Interpolation, Property};
use gltf::json::validation::Checked;
use std::collections::HashMap;

/// The weights of each node that an animation morphs, at its first frame. The first animation that
/// names a node counts.
pub(super) fn first_frame(data: &Data<'_>) -> Result<HashMap<usize, Vec<f32>>, Failure> {
    let mut all = HashMap::new();
    let root = data.root;
    for (number, animation) in root.animations.iter().enumerate() {
        for channel in &animation.channels {
            let node = channel.target.node.value();
            let morphs = channel.target.path == Checked::Valid(Property::MorphTargetWeights);
            if !morphs || all.contains_key(&node) {
                continue;
            }
            let bad = |what: &str| {
                corrupt(format!("{}: animation {number} {what}. Export it again", data.name))
            };
            let mesh = root.nodes.get(node).and_then(|node| node.mesh);
            let mesh = mesh.and_then(|mesh| root.meshes.get(mesh.value()));
            let mesh = mesh.ok_or_else(|| bad("morphs a node without a mesh"))?;
            let targets = mesh.primitives.iter().filter_map(|one| one.targets.as_ref());
            let count = targets.map(Vec::len).max().unwrap_or(0);
            let sampler = animation.samplers.get(channel.sampler.value());
            let sampler = sampler.ok_or_else(|| bad("has no sampler for a channel"))?;
            let values = data.floats::<1>(sampler.output.value())?;
            // A cubic spline has the tangents of arrival before the values.
            let is_cubic = sampler.interpolation == Checked::Valid(Interpolation::CubicSpline);
            let skipped = if is_cubic { count } else { 0 };
            let weights: Vec<f32> =
                values.iter().skip(skipped).take(count).map(|[value]| *value).collect();
            if weights.len() < count || weights.iter().any(|weight| !weight.is_finite()) {
                return Err(bad("has too few or infinite weights"));
            }
            all.insert(node, weights);
        }
    }
    Ok(all)
}
