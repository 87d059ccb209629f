//! What one pass over the pixels tells.

use crate::preview::{DecodedImage, LinearImage, Picture};

/// The greatest byte that still is black: encoders and dither leave a 1.
const BLACK_BYTE: u8 = 1;
/// The greatest light that still is black.
const BLACK_LIGHT: f32 = 1e-6;
/// Alpha from which a pixel's colour can be seen well, in bytes and as light.
const SEEN_BYTE: u8 = 128;
const SEEN: f32 = 0.5;
/// Magenta is lit as any surface is, so it may be of any brightness from here on: in bytes, and the
/// same as light.
const MAGENTA_BYTE: u8 = 64;
const MAGENTA_LIGHT: f32 = 0.05;
/// Weights of red, green and blue in brightness (Rec. 709), for bytes in 256ths.
const WEIGHTS: [f32; 3] = [0.2126, 0.7152, 0.0722];
const BYTE_WEIGHTS: [u64; 3] = [54, 184, 18];

/// What one pass over the pixels tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    /// Whether every pixel is black or transparent.
    pub(super) black: bool,
    /// Pixels in pure magenta.
    pub(super) magenta: u64,
    /// Mean brightness, 0 to 1.
    pub(super) mean: f32,
}

pub(super) fn measure(image: &DecodedImage) -> Measured {
    match image {
        DecodedImage::Display(picture) => of_bytes(picture),
        DecodedImage::Light(light) => of_light(light),
    }
}

fn of_bytes(picture: &Picture) -> Measured {
    let (mut brightest, mut magenta, mut sum) = (0_u8, 0_u64, 0_u64);
    for pixel in picture.rgba.chunks_exact(4) {
        let [red, green, blue, alpha] = *pixel else { continue };
        if alpha == 0 {
            continue;
        }
        brightest = brightest.max(red).max(green).max(blue);
        magenta += u64::from(is_magenta_byte(red, green, blue) && alpha >= SEEN_BYTE);
        let [of_red, of_green, of_blue] = BYTE_WEIGHTS;
        let luma =
            of_red * u64::from(red) + of_green * u64::from(green) + of_blue * u64::from(blue);
        sum += luma * u64::from(alpha);
    }
    let pixels = (picture.rgba.len() / 4).max(1) as f64;
    let mean = (sum as f64 / (256.0 * 255.0 * 255.0 * pixels)) as f32;
    Measured { black: brightest <= BLACK_BYTE, magenta, mean }
}

/// Red and blue alike, and at most an eighth of them green.
fn is_magenta_byte(red: u8, green: u8, blue: u8) -> bool {
    let (least, most) = (red.min(blue), red.max(blue));
    least >= MAGENTA_BYTE && green <= least / 8 && most - least <= most / 16
}

fn of_light(light: &LinearImage) -> Measured {
    let (mut brightest, mut magenta, mut sum) = (0.0_f32, 0_u64, 0.0_f64);
    for [red, green, blue, alpha] in light.pixels.iter().copied() {
        brightest = brightest.max(red).max(green).max(blue);
        magenta += u64::from(is_magenta_light(red, green, blue) && alpha >= SEEN);
        let [of_red, of_green, of_blue] = WEIGHTS;
        let luminance = of_red * red + of_green * green + of_blue * blue;
        sum += f64::from(luminance.clamp(0.0, 1.0));
    }
    let pixels = light.pixels.len().max(1) as f64;
    Measured { black: brightest <= BLACK_LIGHT, magenta, mean: (sum / pixels) as f32 }
}

/// The same colour as [`is_magenta_byte`], in light.
fn is_magenta_light(red: f32, green: f32, blue: f32) -> bool {
    let (least, most) = (red.min(blue), red.max(blue));
    least >= MAGENTA_LIGHT && green <= least * 0.015 && most - least <= most * 0.13
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(pixel: [u8; 4]) -> Measured {
        measure(&DecodedImage::Display(Picture { width: 2, height: 1, rgba: pixel.repeat(2) }))
    }

    fn light(pixel: [f32; 4]) -> Measured {
        measure(&DecodedImage::Light(LinearImage { width: 2, height: 1, pixels: vec![pixel; 2] }))
    }

    #[test]
    fn magenta_is_a_colour_at_any_brightness() {
        for (pixel, is) in [
            ([255, 0, 255, 255], true),
            ([100, 2, 98, 255], true),
            ([255, 0, 255, 20], false),
            ([20, 0, 20, 255], false),
            ([255, 80, 255, 255], false),
            ([255, 0, 180, 255], false),
        ] {
            assert_eq!(bytes(pixel).magenta, if is { 2 } else { 0 }, "{pixel:?}");
        }
        assert_eq!(light([4.0, 0.0, 4.0, 1.0]).magenta, 2);
        assert_eq!(light([0.6, 0.1, 0.6, 1.0]).magenta, 0);
    }

    #[test]
    fn black_and_the_mean_see_what_is_shown() {
        assert!(bytes([1, 0, 1, 255]).black && bytes([9, 9, 9, 0]).black);
        assert!(!bytes([0, 2, 0, 255]).black && !light([0.0, 1e-4, 0.0, 1.0]).black);
        assert!((bytes([255, 255, 255, 255]).mean - 1.0).abs() < 1e-6);
        assert!((bytes([255, 255, 255, 51]).mean - 0.2).abs() < 1e-6);
        assert!((light([9.0, 9.0, 9.0, 1.0]).mean - 1.0).abs() < 1e-5);
        assert!(light([0.0; 4]).mean.abs() < 1e-9 && light([0.0; 4]).black);
    }
}
