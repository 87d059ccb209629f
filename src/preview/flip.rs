//! How different two pictures look to a person who flips between them: a number for each pixel.
//!
//! LDR-FLIP (Andersson, Nilsson, Akenine-Möller, Oskarsson, Åström, Fairchild: "FLIP: A Difference
//! Evaluator for Alternating Images", HPG 2020; below "the paper"). Colours are filtered by what
//! the eye resolves at a viewing distance, compared in a space for large differences, and weighed
//! up where edges or points come or go.

mod filter;
mod space;

use super::picture::Picture;
use filter::{Plane, Taps};
use space::{hunt, hyab, lab, lab_of_linear, opponent};

/// Most pixels of the pictures that are compared: the planes of both take about 80 bytes each.
pub const MAX_FLIP_PIXELS: u64 = 1 << 24;

/// Pixels that one degree of the view holds, as the paper assumes: 0.7 m before a monitor that is
/// 0.7 m wide and has 3,840 columns.
pub const USUAL_PIXELS_PER_DEGREE: f32 = 67.020_64;

/// Contrast sensitivity as sums of Gaussians: weight and width for luminance, red to green, and
/// blue to yellow (two of them). Table 1 of the paper.
const LUMINANCE: (f32, f32) = (1.0, 0.0047);
const RED_GREEN: (f32, f32) = (1.0, 0.0053);
const BLUE_YELLOW: [(f32, f32); 2] = [(34.1, 0.04), (13.5, 0.025)];
/// Exponent that compresses colour differences (`q_c`, §4.1.3 of the paper).
const COLOR_EXPONENT: f32 = 0.7;
/// Share of the greatest difference up to which differences are stretched, and the value that it
/// gets (`p_c` and `p_t`, §4.1.3).
const KNEE_AT: f32 = 0.4;
const KNEE_TO: f32 = 0.95;
/// Width of the edges that the eye sees best, in degrees (w, §4.2).
const FEATURE_DEGREES: f32 = 0.082;
/// Exponent of the feature difference (`q_f`, §4.2).
const FEATURE_EXPONENT: f32 = 0.5;
/// Cells of the checker that pictures with alpha are laid over, in pixels, and its two greys.
const CHECKER_PX: usize = 8;
const CHECKER: [f32; 2] = [96.0, 160.0];

/// Two pictures could not be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlipError {
    /// They have different sizes.
    #[error(
        "a picture of {one:?} pixels cannot be compared with one of {other:?}: bring them to one size first"
    )]
    Sizes {
        /// Width and height of the first.
        one: (u32, u32),
        /// Width and height of the second.
        other: (u32, u32),
    },
    /// They are too large, or have no pixels.
    #[error(
        "pictures of {width} × {height} pixels cannot be compared: 1 to {MAX_FLIP_PIXELS} pixels can. Make them smaller first"
    )]
    Bounds {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// A picture holds fewer bytes than its size says.
    #[error("a picture holds {bytes} bytes instead of {expected}: it was cut. Make it anew")]
    Cut {
        /// Bytes that are there.
        bytes: usize,
        /// Bytes that its size asks for.
        expected: usize,
    },
}

/// The difference of two pictures, pixel by pixel.
#[derive(Debug, Clone, PartialEq)]
pub struct FlipMap {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Rows from the top; 0 looks the same, 1 is as different as can be.
    pub values: Vec<f32>,
}

impl FlipMap {
    /// The mean over all pixels: the usual single number.
    pub fn mean(&self) -> f32 {
        let sum: f64 = self.values.iter().map(|value| f64::from(*value)).sum();
        (sum / self.values.len().max(1) as f64) as f32
    }

    /// The share of pixels that differ by more than `limit`.
    pub fn share_above(&self, limit: f32) -> f32 {
        let count = self.values.iter().filter(|value| **value > limit).count();
        count as f32 / self.values.len().max(1) as f32
    }

