//! Two versions of a picture beside each other, and how far they are apart.

use super::flip::{self, FlipError, USUAL_PIXELS_PER_DEGREE};
use super::parallel;
use super::picture::Picture;
use serde::Serialize;

/// Rows that one thread takes at a time, and pixels of samples.
const BAND: usize = 64;
const BAND_PIXELS: usize = 1 << 16;
/// Pixels between two pictures side by side, and what is seen there.
const GAP_PX: u32 = 8;
const GAP: [u8; 4] = [30, 32, 36, 255];
/// The line between the two halves of a wipe.
const LINE: [u8; 4] = [255, 176, 0, 255];
/// Greatest factor of a difference.
pub const MAX_GAIN: f32 = 10_000.0;

/// How two pictures are shown as one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Comparison {
    /// The first on the left, the second on the right.
    Side,
    /// The first up to this share of the width (0 to 1), the second from there, and a line between.
    Wipe {
        /// Share of the width.
        at: f32,
    },
    /// How far the bytes of each colour are apart, times a factor; opaque. Where alpha differs, all
    /// three colours differ by as much at least.
    Difference {
        /// The factor, up to [`MAX_GAIN`].
        gain: f32,
    },
    /// The heat of what a person would notice: black is the same, white could not differ more.
    Flip,
}

/// How far two pictures are apart, by the numbers that are stored.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Differences {
    /// Pixels of each.
    pub pixels: u64,
    /// Pixels with a channel, alpha among them, that differs by more than the tolerance.
    pub changed: u64,
    /// Their share, 0 to 1.
    pub changed_share: f64,
    /// Mean of the distances of all channels, where both values are finite.
    pub mean_error: f64,
    /// The greatest of these distances.
    pub max_error: f64,
    /// Pixels in which one value is not finite and the other is another one: they are changed, and
    /// count for neither mean nor maximum.
    pub not_finite: u64,
}

/// Two pictures of one size as one picture.
pub fn compared(one: &Picture, other: &Picture, how: Comparison) -> Result<Picture, FlipError> {
    check(one, other)?;
    match how {
        Comparison::Side => Ok(side(one, other)),
        Comparison::Wipe { at } => Ok(wipe(one, other, at)),
        Comparison::Difference { gain } => Ok(difference(one, other, gain)),
        Comparison::Flip => Ok(flip::flip(one, other, USUAL_PIXELS_PER_DEGREE)?.picture()),
    }
}

/// The mean of FLIP over two pictures of one size: 0 is the same to the eye. Equal pictures of any
/// size are not looked at further.
pub fn mean_flip(one: &Picture, other: &Picture) -> Result<f32, FlipError> {
    check(one, other)?;
    if one.rgba == other.rgba {
        return Ok(0.0);
    }
    Ok(flip::flip(one, other, USUAL_PIXELS_PER_DEGREE)?.mean())
}

/// How far finished pictures of one size are apart. Distances are shares of the range of a byte;
/// colours that full transparency hides count too.
pub fn differences(
    one: &Picture,
    other: &Picture,
    tolerance: f32,
) -> Result<Differences, FlipError> {
    check(one, other)?;
    let shares = |picture: &Picture| -> Vec<[f32; 4]> {
        let pixels = picture.rgba.as_chunks::<4>().0.iter();
        pixels.map(|pixel| pixel.map(|byte| f32::from(byte) / 255.0)).collect()
    };
    let size = (one.width, one.height);
    sample_differences((size, &shares(one)), (size, &shares(other)), tolerance)
}

