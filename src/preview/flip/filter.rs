//! Separable filters over one plane of numbers, edges repeated.

use crate::preview::parallel;
use std::f32::consts::PI;

/// Rows that one thread takes at a time.
const BAND: usize = 32;

/// A rectangle of numbers, rows from the top.
#[derive(Debug, Clone)]
pub(super) struct Plane {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) values: Vec<f32>,
}

/// Weights of neighbours, from the farthest on one side to the farthest on the other.
#[derive(Debug, Clone)]
pub(super) struct Taps {
    weights: Vec<f32>,
    /// Their sum before they were brought to 1.
    pub(super) sum: f32,
}

impl Taps {
    fn new(reach: usize, weight: impl Fn(f32) -> f32) -> Self {
        let weights: Vec<f32> =
            (0..=reach * 2).map(|at| weight(at as f32 - reach as f32)).collect();
        Self { sum: weights.iter().sum(), weights }
    }

    /// A Gaussian of the contrast sensitivity in space: e^(−π²x²/b), x in degrees (equation 2 of
    /// the paper), brought to the sum 1.
    pub(super) fn gaussian(reach: usize, width: f32, per_degree: f32) -> Self {
        let place = move |at: f32| at / per_degree;
        Self::new(reach, |at| (-PI * PI * place(at).powi(2) / width).exp()).unit()
    }

    /// A Gaussian by its standard deviation in pixels.
    pub(super) fn bell(reach: usize, deviation: f32) -> Self {
        Self::new(reach, |at| bell(at, deviation))
    }

    /// The first derivative of a Gaussian: finds edges.
    pub(super) fn slope(reach: usize, deviation: f32) -> Self {
        Self::new(reach, |at| -at * bell(at, deviation)).balanced()
    }

    /// The second derivative of a Gaussian: finds points and lines.
    pub(super) fn bend(reach: usize, deviation: f32) -> Self {
        Self::new(reach, |at| ((at / deviation).powi(2) - 1.0) * bell(at, deviation)).balanced()
    }

    /// Weights that sum to 1; [`Taps::sum`] keeps what they summed to.
    pub(super) fn unit(mut self) -> Self {
        let total: f32 = self.weights.iter().sum();
        if total != 0.0 {
            self.weights.iter_mut().for_each(|weight| *weight /= total);
        }
        self
    }

    /// Positive weights sum to 1 and negative ones to −1, so that a plain field gives 0 and a step
    /// from black to white 1 (§4.2 of the paper).
    fn balanced(mut self) -> Self {
        let above: f32 = self.weights.iter().filter(|weight| **weight > 0.0).sum();
        let below: f32 = -self.weights.iter().filter(|weight| **weight < 0.0).sum::<f32>();
        for weight in &mut self.weights {
            let total = if *weight > 0.0 { above } else { below };
            if total > 0.0 {
                *weight /= total;
            }
        }
        self
    }

    fn over<'a>(&self, at: impl Fn(usize) -> &'a [f32], middle: usize, sums: &mut [f32]) {
        let reach = self.weights.len() / 2;
        sums.fill(0.0);
        for (tap, weight) in self.weights.iter().enumerate() {
            let row = at((middle + tap).saturating_sub(reach));
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum += value * weight;
            }
        }
    }
}

fn bell(at: f32, deviation: f32) -> f32 {
    (-0.5 * (at / deviation).powi(2)).exp()
}

impl Plane {
    /// The plane filtered by `across` along its rows and by `down` along its columns.
    pub(super) fn filtered(&self, across: &Taps, down: &Taps) -> Self {
        let (width, height) = (self.width, self.height);
        let row = |values: &'_ [f32], at: usize| -> std::ops::Range<usize> {
            let at = at.min((values.len() / width.max(1)).saturating_sub(1));
            at * width..(at + 1) * width
        };
        let stacked = parallel::bands(height, BAND, |rows| {
            let mut band = Vec::with_capacity(rows.len() * width);
            let mut sums = vec![0.0; width];
            for middle in rows {
                let at = |at| self.values.get(row(&self.values, at)).unwrap_or_default();
                down.over(at, middle, &mut sums);
                band.extend(along(&sums, across));
            }
            band
        });
        Self { width, height, values: stacked.concat() }
    }
}

/// One row filtered along itself.
fn along(line: &[f32], taps: &Taps) -> Vec<f32> {
    let reach = taps.weights.len() / 2;
    let last = line.len().saturating_sub(1);
    // The row with its ends repeated, so that the sums need no tests.
    let wide: Vec<f32> = (0..line.len() + reach * 2)
        .map(|at| line.get(at.saturating_sub(reach).min(last)).copied().unwrap_or(0.0))
        .collect();
    wide.windows(taps.weights.len())
        .map(|window| window.iter().zip(&taps.weights).map(|(value, weight)| value * weight).sum())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(width: usize, height: usize, turn: bool) -> Plane {
        let value = |at: usize| {
            let (x, y) = (at % width, at / width);
            if if turn { y * 2 < height } else { x * 2 < width } { 0.0 } else { 1.0 }
        };
        Plane { width, height, values: (0..width * height).map(value).collect() }
    }

    #[test]
    fn a_plain_field_stays_and_has_no_features() {
        let plane = Plane { width: 5, height: 3, values: vec![0.25; 15] };
        let bell = Taps::bell(8, 2.0).unit();
        for value in plane.filtered(&bell, &bell).values {
            assert!((value - 0.25).abs() < 1e-6);
        }
        for taps in [Taps::slope(8, 2.0), Taps::bend(8, 2.0)] {
            assert!(plane.filtered(&taps, &bell).values.iter().all(|value| value.abs() < 1e-5));
        }
    }

    #[test]
    fn a_step_is_an_edge_in_its_own_direction_only() {
        let (slope, bell) = (Taps::slope(6, 2.0), Taps::bell(6, 2.0).unit());
        for turn in [false, true] {
            let plane = step(32, 32, turn);
            let (across, down) = (plane.filtered(&slope, &bell), plane.filtered(&bell, &slope));
            let (with, without) = if turn { (down, across) } else { (across, down) };
            let most = with.values.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
            assert!(most > 0.8 && most <= 1.0 + 1e-5, "{most}");
            assert!(without.values.iter().all(|value| value.abs() < 1e-5));
        }
    }
}
