//! Decodes EXR pixels, behind the check of [`super::exr_header`].

use super::exr_header::{self, ExrHeader, ExrPart};
use super::{corrupt, truncated, unsupported};
use crate::preview::LinearImage;
use crate::protocol::work::Failure;
use exr::error::Error;
use exr::image::read::specific_channels::ReadSpecificChannel;
use exr::math::Vec2;
use exr::prelude::{ReadChannels, ReadLayers};
use std::io::Cursor;

/// Light above this (the greatest half) becomes this.
const MOST_LIGHT: f32 = 65_504.0;

/// Which channels are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Three colours; alpha is the last name, which need not be there.
    Color([String; 4]),
    /// One channel as grey, and its alpha, which need not be there.
    Grey([String; 2]),
}

/// The channels of the first part that has something to show: colours without a layer name first,
/// then the colours of a layer, then luminance, then any channel.
pub fn shown(header: &ExrHeader) -> Option<Shown> {
    let colour = header.parts.iter().find_map(|part| {
        let layers = part.channels.iter().filter_map(|channel| channel.name.strip_suffix('R'));
        let mut layers: Vec<&str> =
            layers.filter(|layer| layer.is_empty() || layer.ends_with('.')).collect();
        layers.sort_by_key(|layer| layer.len());
        layers
            .into_iter()
            .find(|layer| ["G", "B"].iter().all(|letter| has(part, &format!("{layer}{letter}"))))
    });
    if let Some(layer) = colour {
        return Some(Shown::Color(["R", "G", "B", "A"].map(|letter| format!("{layer}{letter}"))));
    }
    let all = || header.parts.iter().flat_map(|part| &part.channels);
    let grey = all().find(|channel| channel.name == "Y").or_else(|| all().next())?;
    let alpha = if grey.name == "A" { "no alpha" } else { "A" };
    Some(Shown::Grey([grey.name.clone(), alpha.to_owned()]))
}

fn has(part: &ExrPart, name: &str) -> bool {
    part.channels.iter().any(|channel| channel.name == name)
}

/// The part that [`shown`] chose.
fn shown_part<'a>(header: &'a ExrHeader, shown: &Shown) -> Option<&'a ExrPart> {
    let needed: &[String] = match shown {
        Shown::Color([colours @ .., _]) => colours,
        Shown::Grey([grey, _]) => std::slice::from_ref(grey),
    };
    header.parts.iter().find(|part| needed.iter().all(|name| has(part, name)))
}

/// Pixels of the display window; what the data window does not cover stays clear.
struct Canvas {
    size: [usize; 2],
    offset: [i64; 2],
    pixels: Vec<[f32; 4]>,
    not_finite: u64,
}

/// A decoded EXR, and what its pixels no longer tell.
#[derive(Debug)]
pub struct ExrPixels {
    /// The display window; values that are no numbers are mended.
    pub image: LinearImage,
    /// How many channels are shown, alpha among them.
    pub channels: u8,
    /// Pixels with a value that was no finite number.
    pub not_finite: u64,
}

impl Canvas {
    fn of(part: &ExrPart) -> Self {
        let size = part.display.size().map(|edge| usize::try_from(edge).unwrap_or(0));
        let [data, display] = [part.data.min, part.display.min].map(|corner| corner.map(i64::from));
        let ([data_x, data_y], [x, y]) = (data, display);
        let offset = [data_x - x, data_y - y];
        let [width, height] = size;
        let pixels = vec![[0.0; 4]; width.saturating_mul(height)];
        Self { size, offset, pixels, not_finite: 0 }
    }

    fn set(&mut self, at: Vec2<usize>, pixel: [f32; 4]) {
        let ([width, height], [x, y]) = (self.size, self.offset);
        let moved = |at: usize, by: i64| {
            let at = i64::try_from(at).ok()?.checked_add(by)?;
            usize::try_from(at).ok()
        };
        let (Some(x), Some(y)) = (moved(at.x(), x), moved(at.y(), y)) else { return };
        if x < width
            && y < height
            && let Some(place) = self.pixels.get_mut(y * width + x)
        {
            self.not_finite += u64::from(!pixel.iter().all(|value| value.is_finite()));
            *place = pixel.map(finite);
        }
    }
}

/// Not-a-number becomes black, infinity the greatest half: neither may spread when pixels mix.
fn finite(value: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value.clamp(-MOST_LIGHT, MOST_LIGHT) }
}

/// Decodes the display window of an EXR file.
pub fn decode(bytes: &[u8], name: &str) -> Result<ExrPixels, Failure> {
    let header = exr_header::read(bytes, name)?;
    header.check_blocks(bytes, name)?;
    let nothing = || unsupported(format!("{name} has no channel that can be shown"));
    let shown = shown(&header).ok_or_else(nothing)?;
    let part = shown_part(&header, &shown).ok_or_else(nothing)?;
    let channels = match &shown {
        Shown::Color([.., alpha]) => 3 + u8::from(has(part, alpha)),
        Shown::Grey([_, alpha]) => 1 + u8::from(has(part, alpha)),
    };
    // On one thread: each further one reserves address space, which the process has little of.
    let levels = exr::prelude::read().no_deep_data().largest_resolution_level();
    let source = Cursor::new(bytes);
    let canvas = match shown {
        Shown::Color([red, green, blue, alpha]) => levels
            .specific_channels()
            .required(red.as_str())
            .required(green.as_str())
            .required(blue.as_str())
            .optional(alpha.as_str(), 1.0_f32)
            .collect_pixels(
                |_, _| Canvas::of(part),
                |canvas: &mut Canvas, at, (r, g, b, a): (f32, f32, f32, f32)| {
                    canvas.set(at, [r, g, b, a]);
                },
            )
            .first_valid_layer()
            .all_attributes()
            .non_parallel()
            .from_buffered(source)
            .map(|image| image.layer_data.channel_data.pixels),
        Shown::Grey([grey, alpha]) => levels
            .specific_channels()
            .required(grey.as_str())
            .optional(alpha.as_str(), 1.0_f32)
            .collect_pixels(
                |_, _| Canvas::of(part),
                |canvas: &mut Canvas, at, (y, a): (f32, f32)| canvas.set(at, [y, y, y, a]),
            )
            .first_valid_layer()
            .all_attributes()
            .non_parallel()
            .from_buffered(source)
            .map(|image| image.layer_data.channel_data.pixels),
    };
    let canvas = canvas.map_err(|error| failure(&error, name))?;
    let [width, height] = canvas.size.map(|edge| u32::try_from(edge).unwrap_or(0));
    let image = LinearImage { width, height, pixels: canvas.pixels };
    Ok(ExrPixels { image, channels, not_finite: canvas.not_finite })
}

fn failure(error: &Error, name: &str) -> Failure {
    match error {
        Error::NotSupported(what) => unsupported(format!("{name} cannot be read: {what}")),
        Error::Io(source) if source.kind() == std::io::ErrorKind::UnexpectedEof => {
            truncated(format!("{name} ends before its last pixel. Render or copy it again"))
        }
        other => corrupt(format!("{name} cannot be decoded: {other}. Render or export it again")),
    }
}