/// How far two pictures of any numbers are apart, each with its width and height: light, or samples
/// of more than eight bits. Not-a-number equals itself here, and so does an infinity.
pub fn sample_differences(
    (size, one): ((u32, u32), &[[f32; 4]]),
    (other_size, other): ((u32, u32), &[[f32; 4]]),
    tolerance: f32,
) -> Result<Differences, FlipError> {
    if size != other_size {
        return Err(FlipError::Sizes { one: size, other: other_size });
    }
    let expected = size.0 as usize * size.1 as usize;
    if let Some(cut) = [one.len(), other.len()].into_iter().find(|count| *count != expected) {
        return Err(FlipError::Cut { bytes: cut * 16, expected: expected * 16 });
    }
    let bands = parallel::bands(expected, BAND_PIXELS, |range| {
        let (one, other) = (one.get(range.clone()), other.get(range));
        let mut sum = Sum::default();
        for (a, b) in one.into_iter().flatten().zip(other.into_iter().flatten()) {
            sum.add(*a, *b, tolerance);
        }
        sum
    });
    let all = bands.into_iter().fold(Sum::default(), Sum::join);
    let share = |part: f64, whole: u64| part / whole.max(1) as f64;
    Ok(Differences {
        pixels: expected as u64,
        changed: all.changed,
        changed_share: share(all.changed as f64, expected as u64),
        mean_error: share(all.total, all.finite),
        max_error: all.greatest,
        not_finite: all.not_finite,
    })
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    changed: u64,
    not_finite: u64,
    /// Values of which both are finite.
    finite: u64,
    total: f64,
    greatest: f64,
}

impl Sum {
    fn add(&mut self, one: [f32; 4], other: [f32; 4], tolerance: f32) {
        let (mut is_changed, mut is_odd) = (false, false);
        for (a, b) in one.into_iter().zip(other) {
            if a.is_finite() && b.is_finite() {
                let apart = (f64::from(a) - f64::from(b)).abs();
                is_changed |= apart > f64::from(tolerance);
                self.total += apart;
                self.greatest = self.greatest.max(apart);
                self.finite += 1;
            } else {
                let is_same = (a.is_nan() && b.is_nan()) || a.total_cmp(&b).is_eq();
                is_odd |= !is_same;
            }
        }
        self.changed += u64::from(is_changed || is_odd);
        self.not_finite += u64::from(is_odd);
    }

    fn join(self, other: Self) -> Self {
        Self {
            changed: self.changed + other.changed,
            not_finite: self.not_finite + other.not_finite,
            finite: self.finite + other.finite,
            total: self.total + other.total,
            greatest: self.greatest.max(other.greatest),
        }
    }
}

fn check(one: &Picture, other: &Picture) -> Result<(), FlipError> {
    let sizes = ((one.width, one.height), (other.width, other.height));
    if sizes.0 != sizes.1 {
        return Err(FlipError::Sizes { one: sizes.0, other: sizes.1 });
    }
    let expected = one.width as usize * one.height as usize * 4;
    match [one, other].into_iter().find(|picture| picture.rgba.len() != expected) {
        Some(cut) => Err(FlipError::Cut { bytes: cut.rgba.len(), expected }),
        None => Ok(()),
    }
}

/// One picture of the lines that `line` makes of those of both.
fn by_lines(
    one: &Picture,
    other: &Picture,
    width: u32,
    line: impl Fn(&[u8], &[u8]) -> Vec<u8> + Sync,
) -> Picture {
    let length = one.width as usize * 4;
    let bands = parallel::bands(one.height as usize, BAND, |rows| {
        let of = |picture: &Picture, row: usize| {
            picture.rgba.get(row * length..(row + 1) * length).unwrap_or_default().to_vec()
        };
        rows.flat_map(|row| line(&of(one, row), &of(other, row))).collect::<Vec<u8>>()
    });
    Picture { width, height: one.height, rgba: bands.concat() }
}

fn side(one: &Picture, other: &Picture) -> Picture {
    let width = one.width.saturating_mul(2).saturating_add(GAP_PX);
    let gap = GAP.repeat(GAP_PX as usize);
    by_lines(one, other, width, |left, right| [left, &gap, right].concat())
}

fn wipe(one: &Picture, other: &Picture, at: f32) -> Picture {
    let share = if at.is_nan() { 0.5 } else { at.clamp(0.0, 1.0) };
    let edge = (f64::from(share) * f64::from(one.width)).round() as usize;
    let is_inside = edge > 0 && edge < one.width as usize;
    by_lines(one, other, one.width, |left, right| {
        let left = left.get(..edge * 4).unwrap_or_default();
        let right = right.get(edge * 4..).unwrap_or_default();
        let mut line = [left, right].concat();
        if let (true, Some(pixel)) = (is_inside, line.get_mut(edge * 4..edge * 4 + 4)) {
            pixel.copy_from_slice(&LINE);
        }
        line
    })
}

