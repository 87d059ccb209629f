//! What a file can be, by its name alone: cheap enough to ask of every file of a large folder.

use super::files;
use crate::renderers::Library;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::path::Path;

/// Suffixes of meshes that the farm draws itself, in lower case.
const MESHES: [&str; 10] =
    ["glb", "gltf", "obj", "stl", "ply", "fbx", "usd", "usda", "usdc", "usdz"];

/// Suffixes of files that are nothing by themselves: an OBJ's materials, a glTF's buffers.
const SIDES: [&str; 2] = ["mtl", "bin"];

/// What a file's name says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A mesh that the farm draws itself.
    Mesh,
    /// A picture: an asset, a frame of one, or a texture.
    Image,
    /// A scene that a program draws.
    Scene,
    /// Only ever goes along with another file.
    Side,
}

/// What a file is by its suffix; none where the farm has nothing to do with it. Of what both the
/// farm and a program draw (USD), it is a mesh.
pub fn kind_of(name: &OsStr, renderers: &Library) -> Option<FileKind> {
    let path = Path::new(name);
    let suffix = path.extension()?;
    if is_mesh(path) {
        return Some(FileKind::Mesh);
    }
    // Before pictures and side files: a profile of the studio's own may claim any suffix.
    if renderers.of_suffix(&suffix.to_string_lossy()).is_some() {
        return Some(FileKind::Scene);
    }
    if files::is_picture(path) {
        return Some(FileKind::Image);
    }
    files::is_one_of(suffix, &SIDES).then_some(FileKind::Side)
}

/// Suffixes of meshes that may name other files, in lower case.
const NAMING: [&str; 6] = ["gltf", "obj", "usd", "usda", "usdc", "fbx"];

/// Whether a file of this name and kind may name others that go along.
pub fn names_others(name: &OsStr, kind: FileKind) -> bool {
    let suffix = Path::new(name).extension();
    match kind {
        FileKind::Scene => true,
        FileKind::Mesh => suffix.is_some_and(|suffix| files::is_one_of(suffix, &NAMING)),
        FileKind::Image | FileKind::Side => false,
    }
}

/// Whether the farm draws it itself.
pub(super) fn is_mesh(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| files::is_one_of(suffix, &MESHES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::formats::Format;

    fn kind(name: &str) -> Option<FileKind> {
        kind_of(OsStr::new(name), &Library::load(None).unwrap())
    }

    #[test]
    fn the_suffix_says_what_a_file_is() {
        for (name, expected) in [
            ("dragon.GLB", Some(FileKind::Mesh)),
            ("dragon.obj", Some(FileKind::Mesh)),
            ("set.usd", Some(FileKind::Mesh)),
            ("rain.0001.exr", Some(FileKind::Image)),
            ("sky.Png", Some(FileKind::Image)),
            ("shot.blend", Some(FileKind::Scene)),
            ("shot.NK", Some(FileKind::Scene)),
            ("dragon.mtl", Some(FileKind::Side)),
            ("dragon.bin", Some(FileKind::Side)),
            ("shot.blend1", None),
            ("notes.txt", None),
            ("README", None),
            (".png", None),
        ] {
            assert_eq!(kind(name), expected, "{name}");
        }
    }

    #[test]
    fn every_format_that_is_drawn_has_a_kind() {
        for format in Format::ALL {
            let name = format!("a.{}", format.suffix());
            assert!(matches!(kind(&name), Some(FileKind::Mesh | FileKind::Image)), "{name}");
        }
    }
}
