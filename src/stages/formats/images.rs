//! Decodes pictures of every format that the farm reads.

use super::colour::{Management, Profile};
use super::exr_image::{self, ExrPixels, Incomplete, LightCounts, Values, Wanted};
use super::tiff_image::{self, TiffPixels};
use super::{
    Format, bounds, cmyk, corrupt, dds, file_name, guarded, integrity, read_bounded, sniff_file,
    tga, too_large, truncated, unsupported, warning,
};
use crate::model::{AssetKind, Reason};
use crate::preview::{DecodedImage, LinearImage, Picture};
use crate::protocol::work::{Failure, Warning};
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

/// A picture handed in as an asset.
#[derive(Debug)]
pub struct AssetPicture {
    /// The picture, as far as it is there.
    pub examined: Examined,
    /// What lacks in it.
    pub warnings: Vec<Warning>,
    /// The layer of an EXR that is shown; empty where there is but one without a name.
    pub layer: String,
}

/// Decodes a picture that was handed in. Unlike [`load_image`] it takes an EXR whose render was
/// stopped, shows what is there, and warns.
pub fn load_asset(path: &Path) -> Result<AssetPicture, Failure> {
    let format = sniff_file(path)?;
    let name = file_name(path);
    let bytes = read_bounded(path, bounds::IMAGE_FILE_BYTES)?;
    if format != Format::Exr {
        let examined = examine(format, &bytes, &name)?;
        return Ok(AssetPicture { examined, warnings: Vec::new(), layer: String::new() });
    }
    let wanted = Wanted { layer: None, incomplete: Incomplete::Show, values: Values::Mended };
    let (exr, warnings) = exr_asset(&bytes, &name, wanted)?;
    let layer = exr.layer.clone();
    Ok(AssetPicture { examined: of_exr(exr), warnings, layer })
}

/// Decodes an EXR, and says what lacks in it.
fn exr_asset(
    bytes: &[u8],
    name: &str,
    wanted: Wanted<'_>,
) -> Result<(ExrPixels, Vec<Warning>), Failure> {
    guarded(name, || {
        let exr = exr_image::decode_as(bytes, name, wanted)?;
        let mut warnings = Vec::new();
        if exr.blocks < exr.expected {
            let damage = exr
                .damage
                .as_ref()
                .map_or_else(String::new, |why| format!(" The first damaged one: {why}."));
            warnings.push(warning(
                Reason::InputTruncated,
                format!(
                    "{name} is not whole: {} of its {} blocks of pixels are there, the rest is clear.{damage} Render it again",
                    exr.blocks, exr.expected
                ),
            ));
        }
        if !exr.is_in_view {
            warnings.push(warning(
                Reason::InputNothingToDraw,
                format!("{name} shows nothing: all its pixels lie outside its display window"),
            ));
        }
        Ok((exr, warnings))
    })
}

/// A picture to be looked at closely.
#[derive(Debug)]
pub struct ViewedPicture {
    /// The picture; wrong values of light are as they are stored.
    pub image: DecodedImage,
    /// Pixels of light with wrong values.
    pub counts: LightCounts,
    /// What lacks in it.
    pub warnings: Vec<Warning>,
    /// The layer of an EXR that is shown; empty where there is but one without a name.
    pub layer: String,
    /// The one channel of an EXR that is shown as grey.
    pub grey: Option<String>,
}

/// Decodes a picture as [`load_asset`] does, but leaves wrong values as they are, and takes the
/// wanted layer of an EXR.
///
/// Fails with `setting.invalid` where there is no such layer, or the format has none.
pub fn load_view(path: &Path, layer: Option<&str>) -> Result<ViewedPicture, Failure> {
    let format = sniff_file(path)?;
    let name = file_name(path);
    let bytes = read_bounded(path, bounds::IMAGE_FILE_BYTES)?;
    if format == Format::Exr {
        let wanted = Wanted { layer, incomplete: Incomplete::Show, values: Values::AsStored };
        let (exr, warnings) = exr_asset(&bytes, &name, wanted)?;
        let (layer, grey) = (exr.layer.clone(), exr.grey.clone());
        let Examined { image, counts, .. } = of_exr(exr);
        return Ok(ViewedPicture { image, counts, warnings, layer, grey });
    }
    if let Some(layer) = layer {
        let why = format!("{name} has no layer '{layer}': only EXR pictures have layers");
        return Err(Failure::new(Reason::SettingInvalid, why));
    }
    let (colours, values) = (Management::ToSrgb, Values::AsStored);
    let Examined { image, counts, .. } = examine_as(format, &bytes, &name, colours, values)?;
    let (warnings, layer) = (Vec::new(), String::new());
    Ok(ViewedPicture { image, counts, warnings, layer, grey: None })
}

