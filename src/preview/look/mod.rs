//! Ways to look at a picture: brighter, one channel, in false colours, with its wrong values marked.
//!
//! The order is always the same: channels, exposure and tone map, size, checker, marks. So a checker
//! keeps its cells and a single wrong pixel stays seen however much smaller the picture is made.

mod checker;
mod false_color;
mod marks;
mod measures;
#[cfg(test)]
mod tests;

pub use false_color::{FALSE_COLORS, FalseColor};
pub use marks::{INFINITE, Marks, NEGATIVE, NOT_A_NUMBER};
pub use measures::{ChannelMeasures, Measures, ValueRange, depth_range, measure};

use super::picture::{DecodedImage, LinearImage, Picture};
use super::resize::{fit, fitted};
use super::texels::{srgb_table, to_srgb};
use super::tone::{Grade, finished, mapped, mapped_picture, to_byte, tone_map};
use std::borrow::Cow;

/// Shares of red, green and blue in the luminance (Rec. 709).
const LUMINANCE: [f32; 3] = [0.2126, 0.7152, 0.0722];

/// Which channels are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Channels {
    /// The picture itself.
    #[default]
    Color,
    /// Red as an opaque grey. Of light, all single colours are developed as grey light would be.
    Red,
    /// Green as an opaque grey.
    Green,
    /// Blue as an opaque grey.
    Blue,
    /// Alpha as an opaque grey: 0 is black, 0.5 the byte 128, 1 white. Exposure and tone map do not
    /// touch it.
    Alpha,
    /// The luminance of Rec. 709 as an opaque grey.
    Luminance,
}

/// What becomes of transparency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlphaShown {
    /// It stays.
    #[default]
    Keep,
    /// The picture lies on a grey checker.
    Checker,
    /// It is left out: light as it arrives, over black; finished pictures with the colours that
    /// transparency hid.
    Ignore,
}

/// How a picture is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ImageLook {
    /// Exposure and tone map. A finished picture is only made brighter: it has its tone map already.
    pub grade: Grade,
    /// Which channels are shown.
    pub channels: Channels,
    /// Whether brightness becomes colours.
    pub false_color: FalseColor,
    /// Whether wrong values are painted over.
    pub marks: Marks,
    /// What becomes of transparency.
    pub alpha: AlphaShown,
    /// Light between these two values is spread evenly over what a screen shows, in place of
    /// exposure and tone map: for depth and other numbers. Finished pictures are never spread.
    pub range: Option<ValueRange>,
}

impl ImageLook {
    /// The picture as it is looked at, with no edge longer than `longest_px`; never enlarged.
    pub fn shown(&self, image: &DecodedImage, longest_px: u32) -> Picture {
        let mut picture = match (self.false_color, image) {
            (FalseColor::Stops, DecodedImage::Light(light)) => self.coded(light, longest_px),
            (FalseColor::Stops, DecodedImage::Display(picture)) => {
                let plain = Self { range: None, ..*self };
                plain.coded(&light_of(picture), longest_px)
            }
            (FalseColor::Off, DecodedImage::Light(light)) => {
                fit(&self.developed(light), longest_px)
            }
            (FalseColor::Off, DecodedImage::Display(picture)) => {
                fit(&self.adjusted(picture), longest_px)
            }
        };
        if self.alpha == AlphaShown::Checker {
            checker::lay_over(&mut picture);
        }
        if let (Marks::Wrong, DecodedImage::Light(light)) = (self.marks, image) {
            marks::lay(&mut picture, light, self.channels);
        }
        picture
    }

    fn coded(&self, light: &LinearImage, longest_px: u32) -> Picture {
        let size = fitted(light.width, light.height, longest_px);
        let value = |pixel| self.channels.value(pixel);
        let small = false_color::reduced(light, size, value);
        let range = match self.channels {
            Channels::Alpha => Some(ValueRange { low: 0.0, high: 1.0 }),
            _ => self.range,
        };
        false_color::picture(size, &small, self.grade.exposure_stops, range)
    }

