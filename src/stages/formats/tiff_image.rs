//! Reads the first page of a TIFF, also of the kinds that the common decoder leaves out: palettes,
//! odd depths, planes, `YCbCr`, half floats, further samples, premultiplied alpha.

use super::colour::{self, Profile};
use super::exr_image::{LightCounts, Values};
use super::images::{check_size, failure_of_tiff as failure, turned, turned_light};
use super::tiff_samples::{Layout, Samples};
use super::{corrupt, integrity, unsupported};
use crate::preview::{DecodedImage, LinearImage};
use crate::protocol::work::Failure;
use image::metadata::Orientation;
use std::borrow::Cow;
use std::io::Cursor;
use tiff::ColorType;
use tiff::decoder::{Decoder, DecodingResult, Limits};
use tiff::tags::Tag;

/// Most bytes of one tag's value, such as a profile.
const TAG_BYTES: usize = 64 << 20;
/// Most bytes of the pixels as they are stored.
const PIXEL_BYTES: usize = 2 << 30;
/// Most pages that are counted.
const PAGES: usize = 10_000;

/// What the first directory says.
#[derive(Debug)]
pub(super) struct TiffHeader {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) color: ColorType,
    /// Samples of a pixel.
    samples: usize,
    pub(super) orientation: Orientation,
    /// The profile's bytes.
    pub(super) icc: Option<Vec<u8>>,
    /// The number of the compression method.
    pub(super) compression: u16,
    /// Pages of the file, this one included.
    pub(super) pages: usize,
    alpha: Alpha,
}

/// What the sample behind the colours means (`ExtraSamples`, tag 338).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alpha {
    Straight,
    Premultiplied,
    /// No word of it.
    Unsaid,
}

type Reader<'a> = Decoder<Cursor<Cow<'a, [u8]>>>;

fn open<'a>(bytes: &'a [u8], name: &str) -> Result<(Reader<'a>, TiffHeader), Failure> {
    let mut limits = Limits::default();
    limits.decoding_buffer_size = PIXEL_BYTES;
    limits.intermediate_buffer_size = PIXEL_BYTES;
    limits.ifd_value_size = TAG_BYTES;
    let bad = |error: tiff::TiffError| failure(&error, name);
    let indices = integrity::tiff_of_indices(bytes);
    let is_palette = indices.is_some();
    let source = indices.map_or(Cow::Borrowed(bytes), Cow::Owned);
    let mut reader = Decoder::new(Cursor::new(source)).map_err(bad)?.with_limits(limits);
    let (width, height) = reader.dimensions().map_err(bad)?;
    let stored = reader.colortype().map_err(bad)?;
    let samples = usize::from(stored.num_samples());
    let color = if is_palette { ColorType::Palette(stored.bit_depth()) } else { stored };
    let depth = u64::from(color.bit_depth()) * samples as u64;
    check_size(width, height, depth.div_ceil(8), name)?;
    let number = |reader: &mut Reader<'_>, tag| reader.find_tag_unsigned::<u16>(tag).ok().flatten();
    let planes = number(&mut reader, Tag::PlanarConfiguration) == Some(2);
    if planes && number(&mut reader, Tag::TileWidth).is_some() && samples > 1 {
        return Err(unsupported(format!(
            "{name} has tiles with a plane for each sample, which cannot be read. Save it with interleaved samples"
        )));
    }
    if number(&mut reader, Tag::FillOrder) == Some(2) {
        return Err(unsupported(format!(
            "{name} has bits in reversed order (FillOrder 2), which cannot be read. Save it as PNG"
        )));
    }
    let orientation = number(&mut reader, Tag::Orientation)
        .and_then(|value| Orientation::from_exif(u8::try_from(value).ok()?))
        .unwrap_or(Orientation::NoTransforms);
    let extra = reader.find_tag_unsigned_vec::<u16>(Tag::ExtraSamples).ok().flatten();
    let alpha = match extra.as_deref() {
        Some([1, ..]) => Alpha::Premultiplied,
        Some([2, ..]) => Alpha::Straight,
        _ => Alpha::Unsaid,
    };
    let compression = number(&mut reader, Tag::Compression).unwrap_or(1);
    let icc = reader.get_tag_u8_vec(Tag::IccProfile).ok();
    let header = TiffHeader {
        width,
        height,
        color,
        samples,
        orientation,
        icc,
        compression,
        pages: 1,
        alpha,
    };
    Ok((reader, header))
}

