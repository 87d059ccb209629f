//! Writes pixels: PNG bytes for textures, half-float EXR files for light.

use crate::preview::LinearImage;
use exr::prelude::{Encoding, Image, Layer, LayerAttributes, SpecificChannels, WritableImage, f16};
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The PNG bytes of a picture; without its alpha where that is full everywhere.
pub fn png_bytes(width: u32, height: u32, rgba: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let encoder =
        PngEncoder::new_with_quality(&mut bytes, CompressionType::Default, FilterType::Adaptive);
    let opaque = rgba.chunks_exact(4).all(|pixel| matches!(pixel, [.., 255]));
    let written = if opaque {
        let rgb: Vec<u8> =
            rgba.chunks_exact(4).flat_map(|pixel| pixel.iter().take(3).copied()).collect();
        encoder.write_image(&rgb, width, height, ExtendedColorType::Rgb8)
    } else {
        encoder.write_image(rgba, width, height, ExtendedColorType::Rgba8)
    };
    written.map_err(|error| match error {
        image::ImageError::IoError(source) => source,
        other => io::Error::other(other),
    })?;
    Ok(bytes)
}

/// Writes a half-float EXR: red, green, blue and premultiplied alpha, ZIP compressed. The same
/// pixels give the same bytes.
pub fn write_exr(image: &LinearImage, path: &Path) -> io::Result<()> {
    let width = image.width as usize;
    let half = |value: f32| f16::from_f32(value.clamp(-65_504.0, 65_504.0));
    let pixel = |at: exr::math::Vec2<usize>| {
        let [r, g, b, a] = image.pixels.get(at.y() * width + at.x()).copied().unwrap_or_default();
        (half(r), half(g), half(b), half(a))
    };
    let layer = Layer::new(
        (width, image.height as usize),
        LayerAttributes::default(),
        Encoding::SMALL_LOSSLESS,
        SpecificChannels::rgba(pixel),
    );
    let mut file = BufWriter::new(File::create(path)?);
    Image::from_layer(layer).write().non_parallel().to_buffered(&mut file).map_err(|error| {
        match error {
            exr::error::Error::Io(source) => source,
            other => io::Error::other(other.to_string()),
        }
    })?;
    file.flush()
}
