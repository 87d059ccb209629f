//! Counts the frames of pictures that can move; only the first one is shown.

use super::Format;

/// Most blocks of a file that are walked through.
const BLOCKS: usize = 1 << 20;

/// Frames of a picture in memory: 1 for what cannot move or cannot be understood.
pub(super) fn frames(format: Format, bytes: &[u8]) -> u32 {
    let count = match format {
        Format::Png => png_chunk(bytes, *b"acTL").and_then(|actl| be(actl, 0)),
        Format::Gif => gif(bytes),
        Format::Webp => Some(webp(bytes)),
        _ => None,
    };
    count.unwrap_or(1).max(1)
}

fn be(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk::<4>().map(|field| u32::from_be_bytes(*field))
}

/// The content of the first chunk of this kind before the pixels (PNG specification, 5.3).
pub(super) fn png_chunk(bytes: &[u8], kind: [u8; 4]) -> Option<&[u8]> {
    let mut at = 8_usize;
    loop {
        let length = be(bytes, at)? as usize;
        let found = bytes.get(at + 4..at + 8)?;
        let content = at + 8;
        if found == kind {
            return bytes.get(content..content.checked_add(length)?);
        }
        if matches!(found, b"IDAT" | b"IEND") {
            return None;
        }
        at = content.checked_add(length)?.checked_add(4)?;
    }
}

/// Counts image descriptors (GIF 89a, 20) from block to block.
fn gif(bytes: &[u8]) -> Option<u32> {
    let table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3_usize << ((flags & 7) + 1) };
    let mut at = 13 + table(*bytes.get(10)?);
    let mut count = 0;
    for _ in 0..BLOCKS {
        match bytes.get(at) {
            Some(0x2c) => {
                count += 1;
                at += 11 + table(*bytes.get(at + 9)?);
            }
            Some(0x21) => at += 2,
            _ => break,
        }
        while let Some(size) = bytes.get(at).filter(|size| **size > 0) {
            at += 1 + usize::from(*size);
        }
        at += 1;
    }
    Some(count)
}

/// Counts `ANMF` chunks (WebP container specification).
fn webp(bytes: &[u8]) -> u32 {
    let mut at = 12_usize;
    let mut count = 0;
    while let Some(head) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let [a, b, c, d, size @ ..] = *head;
        count += u32::from([a, b, c, d] == *b"ANMF");
        let size = u32::from_le_bytes(size) as usize;
        at = at.saturating_add(8 + size + size % 2);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_and_damage_counts_as_one() {
        let mut bytes = Vec::new();
        {
            let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
            for tone in [0, 90, 180] {
                let frame = image::RgbaImage::from_pixel(4, 3, image::Rgba([tone, 0, 0, 255]));
                encoder.encode_frame(image::Frame::new(frame)).expect("encoded");
            }
        }
        assert_eq!(frames(Format::Gif, &bytes), 3);
        assert_eq!(frames(Format::Gif, &bytes[..9]), 1);
        let webp = b"RIFF\0\0\0\0WEBPVP8X\x01\0\0\0\0\0ANMF\x02\0\0\0xxANMF\x02\0\0\0xx";
        assert_eq!(frames(Format::Webp, webp), 2);
        assert_eq!(frames(Format::Png, b"\x89PNG\r\n\x1a\n\0\0\0\x08acTL\0\0\0\x05\0\0\0\0"), 5);
        assert_eq!(frames(Format::Jpeg, b""), 1);
    }
}
