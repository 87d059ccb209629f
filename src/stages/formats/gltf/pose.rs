//! Where the nodes stand, and how far they morph, at a moment of an animation
//! (glTF 2.0 §3.11 and appendix C).

use super::data::Data;
use crate::protocol::work::Failure;
use crate::stages::formats::corrupt;
use glam::Quat;
use gltf::json::Root;
use gltf::json::animation::{Animation, Channel, Interpolation, Property, Sampler};
use gltf::json::scene::UnitQuaternion;
use gltf::json::validation::Checked;

/// The document with its nodes as the animation has them at `time_s` seconds; before its start and
/// after its end they are as they are there.
pub(super) fn at(data: &Data<'_>, animation: &Animation, time_s: f32) -> Result<Root, Failure> {
    let mut root = data.root.clone();
    for (number, channel) in animation.channels.iter().enumerate() {
        let bad = |what: &str| {
            let name = animation.name.as_deref().unwrap_or_default();
            corrupt(format!(
                "{}: channel {number} of animation '{name}' {what}. Export it again",
                data.name
            ))
        };
        let sampler = animation.samplers.get(channel.sampler.value());
        let sampler = sampler.ok_or_else(|| bad("has no sampler"))?;
        // What is no property of a node (pointers of an extension) stays as it is.
        let Checked::Valid(property) = channel.target.path else { continue };
        let track = Track::read(data, channel, sampler, property).map_err(|why| match why {
            Why::Said(failure) => failure,
            Why::Here(what) => bad(what),
        })?;
        let value = track.at(time_s).filter(|value| value.iter().all(|one| one.is_finite()));
        let value = value.ok_or_else(|| bad("has times that do not rise, or infinite values"))?;
        let node = root.nodes.get_mut(channel.target.node.value());
        let node = node.ok_or_else(|| bad("moves a node that does not exist"))?;
        match (property, &value[..]) {
            (Property::Translation, [x, y, z]) => node.translation = Some([*x, *y, *z]),
            (Property::Scale, [x, y, z]) => node.scale = Some([*x, *y, *z]),
            (Property::Rotation, [x, y, z, w]) => {
                node.rotation = Some(UnitQuaternion([*x, *y, *z, *w]));
            }
            (Property::MorphTargetWeights, weights) => node.weights = Some(weights.to_vec()),
            _ => {}
        }
        if property != Property::MorphTargetWeights {
            node.matrix = None;
        }
    }
    Ok(root)
}

/// Why a track cannot be read.
enum Why {
    Said(Failure),
    Here(&'static str),
}

impl From<Failure> for Why {
    fn from(failure: Failure) -> Self {
        Self::Said(failure)
    }
}

/// Values of one property over time.
struct Track {
    times_s: Vec<f32>,
    /// One after the other, `width` numbers each; three of them for each time of a spline: the slope
    /// on arrival, the value, the slope on leaving.
    values: Vec<f32>,
    width: usize,
    interpolation: Interpolation,
    turns: bool,
}

impl Track {
    fn read(
        data: &Data<'_>,
        channel: &Channel,
        sampler: &Sampler,
        property: Property,
    ) -> Result<Self, Why> {
        let output = sampler.output.value();
        let (values, width) = match property {
            Property::Translation | Property::Scale => (data.floats::<3>(output)?.concat(), 3),
            Property::Rotation => (data.floats::<4>(output)?.concat(), 4),
            Property::MorphTargetWeights => {
                (data.floats::<1>(output)?.concat(), targets(data.root, channel))
            }
        };
        let Checked::Valid(interpolation) = sampler.interpolation else {
            return Err(Why::Here("has an unknown interpolation"));
        };
        let times_s = data.floats::<1>(sampler.input.value())?.concat();
        let each = if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
        if times_s.is_empty() || values.len() < times_s.len().saturating_mul(width * each) {
            return Err(Why::Here("has fewer values than times"));
        }
        let turns = property == Property::Rotation;
        Ok(Self { times_s, values, width, interpolation, turns })
    }

    /// The value at a time; none where the times do not rise.
    fn at(&self, time_s: f32) -> Option<Vec<f32>> {
        let after = self.times_s.partition_point(|time| *time <= time_s);
        let Some(before) = after.checked_sub(1) else { return self.key(0) };
        let (Some(end), Some(start)) = (self.times_s.get(after), self.times_s.get(before)) else {
            return self.key(before);
        };
        let length = end - start;
        let share = (time_s - start) / length;
        if !(0.0..=1.0).contains(&share) {
            return None;
        }
        let value = match self.interpolation {
            Interpolation::Step => self.key(before)?,
            Interpolation::Linear if self.turns => self.turned(before, after, share)?,
            Interpolation::Linear => {
                let (from, to) = (self.key(before)?, self.key(after)?);
                from.iter().zip(to).map(|(from, to)| from + (to - from) * share).collect()
            }
            Interpolation::CubicSpline => self.spline(before, after, share, length)?,
        };
        Some(value)
    }

    /// The value of a key.
    fn key(&self, key: usize) -> Option<Vec<f32>> {
        match self.interpolation {
            Interpolation::CubicSpline => self.part(key * 3 + 1),
            Interpolation::Linear | Interpolation::Step => self.part(key),
        }
    }

    fn part(&self, index: usize) -> Option<Vec<f32>> {
        let start = index.checked_mul(self.width)?;
        self.values.get(start..start + self.width).map(<[f32]>::to_vec)
    }

    fn turned(&self, before: usize, after: usize, share: f32) -> Option<Vec<f32>> {
        let quat = |key| Some(Quat::from_slice(self.key(key)?.get(..4)?));
        let turned = quat(before)?.normalize().slerp(quat(after)?.normalize(), share);
        Some(turned.to_array().to_vec())
    }

    fn spline(&self, before: usize, after: usize, t: f32, length_s: f32) -> Option<Vec<f32>> {
        let (t2, t3) = (t * t, t * t * t);
        let shares = [
            2.0 * t3 - 3.0 * t2 + 1.0,
            length_s * (t3 - 2.0 * t2 + t),
            -2.0 * t3 + 3.0 * t2,
            length_s * (t3 - t2),
        ];
        let parts = [before * 3 + 1, before * 3 + 2, after * 3 + 1, after * 3];
        let mut sum = vec![0.0; self.width];
        for (share, part) in shares.into_iter().zip(parts) {
            for (sum, value) in sum.iter_mut().zip(self.part(part)?) {
                *sum += share * value;
            }
        }
        if self.turns {
            let turned = Quat::from_slice(sum.get(..4)?).normalize();
            return Some(turned.to_array().to_vec());
        }
        Some(sum)
    }
}

/// The most morph targets of a channel's mesh: so many weights has each key.
fn targets(root: &Root, channel: &Channel) -> usize {
    let node = root.nodes.get(channel.target.node.value());
    let mesh = node.and_then(|node| root.meshes.get(node.mesh?.value()));
    let targets = mesh.into_iter().flat_map(|mesh| &mesh.primitives);
    targets.filter_map(|one| one.targets.as_ref()).map(Vec::len).max().unwrap_or(0)
}
