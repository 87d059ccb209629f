//! Draws one band of rows.

use super::Frame;
use super::cover::{SAMPLE_AT, SAMPLES, SUBPIXELS};
use super::point::Face;
use crate::preview::pass;
use crate::preview::shade::base_color;
use glam::Vec4;
use std::ops::Range;

/// No triangle.
const NOTHING: u32 = u32::MAX;

/// Depth and triangle of every sample of the band.
struct Samples {
    width: usize,
    rows: Range<usize>,
    depths: Vec<f32>,
    nearest: Vec<u32>,
}

pub(super) fn draw(frame: &Frame<'_>, rows: Range<usize>) -> Vec<[f32; 4]> {
    let count = frame.width * rows.len() * SAMPLES;
    let mut samples = Samples {
        width: frame.width,
        rows: rows.clone(),
        depths: vec![1.0; count],
        nearest: vec![NOTHING; count],
    };
    let index = rows.start / super::BAND;
    for id in frame.solid.get(index).into_iter().flatten() {
        samples.find(frame, *id);
    }
    let mut colors = samples.shaded(frame);
    for id in frame.blended.get(index).into_iter().flatten() {
        samples.blend(frame, *id, &mut colors);
    }
    let mean = |samples: &[Vec4]| {
        (samples.iter().fold(Vec4::ZERO, |sum, color| sum + *color) / SAMPLES as f32).to_array()
    };
    colors.chunks_exact(SAMPLES).map(mean).collect()
}

impl Samples {
    fn first_sample(&self, column: usize, row: usize) -> usize {
        ((row - self.rows.start) * self.width + column) * SAMPLES
    }

    /// Keeps the triangle where it is nearer than what was there.
    fn find(&mut self, frame: &Frame<'_>, id: u32) {
        let Some(face) = Face::new(frame, id) else { return };
        let (width, rows) = (self.width, self.rows.clone());
        face.cover.pixels(width, &rows, |column, row, mask| {
            let mask = self.nearer(&face, column, row, mask);
            if mask == 0 || (face.surface.masked && is_hole(frame, &face, column, row, mask)) {
                return;
            }
            let start = self.first_sample(column, row);
            for sample in (0..SAMPLES).filter(|sample| mask >> sample & 1 == 1) {
                let (x, y) = sample_at(column, row, sample);
                self.depths[start + sample] = face.cover.depth(x, y);
                self.nearest[start + sample] = id;
            }
        });
    }

    /// The samples of `mask` at which the face is nearer than what is there.
    fn nearer(&self, face: &Face<'_>, column: usize, row: usize, mask: u8) -> u8 {
        let start = self.first_sample(column, row);
        let mut nearer = 0;
        for sample in 0..SAMPLES {
            let (x, y) = sample_at(column, row, sample);
            if mask >> sample & 1 == 1 && face.cover.depth(x, y) < self.depths[start + sample] {
                nearer |= 1 << sample;
            }
        }
        nearer
    }

    /// Shades each pixel once for each triangle it shows.
    fn shaded(&self, frame: &Frame<'_>) -> Vec<Vec4> {
        let mut colors = vec![Vec4::ZERO; self.nearest.len()];
        let mut last: Option<(u32, Face<'_>)> = None;
        for pixel in 0..self.nearest.len() / SAMPLES {
            let start = pixel * SAMPLES;
            let (column, row) = (pixel % self.width, self.rows.start + pixel / self.width);
            let mut left = 0b1111_u8;
            while left != 0 {
                let id = self.nearest[start + left.trailing_zeros() as usize];
                let mut mask = 0;
                for sample in 0..SAMPLES {
                    mask |= u8::from(self.nearest[start + sample] == id) << sample;
                }
                left &= !mask;
                if id == NOTHING {
                    continue;
                }
                if last.as_ref().is_none_or(|(known, _)| *known != id) {
                    last = Face::new(frame, id).map(|face| (id, face));
                }
                let Some((_, face)) = &last else { continue };
                let point = face.point(column, row, mask);
                let place = || face.place(column, row, mask);
                let color = pass::color(frame.pass, frame.around, face.surface, &point, place)
                    .unwrap_or(Vec4::ZERO);
                for sample in (0..SAMPLES).filter(|sample| mask >> sample & 1 == 1) {
                    colors[start + sample] = color;
                }
            }
        }
        colors
    }

    /// Lays a blended triangle over what is behind it.
    fn blend(&self, frame: &Frame<'_>, id: u32, colors: &mut [Vec4]) {
        let Some(face) = Face::new(frame, id) else { return };
        face.cover.pixels(self.width, &self.rows, |column, row, mask| {
            let mask = self.nearer(&face, column, row, mask);
            if mask == 0 {
                return;
            }
            let point = face.point(column, row, mask);
            let place = || face.place(column, row, mask);
            let color = pass::color(frame.pass, frame.around, face.surface, &point, place);
            let Some(color) = color else { return };
            let start = self.first_sample(column, row);
            for sample in (0..SAMPLES).filter(|sample| mask >> sample & 1 == 1) {
                let behind = &mut colors[start + sample];
                *behind = color + *behind * (1.0 - color.w);
            }
        });
    }
}

fn sample_at(column: usize, row: usize, sample: usize) -> (i64, i64) {
    let [x, y] = SAMPLE_AT[sample];
    (column as i64 * SUBPIXELS + x, row as i64 * SUBPIXELS + y)
}

/// The alpha test lets see through.
fn is_hole(frame: &Frame<'_>, face: &Face<'_>, column: usize, row: usize, mask: u8) -> bool {
    let point = face.point(column, row, mask);
    base_color(frame.around, face.surface, &point).w < face.surface.factors.numbers.z
}
