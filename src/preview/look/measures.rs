//! What the numbers of a picture are: extremes, means, wrong values, and the range of a depth.

use crate::preview::parallel;
use crate::preview::picture::{DecodedImage, LinearImage, Picture};
use serde::Serialize;

/// Rows that one thread takes at a time.
const BAND: usize = 64;
/// Most values that are sorted to find a percentile.
const SAMPLES: usize = 1 << 18;
/// From here on a depth says "nothing there": renderers write 65504, 1e10 or infinity.
const NOTHING_THERE: f32 = 65_000.0;
/// Where the 99th percentile of a grey layer is not above this, it is a mask or a shade of 0 to 1.
const FAR_ABOVE_ONE: f32 = 1.5;
/// Shares of the values that are left out at both ends.
const LOW_SHARE: f64 = 0.01;
const HIGH_SHARE: f64 = 0.99;

/// The numbers of one channel.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct ChannelMeasures {
    /// Least finite value; none where no value is finite.
    pub min: Option<f32>,
    /// Greatest finite value.
    pub max: Option<f32>,
    /// Mean of the finite values.
    pub mean: Option<f64>,
    /// Values that are no number.
    pub nan: u64,
    /// Infinite values.
    pub infinite: u64,
    /// Finite values below zero.
    pub negative: u64,
}

/// The numbers of each channel: light as it is stored, finished pictures from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Measures {
    /// Red, or grey.
    pub red: ChannelMeasures,
    /// Green.
    pub green: ChannelMeasures,
    /// Blue.
    pub blue: ChannelMeasures,
    /// Alpha; 1 everywhere where the file has none.
    pub alpha: ChannelMeasures,
}

/// Two values, of which the second one is greater.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ValueRange {
    /// Shown as black.
    pub low: f32,
    /// Shown as white.
    pub high: f32,
}

impl ValueRange {
    /// Where a value lies in the range, from 0 to 1; not-a-number counts as the low end.
    pub(super) fn share(self, value: f32) -> f32 {
        let share = (value - self.low) / (self.high - self.low);
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    measures: ChannelMeasures,
    total: f64,
    finite: u64,
}

impl Sum {
    fn add(&mut self, value: f32) {
        let known = &mut self.measures;
        known.nan += u64::from(value.is_nan());
        known.infinite += u64::from(value.is_infinite());
        if value.is_finite() {
            known.negative += u64::from(value < 0.0);
            known.min = Some(known.min.map_or(value, |least| least.min(value)));
            known.max = Some(known.max.map_or(value, |most| most.max(value)));
            self.total += f64::from(value);
            self.finite += 1;
        }
    }

    fn join(mut self, other: Self) -> Self {
        let (a, b) = (self.measures, other.measures);
        let either = |one: Option<f32>, two: Option<f32>, pick: fn(f32, f32) -> f32| {
            one.zip(two).map(|(one, two)| pick(one, two)).or(one).or(two)
        };
        self.measures = ChannelMeasures {
            min: either(a.min, b.min, f32::min),
            max: either(a.max, b.max, f32::max),
            mean: None,
            nan: a.nan + b.nan,
            infinite: a.infinite + b.infinite,
            negative: a.negative + b.negative,
        };
        self.total += other.total;
        self.finite += other.finite;
        self
    }

    fn finished(self) -> ChannelMeasures {
        let mean = (self.finite > 0).then(|| self.total / self.finite as f64);
        ChannelMeasures { mean, ..self.measures }
    }
}

/// Measures every value of a picture.
pub fn measure(image: &DecodedImage) -> Measures {
    let sums = match image {
        DecodedImage::Light(light) => {
            let LinearImage { width, height, pixels } = light;
            summed(*width, *height, |range| pixels.get(range).unwrap_or_default().iter().copied())
        }
        DecodedImage::Display(Picture { width, height, rgba }) => {
            let (pixels, _) = rgba.as_chunks::<4>();
            let share = |pixel: &[u8; 4]| pixel.map(|byte| f32::from(byte) / 255.0);
            summed(*width, *height, |range| pixels.get(range).unwrap_or_default().iter().map(share))
        }
    };
    let [red, green, blue, alpha] = sums.map(Sum::finished);
    Measures { red, green, blue, alpha }
}

fn summed<I: Iterator<Item = [f32; 4]>>(
    width: u32,
    height: u32,
    pixels: impl Fn(std::ops::Range<usize>) -> I + Sync,
) -> [Sum; 4] {
    let width = width as usize;
    let bands = parallel::bands(height as usize, BAND, |rows| {
        let mut sums = [Sum::default(); 4];
        for pixel in pixels(rows.start * width..rows.end * width) {
            for (sum, value) in sums.iter_mut().zip(pixel) {
                sum.add(value);
            }
        }
        sums
    });
    bands.into_iter().fold([Sum::default(); 4], |all, band| {
        let mut pairs = all.into_iter().zip(band);
        std::array::from_fn(|_| pairs.next().map_or_else(Sum::default, |(a, b)| a.join(b)))
    })
}

/// The range that a single channel of numbers far above 1 (a depth, an index) is spread over: from
/// its 1st to its 99th percentile, without what is not finite or says "nothing there". None where
/// the values are those of a mask or a shade.
pub fn depth_range(image: &LinearImage) -> Option<ValueRange> {
    let step = (image.pixels.len() / SAMPLES).max(1);
    let values = image.pixels.iter().step_by(step).map(|[value, ..]| *value);
    let mut values: Vec<f32> =
        values.filter(|value| value.is_finite() && *value < NOTHING_THERE).collect();
    values.sort_unstable_by(f32::total_cmp);
    let last = values.len().checked_sub(1)? as f64;
    let at = |share: f64| values.get((last * share).round() as usize).copied();
    let (low, high) = (at(LOW_SHARE)?, at(HIGH_SHARE)?);
    (high > FAR_ABOVE_ONE && high > low).then_some(ValueRange { low, high })
}
