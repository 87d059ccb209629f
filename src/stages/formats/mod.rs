//! Reads the formats of assets, and writes the farm's own.
//!
//! [`sniff`] says what a file is, [`references`] which side files it names, [`sequence`] which
//! file names are frames of one film, [`blend`] what a scene of Blender is made of. [`load_scene`] and [`load_image`] decode; they are run in a
//! child process of limited memory, and answer bad bytes with a reason, never with a panic.

pub mod blend;
pub mod bounds;
mod card;
mod colour;
mod cmyk;
mod dds;
mod dds_pixels;
mod exr_blocks;
pub mod exr_header;
pub mod exr_image;
pub mod exr_layers;
pub mod fbx;
pub mod glb_writer;
pub mod gltf;
pub mod image_facts;
pub mod image_writer;
pub mod images;
pub mod integrity;
mod mesh;
mod moving;
pub mod mtl;
pub mod obj;
pub mod ply;
mod ply_header;
mod polygon;
pub mod references;
pub mod sequence;
pub mod sniff;
pub mod stl;
mod strokes;
mod tga;
mod tiff_image;
mod tiff_samples;
mod textures;
pub mod usd;
mod words;
#[cfg(test)]
mod assimp_tests;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod raster_tests;
#[cfg(test)]
mod silhouette_tests;
#[cfg(test)]
mod exr_tests;
#[cfg(test)]
mod exr_tests_files;
#[cfg(test)]
mod pillow_tests;
#[cfg(test)]
mod sniff_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod validator_tests;

pub use glb_writer::write_glb;
pub use image_facts::{ImageFacts, asset_facts, image_facts};
pub use image_writer::write_exr;
pub use images::{load_asset, load_image};
pub use references::{SideFiles, side_files};
pub use sequence::group;
pub use sniff::{Format, sniff_file};

use super::Reporter;
use crate::model::Reason;
use crate::preview::{Scene, give_tangents};
use crate::protocol::work::{Failure, Warning};
use std::fs::File;
use std::io::Read;
use std::panic::AssertUnwindSafe;
use std::path::Path;

/// A decoded mesh asset.
#[derive(Debug)]
pub struct LoadedScene {
    /// What can be drawn; at least one triangle with finite corners.
    pub scene: Scene,
    /// What was left out or mended.
    pub warnings: Vec<Warning>,
    /// What the file says about itself: counts, names, extensions.
    pub facts: serde_json::Value,
}

/// Which moment of its animations a scene is shown at.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Moment {
    /// As the file has it without playing any.
    #[default]
    Rest,
    /// While one of them plays.
    At {
        /// Its number in the file, from 0.
        animation: usize,
        /// Seconds of the file's own time.
        time_s: f32,
    },
}

/// Decodes a mesh asset. `path` is its main file, inside `side_root`, where its side files lie.
///
/// Fails with an `input.*` or `reference.*` reason when the file cannot be drawn as it is meant.
pub fn load_scene(
    path: &Path,
    side_root: &Path,
    reporter: &dyn Reporter,
) -> Result<LoadedScene, Failure> {
    load_scene_at(path, side_root, Moment::Rest, reporter)
}

/// [`load_scene`] at a moment of an animation; only glTF files have any that are played.
pub fn load_scene_at(
    path: &Path,
    side_root: &Path,
    moment: Moment,
    reporter: &dyn Reporter,
) -> Result<LoadedScene, Failure> {
    let format = sniff_file(path)?;
    let name = file_name(path);
    if moment != Moment::Rest && !matches!(format, Format::Glb | Format::Gltf) {
        let why =
            format!("{name} is no glTF file: only their animations are played. Export it as GLB");
        return Err(unsupported(why));
    }
    guarded(&name, || {
        let bytes = read_bounded(path, bounds::MESH_FILE_BYTES)?;
        let sides = references::SideRoot::of(path, side_root);
        let loaded = match format {
            Format::Glb | Format::Gltf => gltf::read(&bytes, &name, moment, &sides, reporter)?,
            Format::Obj => obj::read(&bytes, &name, &sides, reporter)?,
            Format::StlBinary | Format::StlAscii => stl::read(&bytes, &name, reporter)?,
            Format::Ply => ply::read(&bytes, &name, reporter)?,
            Format::Fbx => fbx::read(&bytes, &name, &sides, reporter)?,
            Format::Usda | Format::Usdc | Format::Usdz => {
                usd::read(bytes, &name, &sides, reporter)?
            }
            picture => {
                return Err(unsupported(format!(
                    "{name} is a {} picture, not a mesh",
                    picture.name()
                )));
            }
        };
        mesh::finished(loaded, &name)
    })
}

/// Makes the tangents that normal textures of a scene lie along, where the file has none. Gives a
/// note for each part that has too many triangles for it.
pub fn with_tangents(loaded: &mut LoadedScene) -> Vec<String> {
    give_tangents(&mut loaded.scene, bounds::CORNERS)
}

/// Runs a decoder; a panic in it becomes `input.corrupt` (a second net: ours should not panic).
fn guarded<T>(name: &str, decode: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    std::panic::catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| {
        Err(corrupt(format!(
            "{name} breaks the program that reads it. Export it again, or convert it to another format"
        )))
    })
}

/// The whole file, refused beyond `limit` bytes.
fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let failure = |error: &std::io::Error| {
        super::failure::failure_from_io(error, "a source file could not be read", path)
    };
    let file = File::open(path).map_err(|error| failure(&error))?;
    let size = file.metadata().map_err(|error| failure(&error))?.len();
    if size > limit {
        return Err(too_large(format!(
            "{} has {size} bytes; at most {limit} can be read",
            file_name(path)
        )));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(limit).read_to_end(&mut bytes).map_err(|error| failure(&error))?;
    Ok(bytes)
}

/// The last part of a path, for messages.
fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn corrupt(message: impl Into<String>) -> Failure {
    Failure::new(Reason::InputCorrupt, message)
}

fn truncated(message: impl Into<String>) -> Failure {
    Failure::new(Reason::InputTruncated, message)
}

fn unsupported(message: impl Into<String>) -> Failure {
    Failure::new(Reason::InputUnsupported, message)
}

fn too_large(message: impl Into<String>) -> Failure {
    Failure::new(Reason::InputTooLarge, message)
}

fn warning(reason: Reason, message: impl Into<String>) -> Warning {
    Warning { reason, message: message.into() }
}
