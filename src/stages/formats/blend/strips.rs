//! Pictures and films of the video sequencer, which are no data-blocks: a strip names a folder, and
//! its elements the files in it.

use super::blocks::{Block, Blocks};
use super::record::Record;
use super::references::{Reference, ReferenceKind, reference};

const IMAGE: i64 = 0;
const MOVIE: i64 = 3;

/// Whether this is a strip: `Sequence` to Blender 4, `Strip` from 5.0 on (before, that was the name
/// of what is `StripData` now).
pub(super) fn is_strip(record: &Record<'_>) -> bool {
    matches!(record.structure_name(), "Sequence" | "Strip") && data_address(record).is_some()
}

fn data_address(record: &Record<'_>) -> Option<u64> {
    record.int("type")?;
    record.pointer("strip").or_else(|| record.pointer("data"))
}

/// The files of a strip: of pictures each one, so that no numbers need to be guessed.
pub(super) fn files(blocks: &Blocks, strip: &Block, record: &Record<'_>) -> Vec<Reference> {
    let (kind, most) = match record.int("type") {
        Some(IMAGE) => (ReferenceKind::Image, usize::MAX),
        Some(MOVIE) => (ReferenceKind::Movie, 1),
        _ => return Vec::new(),
    };
    let names = || {
        let data = blocks.part_at(strip.owner, data_address(record)?)?;
        let data = blocks.record(data).ok()?;
        let folder = data.text("dir").or_else(|| data.text("dirpath"))?;
        let elements = blocks.part_at(strip.owner, data.pointer("stripdata")?)?;
        Some((folder, blocks.records(elements)))
    };
    let Some((folder, elements)) = names() else { return Vec::new() };
    let name = |element: Record<'_>| element.text("name").or_else(|| element.text("filename"));
    elements
        .filter_map(name)
        .take(most)
        .map(|name| reference(kind, joined(&folder, &name)))
        .collect()
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() || folder.ends_with(['/', '\\']) {
        format!("{folder}{name}")
    } else {
        format!("{folder}/{name}")
    }
}
