//! The ends of pictures.

use super::Ending;
use super::bytes::{Bytes, last_of, u32_at, u64_at};
use std::io;

/// Most segments before the pixels of a JPEG that are gone through: profiles come in up to 255.
const JPEG_SEGMENTS: usize = 1_024;
/// Most sizes of one texture: more than 2³¹ pixels on a side do not exist.
const KTX_LEVELS: u64 = 32;

/// The last chunk is IEND, which is empty and so always has the same checksum (PNG 1.2, 4.1.4).
pub(super) fn png(bytes: &mut Bytes<'_>) -> io::Result<Ending> {
    const END: &[u8] = b"\0\0\0\0IEND\xae\x42\x60\x82";
    Ok(match last_of(&bytes.tail()?, END) {
        Some(_) => Ending::Whole,
        None => Ending::unfinished("its end is missing: a PNG ends with IEND"),
    })
}

/// Segments with lengths up to SOS, then pixels in which each FF is followed by 00 or a restart
/// mark, then FFD9 (ITU-T T.81, B.1 and B.2). A small preview before SOS has an FFD9 of its own.
pub(super) fn jpeg(bytes: &mut Bytes<'_>) -> io::Result<Ending> {
    let Some(pixels_at) = jpeg_pixels(bytes)? else {
        return Ok(Ending::cut_in_header("JPEG"));
    };
    let tail = bytes.tail()?;
    let tail_at = bytes.size_bytes().saturating_sub(tail.len() as u64);
    let before = usize::try_from(pixels_at.saturating_sub(tail_at)).unwrap_or(usize::MAX);
    let pixels = tail.get(before..).unwrap_or_default();
    if last_of(pixels, b"\xff\xd9").is_some() {
        return Ok(Ending::Whole);
    }
    // Phones append films of megabytes: what is no JPEG any more says nothing about the end.
    let foreign = pixels.windows(2).any(|pair| match pair {
        [0xff, next] => !matches!(next, 0 | 0xc4 | 0xd0..=0xd7 | 0xda..=0xdd | 0xfe | 0xff),
        _ => false,
    });
    Ok(if foreign {
        Ending::Unknown
    } else {
        Ending::unfinished("its end is missing: a JPEG ends with the bytes FF D9")
    })
}

/// Where the pixels of the first picture begin.
fn jpeg_pixels(bytes: &mut Bytes<'_>) -> io::Result<Option<u64>> {
    let mut at = 2;
    for _ in 0..JPEG_SEGMENTS {
        let segment = bytes.at(at, 4)?;
        match segment.as_slice() {
            [0xff, 0xff, ..] => at += 1,
            [0xff, 0xda, ..] => return Ok(Some(at)),
            [0xff, _, high, low] => at += 2 + u64::from(u16::from_be_bytes([*high, *low])),
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// The last block of a picture ends with 00, then comes the trailer 3B (GIF 89a, 15 and 27). Zeros
/// and line ends behind it are allowed.
pub(super) fn gif(bytes: &mut Bytes<'_>) -> io::Result<Ending> {
    let tail = bytes.tail()?;
    let end = tail.iter().rposition(|byte| !matches!(byte, 0 | b'\r' | b'\n'));
    let end = end.and_then(|end| tail.get(..=end)).unwrap_or_default();
    Ok(if end.ends_with(b"\0;") {
        Ending::Whole
    } else {
        Ending::unfinished("its end is missing: a GIF ends with the byte 3B")
    })
}

/// RIFF says how many bytes follow its own eight (RFC 9649, 2.3).
pub(super) fn webp(bytes: &Bytes<'_>, head: &[u8]) -> Ending {
    let needed = u32_at(head, 4).unwrap_or(0).saturating_add(8);
    Ending::by_length("WebP", needed, bytes.size_bytes())
}

/// `BM` and a header of a size that exists.
pub(super) fn is_bmp(head: &[u8]) -> bool {
    let known = [12, 16, 40, 52, 56, 64, 108, 124];
    head.starts_with(b"BM") && u32_at(head, 14).is_some_and(|size| known.contains(&size))
}

/// Where the pixels are not compressed their length follows from width, height and depth, rows
/// filled up to four bytes; otherwise the length at byte 2 is believed.
pub(super) fn bmp(bytes: &Bytes<'_>, head: &[u8]) -> Ending {
    let needed = if u32_at(head, 14) == Some(12) {
        let side = |at: usize| super::bytes::number(head, at, 2, super::bytes::Order::Little);
        plain_bmp(head, side(18), side(20), side(24))
    } else {
        let compression = u32_at(head, 30);
        if matches!(compression, Some(0 | 3 | 6)) {
            let height = u32_at(head, 22).map(|height| u64::from((height as i32).unsigned_abs()));
            let depth = super::bytes::number(head, 28, 2, super::bytes::Order::Little);
            plain_bmp(head, u32_at(head, 18), height, depth)
        } else {
            u32_at(head, 2)
        }
    };
    match needed {
        None => Ending::cut_in_header("BMP"),
        Some(0) => Ending::Unknown,
        Some(needed) => Ending::by_length("BMP", needed, bytes.size_bytes()),
    }
}

fn plain_bmp(
    head: &[u8],
    width: Option<u64>,
    height: Option<u64>,
    depth: Option<u64>,
) -> Option<u64> {
    let row = width?.saturating_mul(depth?).div_ceil(32).saturating_mul(4);
    Some(u32_at(head, 10)?.saturating_add(row.saturating_mul(height?)))
}

/// TGA 2.0 ends with a mark; older files have none.
pub(super) fn tga(bytes: &mut Bytes<'_>) -> io::Result<Ending> {
    let whole = bytes.last(18)?.as_slice() == b"TRUEVISION-XFILE.\0";
    Ok(if whole { Ending::Whole } else { Ending::Unknown })
}

/// The index of levels, and of the three blocks before them, says where each lies (KTX 2.0, 3).
pub(super) fn ktx2(bytes: &mut Bytes<'_>, head: &[u8]) -> io::Result<Ending> {
    let Some(levels) = u32_at(head, 40) else { return Ok(Ending::cut_in_header("KTX2")) };
    if levels > KTX_LEVELS {
        return Ok(Ending::Unknown);
    }
    let index = bytes.at(80, 24 * levels.max(1) as usize)?;
    let mut needed = 0_u64;
    let mut reach = |at: Option<u64>, length: Option<u64>| {
        let end = at?.saturating_add(length?);
        needed = needed.max(end);
        Some(())
    };
    let mut all = reach(u32_at(head, 48), u32_at(head, 52))
        .and_then(|()| reach(u32_at(head, 56), u32_at(head, 60)))
        .and_then(|()| reach(u64_at(head, 64), u64_at(head, 72)));
    for level in 0..levels.max(1) as usize {
        all = all.and_then(|()| reach(u64_at(&index, 24 * level), u64_at(&index, 24 * level + 8)));
    }
    if all.is_none() {
        return Ok(Ending::cut_in_header("KTX2"));
    }
    let unwritten = (0..levels.max(1) as usize).any(|level| u64_at(&index, 24 * level) == Some(0));
    if unwritten {
        return Ok(Ending::unfinished("its list of sizes is not written yet"));
    }
    Ok(Ending::by_length("KTX2", needed, bytes.size_bytes()))
}