fn difference(one: &Picture, other: &Picture, gain: f32) -> Picture {
    let gain = if gain.is_nan() { 1.0 } else { gain.clamp(0.0, MAX_GAIN) };
    by_lines(one, other, one.width, |left, right| {
        let pixels = left.as_chunks::<4>().0.iter().zip(right.as_chunks::<4>().0);
        let apart = |([red, green, blue, alpha], b): (&[u8; 4], &[u8; 4])| {
            let [other_red, other_green, other_blue, other_alpha] = b;
            let by_alpha = alpha.abs_diff(*other_alpha);
            let byte = |one: &u8, other: &u8| {
                // The cast ends at 255.
                (f32::from(one.abs_diff(*other).max(by_alpha)) * gain).round() as u8
            };
            [byte(red, other_red), byte(green, other_green), byte(blue, other_blue), 255]
        };
        pixels.flat_map(apart).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(width: u32, height: u32, pixel: [u8; 4]) -> Picture {
        Picture { width, height, rgba: pixel.repeat((width * height) as usize) }
    }

    fn with(mut picture: Picture, at: usize, pixel: [u8; 4]) -> Picture {
        picture.rgba[at * 4..at * 4 + 4].copy_from_slice(&pixel);
        picture
    }

    #[test]
    fn the_same_picture_has_no_difference() {
        let grey = plain(70, 70, [100, 150, 200, 128]);
        let numbers = differences(&grey, &grey, 0.0).unwrap();
        assert_eq!(numbers, Differences { pixels: 4_900, ..Differences::default() });
        assert_eq!(mean_flip(&grey, &grey), Ok(0.0));
        let black = compared(&grey, &grey, Comparison::Difference { gain: 9.0 }).unwrap();
        assert_eq!(black, plain(70, 70, [0, 0, 0, 255]));
    }

    #[test]
    fn one_changed_byte_is_seen_and_the_tolerance_is_a_limit() {
        let grey = plain(10, 10, [100, 100, 100, 255]);
        let other = with(grey.clone(), 42, [100, 103, 100, 255]);
        let numbers = differences(&grey, &other, 0.0).unwrap();
        assert_eq!((numbers.changed, numbers.pixels), (1, 100));
        assert!((numbers.changed_share - 0.01).abs() < 1e-9);
        assert!((numbers.max_error - 3.0 / 255.0).abs() < 1e-6);
        assert!((numbers.mean_error - 3.0 / 255.0 / 400.0).abs() < 1e-8);
        assert_eq!(differences(&grey, &other, 3.1 / 255.0).unwrap().changed, 0);
        assert_eq!(differences(&grey, &other, 2.9 / 255.0).unwrap().changed, 1);
        assert!(mean_flip(&grey, &other).unwrap() > 0.0);
        let shown = compared(&grey, &other, Comparison::Difference { gain: 20.0 }).unwrap();
        assert_eq!(shown, with(plain(10, 10, [0, 0, 0, 255]), 42, [0, 60, 0, 255]));
        let loud = compared(&grey, &other, Comparison::Difference { gain: 1e9 }).unwrap();
        assert_eq!(loud.rgba[42 * 4 + 1], 255);
    }

    #[test]
    fn alpha_alone_is_a_difference() {
        let (one, other) = (plain(2, 2, [9, 9, 9, 255]), plain(2, 2, [9, 9, 9, 250]));
        assert_eq!(differences(&one, &other, 0.0).unwrap().changed, 4);
        let shown = compared(&one, &other, Comparison::Difference { gain: 2.0 }).unwrap();
        assert_eq!(shown, plain(2, 2, [10, 10, 10, 255]));
    }

    #[test]
    fn wrong_values_are_changes_but_no_distances() {
        let nan = f32::NAN;
        let one = [[nan, f32::INFINITY, 1.0, 1.0], [1.0, 2.0, 3.0, 1.0], [nan, 0.0, 0.0, 1.0]];
        let other = [[nan, f32::INFINITY, 1.0, 1.0], [1.0, 2.5, 3.0, 1.0], [0.5, 0.0, 0.0, 1.0]];
        let size = (3, 1);
        let numbers = sample_differences((size, &one), (size, &other), 0.0).unwrap();
        assert_eq!((numbers.changed, numbers.not_finite), (2, 1));
        assert!((numbers.max_error - 0.5).abs() < 1e-9 && numbers.mean_error.is_finite());
        let quiet = sample_differences(((1, 1), &[[nan; 4]]), ((1, 1), &[[-nan; 4]]), 0.0);
        assert_eq!(quiet.unwrap().changed, 0, "two kinds of not-a-number");
        let signs = [[f32::INFINITY; 4], [f32::NEG_INFINITY; 4]];
        let numbers =
            sample_differences(((1, 1), &signs[..1]), ((1, 1), &signs[1..]), 9.0).unwrap();
        assert_eq!((numbers.changed, numbers.not_finite), (1, 1));
    }

    #[test]
    fn a_wipe_has_the_first_on_its_left_and_a_line() {
        let (red, blue) = (plain(8, 2, [255, 0, 0, 255]), plain(8, 2, [0, 0, 255, 255]));
        let wiped = compared(&red, &blue, Comparison::Wipe { at: 0.25 }).unwrap();
        let row =
            |picture: &Picture| picture.rgba[32..64].chunks(4).map(|p| p[0]).collect::<Vec<u8>>();
        assert_eq!(row(&wiped), [255, 255, 255, 0, 0, 0, 0, 0]);
        assert_eq!(wiped.rgba[8..12], LINE);
        for (at, whole) in [(0.0, &blue), (1.0, &red), (-3.0, &blue), (7.0, &red)] {
            assert_eq!(&compared(&red, &blue, Comparison::Wipe { at }).unwrap(), whole, "{at}");
        }
    }

    #[test]
    fn side_by_side_keeps_both() {
        let (red, blue) = (plain(3, 2, [255, 0, 0, 9]), plain(3, 2, [0, 0, 255, 255]));
        let both = compared(&red, &blue, Comparison::Side).unwrap();
        assert_eq!((both.width, both.height), (3 + GAP_PX + 3, 2));
        let line = both.width as usize * 4;
        assert_eq!(both.rgba.len(), line * 2);
        assert_eq!(both.rgba[line..line + 4], [255, 0, 0, 9]);
        assert_eq!(both.rgba[line * 2 - 4..], [0, 0, 255, 255]);
    }

    #[test]
    fn flip_is_hot_where_something_changed() {
        let grey = plain(64, 64, [120, 120, 120, 255]);
        let mut other = grey.clone();
        for at in 20..30 {
            other = with(other, at * 64 + at, [255, 0, 0, 255]);
        }
        let heat = compared(&grey, &other, Comparison::Flip).unwrap();
        let at = |x: usize, y: usize| heat.rgba[(y * 64 + x) * 4];
        assert!(at(25, 25) > 100 && at(60, 3) == 0, "{} {}", at(25, 25), at(60, 3));
    }

    #[test]
    fn other_sizes_and_cut_pictures_are_refused_by_every_view() {
        let (small, large) = (plain(4, 4, [0; 4]), plain(4, 5, [0; 4]));
        let mut cut = small.clone();
        cut.rgba.pop();
        let views = [
            Comparison::Side,
            Comparison::Wipe { at: 0.5 },
            Comparison::Difference { gain: 1.0 },
            Comparison::Flip,
        ];
        for view in views {
            let error = compared(&small, &large, view).unwrap_err().to_string();
            assert!(error.contains("(4, 4)") && error.contains("(4, 5)"), "{error}");
            assert!(matches!(compared(&small, &cut, view), Err(FlipError::Cut { .. })), "{view:?}");
        }
        assert!(differences(&small, &large, 0.0).is_err() && mean_flip(&small, &large).is_err());
    }
}
