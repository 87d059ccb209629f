//! From scene light to finished pixels: exposure and a tone map.
//!
//! Of the tone maps, Khronos PBR Neutral is computed here, since meshes are drawn with it too
//! (`KhronosGroup/ToneMapping`, "PBR Neutral Tone Mapper"); `agx` and `aces` are for pictures.

mod aces;
mod agx;
#[cfg(test)]
mod tests;

use super::parallel;
use super::picture::{DecodedImage, LinearImage, Picture};
use super::texels::to_srgb;
use crate::model::ToneMap;
use glam::Vec3;

/// Light above this is compressed. Mirrored in WGSL.
const COMPRESS_FROM: f32 = 0.8 - 0.04;
/// How much very bright light loses its colour. Mirrored in WGSL.
const DESATURATE: f32 = 0.15;
/// Log-average luminances that are shown without a change of exposure.
const USUAL: std::ops::RangeInclusive<f32> = 0.01..=2.0;
/// What an unusual log-average luminance is brought to.
const MIDDLE_GREY: f32 = 0.18;
/// Most stops that the exposure is changed by itself.
const MAX_STOPS: f32 = 12.0;
/// Rows that one thread takes at a time.
const BAND: usize = 64;

/// Khronos PBR Neutral: base colours up to 0.8 under white light of 1 come out as they are, and
/// brighter light runs smoothly towards white.
pub(crate) fn neutral(color: Vec3) -> Vec3 {
    let least = color.min_element();
    let offset = if least < 0.08 { least - 6.25 * least * least } else { 0.04 };
    let color = color - offset;
    let peak = color.max_element();
    if peak < COMPRESS_FROM {
        return color;
    }
    let room = 1.0 - COMPRESS_FROM;
    let new_peak = 1.0 - room * room / (peak + room - COMPRESS_FROM);
    let grey = 1.0 - 1.0 / (DESATURATE * (peak - new_peak) + 1.0);
    (color * (new_peak / peak)).lerp(Vec3::splat(new_peak), grey)
}

/// How the light of a picture becomes colours.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Grade {
    /// Stops that it is made brighter by.
    pub exposure_stops: f32,
    /// What presses it into what a screen shows.
    pub tone_map: ToneMap,
}

impl Grade {
    /// With the exposure that [`auto_exposure`] finds.
    pub fn automatic(image: &LinearImage, tone_map: ToneMap) -> Self {
        Self { exposure_stops: auto_exposure(image), tone_map }
    }

    /// [`Grade::automatic`] for light; nothing is done to a finished picture.
    pub fn of(image: &DecodedImage, tone_map: ToneMap) -> Self {
        match image {
            DecodedImage::Light(light) => Self::automatic(light, tone_map),
            DecodedImage::Display(_) => Self::default(),
        }
    }
}

/// The colour that a screen shows for light that is finite and not negative: linear, 0 to 1.
pub(crate) fn toned(map: ToneMap, light: Vec3) -> Vec3 {
    let color = match map {
        ToneMap::Neutral => neutral(light),
        ToneMap::Agx => agx::agx(light),
        ToneMap::AcesFit => aces::aces(light),
        ToneMap::Linear => light,
    };
    color.clamp(Vec3::ZERO, Vec3::ONE)
}

/// Stops to change the exposure by: 0 unless the picture would be nearly black or white.
pub fn auto_exposure(image: &LinearImage) -> f32 {
    let (mut sum, mut count) = (0.0_f64, 0_u32);
    // Every nth pixel is enough for an average.
    let step = (image.pixels.len() / 250_000).max(1);
    for pixel in image.pixels.iter().step_by(step) {
        let [red, green, blue, _] = *pixel;
        let luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        if luminance.is_finite() && luminance > 0.0 {
            sum += f64::from(luminance.max(1e-6).log2());
            count += 1;
        }
    }
    if count == 0 {
        return 0.0;
    }
    let average = (sum / f64::from(count)).exp2() as f32;
    if USUAL.contains(&average) {
        return 0.0;
    }
    (MIDDLE_GREY / average).log2().clamp(-MAX_STOPS, MAX_STOPS)
}

/// Finished pixels of scene light.
///
/// Alpha is premultiplied in scene light and straight in the picture. Light without alpha (flames,
/// glows) stays visible. Not-a-number and negative light are black; infinite light is white.
pub fn tone_map(image: &LinearImage, grade: Grade) -> Picture {
    let gain = grade.exposure_stops.exp2();
    mapped(image, |pixel| finished(pixel, gain, grade.tone_map))
}

/// A picture with what `finish` makes of each pixel; clear where pixels are missing.
pub(super) fn mapped(image: &LinearImage, finish: impl Fn([f32; 4]) -> [u8; 4] + Sync) -> Picture {
    let width = image.width as usize;
    let rows = parallel::bands(image.height as usize, BAND, |rows| {
        let pixels = image.pixels.get(rows.start * width..rows.end * width).unwrap_or_default();
        pixels.iter().flat_map(|pixel| finish(*pixel)).collect::<Vec<u8>>()
    });
    let mut rgba = rows.concat();
    rgba.resize(width * image.height as usize * 4, 0);
    Picture { width: image.width, height: image.height, rgba }
}

/// A picture with what `change` makes of each pixel.
pub(super) fn mapped_picture(
    picture: &Picture,
    change: impl Fn([u8; 4]) -> [u8; 4] + Sync,
) -> Picture {
    let width = picture.width as usize;
    let (pixels, _) = picture.rgba.as_chunks::<4>();
    let rows = parallel::bands(picture.height as usize, BAND, |rows| {
        let pixels = pixels.get(rows.start * width..rows.end * width).unwrap_or_default();
        pixels.iter().flat_map(|pixel| change(*pixel)).collect::<Vec<u8>>()
    });
    let mut rgba = rows.concat();
    rgba.resize(width * picture.height as usize * 4, 0);
    Picture { width: picture.width, height: picture.height, rgba }
}

/// One finished pixel of light, `gain` times as bright.
pub(super) fn finished(pixel: [f32; 4], gain: f32, map: ToneMap) -> [u8; 4] {
    let [red, green, blue, alpha] = pixel;
    // Far below the largest float, so that sums stay finite.
    let light = |value: f32| if value > 0.0 { (value * gain).min(1e6) } else { 0.0 };
    let color = toned(map, Vec3::new(light(red), light(green), light(blue)));
    let alpha = if alpha > 0.0 { alpha.min(1.0) } else { 0.0 };
    // Straight colour may not pass 1: light without alpha lends itself the alpha it needs.
    let alpha = alpha.max(color.max_element().min(1.0));
    if alpha <= 0.0 {
        return [0; 4];
    }
    let [red, green, blue] = (color / alpha).to_array().map(|value| to_byte(to_srgb(value)));
    [red, green, blue, to_byte(alpha)]
}

pub(super) fn to_byte(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8
}
