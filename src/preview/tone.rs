//! From scene light to finished pixels: the Khronos PBR Neutral tone map.

use super::parallel;
use super::picture::{LinearImage, Picture};
use super::texels::to_srgb;
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

/// Finished pixels of scene light, `exposure_stops` brighter.
///
/// Alpha is premultiplied in scene light and straight in the picture. Light without alpha (flames,
/// glows) stays visible. Not-a-number and negative light are black; infinite light is white.
pub fn tone_map(image: &LinearImage, exposure_stops: f32) -> Picture {
    let gain = exposure_stops.exp2();
    let width = image.width as usize;
    let rows = parallel::bands(image.height as usize, BAND, |rows| {
        let pixels = image.pixels.get(rows.start * width..rows.end * width).unwrap_or_default();
        pixels.iter().flat_map(|pixel| finished(*pixel, gain)).collect::<Vec<u8>>()
    });
    let mut rgba = rows.concat();
    rgba.resize(width * image.height as usize * 4, 0);
    Picture { width: image.width, height: image.height, rgba }
}

fn finished(pixel: [f32; 4], gain: f32) -> [u8; 4] {
    let [red, green, blue, alpha] = pixel;
    // Far below the largest float, so that sums stay finite.
    let light = |value: f32| if value > 0.0 { (value * gain).min(1e6) } else { 0.0 };
    let color = neutral(Vec3::new(light(red), light(green), light(blue))).max(Vec3::ZERO);
    let alpha = if alpha > 0.0 { alpha.min(1.0) } else { 0.0 };
    // Straight colour may not pass 1: light without alpha lends itself the alpha it needs.
    let alpha = alpha.max(color.max_element().min(1.0));
    if alpha <= 0.0 {
        return [0; 4];
    }
    let [red, green, blue] = (color / alpha).to_array().map(|value| to_byte(to_srgb(value)));
    [red, green, blue, to_byte(alpha)]
}

fn to_byte(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(pixel: [f32; 4]) -> Vec<u8> {
        tone_map(&LinearImage { width: 1, height: 1, pixels: vec![pixel] }, 0.0).rgba
    }

    #[test]
    fn neutral_keeps_base_colours_under_white_light() {
        // A dielectric's mirror adds 0.04 to its base colour; the tone map takes it away again.
        for base in [0.08_f32, 0.2, 0.5, 0.7, 0.75] {
            let shown = neutral(Vec3::splat(base + 0.04));
            assert!((shown.x - base).abs() < 1e-6, "{base}: {shown}");
        }
        let red = neutral(Vec3::new(0.7, 0.2, 0.1) + 0.04);
        assert!((red - Vec3::new(0.7, 0.2, 0.1)).abs().max_element() < 1e-6, "{red}");
    }

    #[test]
    fn neutral_rises_smoothly_and_stays_below_one() {
        let mut before = 0.0;
        for step in 0_u16..4_000 {
            let shown = neutral(Vec3::splat(f32::from(step) * 0.01)).x;
            assert!(shown >= before && shown <= 1.0, "{step}: {shown}");
            before = shown;
        }
    }

    #[test]
    fn unusual_numbers_do_no_harm() {
        assert_eq!(one([f32::NAN, -1.0, 0.0, 1.0]), [0, 0, 0, 255]);
        let bright = one([f32::INFINITY, f32::INFINITY, f32::INFINITY, f32::NAN]);
        assert!(bright.iter().all(|byte| *byte >= 254), "{bright:?}");
    }

    #[test]
    fn light_without_alpha_stays_visible() {
        let flame = one([0.5, 0.25, 0.1, 0.0]);
        assert!(flame[3] > 80 && flame[0] > 200, "{flame:?}");
        assert_eq!(one([0.0, 0.0, 0.0, 0.0]), [0; 4]);
    }

    #[test]
    fn exposure_changes_only_for_unusual_pictures() {
        let image = |value: f32| LinearImage {
            width: 2,
            height: 1,
            pixels: vec![[value, value, value, 1.0]; 2],
        };
        assert!(auto_exposure(&image(0.2)).abs() < 1e-6);
        assert!((auto_exposure(&image(0.0018)) - 100.0_f32.log2()).abs() < 0.01);
        assert!(auto_exposure(&image(180.0)) < -9.0);
        assert!(auto_exposure(&image(f32::NAN)).abs() < 1e-6);
        let dark = tone_map(&image(0.0018), auto_exposure(&image(0.0018)));
        assert!(dark.rgba[0] > 90, "{:?}", dark.rgba);
    }
}