/// Samples of more than eight bits, which [`DecodedImage::Display`] does not keep.
#[derive(Debug)]
pub struct DeepSamples {
    /// Width and height, upright.
    pub size: (u32, u32),
    /// Red, green, blue and straight alpha, 0 to 1, as they are stored.
    pub pixels: Vec<[f32; 4]>,
}

/// The samples of a PNG of 16 bits; none of other pictures.
pub fn deep_samples(path: &Path) -> Result<Option<DeepSamples>, Failure> {
    if sniff_file(path)? != Format::Png {
        return Ok(None);
    }
    let name = file_name(path);
    let bytes = read_bounded(path, bounds::IMAGE_FILE_BYTES)?;
    guarded(&name, || {
        let mut decoder = decoder(Format::Png, &bytes, &name)?;
        let color = decoder.color_type();
        if color.bytes_per_pixel() <= color.channel_count() {
            return Ok(None);
        }
        let orientation = orientation(&mut decoder);
        let mut image =
            DynamicImage::from_decoder(decoder).map_err(|error| failure(&error, &name))?;
        image.apply_orientation(orientation);
        let image = image.into_rgba16();
        let size = image.dimensions();
        let pixels = image.pixels().map(|pixel| pixel.0.map(|word| f32::from(word) / 65_535.0));
        Ok(Some(DeepSamples { size, pixels: pixels.collect() }))
    })
}

fn of_exr(exr: ExrPixels) -> Examined {
    Examined {
        image: DecodedImage::Light(exr.image),
        channels: exr.channels,
        not_finite: exr.counts.not_finite,
        counts: exr.counts,
    }
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
    /// Pixels of light with values that are none.
    pub counts: LightCounts,
}

impl Examined {
    /// A finished picture, in which there is nothing to mend.
    fn whole(image: DecodedImage, channels: u8) -> Self {
        Self { image, channels, not_finite: 0, counts: LightCounts::default() }
    }
}

/// Decodes a picture in memory as it is stored: what a texture needs.
pub(super) fn decode(format: Format, bytes: &[u8], name: &str) -> Result<DecodedImage, Failure> {
    examine_as(format, bytes, name, Management::AsStored, Values::Mended)
        .map(|examined| examined.image)
}

/// Decodes a picture in memory, in the colours that it means, and counts on the way what is
/// mended.
pub fn examine(format: Format, bytes: &[u8], name: &str) -> Result<Examined, Failure> {
    examine_as(format, bytes, name, Management::ToSrgb, Values::Mended)
}

fn examine_as(
    format: Format,
    bytes: &[u8],
    name: &str,
    colours: Management,
    values: Values,
) -> Result<Examined, Failure> {
    guarded(name, || match format {
        Format::Exr => exr_image::decode(bytes, name, Incomplete::Refuse).map(of_exr),
        Format::Tiff => {
            integrity::check_whole(format, bytes, name)?;
            let tiff = tiff_image::decode(bytes, name, colours == Management::ToSrgb, values)?;
            let TiffPixels { image, channels, counts } = tiff;
            Ok(Examined { image, channels, not_finite: counts.not_finite, counts })
        }
        Format::Dds => {
            let (image, channels) = dds::decode(bytes, name)?;
            Ok(Examined::whole(image, channels))
        }
        picture if picture.kind() == AssetKind::Image => raster(format, bytes, name, colours),
        mesh => Err(unsupported(format!("{name} is a {} mesh, not a picture", mesh.name()))),
    })
}

