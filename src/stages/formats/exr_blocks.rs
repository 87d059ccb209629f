//! Finds the blocks of pixels of one part of an EXR file, also where its render was stopped.
//!
//! A writer fills the table of blocks at its end. Where it never came to that, the blocks that
//! are there are found by going through the file from block to block.

use super::exr_header::{ExrHeader, number};
use std::collections::BTreeMap;

/// The blocks of the full size of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blocks {
    /// Where each one begins, by the place that it has in the picture.
    pub(super) found: BTreeMap<[u32; 2], usize>,
    /// How many a whole file has.
    pub(super) expected: u64,
}

/// The head of a block.
struct Head {
    part: usize,
    /// Row of the first line, or column and row of a tile.
    place: [u32; 2],
    is_full_size: bool,
    end: usize,
}

/// The blocks of part `part` that lie wholly inside the file.
pub(super) fn find(header: &ExrHeader, bytes: &[u8], part: usize) -> Blocks {
    let expected = header.parts.get(part).map_or(0, super::exr_header::ExrPart::full_size_blocks);
    let mut blocks = Blocks { found: BTreeMap::new(), expected };
    let before = header.parts.iter().take(part).map(super::exr_header::ExrPart::blocks);
    let skipped = before.fold(0_u64, |sum, count| sum.saturating_add(count.unsigned_abs()));
    let table = u64::try_from(header.offsets_at)
        .ok()
        .and_then(|at| at.checked_add(skipped.checked_mul(8)?));
    let mut at = table.and_then(|at| usize::try_from(at).ok()).unwrap_or(usize::MAX);
    for _ in 0..expected {
        let Some(offset) = number(bytes, at, 8) else { break };
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        if let Some(head) = head(header, bytes, offset).filter(|_| offset >= header.offsets_at) {
            blocks.take(&head, part, offset);
        }
        at += 8;
    }
    if (blocks.found.len() as u64) < expected {
        walk(header, bytes, part, &mut blocks);
    }
    blocks
}

/// Goes through the file from the end of the table on.
fn walk(header: &ExrHeader, bytes: &[u8], part: usize, blocks: &mut Blocks) {
    let all = header.parts.iter().map(super::exr_header::ExrPart::blocks);
    let all = all.fold(0_u64, |sum, count| sum.saturating_add(count.unsigned_abs()));
    let start = (header.offsets_at as u64).saturating_add(all.saturating_mul(8));
    let Ok(mut at) = usize::try_from(start) else { return };
    while let Some(found) = head(header, bytes, at) {
        blocks.take(&found, part, at);
        at = found.end;
    }
}

impl Blocks {
    fn take(&mut self, head: &Head, part: usize, offset: usize) {
        if head.part == part && head.is_full_size {
            self.found.entry(head.place).or_insert(offset);
        }
    }
}

/// Reads the head of a block; none where it makes no sense or leaves the file.
fn head(header: &ExrHeader, bytes: &[u8], at: usize) -> Option<Head> {
    let field = |at: usize| number(bytes, at, 4).map(|value| value as u32);
    let (part, at) = if header.multipart {
        (usize::try_from(field(at)?).ok()?, at.checked_add(4)?)
    } else {
        (0, at)
    };
    let of = header.parts.get(part).filter(|part| part.refusal.is_none())?;
    let (place, is_full_size, at) = if of.is_tiled() {
        let levels = (field(at.checked_add(8)?)?, field(at.checked_add(12)?)?);
        ([field(at)?, field(at.checked_add(4)?)?], levels == (0, 0), at.checked_add(16)?)
    } else {
        ([0, field(at)?], true, at.checked_add(4)?)
    };
    let size = usize::try_from(field(at)?).ok()?;
    let end = at.checked_add(4)?.checked_add(size)?;
    (size > 0 && end <= bytes.len()).then_some(Head { part, place, is_full_size, end })
}
