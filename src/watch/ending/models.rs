//! The ends of models, scenes and archives.

use super::bytes::{Bytes, Order, last_of, number, u32_at, u64_at};
use super::{Ending, HEAD_BYTES, TAIL_BYTES};
use std::io;

/// Longest header of a PLY that is read.
const PLY_HEADER_BYTES: usize = 64 << 10;
/// Most parts at the top of an FBX; there are about a dozen.
const FBX_PARTS: usize = 256;
/// Most sections of a binary USD; there are six.
const USD_SECTIONS: u64 = 64;
/// Zeros at the end of a text that mean that it is not written; fewer may belong to UTF-16.
const ZERO_TAIL_BYTES: usize = 16;

/// The header has the length of the whole (glTF 2.0, 4.4.2), and each chunk a length and a type.
pub(super) fn glb(bytes: &mut Bytes<'_>, head: &[u8]) -> io::Result<Ending> {
    let (Some(needed), Some(json)) = (u32_at(head, 8), u32_at(head, 12)) else {
        return Ok(Ending::cut_in_header("GLB"));
    };
    if needed == 0 {
        return Ok(Ending::unfinished("its length is not written yet"));
    }
    let ending = Ending::by_length("GLB", needed, bytes.size_bytes());
    let second_at = json.saturating_add(20);
    if ending == Ending::Whole && second_at.saturating_add(8) <= needed {
        let second = bytes.at(second_at, 8)?;
        if second.iter().all(|byte| *byte == 0) {
            return Ok(Ending::unfinished("its second part is not written yet"));
        }
    }
    Ok(ending)
}

/// An object from the first brace to the last. Short ones are read whole.
pub(super) fn gltf(bytes: &mut Bytes<'_>) -> io::Result<Ending> {
    let tail = bytes.tail()?;
    let missing =
        || Ending::unfinished("its end is missing: a glTF file ends with a closing brace");
    if bytes.size_bytes() <= TAIL_BYTES as u64 {
        let text = tail.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&tail);
        return Ok(match serde_json::from_slice::<serde::de::IgnoredAny>(text) {
            Ok(_) => Ending::Whole,
            Err(error) if error.is_eof() => missing(),
            // Zeros where text should be are bytes that have not come yet.
            Err(_) if tail.contains(&0) => missing(),
            Err(_) => Ending::Unknown,
        });
    }
    let last = tail.iter().rfind(|byte| !byte.is_ascii_whitespace());
    Ok(if last == Some(&b'}') { Ending::Whole } else { missing() })
}

/// A text says nothing about its end; but it has no zeros.
pub(super) fn text(bytes: &mut Bytes<'_>) -> io::Result<Ending> {
    let last = bytes.last(ZERO_TAIL_BYTES)?;
    let zeros = last.len() == ZERO_TAIL_BYTES && last.iter().all(|byte| *byte == 0);
    Ok(if zeros { Ending::unfinished("its end is not written yet") } else { Ending::Unknown })
}

/// The record of the directory is the last thing but a comment (ZIP `APPNOTE`, 4.3.16).
pub(super) fn zip(bytes: &mut Bytes<'_>) -> io::Result<Ending> {
    const RECORD_BYTES: usize = 22;
    const IN_ZIP64: u64 = 0xffff_ffff;
    let tail = bytes.last(TAIL_BYTES + RECORD_BYTES)?;
    let tail_at = bytes.size_bytes().saturating_sub(tail.len() as u64);
    let found = tail.windows(RECORD_BYTES).enumerate().rev().any(|(at, record)| {
        let comment = number(record, 20, 2, Order::Little).unwrap_or(0) as usize;
        let directory = u32_at(record, 16).zip(u32_at(record, 12));
        record.starts_with(b"PK\x05\x06")
            && at + RECORD_BYTES + comment <= tail.len()
            && directory.is_some_and(|(start, size)| {
                start == IN_ZIP64 || start.saturating_add(size) <= tail_at + at as u64
            })
    });
    Ok(if found {
        Ending::Whole
    } else {
        Ending::unfinished("its end is missing: a ZIP or USDZ ends with its table of contents")
    })
}

/// The footer ends with sixteen certain bytes. Some exporters write none: then the chain of the
/// top nodes, each of which says where it ends, must end with the file.
pub(super) fn fbx(bytes: &mut Bytes<'_>, head: &[u8]) -> io::Result<Ending> {
    const END: [u8; 16] = [
        0xf8, 0x5a, 0x8c, 0x6a, 0xde, 0xf5, 0xd9, 0x7e, 0xec, 0xe9, 0x0c, 0xe3, 0x75, 0x8f, 0x29,
        0x0b,
    ];
    const HEADER_BYTES: u64 = 27;
    let cut = Ending::unfinished("its end is missing: an FBX ends with a mark of sixteen bytes");
    if bytes.last(16)? == END {
        return Ok(Ending::Whole);
    }
    let Some(version) = u32_at(head, 23) else { return Ok(cut) };
    let (wide, null_bytes) = if version >= 7_500 { (8, 25) } else { (4, 13) };
    let mut at = HEADER_BYTES;
    for _ in 0..FBX_PARTS {
        let node = bytes.at(at, wide)?;
        match number(&node, 0, wide, Order::Little) {
            Some(0) => {
                let ends_here = at.saturating_add(null_bytes) == bytes.size_bytes();
                return Ok(if ends_here { Ending::Whole } else { cut });
            }
            Some(end) if end > at && end <= bytes.size_bytes() => at = end,
            _ => return Ok(cut),
        }
    }
    Ok(Ending::Unknown)
}

