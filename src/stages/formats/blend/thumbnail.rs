//! The small picture that Blender keeps in a scene: the block TEST, near the file's start.

use super::blocks::first_block;
use super::error::BlendError;
use super::stream::{Source, Stream};
use super::{bounds, guarded};
use std::fs::File;
use std::path::Path;

/// A picture of a scene, as its author last saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thumbnail {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Red, green, blue and alpha, from the top row down.
    pub rgba: Vec<u8>,
}

/// The picture in the scene at `path`; none where it has none, or one that shows nothing.
pub fn thumbnail(path: &Path) -> Result<Option<Thumbnail>, BlendError> {
    read(&mut File::open(path).map_err(BlendError::Unreadable)?)
}

pub(super) fn read(source: &mut dyn Source) -> Result<Option<Thumbnail>, BlendError> {
    guarded(|| {
        let mut stream = Stream::open(source)?;
        let header = stream.header()?;
        let block = first_block(&mut stream, &header, *b"TEST", bounds::THUMBNAIL_BYTES)?;
        Ok(block.and_then(|bytes| {
            let layout = header.layout;
            let (width, rest) = bytes.split_at_checked(4)?;
            let (height, pixels) = rest.split_at_checked(4)?;
            picture(layout.unsigned(width)?, layout.unsigned(height)?, pixels)
        }))
    })
}

/// The block's rows go from the bottom up.
fn picture(width: u64, height: u64, pixels: &[u8]) -> Option<Thumbnail> {
    let is_size = |edge: u64| edge > 0 && edge <= bounds::THUMBNAIL_EDGE;
    if !is_size(width) || !is_size(height) {
        return None;
    }
    let row = usize::try_from(width * 4).ok()?;
    let pixels = pixels.get(..row * usize::try_from(height).ok()?)?;
    let rgba: Vec<u8> = pixels.chunks_exact(row).rev().flatten().copied().collect();
    let shows = rgba.chunks_exact(4).any(|pixel| matches!(pixel, [.., alpha] if *alpha > 0));
    let (width, height) = (u32::try_from(width).ok()?, u32::try_from(height).ok()?);
    shows.then_some(Thumbnail { width, height, rgba })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Writer, pictured};
    use super::*;
    use std::io::Cursor;

    fn found(bytes: &[u8]) -> Option<Thumbnail> {
        read(&mut Cursor::new(bytes)).expect("readable")
    }

    #[test]
    fn the_picture_is_read_from_the_top_down_in_every_layout() {
        let pixels = [1, 1, 1, 255, 2, 2, 2, 255];
        for header in ["BLENDER_v279", "BLENDER_V248", "BLENDER-v304", "BLENDER17-01v0500"] {
            let picture = found(&pictured(header, [1, 2], &pixels)).expect("has one");
            assert_eq!((picture.width, picture.height), (1, 2), "{header}");
            assert_eq!(picture.rgba, [2, 2, 2, 255, 1, 1, 1, 255], "{header}");
        }
    }

    #[test]
    fn empty_cut_and_absurd_pictures_are_none() {
        let header = "BLENDER-v304";
        assert_eq!(found(&pictured(header, [1, 2], &[7, 7, 7, 0, 7, 7, 7, 0])), None, "unseen");
        assert_eq!(found(&pictured(header, [1, 2], &[1, 1, 1, 255])), None, "a row lacks");
        assert_eq!(found(&pictured(header, [0, 2], &[])), None);
        assert_eq!(found(&pictured(header, [u32::MAX, u32::MAX], &[255; 64])), None);
        let mut plain = Writer::new(header);
        plain.block("GLOB", "FileGlobal", 3, 1, &[0; 64]);
        assert_eq!(found(&plain.finish()), None, "no such block");
    }
}
