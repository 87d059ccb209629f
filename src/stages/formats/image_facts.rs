//! What a picture's header says, without decoding it.

use super::colour::Profile;
use super::exr_header::{self, ExrHeader, ExrPart};
use super::exr_image::Incomplete;
use super::exr_layers::{self, ExrLayer};
use super::{
    Format, bounds, cmyk, dds, exr_blocks, file_name, guarded, images, integrity, moving,
    read_bounded, sniff_file, tga, tiff_image,
};
use crate::protocol::work::Failure;
use image::metadata::Orientation;
use image::{ExtendedColorType, ImageDecoder};
use serde::Serialize;
use serde_json::json;
use std::path::Path;
use tiff::ColorType;

/// What a picture's header says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ImageFacts {
    /// `PNG`, `OpenEXR` ….
    pub format: &'static str,
    /// Width in pixels, as it is shown.
    pub width: u32,
    /// Height in pixels, as it is shown.
    pub height: u32,
    /// Names or kinds of the channels: `rgba`, or the names in an EXR.
    pub channels: Vec<String>,
    /// Bits of one sample.
    pub bits: u16,
    /// Whether it has an alpha channel.
    pub alpha: bool,
    /// EXIF orientation, 1 to 8; 1 is upright.
    pub orientation: u8,
    /// Whether it says what its colours mean.
    pub profile: bool,
    /// What it says of its colours: the name of its ICC profile, `sRGB`, `CICP 9/16`.
    pub colour: Option<String>,
    /// How its pixels are packed: `deflate`, `ZIP`, `BC7`.
    pub compression: String,
    /// Frames, of which the first one is shown.
    pub frames: u32,
    /// What only this format has; null for most.
    pub details: serde_json::Value,
}

impl ImageFacts {
    /// Whether two frames can follow each other in a film.
    pub fn fits(&self, other: &Self) -> bool {
        self.format == other.format && self.width == other.width && self.height == other.height
    }
}

/// Reads the header of the picture at `path` and checks that its end is there.
pub fn image_facts(path: &Path) -> Result<ImageFacts, Failure> {
    facts(path, Incomplete::Refuse)
}

/// As [`image_facts`], but an EXR whose render was stopped is taken: `details` tells how much of
/// it is there.
pub fn asset_facts(path: &Path) -> Result<ImageFacts, Failure> {
    facts(path, Incomplete::Show)
}

fn facts(path: &Path, incomplete: Incomplete) -> Result<ImageFacts, Failure> {
    let format = sniff_file(path)?;
    let name = file_name(path);
    let bytes = read_bounded(path, bounds::IMAGE_FILE_BYTES)?;
    guarded(&name, || match format {
        Format::Exr => exr(&bytes, &name, incomplete),
        Format::Tiff => tiff(&bytes, &name),
        Format::Dds => dds(&bytes, &name),
        other => raster(other, &bytes, &name),
    })
}

fn raster(format: Format, bytes: &[u8], name: &str) -> Result<ImageFacts, Failure> {
    let mut decoder = images::decoder(format, bytes, name)?;
    integrity::check_whole(format, bytes, name)?;
    let color = decoder.original_color_type();
    let inks = format == Format::Jpeg && cmyk::markers(bytes).components == 4;
    let shape = Shape {
        size: decoder.dimensions(),
        orientation: images::orientation(&mut decoder),
        channels: if inks { letters("cmyk") } else { channel_names(color) },
        bits: color.bits_per_pixel() / u16::from(color.channel_count()).max(1),
        alpha: !inks
            && decoder.color_type().has_alpha()
            && (format != Format::Tga || tga::has_alpha(bytes)),
    };
    let mut facts = shape.facts(format);
    compression(format, bytes).clone_into(&mut facts.compression);
    facts.colour = match decoder.icc_profile().ok().flatten() {
        Some(icc) => Some(profile_name(&icc)),
        None => png_colour(format, bytes),
    };
    facts.profile = facts.colour.is_some();
    facts.frames = moving::frames(format, bytes);
    Ok(facts)
}

