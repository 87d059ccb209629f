//! Paints over values that are no light.

use super::Channels;
use crate::preview::picture::{LinearImage, Picture};

/// The colour of values that are no number: magenta.
pub const NOT_A_NUMBER: [u8; 3] = [255, 0, 255];
/// The colour of values that are infinite, also below zero: cyan.
pub const INFINITE: [u8; 3] = [0, 255, 255];
/// The colour of other values below zero: green.
pub const NEGATIVE: [u8; 3] = [0, 255, 0];

/// Whether wrong values are painted over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Marks {
    /// They are not.
    #[default]
    Off,
    /// Pixels with one in the shown channels are painted over, the gravest counts. Where many
    /// pixels became one, a single wrong one among them is enough, and its neighbours are painted
    /// too: a lone dot would not be noticed.
    Wrong,
}

/// By how grave they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Wrong {
    #[default]
    No,
    Negative,
    Infinite,
    NotANumber,
}

impl Wrong {
    fn of(value: f32) -> Self {
        match value {
            value if value.is_nan() => Self::NotANumber,
            value if value.is_infinite() => Self::Infinite,
            value if value < 0.0 => Self::Negative,
            _ => Self::No,
        }
    }

    fn color(self) -> Option<[u8; 3]> {
        match self {
            Self::No => None,
            Self::Negative => Some(NEGATIVE),
            Self::Infinite => Some(INFINITE),
            Self::NotANumber => Some(NOT_A_NUMBER),
        }
    }
}

/// Paints over the pixels of `picture` whose light is wrong; it may be smaller than the light.
pub(super) fn lay(picture: &mut Picture, light: &LinearImage, channels: Channels) {
    let (wide, high) = ((light.width as usize).max(1), (light.height as usize).max(1));
    let (width, height) = (picture.width as usize, picture.height as usize);
    let mut found = vec![Wrong::No; width * height];
    for (row, line) in light.pixels.chunks_exact(wide).take(high).enumerate() {
        let from = row * height / high * width;
        for (column, pixel) in line.iter().enumerate() {
            let wrong = wrong(*pixel, channels);
            if wrong != Wrong::No
                && let Some(known) = found.get_mut(from + column * width / wide)
            {
                *known = wrong.max(*known);
            }
        }
    }
    if (width, height) != (light.width as usize, light.height as usize) {
        found = grown(&found, width);
    }
    for (pixel, wrong) in picture.rgba.as_chunks_mut::<4>().0.iter_mut().zip(found) {
        if let Some([red, green, blue]) = wrong.color() {
            *pixel = [red, green, blue, 255];
        }
    }
}

/// Each mark with its neighbours, where those have no graver one.
fn grown(found: &[Wrong], width: usize) -> Vec<Wrong> {
    let mut wide = found.to_vec();
    let marks = found.iter().enumerate().filter(|(_, wrong)| **wrong != Wrong::No);
    for (at, wrong) in marks {
        let (column, row) = (at % width, at / width);
        for y in row.saturating_sub(1)..=row + 1 {
            for x in column.saturating_sub(1)..=(column + 1).min(width - 1) {
                if let Some(known) = wide.get_mut(y * width + x) {
                    *known = (*wrong).max(*known);
                }
            }
        }
    }
    wide
}

fn wrong(pixel: [f32; 4], channels: Channels) -> Wrong {
    let [red, green, blue, alpha] = pixel;
    let gravest = |values: &[f32]| values.iter().copied().map(Wrong::of).max().unwrap_or_default();
    match channels {
        Channels::Color => gravest(&pixel),
        Channels::Red => Wrong::of(red),
        Channels::Green => Wrong::of(green),
        Channels::Blue => Wrong::of(blue),
        Channels::Alpha => Wrong::of(alpha),
        Channels::Luminance => gravest(&[red, green, blue]),
    }
}
