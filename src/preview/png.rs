//! Pictures as PNG files.

use super::picture::Picture;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder, ImageReader, Limits};
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Longest edge of a PNG that is read back, in pixels.
const MAX_EDGE_PX: u32 = 65_536;
/// Most memory that reading one PNG may take.
const MAX_DECODE_BYTES: u64 = 2 << 30;

/// A PNG could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The file could not be opened, read or written.
    #[error("cannot access the picture: {source}. At {path}")]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The bytes are no whole PNG.
    #[error("the picture cannot be decoded: {source}. At {path}")]
    Decode {
        /// Where.
        path: PathBuf,
        /// Why.
        source: image::ImageError,
    },
    /// The pixels could not be encoded.
    #[error("the picture cannot be encoded: {source}. At {path}")]
    Encode {
        /// Where.
        path: PathBuf,
        /// Why.
        source: image::ImageError,
    },
}

/// Writes a picture; without an alpha channel where every pixel is opaque.
pub fn write_png(picture: &Picture, path: &Path) -> Result<(), PngError> {
    let io = |source| PngError::Io { path: path.to_owned(), source };
    let mut file = BufWriter::new(File::create(path).map_err(io)?);
    let opaque = picture.rgba.chunks_exact(4).all(|pixel| pixel[3] == 255);
    let encoder =
        PngEncoder::new_with_quality(&mut file, CompressionType::Fast, FilterType::Adaptive);
    let written = if opaque {
        let rgb: Vec<u8> =
            picture.rgba.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        encode(encoder, picture, &rgb, ExtendedColorType::Rgb8)
    } else {
        encode(encoder, picture, &picture.rgba, ExtendedColorType::Rgba8)
    };
    written.map_err(|source| match source {
        image::ImageError::IoError(source) => io(source),
        source => PngError::Encode { path: path.to_owned(), source },
    })?;
    file.flush().map_err(io)
}

/// Checks the length first: the encoder asserts it.
fn encode(
    encoder: PngEncoder<&mut BufWriter<File>>,
    picture: &Picture,
    bytes: &[u8],
    color: ExtendedColorType,
) -> image::ImageResult<()> {
    let pixel = usize::from(color.bits_per_pixel() / 8);
    let expected = (picture.width as usize)
        .checked_mul(picture.height as usize)
        .and_then(|pixels| pixels.checked_mul(pixel));
    if expected != Some(bytes.len()) {
        return Err(image::ImageError::Parameter(image::error::ParameterError::from_kind(
            image::error::ParameterErrorKind::DimensionMismatch,
        )));
    }
    encoder.write_image(bytes, picture.width, picture.height, color)
}

/// Reads a picture that this farm wrote.
pub fn read_png(path: &Path) -> Result<Picture, PngError> {
    let io = |source| PngError::Io { path: path.to_owned(), source };
    let file = BufReader::new(File::open(path).map_err(io)?);
    let mut reader = ImageReader::with_format(file, image::ImageFormat::Png);
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_EDGE_PX);
    limits.max_image_height = Some(MAX_EDGE_PX);
    limits.max_alloc = Some(MAX_DECODE_BYTES);
    reader.limits(limits);
    let decoded = reader.decode().map_err(|source| match source {
        image::ImageError::IoError(source)
            if source.kind() != std::io::ErrorKind::UnexpectedEof =>
        {
            io(source)
        }
        source => PngError::Decode { path: path.to_owned(), source },
    })?;
    let pixels = decoded.into_rgba8();
    let (width, height) = pixels.dimensions();
    Ok(Picture { width, height, rgba: pixels.into_raw() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_come_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        for alpha in [255, 90] {
            let rgba: Vec<u8> = (0..35_u8).flat_map(|at| [at, 200 - at, at * 3, alpha]).collect();
            let picture = Picture { width: 7, height: 5, rgba };
            let path = folder.path().join(format!("{alpha}.png"));
            write_png(&picture, &path).unwrap();
            assert_eq!(read_png(&path).unwrap(), picture);
        }
    }

    #[test]
    fn broken_files_and_pictures_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        assert!(matches!(read_png(&path), Err(PngError::Io { .. })));
        let picture = Picture { width: 64, height: 64, rgba: vec![7; 64 * 64 * 4] };
        write_png(&picture, &path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(matches!(read_png(&path), Err(PngError::Decode { .. })));
        let short = Picture { width: 64, height: 64, rgba: vec![7; 8] };
        assert!(matches!(write_png(&short, &path), Err(PngError::Encode { .. })));
    }
}