/// What every picture has, as it is stored.
struct Shape {
    size: (u32, u32),
    orientation: Orientation,
    channels: Vec<String>,
    bits: u16,
    alpha: bool,
}

impl Shape {
    fn facts(self, format: Format) -> ImageFacts {
        let orientation = self.orientation.to_exif();
        let (width, height) = self.size;
        // From 5 on the picture lies on its side.
        let (width, height) = if orientation >= 5 { (height, width) } else { (width, height) };
        ImageFacts {
            format: format.name(),
            width,
            height,
            alpha: self.alpha,
            bits: self.bits,
            channels: self.channels,
            orientation,
            profile: false,
            colour: None,
            compression: String::new(),
            frames: 1,
            details: serde_json::Value::Null,
        }
    }
}

fn tiff(bytes: &[u8], name: &str) -> Result<ImageFacts, Failure> {
    let header = tiff_image::header(bytes, name)?;
    integrity::check_whole(Format::Tiff, bytes, name)?;
    let channels = match header.color {
        ColorType::Gray(_) => letters("l"),
        ColorType::GrayA(_) => letters("la"),
        ColorType::RGB(_) => letters("rgb"),
        ColorType::RGBA(_) => letters("rgba"),
        ColorType::CMYK(_) => letters("cmyk"),
        ColorType::CMYKA(_) => letters("cmyka"),
        ColorType::YCbCr(_) => vec!["y".to_owned(), "cb".to_owned(), "cr".to_owned()],
        ColorType::Palette(_) => vec!["index".to_owned()],
        other => (0..other.num_samples().min(64)).map(|band| band.to_string()).collect(),
    };
    let shape = Shape {
        size: (header.width, header.height),
        orientation: header.orientation,
        channels,
        bits: u16::from(header.color.bit_depth()),
        alpha: header.has_alpha(),
    };
    let mut facts = shape.facts(Format::Tiff);
    facts.compression = header.compression_name();
    facts.profile = header.icc.is_some();
    facts.colour = header.icc.as_deref().map(profile_name);
    facts.details = json!({ "pages": header.pages });
    Ok(facts)
}

fn dds(bytes: &[u8], name: &str) -> Result<ImageFacts, Failure> {
    let header = dds::header(bytes, name)?;
    let channels = ["r", "g", "b", "a"].into_iter().take(usize::from(header.kind.channels()));
    let shape = Shape {
        size: (header.width, header.height),
        orientation: Orientation::NoTransforms,
        channels: channels.map(str::to_owned).collect(),
        bits: header.kind.bits(),
        alpha: header.kind.has_alpha(),
    };
    let mut facts = shape.facts(Format::Dds);
    facts.compression.clone_from(&header.name);
    facts.details = json!({ "mip_levels": header.mip_levels, "shape": header.shape });
    Ok(facts)
}

/// How the pixels are packed, where the first bytes say it.
fn compression(format: Format, bytes: &[u8]) -> &'static str {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    match format {
        Format::Png => "deflate",
        Format::Jpeg => cmyk::markers(bytes).coding,
        Format::Gif => "LZW",
        Format::Tga if byte(2) >= 9 => "RLE",
        // The number of `biCompression`; small headers have none.
        Format::Bmp if byte(14) >= 40 => match byte(30) {
            0 | 3 | 6 => "none",
            1 | 2 => "RLE",
            _ => "other",
        },
        Format::Webp => match bytes.get(12..16) {
            Some(b"VP8L") => "lossless",
            Some(b"VP8 ") => "lossy",
            _ => "extended",
        },
        Format::Hdr => "RGBE",
        _ => "none",
    }
}

