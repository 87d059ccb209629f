//! Tells a TGA: it has no magic number, only a sane header and, since version 2, a footer.
//!
//! The fields are those of Truevision's TGA file format specification, version 2.0.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The mark that ends a file of version 2.
const FOOTER: &[u8] = b"TRUEVISION-XFILE.\0";
/// Its size.
const FOOTER_BYTES: i64 = 18;
/// Bytes of the header.
const HEADER_BYTES: usize = 18;

/// Whether these first bytes are a header whose fields fit each other.
pub(super) fn is_header(head: &[u8]) -> bool {
    let Some(
        &[_, map, kind, _, _, map_low, map_high, map_bits, _, _, _, _, w0, w1, h0, h1, bits, flags],
    ) = head.first_chunk::<HEADER_BYTES>()
    else {
        return false;
    };
    let (mapped, depths): (bool, &[u8]) = match kind {
        1 | 9 => (true, &[8, 16]),
        2 | 10 => (false, &[15, 16, 24, 32]),
        3 | 11 => (false, &[8, 16]),
        _ => return false,
    };
    let colours = u16::from_le_bytes([map_low, map_high]);
    let has_map = map == 1 && colours > 0 && [8, 15, 16, 24, 32].contains(&map_bits);
    let has_size = [w0, w1] != [0, 0] && [h0, h1] != [0, 0];
    // The two highest bits are reserved; the lowest four count the bits of alpha.
    let sane_flags = flags & 0xc0 == 0 && matches!(flags & 0xf, 0 | 1 | 8);
    map <= 1 && (!mapped || has_map) && depths.contains(&bits) && has_size && sane_flags
}

/// Whether the header counts any bits of alpha; without, the fourth byte of a pixel means nothing.
pub(super) fn has_alpha(bytes: &[u8]) -> bool {
    bytes.get(17).is_some_and(|flags| flags & 0xf != 0)
}

/// Whether the bytes of a whole file end with the footer's mark.
pub(super) fn has_footer(bytes: &[u8]) -> bool {
    bytes.ends_with(FOOTER)
}

/// Whether the file at `path` ends with the footer's mark; no where it cannot be read.
pub(super) fn ends_with_footer(path: &Path) -> bool {
    let end = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(-FOOTER_BYTES))?;
        let mut end = Vec::new();
        file.take(FOOTER.len() as u64).read_to_end(&mut end)?;
        Ok(end)
    };
    end().is_ok_and(|end| has_footer(&end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_whose_fields_contradict_each_other_is_none() {
        let good = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 3, 0, 32, 8];
        assert!(is_header(&good));
        for (at, value) in [(1, 2), (2, 4), (2, 1), (12, 0), (14, 0), (16, 7), (17, 0x48), (17, 5)]
        {
            let mut bad = good;
            bad[at] = value;
            assert!(!is_header(&bad), "byte {at} is {value}");
        }
        assert!(!is_header(&good[..17]));
    }
}
