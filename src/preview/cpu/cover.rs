//! Which samples of which pixels a triangle covers: exact integer edge tests, so that neighbours
//! neither overlap nor leave gaps.

use std::ops::Range;

/// Steps a pixel is divided into.
pub(super) const SUBPIXELS: i64 = 256;
/// Samples in a pixel.
pub(super) const SAMPLES: usize = 4;
/// Where they are, in subpixels: the rotated grid that graphics adapters use.
pub(super) const SAMPLE_AT: [[i64; 2]; SAMPLES] = [[96, 32], [224, 96], [32, 160], [160, 224]];

/// A corner on the picture; x and y in subpixels from the top left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Corner {
    pub(super) x: i64,
    pub(super) y: i64,
    /// Depth, 0 near to 1 far; linear over the picture.
    pub(super) z: f32,
    /// For perspective-correct weights.
    pub(super) inv_w: f32,
}

/// A triangle set up for edge tests.
pub(super) struct Cover {
    corners: [Corner; 3],
    /// Twice the area in square subpixels, always above 0.
    area: f32,
    /// Seen from its front.
    pub(super) front: bool,
    /// Edge functions: value at the picture's corner, change with x and y in subpixels.
    edges: [[i64; 3]; 3],
    depth: [f32; 3],
}

impl Cover {
    /// None for a triangle without area, or one seen from behind that has only a front.
    pub(super) fn new(corners: [Corner; 3], double_sided: bool) -> Option<Self> {
        let [a, b, c] = corners;
        let area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
        // Counter-clockwise with y up is clockwise with y down.
        let front = area < 0;
        if area == 0 || !(front || double_sided) {
            return None;
        }
        let side = area.signum();
        let edges = [edge(b, c, side), edge(c, a, side), edge(a, b, side)];
        let area_f = area as f32;
        let depth_x =
            ((b.z - a.z) * (c.y - a.y) as f32 - (c.z - a.z) * (b.y - a.y) as f32) / area_f;
        let depth_y =
            ((c.z - a.z) * (b.x - a.x) as f32 - (b.z - a.z) * (c.x - a.x) as f32) / area_f;
        Some(Self { corners, area: area_f.abs(), front, edges, depth: [a.z, depth_x, depth_y] })
    }

    /// Calls `visit` with column, row and a bit for each covered sample.
    pub(super) fn pixels(
        &self,
        width: usize,
        rows: &Range<usize>,
        mut visit: impl FnMut(usize, usize, u8),
    ) {
        let [a, b, c] = self.corners;
        let first = a.y.min(b.y).min(c.y).div_euclid(SUBPIXELS).max(rows.start as i64);
        let last = a.y.max(b.y).max(c.y).div_euclid(SUBPIXELS).min(rows.end as i64 - 1);
        let left = a.x.min(b.x).min(c.x).div_euclid(SUBPIXELS).max(0);
        let right = a.x.max(b.x).max(c.x).div_euclid(SUBPIXELS).min(width as i64 - 1);
        let offsets =
            self.edges.map(|[_, step_x, step_y]| SAMPLE_AT.map(|[x, y]| step_x * x + step_y * y));
        for row in first..=last {
            let at_row = self.edges.map(|[start, _, step_y]| start + step_y * row * SUBPIXELS);
            let (from, to) = self.span(at_row, left, right);
            let steps = self.edges.map(|[_, step_x, _]| step_x * SUBPIXELS);
            let mut at = [
                at_row[0] + steps[0] * from,
                at_row[1] + steps[1] * from,
                at_row[2] + steps[2] * from,
            ];
            for column in from..=to {
                let mut mask = 0_u8;
                let mut sample = 0;
                while sample < SAMPLES {
                    // The sign bit is set if any of the three is negative.
                    let outside = (at[0] + offsets[0][sample])
                        | (at[1] + offsets[1][sample])
                        | (at[2] + offsets[2][sample]);
                    mask |= u8::from(outside >= 0) << sample;
                    sample += 1;
                }
                if mask != 0 {
                    visit(column as usize, row as usize, mask);
                }
                at = [at[0] + steps[0], at[1] + steps[1], at[2] + steps[2]];
            }
        }
    }

    /// The columns of a row that may be covered, a pixel wider than needed.
    fn span(&self, at_row: [i64; 3], left: i64, right: i64) -> (i64, i64) {
        let (mut from, mut to) = (left, right);
        for (start, [_, step_x, step_y]) in at_row.into_iter().zip(self.edges) {
            // The best that a sample inside the pixel's height can add.
            let most = (start + (step_y * SUBPIXELS).max(0)) as f64;
            let step = (step_x * SUBPIXELS) as f64;
            if step > 0.0 {
                from = from.max((-most / step).floor() as i64 - 1);
            } else if step < 0.0 {
                to = to.min((most / -step).ceil() as i64 + 1);
            } else if most < 0.0 {
                return (1, 0);
            }
        }
        (from, to)
    }

