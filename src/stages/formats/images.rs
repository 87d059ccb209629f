//! Decodes pictures: PNG, JPEG, TIFF, HDR and EXR.

use super::{
    Format, bounds, corrupt, exr_image, file_name, guarded, integrity, read_bounded, sniff_file,
    too_large, truncated, unsupported,
};
use crate::preview::{DecodedImage, LinearImage, Picture};
use crate::protocol::work::Failure;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader};
use std::io::Cursor;
use std::path::Path;

/// Most bytes a decoder may allocate for one picture.
const DECODER_BYTES: u64 = 2 << 30;

/// Decodes the picture at `path`, turned as its EXIF orientation says.
///
/// Fails with an `input.*` reason: empty, truncated, corrupt, unsupported, wrong suffix, too large.
pub fn load_image(path: &Path) -> Result<DecodedImage, Failure> {
    let format = sniff_file(path)?;
    let name = file_name(path);
    let bytes = read_bounded(path, bounds::IMAGE_FILE_BYTES)?;
    decode(format, &bytes, &name)
}

/// A decoded picture, and what its pixels no longer tell.
#[derive(Debug)]
pub struct Examined {
    /// The picture.
    pub image: DecodedImage,
    /// Channels in the file that are shown, alpha among them: 1 to 4.
    pub channels: u8,
    /// Pixels with a value that was no finite number, before they were mended.
    pub not_finite: u64,
}

/// Decodes a picture in memory.
pub(super) fn decode(format: Format, bytes: &[u8], name: &str) -> Result<DecodedImage, Failure> {
    examine(format, bytes, name).map(|examined| examined.image)
}

/// Decodes a picture in memory, and counts on the way what is mended.
pub fn examine(format: Format, bytes: &[u8], name: &str) -> Result<Examined, Failure> {
    guarded(name, || match format {
        Format::Exr => exr_image::decode(bytes, name).map(|exr| Examined {
            image: DecodedImage::Light(exr.image),
            channels: exr.channels,
            not_finite: exr.not_finite,
        }),
        Format::Png | Format::Jpeg | Format::Tiff | Format::Hdr => raster(format, bytes, name),
        mesh => Err(unsupported(format!("{name} is a {} mesh, not a picture", mesh.name()))),
    })
}

fn raster(format: Format, bytes: &[u8], name: &str) -> Result<Examined, Failure> {
    integrity::check_whole(format, bytes, name)?;
    let mut decoder = decoder(format, bytes, name)?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut image = DynamicImage::from_decoder(decoder).map_err(|error| failure(&error, name))?;
    image.apply_orientation(orientation);
    let channels = image.color().channel_count();
    Ok(match image {
        DynamicImage::ImageRgb32F(_) | DynamicImage::ImageRgba32F(_) => light(image, channels),
        other => {
            let rgba = other.into_rgba8();
            let (width, height) = rgba.dimensions();
            let picture = Picture { width, height, rgba: rgba.into_raw() };
            Examined { image: DecodedImage::Display(picture), channels, not_finite: 0 }
        }
    })
}

/// A decoder with its header read and its size checked.
pub(super) fn decoder<'a>(
    format: Format,
    bytes: &'a [u8],
    name: &str,
) -> Result<impl ImageDecoder + 'a, Failure> {
    let format = match format {
        Format::Png => ImageFormat::Png,
        Format::Jpeg => ImageFormat::Jpeg,
        Format::Tiff => ImageFormat::Tiff,
        Format::Hdr => ImageFormat::Hdr,
        other => return Err(unsupported(format!("{name} is {}, not a raster", other.name()))),
    };
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = image::Limits::default();
    limits.max_image_width = Some(bounds::IMAGE_EDGE);
    limits.max_image_height = Some(bounds::IMAGE_EDGE);
    limits.max_alloc = Some(DECODER_BYTES);
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(|error| failure(&error, name))?;
    let (width, height) = decoder.dimensions();
    if width == 0 || height == 0 {
        return Err(corrupt(format!("{name} is {width} × {height} pixels")));
    }
    let pixels = u64::from(width) * u64::from(height);
    if pixels > bounds::IMAGE_PIXELS || decoder.total_bytes() > DECODER_BYTES {
        return Err(too_large(format!(
            "{name} is {width} × {height} pixels; at most {} pixels can be read. Make it smaller",
            bounds::IMAGE_PIXELS
        )));
    }
    Ok(decoder)
}

fn light(image: DynamicImage, channels: u8) -> Examined {
    let image = image.into_rgba32f();
    let (width, height) = image.dimensions();
    let finite = |value: f32| if value.is_nan() { 0.0 } else { value.clamp(-65_504.0, 65_504.0) };
    let mut not_finite = 0;
    let mended = |pixel: &image::Rgba<f32>| {
        not_finite += u64::from(!pixel.0.iter().all(|value| value.is_finite()));
        pixel.0.map(finite)
    };
    let pixels = image.pixels().map(mended).collect();
    let image = DecodedImage::Light(LinearImage { width, height, pixels });
    Examined { image, channels, not_finite }
}

/// The reason behind a decoder's error.
pub(super) fn failure(error: &ImageError, name: &str) -> Failure {
    let text = error.to_string();
    match error {
        ImageError::Limits(_) => too_large(format!("{name} is too large: {text}. Make it smaller")),
        ImageError::Unsupported(_) => {
            unsupported(format!("{name} cannot be read: {text}. Save it as 8- or 16-bit PNG"))
        }
        ImageError::IoError(source) if source.kind() == std::io::ErrorKind::UnexpectedEof => {
            truncated(format!("{name} ends too early: {text}. Copy or export it again"))
        }
        _ if says_cut(&text) => {
            truncated(format!("{name} ends too early: {text}. Copy or export it again"))
        }
        _ => corrupt(format!("{name} cannot be decoded: {text}. Export it again")),
    }
}

fn says_cut(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["unexpected end", "end of file", "unexpectedeof", "eof", "failed to fill whole buffer"]
        .iter()
        .any(|part| text.contains(part))
}