/// The last block is ENDB and empty; its head has 20, 24 or, from Blender 5.0 on, 32 bytes.
pub(super) fn blend(bytes: &mut Bytes<'_>, head: &[u8]) -> io::Result<Ending> {
    let head_bytes = match head.get(7) {
        Some(b'_') => 20,
        Some(b'-') => 24,
        Some(b'0'..=b'9') => 32,
        _ => return Ok(Ending::cut_in_header("Blender file")),
    };
    let whole = bytes.last(head_bytes)?.starts_with(b"ENDB");
    Ok(if whole {
        Ending::Whole
    } else {
        Ending::unfinished("its end is missing: a Blender file ends with ENDB")
    })
}

/// Blender compresses in pieces and ends with the table of them, whose last four bytes are a mark
/// (Zstandard Seekable Format).
pub(super) fn blend_zstd(bytes: &mut Bytes<'_>) -> io::Result<Ending> {
    let whole = bytes.last(4)? == [0xb1, 0xea, 0x92, 0x8f];
    Ok(if whole {
        Ending::Whole
    } else {
        Ending::unfinished(
            "its end is missing: a compressed Blender file ends with its table of pieces",
        )
    })
}

/// An Ogawa archive has FF at byte 5 once its writer has closed it.
pub(super) fn alembic(head: &[u8]) -> Ending {
    if head.get(5) == Some(&0xff) {
        Ending::Whole
    } else {
        Ending::unfinished("the program that writes this Alembic file has not closed it")
    }
}

/// The header says where the list of sections lies, and that where each section does; it is
/// written last.
pub(super) fn usdc(bytes: &mut Bytes<'_>, head: &[u8]) -> io::Result<Ending> {
    let Some(list_at) = u64_at(head, 16) else { return Ok(Ending::cut_in_header("USD file")) };
    if list_at == 0 {
        return Ok(Ending::unfinished("its table of contents is not written yet"));
    }
    let cut =
        Ending::unfinished("its end is missing: a binary USD ends with its table of contents");
    let Some(count) = u64_at(&bytes.at(list_at, 8)?, 0) else { return Ok(cut) };
    if count > USD_SECTIONS {
        return Ok(Ending::Unknown);
    }
    let list = bytes.at(list_at.saturating_add(8), 32 * count as usize)?;
    let sections = list.chunks_exact(32);
    let inside = |section: &[u8]| {
        let end = u64_at(section, 16).zip(u64_at(section, 24));
        end.is_some_and(|(start, size)| start.saturating_add(size) <= bytes.size_bytes())
    };
    let complete = count > 0 && sections.len() as u64 == count;
    Ok(if complete && sections.clone().all(inside) { Ending::Whole } else { cut })
}

/// Binary: 84 bytes, then 50 for each triangle. Text: `endsolid` at the end.
pub(super) fn stl(bytes: &mut Bytes<'_>, head: &[u8]) -> io::Result<Ending> {
    let size_bytes = bytes.size_bytes();
    let needed = u32_at(head, 80).map(|count| 84 + 50 * count);
    if needed == Some(size_bytes) {
        return Ok(Ending::Whole);
    }
    let solid = head.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"solid"));
    if solid && !head.contains(&0) {
        let tail = bytes.last(HEAD_BYTES)?.to_ascii_lowercase();
        return Ok(match last_of(&tail, b"endsolid") {
            Some(_) => Ending::Whole,
            None => Ending::unfinished("its end is missing: an STL in text ends with 'endsolid'"),
        });
    }
    Ok(match needed {
        None => Ending::cut_in_header("STL"),
        Some(84) => Ending::unfinished("its number of triangles is not written yet"),
        Some(needed) => Ending::by_length("STL", needed, size_bytes),
    })
}

/// Binary: the header, then for each element its numbers. Lists have lengths of their own, so
/// with them only too few bytes can be told.
pub(super) fn ply(bytes: &mut Bytes<'_>) -> io::Result<Ending> {
    let head = bytes.at(0, PLY_HEADER_BYTES)?;
    let Some(end) = head.windows(10).position(|window| window == b"end_header") else {
        let longer = bytes.size_bytes() > PLY_HEADER_BYTES as u64;
        return Ok(if longer { Ending::Unknown } else { Ending::cut_in_header("PLY") });
    };
    let text = String::from_utf8_lossy(head.get(..end).unwrap_or_default());
    if !text.contains("format binary") {
        return Ok(Ending::Unknown);
    }
    // The line end behind it: one or two bytes; one is certain.
    let mut needed = end as u64 + 11;
    let mut lists = false;
    let mut count = 0_u64;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let bytes_of_one = match words.as_slice() {
            ["element", _, number] => {
                let Ok(number) = number.parse() else { return Ok(Ending::Unknown) };
                count = number;
                continue;
            }
            ["property", "list", kind, ..] => {
                lists = true;
                scalar_bytes(kind)
            }
            ["property", kind, _] => scalar_bytes(kind),
            _ => continue,
        };
        let Some(bytes_of_one) = bytes_of_one else { return Ok(Ending::Unknown) };
        needed = needed.saturating_add(count.saturating_mul(bytes_of_one));
    }
    Ok(match Ending::by_length("PLY", needed, bytes.size_bytes()) {
        Ending::Whole if lists => Ending::Unknown,
        ending => ending,
    })
}

fn scalar_bytes(kind: &str) -> Option<u64> {
    Some(match kind {
        "char" | "uchar" | "int8" | "uint8" => 1,
        "short" | "ushort" | "int16" | "uint16" => 2,
        "int" | "uint" | "int32" | "uint32" | "float" | "float32" => 4,
        "double" | "float64" => 8,
        _ => return None,
    })
}
