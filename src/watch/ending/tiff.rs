//! The end of a TIFF: it has none of its own, but says where each of its parts lies.

use super::Ending;
use super::bytes::{Bytes, Order, number};
use std::io;

/// Most pictures of one file that are looked at.
const PICTURES: usize = 16;
/// Most entries of one picture.
const ENTRIES: u64 = 4_096;
/// Most strips or tiles of one picture that are looked at; beyond it, the last is.
const STRIPS: u64 = 4_096;

/// The widths of the two kinds: classic, and `BigTIFF` with numbers of 8 bytes.
#[derive(Clone, Copy)]
struct Layout {
    order: Order,
    /// Bytes of an offset and of a count of values.
    wide: usize,
    /// Bytes of the count of entries.
    count: usize,
}

impl Layout {
    /// Tag and type are 2 bytes each, then a count and a value or offset.
    fn entry_bytes(self) -> usize {
        4 + 2 * self.wide
    }
}

/// The values of one entry.
#[derive(Clone, Copy)]
struct Values {
    at: u64,
    count: u64,
    /// Bytes of one.
    width: usize,
}

/// The header points to a list of entries, each list to the next one; the entries say where their
/// values lie, and four of them where the pixels do (TIFF 6.0, sections 2 and 15).
pub(super) fn tiff(bytes: &mut Bytes<'_>, head: &[u8]) -> io::Result<Ending> {
    let order = if head.starts_with(b"II") { Order::Little } else { Order::Big };
    let big = number(head, 2, 2, order) == Some(43);
    let layout =
        if big { Layout { order, wide: 8, count: 8 } } else { Layout { order, wide: 4, count: 2 } };
    let first = number(head, if big { 8 } else { 4 }, layout.wide, order);
    let Some(mut list_at) = first else { return Ok(Ending::cut_in_header("TIFF")) };
    if list_at == 0 {
        return Ok(Ending::unfinished("its table of contents is not written yet"));
    }
    for _ in 0..PICTURES {
        if list_at == 0 {
            return Ok(Ending::Whole);
        }
        match picture(bytes, layout, list_at)? {
            Ok(next) => list_at = next,
            Err(ending) => return Ok(ending),
        }
    }
    Ok(Ending::Whole)
}

/// Where the next list lies, or what is missing of this one.
fn picture(bytes: &mut Bytes<'_>, layout: Layout, list_at: u64) -> io::Result<Result<u64, Ending>> {
    let cut = || Err(Ending::unfinished("its end is missing: its table of contents is cut off"));
    let order = layout.order;
    let start = bytes.at(list_at, layout.count)?;
    let Some(count) = number(&start, 0, layout.count, order) else { return Ok(cut()) };
    if count == 0 || count > ENTRIES {
        return Ok(Err(if count == 0 {
            Ending::unfinished("its table of contents is empty")
        } else {
            Ending::Unknown
        }));
    }
    let entry_bytes = layout.entry_bytes();
    let list_bytes = entry_bytes * count as usize;
    let entries_at = list_at.saturating_add(layout.count as u64);
    let list = bytes.at(entries_at, list_bytes + layout.wide)?;
    let Some(next) = number(&list, list_bytes, layout.wide, order) else { return Ok(cut()) };
    let mut starts = Vec::new();
    let mut lengths = Vec::new();
    for (index, entry) in list.chunks_exact(entry_bytes).take(count as usize).enumerate() {
        let at = entries_at.saturating_add((index * entry_bytes) as u64);
        let Some(values) = values(entry, at, layout) else { continue };
        let end = values.at.saturating_add(values.count.saturating_mul(values.width as u64));
        if end > bytes.size_bytes() {
            return Ok(cut());
        }
        match number(entry, 0, 2, order) {
            Some(273 | 324) => starts = numbers(bytes, values, order)?,
            Some(279 | 325) => lengths = numbers(bytes, values, order)?,
            _ => {}
        }
    }
    // An offset of 0 is a strip that was left out on purpose, if its length is 0 too.
    let missing = starts.iter().zip(&lengths).any(|(start, length)| {
        start.saturating_add(*length) > bytes.size_bytes() || (*start == 0 && *length > 0)
    });
    Ok(if missing {
        Err(Ending::unfinished("a part of its pixels is missing: they should lie behind its end"))
    } else {
        Ok(next)
    })
}

/// Where the values of an entry lie: in the entry itself where they are short enough. Nothing for
/// types that do not exist.
fn values(entry: &[u8], entry_at: u64, layout: Layout) -> Option<Values> {
    let width = match number(entry, 2, 2, layout.order)? {
        1 | 2 | 6 | 7 => 1,
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 | 16 | 17 | 18 => 8,
        _ => return None,
    };
    let count = number(entry, 4, layout.wide, layout.order)?;
    let place = 4 + layout.wide;
    let at = if count.saturating_mul(width as u64) <= layout.wide as u64 {
        entry_at.saturating_add(place as u64)
    } else {
        number(entry, place, layout.wide, layout.order)?
    };
    Some(Values { at, count, width })
}

/// The first numbers, and the last one where there are too many.
fn numbers(bytes: &mut Bytes<'_>, values: Values, order: Order) -> io::Result<Vec<u64>> {
    let width = values.width;
    let taken = values.count.min(STRIPS) as usize;
    let mut list = bytes.at(values.at, taken * width)?;
    if values.count > STRIPS {
        let last_at = values.at.saturating_add((values.count - 1).saturating_mul(width as u64));
        list.extend(bytes.at(last_at, width)?);
    }
    Ok(list.chunks_exact(width).filter_map(|digits| number(digits, 0, width, order)).collect())
}