/// What a PNG without a profile says of its colours, by its chunks.
fn png_colour(format: Format, bytes: &[u8]) -> Option<String> {
    if format != Format::Png {
        return None;
    }
    if let Some([primaries, transfer, ..]) = moving::png_chunk(bytes, *b"cICP") {
        return Some(format!("CICP {primaries}/{transfer}"));
    }
    if moving::png_chunk(bytes, *b"sRGB").is_some() {
        return Some("sRGB".to_owned());
    }
    let gamma = moving::png_chunk(bytes, *b"gAMA")?.first_chunk::<4>()?;
    Some(format!("gamma {:.3}", f64::from(u32::from_be_bytes(*gamma)) / 100_000.0))
}

/// What a profile calls itself.
fn profile_name(icc: &[u8]) -> String {
    let unreadable = || "a profile that cannot be read".to_owned();
    Profile::of(icc).map_or_else(unreadable, |profile| {
        profile.name().unwrap_or_else(|| format!("a profile of {}", profile.space()))
    })
}

fn letters(names: &str) -> Vec<String> {
    names.chars().map(String::from).collect()
}

fn channel_names(color: ExtendedColorType) -> Vec<String> {
    letters(match color.channel_count() {
        1 => "l",
        2 => "la",
        3 => "rgb",
        _ => "rgba",
    })
}

fn exr(bytes: &[u8], name: &str, incomplete: Incomplete) -> Result<ImageFacts, Failure> {
    let header = exr_header::read(bytes, name)?;
    if incomplete == Incomplete::Refuse {
        header.check_blocks(bytes, name)?;
    }
    let layers = exr_layers::layers(&header);
    let shown = exr_layers::beauty(&header, &layers);
    let part = shown.and_then(|layer| header.parts.get(layer.part)).or(header.parts.first());
    let part = part.cloned().unwrap_or_default();
    let [width, height] = part.display.size().map(|edge| u32::try_from(edge).unwrap_or(0));
    let channels: Vec<String> = part.channels.iter().map(|channel| channel.name.clone()).collect();
    let blocks = shown.map(|layer| exr_blocks::find(&header, bytes, layer.part));
    Ok(ImageFacts {
        format: Format::Exr.name(),
        width,
        height,
        alpha: shown.is_some_and(|layer| layer.alpha.is_some()),
        bits: part.channels.first().map_or(0, |channel| u16::from(channel.bytes) * 8),
        channels,
        orientation: 1,
        profile: part.chromaticities.is_some(),
        colour: part.chromaticities.map(|_| "own primaries".to_owned()),
        compression: part.compression_name().to_owned(),
        frames: 1,
        details: json!({
            "parts": header.parts.iter().map(exr_part).collect::<Vec<_>>(),
            "layers": layers.iter().map(|layer| exr_layer(&header, layer)).collect::<Vec<_>>(),
            "shown": shown.map(|layer| exr_layer(&header, layer)),
            "blocks": blocks.map(|blocks| json!({
                "there": blocks.found.len(), "expected": blocks.expected,
            })),
        }),
    })
}

fn exr_layer(header: &ExrHeader, layer: &ExrLayer) -> serde_json::Value {
    json!({
        "part": header.parts.get(layer.part).map(|part| &part.name),
        "name": layer.name,
        "channels": layer.channels,
    })
}

fn exr_part(part: &ExrPart) -> serde_json::Value {
    let channels = part.channels.iter();
    json!({
        "name": part.name,
        "type": part.kind,
        "view": part.view,
        "compression": part.compression_name(),
        "tiled": part.is_tiled(),
        "data_window": [part.data.min, part.data.max],
        "display_window": [part.display.min, part.display.max],
        "pixel_aspect": part.pixel_aspect,
        "chromaticities": part.chromaticities,
        "fps": part.fps,
        "preview": part.has_preview,
        "attributes": part.others,
        "cannot_be_read": part.refusal,
        "channels": channels
            .map(|channel| json!({
                "name": channel.name, "sample": channel.sample, "sampling": channel.sampling,
            }))
            .collect::<Vec<_>>(),
    })
}
