//! Checks that a picture's file is whole, before a decoder makes up what is missing.

use super::{Format, corrupt, truncated};
use crate::protocol::work::Failure;

/// Fails with `input.truncated` or `input.corrupt` when the end of a PNG, JPEG or TIFF is not
/// there. EXR has its own check; HDR has no end mark.
pub fn check_whole(format: Format, bytes: &[u8], name: &str) -> Result<(), Failure> {
    match format {
        Format::Png => png(bytes, name),
        Format::Jpeg => jpeg(bytes, name),
        Format::Tiff => tiff(bytes, name),
        _ => Ok(()),
    }
}

fn u32_be(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..at.checked_add(4)?)?;
    field.try_into().ok().map(u32::from_be_bytes)
}

fn png(bytes: &[u8], name: &str) -> Result<(), Failure> {
    let cut = |at: usize| {
        truncated(format!(
            "{name} ends at byte {} inside the chunk that begins at byte {at}: a PNG ends with the chunk IEND. Copy or export it again",
            bytes.len()
        ))
    };
    let mut at = 8_usize;
    loop {
        let length = u32_be(bytes, at).ok_or_else(|| cut(at))? as usize;
        let kind = bytes.get(at + 4..at + 8).ok_or_else(|| cut(at))?;
        if length > i32::MAX as usize {
            return Err(corrupt(format!("{name}, byte {at}: a PNG chunk has the length {length}")));
        }
        let next = at.saturating_add(12).saturating_add(length);
        if next > bytes.len() {
            return Err(cut(at));
        }
        if kind == b"IEND" {
            return Ok(());
        }
        at = next;
    }
}

/// Walks the markers to the end of the picture; thumbnails inside segments do not count.
fn jpeg(bytes: &[u8], name: &str) -> Result<(), Failure> {
    let cut = || {
        truncated(format!(
            "{name} ends at byte {} without the mark FF D9 that ends a JPEG. Copy or export it again",
            bytes.len()
        ))
    };
    let mut at = 2_usize;
    let mut in_scan = false;
    loop {
        let step = bytes.get(at..).unwrap_or_default().iter().position(|byte| *byte == 0xff);
        at = at.saturating_add(step.ok_or_else(cut)?);
        let marker = *bytes.get(at + 1).ok_or_else(cut)?;
        match marker {
            0xd9 => return Ok(()),
            0xff => at += 1,
            0x00 | 0x01 | 0xd0..=0xd8 => at += 2,
            _ => {
                let length = bytes.get(at + 2..at + 4).ok_or_else(cut)?;
                let length: usize =
                    length.iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
                if length < 2 && !in_scan {
                    return Err(corrupt(format!(
                        "{name}, byte {at}: a JPEG segment has no length"
                    )));
                }
                in_scan |= marker == 0xda;
                at = at.saturating_add(2).saturating_add(length.max(2));
            }
        }
    }
}

/// Reads a TIFF's first directory and checks that its pixels lie inside the file.
fn tiff(bytes: &[u8], name: &str) -> Result<(), Failure> {
    let Some(tiff) = Tiff::of(bytes) else { return Ok(()) };
    let cut = |what: &str, at: u64| {
        truncated(format!(
            "{name} has {} bytes, but its {what} lies at byte {at}. Copy or export it again",
            bytes.len()
        ))
    };
    let directory = tiff.number(4, 4).unwrap_or(0);
    let count = tiff.number(directory, 2).ok_or_else(|| cut("directory", directory))?;
    let mut offsets = None;
    let mut sizes = None;
    for index in 0..count {
        let entry = directory.saturating_add(2 + index * 12);
        let tag = tiff.number(entry, 2).ok_or_else(|| cut("directory", entry))?;
        match tag {
            273 | 324 => offsets = Some(entry),
            279 | 325 => sizes = Some(entry),
            _ => {}
        }
    }
    if let (Some(offsets), Some(sizes)) = (offsets, sizes) {
        let blocks = tiff.number(offsets + 4, 4).unwrap_or(0).min(1 << 20);
        for index in 0..blocks {
            let place = |entry: u64| tiff.element(entry, index);
            let offset = place(offsets).ok_or_else(|| cut("list of strips", offsets))?;
            let size = place(sizes).unwrap_or(0);
            let end = offset.saturating_add(size);
            if end > bytes.len() as u64 {
                return Err(cut(&format!("strip {index}, of {size} bytes,"), offset));
            }
        }
    }
    Ok(())
}

/// The bytes of a classic TIFF of a palette, told to be a picture of grey indices: its decoder
/// takes no palettes. None for any other file.
pub(super) fn tiff_of_indices(bytes: &[u8]) -> Option<Vec<u8>> {
    const PHOTOMETRIC: u64 = 262;
    const PALETTE: u64 = 3;
    let tiff = Tiff::of(bytes)?;
    let directory = tiff.number(4, 4)?;
    let entries = 0..tiff.number(directory, 2)?;
    let mut entries = entries.map(|index| directory.saturating_add(2 + index * 12));
    let entry = entries.find(|entry| tiff.number(*entry, 2) == Some(PHOTOMETRIC))?;
    let at = entry.checked_add(8)?;
    if tiff.number(at, 2)? != PALETTE {
        return None;
    }
    let grey: [u8; 2] = if tiff.little { 1_u16.to_le_bytes() } else { 1_u16.to_be_bytes() };
    let mut copy = bytes.to_vec();
    let at = usize::try_from(at).ok()?;
    copy.get_mut(at..at + 2)?.copy_from_slice(&grey);
    Some(copy)
}

/// Access to the numbers of a classic TIFF; `BigTIFF` is left to the decoder.
struct Tiff<'a> {
    bytes: &'a [u8],
    little: bool,
}

impl<'a> Tiff<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let little = bytes.starts_with(b"II\x2a\x00");
        (little || bytes.starts_with(b"MM\x00\x2a")).then_some(Self { bytes, little })
    }

    fn number(&self, at: u64, size: u64) -> Option<u64> {
        let start = usize::try_from(at).ok()?;
        let end = usize::try_from(at.checked_add(size)?).ok()?;
        let field = self.bytes.get(start..end)?;
        let shift = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
        Some(if self.little {
            field.iter().rev().fold(0, shift)
        } else {
            field.iter().fold(0, shift)
        })
    }

    /// One value of an entry's list of shorts or longs, which lies in the entry if it fits there.
    fn element(&self, entry: u64, index: u64) -> Option<u64> {
        let size = if self.number(entry + 2, 2)? == 3 { 2 } else { 4 };
        let count = self.number(entry + 4, 4)?;
        let list = if count * size <= 4 { entry + 8 } else { self.number(entry + 8, 4)? };
        self.number(list.checked_add(index * size)?, size)
    }
}