fn raster(
    format: Format,
    bytes: &[u8],
    name: &str,
    colours: Management,
) -> Result<Examined, Failure> {
    integrity::check_whole(format, bytes, name)?;
    let mut decoder = decoder(format, bytes, name)?;
    let orientation = orientation(&mut decoder);
    let icc = match colours {
        Management::ToSrgb => decoder.icc_profile().ok().flatten(),
        Management::AsStored => None,
    };
    let profile = icc.as_deref().and_then(Profile::of);
    if format == Format::Jpeg && cmyk::markers(bytes).components == 4 {
        let image = cmyk::decode(bytes, name, orientation, profile.as_ref())?;
        return Ok(Examined::whole(image, 4));
    }
    let mut image = DynamicImage::from_decoder(decoder).map_err(|error| failure(&error, name))?;
    image.apply_orientation(orientation);
    let channels = image.color().channel_count();
    Ok(match image {
        DynamicImage::ImageRgb32F(_) | DynamicImage::ImageRgba32F(_) => light(image, channels),
        other => {
            let rgba = other.into_rgba8();
            let (width, height) = rgba.dimensions();
            let mut rgba = rgba.into_raw();
            if format == Format::Tga && !tga::has_alpha(bytes) {
                rgba.as_chunks_mut::<4>().0.iter_mut().for_each(|[.., alpha]| *alpha = 255);
            }
            if let Some(profile) = &profile {
                profile.rgba_to_srgb(&mut rgba);
            }
            let image = DecodedImage::Display(Picture { width, height, rgba });
            Examined::whole(image, channels)
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
        Format::Hdr => ImageFormat::Hdr,
        Format::Tga => ImageFormat::Tga,
        Format::Bmp => ImageFormat::Bmp,
        Format::Webp => ImageFormat::WebP,
        Format::Gif => ImageFormat::Gif,
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
    check_size(width, height, u64::from(decoder.color_type().bytes_per_pixel()), name)?;
    Ok(decoder)
}

/// How the picture is to be turned, by its EXIF. Some writers of WebP put the mark of JPEG before
/// it, which the decoder does not expect.
pub(super) fn orientation(decoder: &mut impl ImageDecoder) -> Orientation {
    let exif = decoder.exif_metadata().ok().flatten().unwrap_or_default();
    let exif = exif.strip_prefix(b"Exif\0\0").unwrap_or(&exif);
    Orientation::from_exif_chunk(exif).unwrap_or(Orientation::NoTransforms)
}

/// Refuses what is empty or larger than the bounds, before anything is decoded.
pub(super) fn check_size(
    width: u32,
    height: u32,
    pixel_bytes: u64,
    name: &str,
) -> Result<(), Failure> {
    if width == 0 || height == 0 {
        return Err(corrupt(format!("{name} is {width} × {height} pixels. Export it again")));
    }
    let pixels = u64::from(width) * u64::from(height);
    let edge = bounds::IMAGE_EDGE;
    let bytes = pixels.saturating_mul(pixel_bytes);
    if width > edge || height > edge || pixels > bounds::IMAGE_PIXELS || bytes > DECODER_BYTES {
        return Err(too_large(format!(
            "{name} is {width} × {height} pixels of {pixel_bytes} bytes; at most {} pixels, {edge} an edge and {DECODER_BYTES} bytes can be read. Make it smaller",
            bounds::IMAGE_PIXELS
        )));
    }
    Ok(())
}

/// A finished picture, turned upright.
pub(super) fn turned(
    width: u32,
    height: u32,
    rgba: Vec<u8>,
    orientation: Orientation,
) -> DecodedImage {
    let buffer = image::RgbaImage::from_raw(width, height, rgba).unwrap_or_default();
    let mut image = DynamicImage::ImageRgba8(buffer);
    image.apply_orientation(orientation);
    let rgba = image.into_rgba8();
    let (width, height) = rgba.dimensions();
    DecodedImage::Display(Picture { width, height, rgba: rgba.into_raw() })
}

/// Light, turned upright.
pub(super) fn turned_light(light: LinearImage, orientation: Orientation) -> DecodedImage {
    if orientation == Orientation::NoTransforms {
        return DecodedImage::Light(light);
    }
    let values = light.pixels.into_flattened();
    let buffer = image::Rgba32FImage::from_raw(light.width, light.height, values);
    let mut image = DynamicImage::ImageRgba32F(buffer.unwrap_or_default());
    image.apply_orientation(orientation);
    let image = image.into_rgba32f();
    let (width, height) = image.dimensions();
    let pixels = image.pixels().map(|pixel| pixel.0).collect();
    DecodedImage::Light(LinearImage { width, height, pixels })
}

fn light(image: DynamicImage, channels: u8) -> Examined {
    let image = image.into_rgba32f();
    let (width, height) = image.dimensions();
    let mut counts = LightCounts::default();
    let mended = |pixel: &image::Rgba<f32>| {
        let mut pixel = pixel.0;
        counts.mend(&mut pixel);
        pixel
    };
    let pixels = image.pixels().map(mended).collect();
    let image = DecodedImage::Light(LinearImage { width, height, pixels });
    Examined { image, channels, not_finite: counts.not_finite, counts }
}

/// The reason behind an error of the decoder of TIFF.
pub(super) fn failure_of_tiff(error: &tiff::TiffError, name: &str) -> Failure {
    use tiff::TiffError::{IoError, LimitsExceeded, UnsupportedError};
    let text = error.to_string();
    match error {
        LimitsExceeded => too_large(format!("{name} is too large: {text}. Make it smaller")),
        UnsupportedError(_) => {
            unsupported(format!("{name} cannot be read: {text}. Save it as 8- or 16-bit PNG"))
        }
        IoError(_) if says_cut(&text) => {
            truncated(format!("{name} ends too early: {text}. Copy or export it again"))
        }
        _ => corrupt(format!("{name} cannot be decoded: {text}. Export it again")),
    }
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
        _ if text.contains("too large") => {
            too_large(format!("{name} is too large: {text}. Make it smaller"))
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