    fn developed(&self, light: &LinearImage) -> Picture {
        let is_plain = self.range.is_none() && self.alpha != AlphaShown::Ignore;
        if is_plain && self.channels == Channels::Color {
            return tone_map(light, self.grade);
        }
        let gain = self.grade.exposure_stops.exp2();
        mapped(light, |pixel| {
            let [red, green, blue, alpha] = match self.channels {
                Channels::Alpha => {
                    let grey = to_byte(self.channels.value(pixel));
                    return [grey, grey, grey, 255];
                }
                Channels::Color => pixel,
                one => {
                    let value = one.value(pixel);
                    [value, value, value, 1.0]
                }
            };
            let alpha = if self.alpha == AlphaShown::Ignore { 1.0 } else { alpha };
            match self.range {
                None => finished([red, green, blue, alpha], gain, self.grade.tone_map),
                Some(range) => {
                    let [red, green, blue] =
                        [red, green, blue].map(|value| to_byte(range.share(value)));
                    [red, green, blue, to_byte(alpha)]
                }
            }
        })
    }

    fn adjusted<'a>(&self, picture: &'a Picture) -> Cow<'a, Picture> {
        let exposure = self.grade.exposure_stops;
        let is_brighter = exposure.abs() > 0.0;
        if self.channels == Channels::Color && self.alpha != AlphaShown::Ignore && !is_brighter {
            return Cow::Borrowed(picture);
        }
        let gain = exposure.exp2();
        let table = srgb_table();
        let light = |byte: u8| table.get(usize::from(byte)).copied().unwrap_or(0.0);
        let lit = |byte: u8| if is_brighter { to_byte(to_srgb(light(byte) * gain)) } else { byte };
        Cow::Owned(mapped_picture(picture, |[red, green, blue, alpha]| match self.channels {
            Channels::Color if self.alpha == AlphaShown::Ignore => {
                [lit(red), lit(green), lit(blue), 255]
            }
            Channels::Color => [lit(red), lit(green), lit(blue), alpha],
            Channels::Red => grey(lit(red)),
            Channels::Green => grey(lit(green)),
            Channels::Blue => grey(lit(blue)),
            Channels::Alpha => grey(alpha),
            Channels::Luminance => {
                let [red, green, blue] = [red, green, blue].map(light);
                let sum = Channels::Luminance.value([red, green, blue, 1.0]);
                grey(to_byte(to_srgb(sum * gain)))
            }
        }))
    }
}

impl Channels {
    /// All of them, the usual one first.
    pub const ALL: [Self; 6] =
        [Self::Color, Self::Red, Self::Green, Self::Blue, Self::Alpha, Self::Luminance];

    /// The name used on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Color => "color",
            Self::Red => "red",
            Self::Green => "green",
            Self::Blue => "blue",
            Self::Alpha => "alpha",
            Self::Luminance => "luminance",
        }
    }

    /// What one number of a pixel these channels are; of the picture itself its luminance.
    fn value(self, [red, green, blue, alpha]: [f32; 4]) -> f32 {
        let [share_of_red, share_of_green, share_of_blue] = LUMINANCE;
        match self {
            Self::Red => red,
            Self::Green => green,
            Self::Blue => blue,
            Self::Alpha => alpha,
            Self::Color | Self::Luminance => {
                share_of_red * red + share_of_green * green + share_of_blue * blue
            }
        }
    }
}

fn grey(byte: u8) -> [u8; 4] {
    [byte, byte, byte, 255]
}

/// A finished picture as premultiplied light.
fn light_of(picture: &Picture) -> LinearImage {
    let table = srgb_table();
    let pixels = picture.rgba.as_chunks::<4>().0.iter().map(|[red, green, blue, alpha]| {
        let share = f32::from(*alpha) / 255.0;
        let light = |byte: &u8| table.get(usize::from(*byte)).copied().unwrap_or(0.0) * share;
        [light(red), light(green), light(blue), share]
    });
    LinearImage { width: picture.width, height: picture.height, pixels: pixels.collect() }
}
