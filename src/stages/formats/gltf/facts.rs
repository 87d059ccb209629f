//! What a glTF says about itself.

use gltf::json::mesh::Mode;
use gltf::json::validation::Checked;
use gltf::json::{Animation, Root};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Most names of one kind.
const NAMES: usize = 64;

/// Counts and names; `binary` tells a GLB.
pub(super) fn facts(root: &Root, binary: bool) -> Value {
    let skins = root.skins.iter().map(|skin| skin.joints.len());
    json!({
        "format": if binary { "GLB" } else { "glTF" },
        "version": root.asset.version,
        "generator": root.asset.generator,
        "copyright": root.asset.copyright,
        "extensions_used": root.extensions_used,
        "extensions_required": root.extensions_required,
        "scenes": root.scenes.len(),
        "nodes": root.nodes.len(),
        "meshes": root.meshes.len(),
        "primitives": primitives(root),
        "skins": root.skins.len(),
        "most_joints": skins.max().unwrap_or(0),
        "morph_targets": morph_targets(root),
        "cameras": root.cameras.len(),
        "lights": extension(root, "KHR_lights_punctual", "lights").len(),
        "variants": variants(root),
        "animations": root.animations.iter().take(NAMES).map(|one| animation(root, one))
            .collect::<Vec<_>>(),
        "up": "+Y",
    })
}

/// How many primitives there are of each topology.
fn primitives(root: &Root) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for primitive in root.meshes.iter().flat_map(|mesh| &mesh.primitives) {
        let name = match primitive.mode {
            Checked::Valid(Mode::Points) => "points",
            Checked::Valid(Mode::Lines) => "lines",
            Checked::Valid(Mode::LineLoop) => "line_loop",
            Checked::Valid(Mode::LineStrip) => "line_strip",
            Checked::Valid(Mode::Triangles) => "triangles",
            Checked::Valid(Mode::TriangleStrip) => "triangle_strip",
            Checked::Valid(Mode::TriangleFan) => "triangle_fan",
            Checked::Invalid => "unknown",
        };
        *counts.entry(name).or_insert(0) += 1;
    }
    counts
}

/// The most targets that one primitive has.
fn morph_targets(root: &Root) -> usize {
    let primitives = root.meshes.iter().flat_map(|mesh| &mesh.primitives);
    primitives.filter_map(|one| one.targets.as_ref()).map(Vec::len).max().unwrap_or(0)
}

fn extension<'a>(root: &'a Root, name: &str, list: &str) -> &'a [Value] {
    let others: Option<&Map<String, Value>> = root.extensions.as_ref().map(|all| &all.others);
    let found = others.and_then(|all| all.get(name)?.get(list)?.as_array());
    found.map_or(&[], Vec::as_slice)
}

fn variants(root: &Root) -> Vec<&str> {
    let all = extension(root, "KHR_materials_variants", "variants").iter();
    all.take(NAMES).filter_map(|one| one.get("name")?.as_str()).collect()
}

/// Name, channels and length: the greatest time that its samplers state.
fn animation(root: &Root, from: &Animation) -> Value {
    let ends = from.samplers.iter().filter_map(|sampler| {
        root.accessors.get(sampler.input.value())?.max.as_ref()?.get(0)?.as_f64()
    });
    let seconds = ends.fold(None, |most: Option<f64>, end| Some(most.map_or(end, |m| m.max(end))));
    json!({
        "name": from.name.as_deref().unwrap_or_default(),
        "seconds": seconds,
        "channels": from.channels.len(),
    })
}
