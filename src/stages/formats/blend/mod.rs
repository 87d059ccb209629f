//! Reads `.blend` files without Blender: frame range, cameras, and the files a scene needs.
//!
//! A `.blend` file is a header and blocks; one of them (DNA1) describes the structures of all
//! others, so that files of all versions since 2.4 are read by the names of their fields. Blocks
//! that are not needed are passed over. Nothing in the file is executed.

mod blocks;
pub mod bounds;
mod dna;
mod error;
mod header;
mod paths;
mod properties;
mod record;
mod references;
mod scene;
mod stream;
mod strips;
mod thumbnail;
mod zstd;
#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod real_tests;
#[cfg(test)]
pub(in crate::stages) mod testing;
#[cfg(test)]
mod tests;

pub use error::BlendError;
pub use header::{BlendVersion, Endian, Layout, PointerSize};
pub use paths::{Target, is_pattern, relative};
pub use references::{Reference, ReferenceKind};
pub use scene::{BlendScene, FrameRate};
pub use stream::Compression;
pub use thumbnail::{Thumbnail, thumbnail};

use blocks::Blocks;
use serde::Serialize;
use std::fs::File;
use std::io::{Cursor, Read};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use stream::{Source, Stream};

/// What the farm needs to know of a scene file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlendFile {
    /// The Blender that saved it.
    pub version: BlendVersion,
    /// The oldest Blender that can open it, where it says so.
    pub minimum_version: Option<BlendVersion>,
    /// How the whole file is compressed.
    pub compression: Compression,
    /// How its numbers are laid out.
    pub layout: Layout,
    /// Its scenes, in the order of the file. A file that is only a library may have none.
    pub scenes: Vec<BlendScene>,
    /// Names of its cameras, sorted.
    pub cameras: Vec<String>,
    /// The `.blend` files it links to; only those that it links to directly.
    pub libraries: Vec<Reference>,
    /// The pictures it uses, also those of its video strips.
    pub images: Vec<Reference>,
    /// The other files it uses: sounds, films, fonts, caches, volumes.
    pub others: Vec<Reference>,
    /// Whether it holds a preview picture.
    pub thumbnail: bool,
}

/// Reads what the farm needs to know of a scene file.
///
/// A compressed file is decompressed twice, as its catalogue stands at its end; one that is not is
/// read only where it matters.
pub fn read(path: &Path) -> Result<BlendFile, BlendError> {
    let mut file = File::open(path).map_err(BlendError::Unreadable)?;
    read_source(&mut file)
}

/// The Blender that saved the file at `path`, by its first bytes: enough to refuse one that is too
/// new. `None` where it is no `.blend` file, or one cut within its header.
pub fn version(path: &Path) -> Result<Option<BlendVersion>, std::io::Error> {
    let mut head = Vec::new();
    File::open(path)?.take(bounds::HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(version_of(&head))
}

/// Whether a file with these first bytes is a `.blend` file, also a compressed one.
///
/// Of a zstd file, fewer than [`bounds::HEAD_BYTES`] may not suffice: the answer is then no.
pub fn is_blend(first_bytes: &[u8]) -> bool {
    version_of(first_bytes).is_some()
}

fn version_of(first_bytes: &[u8]) -> Option<BlendVersion> {
    guarded(|| Stream::open(&mut Cursor::new(first_bytes))?.header())
        .ok()
        .map(|header| header.version)
}

fn read_source(source: &mut dyn Source) -> Result<BlendFile, BlendError> {
    guarded(|| {
        let blocks = Blocks::read(source)?;
        let references = references::References::read(&blocks)?;
        Ok(BlendFile {
            version: blocks.header.version,
            minimum_version: minimum_version(&blocks),
            compression: blocks.compression,
            layout: blocks.header.layout,
            scenes: scene::scenes(&blocks)?,
            cameras: scene::cameras(&blocks)?,
            libraries: references.libraries,
            images: references.images,
            others: references.others,
            thumbnail: blocks.has_thumbnail,
        })
    })
}

fn minimum_version(blocks: &Blocks) -> Option<BlendVersion> {
    let global = blocks.of_code(b"GLOB").next()?;
    let number = blocks.record(global).ok()?.int("minversion")?;
    u16::try_from(number).ok().filter(|number| *number > 0).map(BlendVersion::from_number)
}

/// A second net: a panic in a decoder becomes an error (none should happen).
fn guarded<T>(read: impl FnOnce() -> Result<T, BlendError>) -> Result<T, BlendError> {
    std::panic::catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(BlendError::corrupt("it breaks the program that reads it")))
}
