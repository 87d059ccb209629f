//! Brightness as colours.

use super::measures::ValueRange;
use crate::preview::picture::{LinearImage, Picture};

/// Light that stands in the middle of the scale: 18% grey.
const MIDDLE_GREY: f32 = 0.18;

/// Whether brightness becomes colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FalseColor {
    /// It does not.
    #[default]
    Off,
    /// Each stop of light has the colour that [`FALSE_COLORS`] gives it, after the exposure and
    /// before any tone map; of alpha, and where light is spread over a range, the share of the
    /// range becomes a colour from dark violet (0) over green to yellow (1). The picture is opaque,
    /// and what is transparent counts as the light that arrives from there.
    Stops,
}

/// The scale: stops above or below 18% grey, and their colour. A band reaches half a stop to both
/// sides. Darker than all is black, brighter than all is white; the middle is grey.
pub const FALSE_COLORS: [(i8, [u8; 3]); 13] = [
    (-6, [48, 0, 80]),
    (-5, [80, 24, 160]),
    (-4, [40, 64, 216]),
    (-3, [16, 128, 224]),
    (-2, [0, 168, 176]),
    (-1, [0, 144, 72]),
    (0, [128, 128, 128]),
    (1, [152, 200, 48]),
    (2, [240, 224, 40]),
    (3, [248, 168, 24]),
    (4, [240, 104, 24]),
    (5, [216, 32, 32]),
    (6, [248, 128, 184]),
];
const DARKER: [u8; 3] = [0; 3];
const BRIGHTER: [u8; 3] = [255; 3];

/// Evenly spaced colours of the map viridis (matplotlib, CC0): even steps look even.
const RAMP: [[f32; 3]; 5] = [
    [68.0, 1.0, 84.0],
    [59.0, 82.0, 139.0],
    [33.0, 145.0, 140.0],
    [94.0, 201.0, 98.0],
    [253.0, 231.0, 37.0],
];

/// One number for each pixel of a smaller picture: the mean over its area, so that no colour of the
/// scale is mixed from others. Numbers that are not finite count only where there are no others.
pub(super) fn reduced(
    image: &LinearImage,
    (width, height): (u32, u32),
    value: impl Fn([f32; 4]) -> f32,
) -> Vec<f32> {
    let (wide, high) = (image.width as usize, image.height as usize);
    let (width, height) = (width as usize, height as usize);
    let mut sums = vec![(0.0_f64, 0_u32, f32::NAN); width * height];
    for (row, line) in image.pixels.chunks_exact(wide.max(1)).take(high).enumerate() {
        let from = row * height / high.max(1) * width;
        let Some(sums) = sums.get_mut(from..from + width) else { continue };
        for (column, pixel) in line.iter().enumerate() {
            let Some(sum) = sums.get_mut(column * width / wide.max(1)) else { continue };
            let value = value(*pixel);
            if value.is_finite() {
                sum.0 += f64::from(value);
                sum.1 += 1;
            } else {
                sum.2 = sum.2.max(value);
            }
        }
    }
    let mean = |(sum, count, odd): (f64, u32, f32)| {
        if count == 0 { odd } else { (sum / f64::from(count)) as f32 }
    };
    sums.into_iter().map(mean).collect()
}

/// Opaque colours of numbers.
pub(super) fn picture(
    (width, height): (u32, u32),
    values: &[f32],
    exposure_stops: f32,
    range: Option<ValueRange>,
) -> Picture {
    let color = |value: &f32| {
        let [red, green, blue] = match range {
            Some(range) => ramp(range.share(*value)),
            None => band(*value, exposure_stops),
        };
        [red, green, blue, 255]
    };
    Picture { width, height, rgba: values.iter().flat_map(color).collect() }
}

/// The colour of light in the scale.
fn band(light: f32, exposure_stops: f32) -> [u8; 3] {
    if light.is_nan() || light <= 0.0 {
        return DARKER;
    }
    let stop = ((light / MIDDLE_GREY).log2() + exposure_stops).round();
    let found = FALSE_COLORS.iter().find(|(ev, _)| (f32::from(*ev) - stop).abs() < 0.5);
    found.map_or(if stop < 0.0 { DARKER } else { BRIGHTER }, |(_, color)| *color)
}

fn ramp(share: f32) -> [u8; 3] {
    let at = share.clamp(0.0, 1.0) * (RAMP.len() - 1) as f32;
    let index = (at as usize).min(RAMP.len() - 2);
    let (Some(low), Some(high)) = (RAMP.get(index), RAMP.get(index + 1)) else { return DARKER };
    let step = at - index as f32;
    let mixed = |(low, high): (&f32, &f32)| (low + (high - low) * step + 0.5) as u8;
    let mut channels = low.iter().zip(high).map(mixed);
    std::array::from_fn(|_| channels.next().unwrap_or(0))
}