    /// How far a place is from the nearest edge, and the triangle's least height, in subpixels.
    pub(super) fn place(&self, x: f32, y: f32) -> (f32, f32) {
        let ends = self.corners.iter().zip(self.corners.iter().cycle().skip(1));
        let (mut nearest, mut longest) = (f32::MAX, 1.0_f32);
        for (from, to) in ends {
            let (across, down) = ((to.x - from.x) as f32, (to.y - from.y) as f32);
            let length = across.hypot(down).max(1.0);
            let cross = across * (y - from.y as f32) - down * (x - from.x as f32);
            nearest = nearest.min(cross.abs() / length);
            longest = longest.max(length);
        }
        (nearest, self.area / longest)
    }

    /// Depth at a place in subpixels.
    pub(super) fn depth(&self, x: i64, y: i64) -> f32 {
        let [start, step_x, step_y] = self.depth;
        let [a, ..] = self.corners;
        start + step_x * (x - a.x) as f32 + step_y * (y - a.y) as f32
    }

    #[expect(clippy::many_single_char_names, reason = "the corners a, b, c of a triangle in x, y")]
    /// Perspective-correct weights of the corners at a place in subpixels; also outside.
    pub(super) fn weights(&self, x: f32, y: f32) -> [f32; 3] {
        let [a, b, c] = self.corners;
        let flat = |from: Corner, to: Corner| {
            let cross = (to.x - from.x) as f32 * (y - from.y as f32)
                - (to.y - from.y) as f32 * (x - from.x as f32);
            cross / self.area
        };
        let side = if self.front { -1.0 } else { 1.0 };
        let weights =
            [flat(b, c) * side * a.inv_w, flat(c, a) * side * b.inv_w, flat(a, b) * side * c.inv_w];
        let sum = weights[0] + weights[1] + weights[2];
        if sum.abs() < 1e-20 { [1.0 / 3.0; 3] } else { weights.map(|weight| weight / sum) }
    }
}

/// Positive inside. Points exactly on a top or left edge are inside, on other edges outside.
fn edge(from: Corner, to: Corner, side: i64) -> [i64; 3] {
    let (across, down) = ((to.x - from.x) * side, (to.y - from.y) * side);
    let top_left = down < 0 || (down == 0 && across > 0);
    let start = down * from.x - across * from.y - i64::from(!top_left);
    [start, -down, across]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corner(x: i64, y: i64) -> Corner {
        Corner { x, y, z: 0.5, inv_w: 1.0 }
    }

    #[test]
    fn two_triangles_that_share_an_edge_cover_each_sample_once() {
        let square = [corner(130, 77), corner(4_000, 390), corner(3_300, 4_100), corner(90, 3_700)];
        let mut hits = vec![0_u8; 16 * 16 * SAMPLES];
        for triangle in [[square[0], square[1], square[2]], [square[0], square[2], square[3]]] {
            let cover = Cover::new(triangle, true).unwrap();
            cover.pixels(16, &(0..16), |x, y, mask| {
                for sample in 0..SAMPLES {
                    hits[(y * 16 + x) * SAMPLES + sample] += mask >> sample & 1;
                }
            });
        }
        assert!(hits.iter().all(|count| *count <= 1));
        // The area by the shoelace formula, in samples.
        let mut twice = 0;
        for (from, to) in square.iter().zip(square.iter().cycle().skip(1)) {
            twice += from.x * to.y - to.x * from.y;
        }
        let expected = twice as f32 / 2.0 / (256.0 * 256.0) * SAMPLES as f32;
        let covered = hits.iter().map(|count| f32::from(*count)).sum::<f32>();
        assert!((covered - expected).abs() < expected * 0.02, "{covered} {expected}");
    }

    #[test]
    fn back_sides_and_flat_triangles_are_left_out() {
        let clockwise = [corner(0, 0), corner(512, 0), corner(0, 512)];
        assert!(Cover::new(clockwise, false).is_none());
        assert!(Cover::new(clockwise, true).is_some_and(|cover| !cover.front));
        assert!(Cover::new([corner(0, 0), corner(5, 5), corner(10, 10)], true).is_none());
    }

    #[test]
    fn weights_are_one_at_their_own_corner() {
        let corners = [corner(0, 0), corner(0, 512), corner(512, 0)];
        let cover = Cover::new(corners, false).unwrap();
        let weights = cover.weights(0.0, 512.0);
        assert!((weights[1] - 1.0).abs() < 1e-6, "{weights:?}");
    }
}