    /// The differences as a picture: from black over red and yellow to white.
    pub fn picture(&self) -> Picture {
        let heat = |value: &f32| {
            let step = |from: f32| (((value - from) * 3.0).clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
            [step(0.0), step(1.0 / 3.0), step(2.0 / 3.0), 255]
        };
        let rgba = self.values.iter().flat_map(heat).collect();
        Picture { width: self.width, height: self.height, rgba }
    }
}

/// Compares two pictures of one size as seen with `pixels_per_degree` (see
/// [`USUAL_PIXELS_PER_DEGREE`]; held between 1 and 200). Pictures with alpha are laid over a grey
/// checker first.
pub fn flip(one: &Picture, other: &Picture, pixels_per_degree: f32) -> Result<FlipMap, FlipError> {
    let (width, height) = (one.width, one.height);
    if (width, height) != (other.width, other.height) {
        let other = (other.width, other.height);
        return Err(FlipError::Sizes { one: (width, height), other });
    }
    let pixels = u64::from(width) * u64::from(height);
    if !(1..=MAX_FLIP_PIXELS).contains(&pixels) {
        return Err(FlipError::Bounds { width, height });
    }
    let expected = pixels as usize * 4;
    if let Some(cut) = [one, other].into_iter().find(|picture| picture.rgba.len() != expected) {
        return Err(FlipError::Cut { bytes: cut.rgba.len(), expected });
    }
    // The filters grow with this, so it is bounded too.
    let per_degree = if pixels_per_degree.is_finite() { pixels_per_degree } else { 67.0 };
    let per_degree = per_degree.clamp(1.0, 200.0);
    let [one, other] = [Seen::new(one, per_degree), Seen::new(other, per_degree)];
    let scale = ColorScale::new();
    let values = one
        .colors
        .iter()
        .zip(&other.colors)
        .zip(one.features.iter().zip(&other.features))
        .map(|((a, b), (here, there))| {
            let color = scale.spread(hyab(*a, *b));
            let apart = (here[0] - there[0]).abs().max((here[1] - there[1]).abs());
            let feature = (apart * std::f32::consts::FRAC_1_SQRT_2).powf(FEATURE_EXPONENT);
            color.powf((1.0 - feature).max(0.0)).clamp(0.0, 1.0)
        })
        .collect();
    Ok(FlipMap { width, height, values })
}

/// A picture as the eye takes it in.
struct Seen {
    /// Filtered colours, Hunt-adjusted CIE Lab.
    colors: Vec<[f32; 3]>,
    /// How strongly there is an edge, and a point.
    features: Vec<[f32; 2]>,
}

impl Seen {
    fn new(picture: &Picture, per_degree: f32) -> Self {
        let (width, height) = (picture.width as usize, picture.height as usize);
        let mut planes = [const { Vec::new() }; 3];
        for (at, pixel) in picture.rgba.chunks_exact(4).enumerate() {
            let color = opponent(over_checker(pixel, at % width, at / width));
            for (plane, value) in planes.iter_mut().zip(color) {
                plane.push(value);
            }
        }
        let [light, red_green, blue_yellow] = planes.map(|values| Plane { width, height, values });
        Self {
            features: features(&light, per_degree),
            colors: filtered([light, red_green, blue_yellow], per_degree),
        }
    }
}

fn over_checker(pixel: &[u8], x: usize, y: usize) -> [f32; 3] {
    let [color @ .., alpha] = pixel else { return [0.0; 3] };
    let behind = CHECKER[(x / CHECKER_PX + y / CHECKER_PX) % 2];
    let alpha = f32::from(*alpha) / 255.0;
    let lay = |byte: Option<&u8>| {
        (f32::from(byte.copied().unwrap_or(0)) * alpha + behind * (1.0 - alpha)) / 255.0
    };
    [lay(color.first()), lay(color.get(1)), lay(color.get(2))]
}

/// What is left of the colours at this distance (§4.1.1 of the paper), ready to be compared.
fn filtered(planes: [Plane; 3], per_degree: f32) -> Vec<[f32; 3]> {
    // The widest Gaussian to three standard deviations; its variance is b / 2π².
    let widest = BLUE_YELLOW[0].1;
    let reach = (3.0 * (widest / 2.0).sqrt() / std::f32::consts::PI * per_degree).ceil() as usize;
    let taps = |(_, width): (f32, f32)| Taps::gaussian(reach, width, per_degree);
    let [light, red_green, blue_yellow] = planes;
    let light = light.filtered(&taps(LUMINANCE), &taps(LUMINANCE));
    let red_green = red_green.filtered(&taps(RED_GREEN), &taps(RED_GREEN));
    // The sum of two Gaussians is not separable, but each of them is.
    let weight =
        |part: (f32, f32)| part.0 * (std::f32::consts::PI / part.1).sqrt() * taps(part).sum.powi(2);
    let weights = BLUE_YELLOW.map(weight);
    let [wide, narrow] =
        BLUE_YELLOW.map(|part| blue_yellow.filtered(&taps(part).unit(), &taps(part).unit()));
    let share = weights[0] / (weights[0] + weights[1]);
    let blue_yellow = wide.values.iter().zip(&narrow.values);
    let blue_yellow = blue_yellow.map(|(wide, narrow)| wide * share + narrow * (1.0 - share));
    let pixels = light.values.iter().zip(&red_green.values).zip(blue_yellow);
    pixels.map(|((light, red_green), last)| hunt(lab([*light, *red_green, last]))).collect()
}

/// Strength of edges and points in the luminance (§4.2 of the paper).
fn features(light: &Plane, per_degree: f32) -> Vec<[f32; 2]> {
    let deviation = 0.5 * FEATURE_DEGREES * per_degree;
    let reach = (3.0 * deviation).ceil() as usize;
    let smooth = Taps::bell(reach, deviation).unit();
    let slope = Taps::slope(reach, deviation);
    let bend = Taps::bend(reach, deviation);
    // Luminance from 0 to 1.
    let values = light.values.iter().map(|value| (value + 16.0) / 116.0).collect();
    let light = Plane { values, ..*light };
    let strength = |taps: &Taps| {
        let across = light.filtered(taps, &smooth).values;
        let down = light.filtered(&smooth, taps).values;
        across.into_iter().zip(down).map(|(x, y)| x.hypot(y)).collect::<Vec<f32>>()
    };
    strength(&slope).into_iter().zip(strength(&bend)).map(|(edge, point)| [edge, point]).collect()
}

/// Brings a colour difference to 0 to 1 (§4.1.3 of the paper).
struct ColorScale {
    greatest: f32,
}

impl ColorScale {
    /// The greatest difference that a monitor shows is that of pure green and pure blue.
    fn new() -> Self {
        let [green, blue] =
            [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|color| hunt(lab_of_linear(color)));
        Self { greatest: hyab(green, blue).powf(COLOR_EXPONENT) }
    }