/// Reads the first directory, and counts the others.
pub(super) fn header(bytes: &[u8], name: &str) -> Result<TiffHeader, Failure> {
    let (mut reader, mut header) = open(bytes, name)?;
    while header.pages < PAGES && reader.more_images() && reader.next_image().is_ok() {
        header.pages += 1;
    }
    Ok(header)
}

impl TiffHeader {
    /// The compression's name; its number where that is not known.
    pub(super) fn compression_name(&self) -> String {
        let name = match self.compression {
            1 => "none",
            2 => "CCITT RLE",
            3 => "CCITT fax 3",
            4 => "CCITT fax 4",
            5 => "LZW",
            6 | 7 => "JPEG",
            8 | 32_946 => "deflate",
            32_773 => "PackBits",
            50_000 => "zstd",
            50_001 => "WebP",
            other => return other.to_string(),
        };
        name.to_owned()
    }

    /// Whether its last sample is alpha.
    pub(super) fn has_alpha(&self) -> bool {
        match self.color {
            ColorType::RGBA(_) | ColorType::GrayA(_) | ColorType::CMYKA(_) => true,
            ColorType::Multiband { .. } | ColorType::Palette(_) => {
                self.samples > 1 && self.alpha != Alpha::Unsaid
            }
            _ => false,
        }
    }
}

/// A decoded page.
pub(super) struct TiffPixels {
    pub(super) image: DecodedImage,
    /// Channels in the file that are shown.
    pub(super) channels: u8,
    /// Values that were no light, before they were mended.
    pub(super) counts: LightCounts,
}

/// Decodes the first page, turned upright; `manage` says whether its profile counts.
pub(super) fn decode(
    bytes: &[u8],
    name: &str,
    manage: bool,
    values: Values,
) -> Result<TiffPixels, Failure> {
    let (mut reader, header) = open(bytes, name)?;
    let mut stored = DecodingResult::U8(Vec::new());
    let layout = reader.read_image_to_buffer(&mut stored).map_err(|error| failure(&error, name))?;
    let length = stored.as_buffer(0).as_bytes().len();
    if length < layout.complete_len {
        return Err(corrupt(format!("{name} lacks some of its planes. Export it again")));
    }
    let shape = Layout {
        width: header.width as usize,
        height: header.height as usize,
        samples: header.samples,
        bits: header.color.bit_depth(),
        planes: layout.planes,
        is_index: matches!(header.color, ColorType::Palette(_)),
    };
    let samples = Samples::of(stored, &shape).map_err(|what| {
        unsupported(format!("{name} has {what}, which cannot be read. Save it with 8 or 16 bits"))
    })?;
    let profile = header.icc.as_deref().filter(|_| manage).and_then(Profile::of);
    let pixels = Pixels { header: &header, samples: &samples, count: shape.samples, name };
    let channels = (shape.samples as u8).min(4);
    let finished = |image, counts| Ok(TiffPixels { image, channels, counts });
    if let Samples::Floats(_) = samples {
        let (light, counts) = pixels.light(values)?;
        return finished(light, counts);
    }
    let mut rgba = pixels.display(&mut reader, profile.as_ref())?;
    if let Some(profile) = &profile {
        profile.rgba_to_srgb(&mut rgba);
    }
    finished(turned(header.width, header.height, rgba, header.orientation), LightCounts::default())
}

/// Samples and what they mean.
struct Pixels<'a> {
    header: &'a TiffHeader,
    samples: &'a Samples,
    /// Samples of a pixel.
    count: usize,
    name: &'a str,
}

