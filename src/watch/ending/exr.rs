//! The end of an `OpenEXR` file: renderers fill its table of blocks last.

use super::Ending;
use super::bytes::{Bytes, u32_at, u64_at};
use std::io;

/// Most attributes of all parts together.
const ATTRIBUTES: usize = 4_096;
/// Longest name and type of an attribute, with what stands around them.
const ATTRIBUTE_BYTES: usize = 2 * 256 + 4;
/// Most entries of the table that are looked at; beyond it, the last is.
const OFFSETS: u64 = 8_192;
/// Most blocks of one part; a picture of the largest size in single lines has fewer.
const BLOCKS: u64 = 1 << 24;

/// What is known of the parts after their headers.
#[derive(Default)]
struct Header {
    table_at: u64,
    /// Entries of the table that are known to exist.
    blocks: u64,
}

/// One part, while its header is read.
#[derive(Default)]
struct Part {
    chunk_count: Option<u64>,
    lines: Option<u64>,
    columns: Option<u64>,
    compression: Option<u8>,
    tile: Option<[u64; 2]>,
}

/// Headers of attributes, a table of offsets, and blocks with their own length; the last block
/// must end inside the file (`OpenEXR` File Layout).
pub(super) fn exr(bytes: &mut Bytes<'_>, head: &[u8]) -> io::Result<Ending> {
    let Some(flags) = u32_at(head, 4) else { return Ok(Ending::cut_in_header("EXR")) };
    let (tiled, deep, several) = (flags & 0x200 != 0, flags & 0x800 != 0, flags & 0x1000 != 0);
    let header = match headers(bytes, several)? {
        Ok(header) => header,
        Err(ending) => return Ok(ending),
    };
    let taken = header.blocks.min(OFFSETS) as usize;
    let mut table = bytes.at(header.table_at, 8 * taken)?;
    if header.blocks > OFFSETS {
        table.extend(bytes.at(header.table_at + 8 * (header.blocks - 1), 8)?);
    }
    let offsets: Vec<u64> = table.chunks_exact(8).filter_map(|digits| u64_at(digits, 0)).collect();
    let table_end = header.table_at + 8 * header.blocks;
    if table_end > bytes.size_bytes() {
        return Ok(Ending::cut_in_header("EXR"));
    }
    if offsets.contains(&0) {
        return Ok(Ending::unfinished("some of its lines are not written yet"));
    }
    let last = offsets.iter().copied().max().unwrap_or(0);
    if last >= bytes.size_bytes() {
        return Ok(Ending::unfinished(
            "its end is missing: some of its lines should lie behind it",
        ));
    }
    if offsets.iter().any(|offset| *offset < table_end) {
        return Ok(Ending::Unknown);
    }
    block_end(bytes, last, Block { tiled, deep, several })
}

/// What is known of all blocks.
#[derive(Clone, Copy)]
struct Block {
    tiled: bool,
    deep: bool,
    /// It names its part first, and may be of another kind than is said here.
    several: bool,
}

/// Whether the block at `at` ends inside the file.
fn block_end(bytes: &mut Bytes<'_>, at: u64, kind: Block) -> io::Result<Ending> {
    let block = bytes.at(at, 64)?;
    let place = if kind.several { 4 } else { 0 } + if kind.tiled { 16 } else { 4 };
    let (fields, length) = if kind.deep {
        let table = u64_at(&block, place);
        let samples = u64_at(&block, place + 8);
        (24, table.zip(samples).map(|(table, samples)| table.saturating_add(samples)))
    } else {
        (4, u32_at(&block, place))
    };
    let start = at.saturating_add(place as u64 + fields);
    Ok(match length {
        Some(0) if kind.several => Ending::Unknown,
        // A block holds something: where its length is zero, its place is only reserved.
        Some(0) => Ending::unfinished("its last lines are not written yet"),
        Some(length) if start.saturating_add(length) <= bytes.size_bytes() => Ending::Whole,
        Some(_) if kind.several => Ending::Unknown,
        _ => Ending::unfinished("its end is missing: its last lines are cut off"),
    })
}

fn headers(bytes: &mut Bytes<'_>, several: bool) -> io::Result<Result<Header, Ending>> {
    let mut header = Header::default();
    let mut at = 8;
    let mut part = Part::default();
    for _ in 0..ATTRIBUTES {
        let window = bytes.at(at, ATTRIBUTE_BYTES)?;
        if window.first() == Some(&0) {
            at += 1;
            let Some(blocks) = part.blocks() else { return Ok(Err(Ending::Unknown)) };
            header.blocks = header.blocks.saturating_add(blocks.min(BLOCKS));
            part = Part::default();
            // Where there may be several, one more zero ends the last.
            let ends = !several || bytes.at(at, 1)?.first() == Some(&0);
            if ends {
                header.table_at = at + u64::from(several);
                return Ok(Ok(header));
            }
            continue;
        }
        let Some((name, kind_at)) = word(&window, 0) else { return Ok(Err(not_a_word(bytes, at))) };
        let Some((_, size_at)) = word(&window, kind_at) else {
            return Ok(Err(not_a_word(bytes, at)));
        };
        let Some(size) = u32_at(&window, size_at) else {
            return Ok(Err(Ending::cut_in_header("EXR")));
        };
        let value_at = at + size_at as u64 + 4;
        part.attribute(name, &bytes.at(value_at, 16)?);
        at = value_at + size;
        if at >= bytes.size_bytes() {
            return Ok(Err(Ending::cut_in_header("EXR")));
        }
    }
    Ok(Err(Ending::Unknown))
}

/// A word has no end: the file is cut there, or is no EXR.
fn not_a_word(bytes: &Bytes<'_>, at: u64) -> Ending {
    if at.saturating_add(ATTRIBUTE_BYTES as u64) > bytes.size_bytes() {
        Ending::cut_in_header("EXR")
    } else {
        Ending::Unknown
    }
}

/// The word that begins at `at`, and where the next thing does.
fn word(window: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let rest = window.get(at..)?;
    let length = rest.iter().position(|byte| *byte == 0)?;
    Some((rest.get(..length)?, at + length + 1))
}

impl Part {
    fn attribute(&mut self, name: &[u8], value: &[u8]) {
        let corner =
            |at: usize| u32_at(value, at).map(|corner| i64::from((corner as u32).cast_signed()));
        let side = |low: usize, high: usize| {
            let side = corner(high)?.checked_sub(corner(low)?)?.checked_add(1)?;
            u64::try_from(side).ok()
        };
        match name {
            b"chunkCount" => self.chunk_count = u32_at(value, 0),
            b"dataWindow" => {
                self.columns = side(0, 8);
                self.lines = side(4, 12);
            }
            b"compression" => self.compression = value.first().copied(),
            b"tiles" => {
                self.tile =
                    u32_at(value, 0).zip(u32_at(value, 4)).map(|(width, height)| [width, height]);
            }
            _ => {}
        }
    }

    /// How many entries the table has for it, at least: of tiled pictures without a count only
    /// those of the full size, which come first.
    fn blocks(&self) -> Option<u64> {
        if self.chunk_count.is_some() {
            return self.chunk_count;
        }
        if let Some([width, height]) = self.tile {
            if width == 0 || height == 0 {
                return None;
            }
            return Some(
                self.columns?.div_ceil(width).saturating_mul(self.lines?.div_ceil(height)),
            );
        }
        let lines_of_block = match self.compression? {
            0..=2 => 1,
            3 | 5 => 16,
            4 | 6..=8 | 11 => 32,
            9 | 10 => 256,
            _ => return None,
        };
        Some(self.lines?.div_ceil(lines_of_block))
    }
}
