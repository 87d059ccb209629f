//! The end of MP4 and `QuickTime` films, and of pictures in the same container.

use super::Ending;
use super::bytes::{Bytes, Order, number};
use std::io;

/// Most boxes at the top of one file; films in fragments have two for each.
const BOXES: usize = 4_096;

/// Whether it begins with a box that such files begin with.
pub(super) fn is_movie(head: &[u8], suffix: &str) -> bool {
    match head.get(4..8) {
        Some(b"ftyp") => true,
        Some(b"moov" | b"mdat" | b"wide" | b"free" | b"skip" | b"pnot") => {
            matches!(suffix, "mov" | "mp4" | "m4v" | "qt")
        }
        _ => false,
    }
}

/// Boxes that add up to the whole file, one of which says what is in the others (ISO/IEC 14496-12,
/// 4.2): `moov`, `moof` in fragments, `meta` for pictures. Cameras and ffmpeg write it last.
pub(super) fn movie(bytes: &mut Bytes<'_>) -> io::Result<Ending> {
    let mut at = 0_u64;
    let mut described = false;
    for _ in 0..BOXES {
        let left = bytes.size_bytes().saturating_sub(at);
        let start = bytes.at(at, 16)?;
        // Up to seven zeros behind the last box are filling.
        if left == 0 || (left < 8 && start.iter().all(|byte| *byte == 0)) {
            return Ok(if described {
                Ending::Whole
            } else {
                Ending::unfinished("its index is missing: a film has it in a part named 'moov'")
            });
        }
        let short = number(&start, 0, 4, Order::Big);
        let size = match short {
            Some(1) => number(&start, 8, 8, Order::Big),
            // To the end of the file.
            Some(0) => Some(left),
            other => other,
        };
        let (Some(size), Some(kind)) = (size, start.get(4..8)) else { return Ok(cut()) };
        if kind == [0; 4] {
            return Ok(Ending::unfinished("its end is not written yet"));
        }
        if size < 8 {
            return Ok(Ending::Unknown);
        }
        described |= matches!(kind, b"moov" | b"moof" | b"meta");
        if size > left {
            return Ok(cut());
        }
        at = at.saturating_add(size);
    }
    Ok(Ending::Unknown)
}

fn cut() -> Ending {
    Ending::unfinished("its end is missing: its last part is cut off")
}