impl Pixels<'_> {
    fn refused(&self) -> Failure {
        unsupported(format!(
            "{} has colours of the kind {:?}, which cannot be read. Save it as RGB",
            self.name, self.header.color
        ))
    }

    /// Straight RGBA of 8 bits.
    fn display(
        &self,
        reader: &mut Reader<'_>,
        profile: Option<&Profile>,
    ) -> Result<Vec<u8>, Failure> {
        let bytes = self.samples.bytes();
        let pixels = bytes.chunks_exact(self.count.max(1));
        let mut rgba = Vec::with_capacity(pixels.len() * 4);
        match self.header.color {
            ColorType::Palette(_) => {
                let colours = reader
                    .get_tag_u16_vec(Tag::ColorMap)
                    .map_err(|error| failure(&error, self.name))?;
                let entries = colours.len() / 3;
                let colour = |index: usize, of: usize| {
                    colours.get(of * entries + index).map_or(0, |value| (value >> 8) as u8)
                };
                let alpha = self.header.has_alpha();
                for pixel in self.samples.indices().chunks_exact(self.count.max(1)) {
                    let index = pixel.first().copied().unwrap_or(0);
                    let alpha = pixel.get(1).filter(|_| alpha).map_or(255, |alpha| *alpha as u8);
                    rgba.extend([colour(index, 0), colour(index, 1), colour(index, 2), alpha]);
                }
            }
            ColorType::CMYK(_) | ColorType::CMYKA(_) => {
                let inks: Vec<u8> =
                    pixels.flat_map(|pixel| pixel.iter().take(4).copied()).collect();
                rgba = colour::inks_to_rgba(&inks, profile);
            }
            ColorType::YCbCr(_) => rgba.extend(pixels.flat_map(|pixel| match pixel {
                [luma, blue, red, ..] => ycbcr([*luma, *blue, *red]),
                _ => [0; 4],
            })),
            ColorType::Gray(_) | ColorType::GrayA(_) | ColorType::Multiband { .. } => {
                let alpha = self.header.has_alpha();
                rgba.extend(pixels.flat_map(|pixel| match pixel {
                    [grey, a, ..] if alpha => [*grey, *grey, *grey, *a],
                    [grey, ..] => [*grey, *grey, *grey, 255],
                    [] => [0; 4],
                }));
            }
            ColorType::RGB(_) | ColorType::RGBA(_) => {
                rgba.extend(pixels.flat_map(|pixel| match pixel {
                    [red, green, blue] => [*red, *green, *blue, 255],
                    [red, green, blue, alpha, ..] => [*red, *green, *blue, *alpha],
                    _ => [0; 4],
                }));
            }
            _ => return Err(self.refused()),
        }
        if self.header.alpha == Alpha::Premultiplied && self.header.has_alpha() {
            rgba.as_chunks_mut::<4>().0.iter_mut().for_each(|pixel| *pixel = straight(*pixel));
        }
        Ok(rgba)
    }

    /// Scene light, turned upright, and what of it was mended.
    fn light(&self, wrong: Values) -> Result<(DecodedImage, LightCounts), Failure> {
        let Samples::Floats(values) = self.samples else { return Err(self.refused()) };
        let grey = match self.header.color {
            ColorType::Gray(_) | ColorType::GrayA(_) | ColorType::Multiband { .. } => true,
            ColorType::RGB(_) | ColorType::RGBA(_) => false,
            _ => return Err(self.refused()),
        };
        let has_alpha = self.header.has_alpha();
        let premultiplied = self.header.alpha == Alpha::Premultiplied;
        let mut counts = LightCounts::default();
        let pixels = values.chunks_exact(self.count.max(1)).map(|pixel| {
            let value = |at: usize| pixel.get(at).copied().unwrap_or(0.0);
            let colours = if grey { [value(0); 3] } else { [value(0), value(1), value(2)] };
            let alpha = if has_alpha { value(if grey { 1 } else { 3 }) } else { 1.0 };
            let [red, green, blue] =
                if premultiplied { colours } else { colours.map(|colour| colour * alpha) };
            let mut pixel = [red, green, blue, alpha];
            counts.take(&mut pixel, wrong);
            pixel
        });
        let image = LinearImage {
            width: self.header.width,
            height: self.header.height,
            pixels: pixels.collect(),
        };
        Ok((turned_light(image, self.header.orientation), counts))
    }
}

/// Full-range `YCbCr` of BT.601, as TIFF 6.0 has it where nothing else is said.
fn ycbcr([luma, blue, red]: [u8; 3]) -> [u8; 4] {
    let [luma, blue, red] = [f32::from(luma), f32::from(blue) - 128.0, f32::from(red) - 128.0];
    let byte = |value: f32| value.round().clamp(0.0, 255.0) as u8;
    [
        byte(luma + 1.402 * red),
        byte(luma - 0.344_136 * blue - 0.714_136 * red),
        byte(luma + 1.772 * blue),
        255,
    ]
}

/// Divides colours by their alpha.
pub(super) fn straight([red, green, blue, alpha]: [u8; 4]) -> [u8; 4] {
    if alpha == 0 {
        return [red, green, blue, 0];
    }
    let divided = |value: u8| {
        let share = u32::from(alpha);
        ((u32::from(value) * 255 + share / 2) / share).min(255) as u8
    };
    [divided(red), divided(green), divided(blue), alpha]
}
