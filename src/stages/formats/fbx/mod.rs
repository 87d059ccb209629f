//! Reads FBX, binary and text, by the crate `ufbx`.
//!
//! That library parses, brings units and axes to metres and +Y up, and poses skins and shapes as
//! the file's own nodes stand. It opens no file by itself: textures are found here.

mod looks;
pub(super) mod names;
mod shapes;
#[cfg(test)]
pub(super) mod tests;

use super::mesh::Budget;
use super::references::SideRoot;
use super::{LoadedScene, bounds, corrupt, too_large, truncated, unsupported, warning};
use crate::model::Reason;
use crate::preview::Scene;
use crate::protocol::work::{Failure, Warning};
use crate::stages::Reporter;
use looks::Looks;
use serde_json::{Value, json};
use shapes::Shapes;
use ufbx::{AllocatorOpts, CoordinateAxes, ErrorType, FileFormat, LoadOpts, find_prop};

/// Decodes an FBX file.
pub fn read(
    bytes: &[u8],
    name: &str,
    sides: &SideRoot,
    reporter: &dyn Reporter,
) -> Result<LoadedScene, Failure> {
    let file = ufbx::load_memory(bytes, options()).map_err(|error| refusal(&error, name))?;
    reporter.progress(40.0, "file parsed");
    let mut looks = Looks::new(name, sides);
    let mut shapes = Shapes { name, budget: Budget::default(), parts: Vec::new(), hidden: 0 };
    for node in &file.nodes {
        shapes.node(node, &mut looks)?;
    }
    reporter.progress(80.0, "meshes read");
    let mut warnings = said(&file, name);
    warnings.append(&mut looks.warnings);
    let (parts, mended, hidden) = shapes.finish()?;
    warnings.extend(mended.warnings(name));
    warnings.extend(not_drawn(&file, hidden, name));
    let scene = Scene { parts, materials: looks.materials, textures: looks.textures.list };
    Ok(LoadedScene { scene, warnings, facts: facts(&file) })
}

fn options<'a>() -> LoadOpts<'a> {
    let memory =
        || AllocatorOpts { memory_limit: bounds::FBX_MEMORY_BYTES, ..AllocatorOpts::default() };
    LoadOpts {
        temp_allocator: memory(),
        result_allocator: memory(),
        evaluate_skinning: true,
        load_external_files: false,
        use_blender_pbr_material: true,
        node_depth_limit: bounds::FBX_DEPTH,
        file_format: FileFormat::Fbx,
        target_axes: CoordinateAxes::right_handed_y_up(),
        target_unit_meters: 1.0,
        ..LoadOpts::default()
    }
}

fn refusal(error: &ufbx::Error, name: &str) -> Failure {
    let why = &*error.description;
    match error.type_ {
        ErrorType::TruncatedFile | ErrorType::Io | ErrorType::EmptyFile => {
            truncated(format!("{name} ends too early ({why}). Copy or export it again"))
        }
        ErrorType::OutOfMemory | ErrorType::MemoryLimit | ErrorType::AllocationLimit => {
            too_large(format!(
                "{name} needs more than {} bytes of memory. Simplify or split it",
                bounds::FBX_MEMORY_BYTES
            ))
        }
        ErrorType::UnsupportedVersion => unsupported(format!(
            "{name} is of a version of FBX that cannot be read ({why}). Export it as FBX 2013 or later"
        )),
        _ => corrupt(format!("{name} cannot be read as FBX: {why}. Export it again")),
    }
}

/// What the parser has mended.
fn said(file: &ufbx::Scene, name: &str) -> Vec<Warning> {
    file.metadata
        .warnings
        .iter()
        .map(|one| {
            let times =
                if one.count > 1 { format!(" ({} times)", one.count) } else { String::new() };
            warning(Reason::InputCorrupt, format!("{name}: {}{times}", &*one.description))
        })
        .collect()
}

fn not_drawn(file: &ufbx::Scene, hidden: usize, name: &str) -> Vec<Warning> {
    let curves = file.line_curves.len() + file.nurbs_curves.len();
    [
        (hidden, "hidden meshes are"),
        (file.nurbs_surfaces.len(), "NURBS surfaces are"),
        (file.procedural_geometries.len(), "procedural shapes are"),
        (curves, "curves are"),
        (file.cache_files.len(), "animation caches are"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| {
        warning(Reason::InputUnsupported, format!("{name}: {count} {what} not drawn"))
    })
    .collect()
}

fn facts(file: &ufbx::Scene) -> Value {
    let animations: Vec<Value> = file
        .anim_stacks
        .iter()
        .take(64)
        .map(|stack| {
            let seconds = stack.time_end - stack.time_begin;
            json!({ "name": &*stack.element.name, "seconds": seconds })
        })
        .collect();
    json!({
        "format": if file.metadata.ascii { "text FBX" } else { "binary FBX" },
        "version": file.metadata.version,
        "generator": &*file.metadata.creator,
        "up": up(file),
        "unit_meters": find_prop(&file.settings.props, "UnitScaleFactor")
            .map(|centimetres| centimetres.value_vec4.x / 100.0),
        "nodes": file.nodes.len(),
        "meshes": file.meshes.len(),
        "skins": file.skin_deformers.len(),
        "morph_targets": file.blend_shapes.len(),
        "cameras": file.cameras.len(),
        "lights": file.lights.len(),
        "animations": animations,
        "embedded_files": file.videos.iter().filter(|video| !video.content.is_empty()).count(),
    })
}

/// The up axis as the file states it, before the parser turned it.
fn up(file: &ufbx::Scene) -> Option<&'static str> {
    let number = |name| find_prop(&file.settings.props, name).map(|prop| prop.value_int);
    let negative = number("UpAxisSign").is_some_and(|sign| sign < 0);
    match (number("UpAxis")?, negative) {
        (0, false) => Some("+X"),
        (0, true) => Some("-X"),
        (1, false) => Some("+Y"),
        (1, true) => Some("-Y"),
        (2, false) => Some("+Z"),
        (2, true) => Some("-Z"),
        _ => None,
    }
}
