//! A picture file as somebody asks to see it: a layer, brighter, one channel, in false colours.

use super::formats::exr_image::LightCounts;
use super::formats::images::{ViewedPicture, load_view};
use crate::model::ToneMap;
use crate::preview::{
    AlphaShown, Channels, DecodedImage, FALSE_COLORS, FalseColor, Grade, ImageLook, Marks,
    Measures, Picture, ValueRange, auto_exposure, depth_range, measure,
};
use crate::protocol::work::{Failure, Warning};
use serde::Serialize;
use std::path::Path;

/// What is asked for; by itself what the farm shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ViewWish {
    /// Stops that it is made brighter by; none finds them (see [`auto_exposure`]).
    pub exposure_stops: Option<f32>,
    /// The tone map of light.
    pub tone_map: ToneMap,
    /// Which channels.
    pub channels: Channels,
    /// The layer of an EXR.
    pub layer: Option<String>,
    /// Whether brightness becomes colours.
    pub false_color: FalseColor,
    /// Whether wrong values are painted over.
    pub marks: Marks,
    /// What becomes of transparency.
    pub alpha: AlphaShown,
    /// Whether the numbers are measured.
    pub detail: Detail,
}

/// What is told beside the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// What costs nothing.
    #[default]
    Little,
    /// Also what every value has to be looked at for.
    Measures,
}

/// How a picture is shown, and what its numbers are.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ViewRecord {
    /// The layer of an EXR that is shown, with its part; none for the only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
    /// Which channels are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channels: Option<&'static str>,
    /// The values between which numbers that are no light (a depth) are spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<ValueRange>,
    /// Pixels of light with wrong values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrong_pixels: Option<LightCounts>,
    /// The least, the greatest and the mean value of each channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measures: Option<Measures>,
}

/// A decoded picture and the way to look at it.
#[derive(Debug)]
pub struct View {
    /// What was decoded.
    pub image: DecodedImage,
    /// The way to look at it.
    pub look: ImageLook,
    /// What is known of it.
    pub record: ViewRecord,
    /// What lacks in it.
    pub warnings: Vec<Warning>,
}

impl View {
    /// Decodes the picture at `path`.
    ///
    /// Fails with an `input.*` reason, or `setting.invalid` where it has no such layer.
    pub fn open(path: &Path, wish: &ViewWish) -> Result<Self, Failure> {
        let viewed = load_view(path, wish.layer.as_deref())?;
        let look = look(&viewed, wish);
        let ViewedPicture { image, counts, warnings, layer, .. } = viewed;
        let is_light = matches!(image, DecodedImage::Light(_));
        let measures = (wish.detail == Detail::Measures).then(|| measure(&image));
        let record = ViewRecord {
            layer: Some(layer).filter(|layer| !layer.is_empty()),
            channels: Some(wish.channels.as_str()),
            range: look.range,
            wrong_pixels: is_light.then_some(counts),
            measures,
        };
        Ok(Self { image, look, record, warnings })
    }

    /// The picture, with no edge longer than `longest_px`.
    pub fn shown(&self, longest_px: u32) -> Picture {
        self.look.shown(&self.image, longest_px)
    }

    /// The tone map that light went through, for people.
    pub fn tone_map(&self) -> Option<&'static str> {
        let is_toned = matches!(self.image, DecodedImage::Light(_))
            && self.look.range.is_none()
            && self.look.false_color == FalseColor::Off
            && self.look.channels != Channels::Alpha;
        is_toned.then(|| self.look.grade.tone_map.title())
    }

    /// What has to be known to read the picture.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(ValueRange { low, high }) = self.look.range {
            notes.push(format!("values from {low} to {high} are spread evenly, black to white"));
        }
        let is_spread = self.look.range.is_some() || self.look.channels == Channels::Alpha;
        if self.look.false_color == FalseColor::Stops {
            notes.push(if is_spread {
                "false colours: dark violet is the low end, green the middle, yellow the high end"
                    .to_owned()
            } else {
                format!("false colours, each a stop around 18% grey: {}", scale())
            });
        }
        if self.look.marks == Marks::Wrong {
            notes.push("magenta: no number; cyan: infinite; green: below zero".to_owned());
        }
        notes
    }
}

fn scale() -> String {
    let band = |(ev, [red, green, blue]): &(i8, [u8; 3])| {
        format!("{ev:+} #{red:02x}{green:02x}{blue:02x}")
    };
    let bands: Vec<String> = FALSE_COLORS.iter().map(band).collect();
    format!("darker #000000, {}, brighter #ffffff", bands.join(", "))
}

fn look(viewed: &ViewedPicture, wish: &ViewWish) -> ImageLook {
    let range = match (&viewed.image, &viewed.grey) {
        // Luminance is light. An exposure that was asked for is for light as well.
        (DecodedImage::Light(light), Some(name))
            if wish.exposure_stops.is_none() && name.rsplit('.').next() != Some("Y") =>
        {
            depth_range(light)
        }
        _ => None,
    };
    let automatic = || match &viewed.image {
        DecodedImage::Light(light) if range.is_none() => auto_exposure(light),
        DecodedImage::Light(_) | DecodedImage::Display(_) => 0.0,
    };
    let exposure_stops = wish.exposure_stops.unwrap_or_else(automatic);
    ImageLook {
        grade: Grade { exposure_stops, tone_map: wish.tone_map },
        channels: wish.channels,
        false_color: wish.false_color,
        marks: wish.marks,
        alpha: wish.alpha,
        range,
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
pub(super) mod tests;