    fn spread(&self, difference: f32) -> f32 {
        let difference = difference.powf(COLOR_EXPONENT);
        let knee = KNEE_AT * self.greatest;
        if difference < knee {
            return difference * KNEE_TO / knee;
        }
        KNEE_TO + (difference - knee) / (self.greatest - knee) * (1.0 - KNEE_TO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PX: u32 = 64;

    fn drawn(pixel: impl Fn(i32, i32) -> [u8; 4]) -> Picture {
        let px = PX.cast_signed();
        let rgba = (0..px * px).flat_map(|at| pixel(at % px, at / px)).collect();
        Picture { width: PX, height: PX, rgba }
    }

    /// A soft grey field with a disc; `at` is its middle's column, none for no disc.
    fn disc(at: Option<i32>) -> Picture {
        drawn(|x, y| {
            let inside = at.is_some_and(|at| (x - at).pow(2) + (y - 32).pow(2) < 144);
            let grey = (120 + y / 2) as u8;
            if inside { [200, 60, 40, 255] } else { [grey, grey, grey, 255] }
        })
    }

    fn plain(grey: u8) -> Picture {
        drawn(|_, _| [grey, grey, grey, 255])
    }

    fn compared(one: &Picture, other: &Picture) -> FlipMap {
        flip(one, other, USUAL_PIXELS_PER_DEGREE).unwrap()
    }

    #[test]
    fn equal_pictures_do_not_differ() {
        let map = compared(&disc(Some(30)), &disc(Some(30)));
        assert!(map.values.iter().all(|value| *value == 0.0));
        assert!(map.picture().rgba.chunks(4).all(|pixel| pixel == [0, 0, 0, 255]));
    }

    #[test]
    fn black_and_white_differ_almost_wholly_and_green_from_blue_wholly() {
        let mean = compared(&plain(0), &plain(255)).mean();
        assert!((0.95..=1.0).contains(&mean), "{mean}");
        let green = drawn(|_, _| [0, 255, 0, 255]);
        let blue = drawn(|_, _| [0, 0, 255, 255]);
        let mean = compared(&green, &blue).mean();
        assert!((mean - 1.0).abs() < 1e-3, "{mean}");
    }

    #[test]
    fn larger_differences_count_more() {
        let means = [1, 4, 16, 64].map(|step| compared(&plain(100), &plain(100 + step)).mean());
        assert!(means.windows(2).all(|pair| pair[0] < pair[1]), "{means:?}");
        assert!(means[0] < 0.04, "one step of a byte is hardly seen: {means:?}");
    }

    #[test]
    fn the_order_of_the_pictures_does_not_matter() {
        let (one, other) = (disc(Some(25)), disc(Some(40)));
        assert_eq!(compared(&one, &other), compared(&other, &one));
    }

    #[test]
    fn a_shift_by_a_pixel_is_small_and_a_missing_object_large() {
        let shifted = compared(&disc(Some(30)), &disc(Some(31)));
        let missing = compared(&disc(Some(30)), &disc(None));
        assert!(shifted.mean() > 0.0 && shifted.mean() < 0.03, "{}", shifted.mean());
        assert!(missing.mean() > 3.0 * shifted.mean(), "{}", missing.mean());
        let middle = 32 * PX as usize + 30;
        assert!(shifted.values[middle] < 0.01, "{}", shifted.values[middle]);
        assert!(missing.values[middle] > 0.5, "{}", missing.values[middle]);
        assert!(missing.share_above(0.5) > 0.09, "{}", missing.share_above(0.5));
    }

    #[test]
    fn what_the_eye_does_not_resolve_does_not_count() {
        let fine = |turn: i32| {
            drawn(move |x, y| {
                let blue = if (x + y + turn) % 2 == 0 { 140 } else { 120 };
                [128, 128, blue, 255]
            })
        };
        let far = flip(&fine(0), &fine(1), 150.0).unwrap().mean();
        let near = flip(&fine(0), &fine(1), 10.0).unwrap().mean();
        assert!(far < 0.02 && near > far * 2.0, "{far} {near}");
    }

    #[test]
    fn alpha_is_seen_over_a_checker() {
        let clear = drawn(|_, _| [128, 128, 128, 0]);
        assert!(compared(&clear, &plain(128)).mean() > 0.1);
        let other = drawn(|_, _| [9, 200, 3, 0]);
        assert!(compared(&clear, &other).mean() == 0.0);
    }

    #[test]
    fn pictures_that_cannot_be_compared_are_errors() {
        let small = Picture { width: 1, height: 1, rgba: vec![0; 4] };
        let sizes = FlipError::Sizes { one: (PX, PX), other: (1, 1) };
        assert_eq!(flip(&plain(0), &small, 67.0), Err(sizes));
        let huge = Picture { width: 1 << 13, height: 1 << 12, rgba: Vec::new() };
        let bounds = FlipError::Bounds { width: 1 << 13, height: 1 << 12 };
        assert_eq!(flip(&huge, &huge, 67.0), Err(bounds));
        let none = Picture { width: 0, height: 4, rgba: Vec::new() };
        assert!(matches!(flip(&none, &none, 67.0), Err(FlipError::Bounds { .. })));
        let cut = Picture { rgba: vec![0; 7], ..plain(0) };
        let expected = FlipError::Cut { bytes: 7, expected: 64 * 64 * 4 };
        assert_eq!(flip(&plain(0), &cut, 67.0), Err(expected));
        assert!(flip(&small, &small, f32::NAN).unwrap().mean() <= 0.0);
    }
}
