//! What a picture's header says, without decoding it.

use super::exr_header::{self, ExrPart};
use super::{Format, bounds, file_name, guarded, images, integrity, read_bounded, sniff_file};
use crate::protocol::work::Failure;
use image::metadata::Orientation;
use image::{ExtendedColorType, ImageDecoder};
use serde::Serialize;
use serde_json::json;
use std::path::Path;

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
    /// Whether it carries a colour profile.
    pub profile: bool,
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
    let format = sniff_file(path)?;
    let name = file_name(path);
    let bytes = read_bounded(path, bounds::IMAGE_FILE_BYTES)?;
    guarded(&name, || match format {
        Format::Exr => exr(&bytes, &name),
        other => raster(other, &bytes, &name),
    })
}

fn raster(format: Format, bytes: &[u8], name: &str) -> Result<ImageFacts, Failure> {
    let mut decoder = images::decoder(format, bytes, name)?;
    integrity::check_whole(format, bytes, name)?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let color = decoder.original_color_type();
    let (width, height) = decoder.dimensions();
    let orientation = orientation.to_exif();
    // From 5 on the picture lies on its side.
    let (width, height) = if orientation >= 5 { (height, width) } else { (width, height) };
    let channels = channel_names(color);
    Ok(ImageFacts {
        format: format.name(),
        width,
        height,
        alpha: channels.contains(&"a".to_owned()),
        bits: color.bits_per_pixel() / u16::from(color.channel_count()).max(1),
        channels,
        orientation,
        profile: decoder.icc_profile().ok().flatten().is_some(),
        details: serde_json::Value::Null,
    })
}

fn channel_names(color: ExtendedColorType) -> Vec<String> {
    let letters = match (color.channel_count(), color) {
        (_, ExtendedColorType::Cmyk8 | ExtendedColorType::Cmyk16) => "cmyk",
        (1, _) => "l",
        (2, _) => "la",
        (3, _) => "rgb",
        _ => "rgba",
    };
    letters.chars().map(String::from).collect()
}

fn exr(bytes: &[u8], name: &str) -> Result<ImageFacts, Failure> {
    let header = exr_header::read(bytes, name)?;
    header.check_blocks(bytes, name)?;
    let first = header.parts.first().cloned().unwrap_or_default();
    let [width, height] = first.display.size().map(|edge| u32::try_from(edge).unwrap_or(0));
    let channels: Vec<String> = first.channels.iter().map(|channel| channel.name.clone()).collect();
    Ok(ImageFacts {
        format: Format::Exr.name(),
        width,
        height,
        alpha: channels.iter().any(|channel| channel == "A" || channel.ends_with(".A")),
        bits: first.channels.first().map_or(0, |channel| u16::from(channel.bytes) * 8),
        channels,
        orientation: 1,
        profile: first.chromaticities.is_some(),
        details: json!({ "parts": header.parts.iter().map(part).collect::<Vec<_>>() }),
    })
}

fn part(part: &ExrPart) -> serde_json::Value {
    let channels = part.channels.iter();
    json!({
        "name": part.name,
        "type": part.kind,
        "view": part.view,
        "compression": part.compression_name(),
        "data_window": [part.data.min, part.data.max],
        "display_window": [part.display.min, part.display.max],
        "pixel_aspect": part.pixel_aspect,
        "chromaticities": part.chromaticities,
        "channels": channels
            .map(|channel| json!({ "name": channel.name, "sample": channel.sample }))
            .collect::<Vec<_>>(),
    })
}
