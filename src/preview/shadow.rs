//! The key light's soft shadow: a depth map seen from the light, blurred as two moments (a
//! variance shadow map). Made on the CPU for both renderers.

use super::parallel;
use super::prepare::Drawable;
use super::studio::Studio;
use glam::Vec3;

/// Edge of the map in texels.
pub(crate) const SHADOW_PX: usize = 512;
/// The map covers a little more than the bounding sphere.
const REACH: f32 = 1.08;
/// Half width of one blur pass in texels; two passes make a smooth penumbra.
const BLUR: usize = 4;
/// Texels at the map's border that the blur has made unsound; no object reaches them. Mirrored in
/// WGSL.
const EDGE: f32 = 12.0;
/// Least variance: hides what float depths and slopes add. Mirrored in WGSL.
const MIN_VARIANCE: f32 = 2.5e-5;
/// Cuts the thin light that variance shadows leak. Mirrored in WGSL.
const LEAK: f32 = 0.25;

/// Mean and mean square of the distance towards the light, for each texel.
#[derive(Debug, Clone)]
pub(crate) struct ShadowMap {
    pub(crate) moments: Vec<[f32; 2]>,
}

impl ShadowMap {
    pub(crate) fn draw(drawable: &Drawable, studio: &Studio) -> Self {
        let triangles = seen_from_light(drawable, studio);
        let rows = SHADOW_PX.div_ceil(8);
        let bands = parallel::bands(SHADOW_PX, rows, |rows| {
            let mut depths = ground_depths(&rows, drawable.ground_y, studio);
            for triangle in &triangles {
                raster(triangle, &rows, &mut depths);
            }
            depths
        });
        let mut moments: Vec<[f32; 2]> =
            bands.concat().into_iter().map(|depth| [depth, depth * depth]).collect();
        for _ in 0..2 {
            moments = blurred_and_turned(&moments);
            moments = blurred_and_turned(&moments);
        }
        Self { moments }
    }

    /// How much of the key light reaches a point, 0 to 1.
    pub(crate) fn visibility(&self, studio: &Studio, point: Vec3) -> f32 {
        let [x, y, depth] = to_map(studio, point);
        // Outside the map nothing stands between the point and the light.
        let inside = EDGE..SHADOW_PX as f32 - EDGE;
        if !(inside.contains(&x) && inside.contains(&y)) {
            return 1.0;
        }
        let (x, y) = (x - 0.5, y - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let (share_x, share_y) = (x - left, y - top);
        let (left, top) = (left as usize, top as usize);
        let above = [self.at(left, top), self.at(left + 1, top)];
        let under = [self.at(left, top + 1), self.at(left + 1, top + 1)];
        let mix = |axis: usize| {
            let upper = above[0][axis] + (above[1][axis] - above[0][axis]) * share_x;
            let lower = under[0][axis] + (under[1][axis] - under[0][axis]) * share_x;
            upper + (lower - upper) * share_y
        };
        let mean = mix(0);
        let below = mean - depth;
        if below <= 0.0 {
            return 1.0;
        }
        let variance = (mix(1) - mean * mean).max(MIN_VARIANCE);
        let lit = variance / (variance + below * below);
        ((lit - LEAK) / (1.0 - LEAK)).clamp(0.0, 1.0)
    }

    fn at(&self, x: usize, y: usize) -> [f32; 2] {
        let at = y.min(SHADOW_PX - 1) * SHADOW_PX + x.min(SHADOW_PX - 1);
        self.moments.get(at).copied().unwrap_or([-4.0, 16.0])
    }
}

/// Texel coordinates, and the distance towards the light.
fn to_map(studio: &Studio, point: Vec3) -> [f32; 3] {
    let [right, up, toward] = studio.shadow_axes.map(glam::Vec4::truncate);
    let texel = |across: f32| (across / REACH * 0.5 + 0.5) * SHADOW_PX as f32;
    [texel(point.dot(right)), texel(point.dot(up)), point.dot(toward)]
}

fn seen_from_light(drawable: &Drawable, studio: &Studio) -> Vec<[[f32; 3]; 3]> {
    let opaque = drawable
        .groups
        .iter()
        .filter(|group| drawable.surface(group).is_some_and(|surface| !surface.blended));
    let mut triangles = Vec::new();
    for group in opaque {
        let seen: Vec<_> = group
            .vertices
            .iter()
            .map(|vertex| to_map(studio, Vec3::from(vertex.position)))
            .collect();
        triangles.extend(group.indices.chunks_exact(3).filter_map(|triangle| {
            let corner = |at: usize| seen.get(*triangle.get(at)? as usize).copied();
            Some([corner(0)?, corner(1)?, corner(2)?])
        }));
    }
    triangles
}

/// Where no object is, the map holds the ground, so that the ground lies in its own light.
fn ground_depths(rows: &std::ops::Range<usize>, ground_y: f32, studio: &Studio) -> Vec<f32> {
    let [right, up, toward] = studio.shadow_axes.map(glam::Vec4::truncate);
    let across = |texel: usize| ((texel as f32 + 0.5) / SHADOW_PX as f32 * 2.0 - 1.0) * REACH;
    let mut depths = Vec::with_capacity(rows.len() * SHADOW_PX);
    for row in rows.clone() {
        for column in 0..SHADOW_PX {
            let on_plane = right.y * across(column) + up.y * across(row);
            depths.push((ground_y - on_plane) / toward.y.max(0.05));
        }
    }
    depths
}

#[expect(clippy::many_single_char_names, reason = "the corners a, b, c of a triangle in x and y")]
fn raster(triangle: &[[f32; 3]; 3], rows: &std::ops::Range<usize>, depths: &mut [f32]) {
    let [a, b, c] = triangle;
    let area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    if area.abs() < 1e-9 {
        return;
    }
    let low = |axis: usize| a[axis].min(b[axis]).min(c[axis]);
    let high = |axis: usize| a[axis].max(b[axis]).max(c[axis]);
    let first_row = ((low(1) - 0.5).ceil().max(0.0) as usize).max(rows.start);
    let end_row = ((high(1) + 0.5).floor().max(0.0) as usize).min(rows.end);
    let first = (low(0) - 0.5).ceil().max(0.0) as usize;
    let end = ((high(0) + 0.5).floor().max(0.0) as usize).min(SHADOW_PX);
    // Barycentric weights of b and c as planes over the map.
    let step_b = [(c[1] - a[1]) / area, -(c[0] - a[0]) / area];
    let step_c = [-(b[1] - a[1]) / area, (b[0] - a[0]) / area];
    for row in first_row..end_row {
        let y = row as f32 + 0.5 - a[1];
        for column in first..end {
            let x = column as f32 + 0.5 - a[0];
            let share_b = x * step_b[0] + y * step_b[1];
            let share_c = x * step_c[0] + y * step_c[1];
            if share_b < 0.0 || share_c < 0.0 || share_b + share_c > 1.0 {
                continue;
            }
            let depth = a[2] + share_b * (b[2] - a[2]) + share_c * (c[2] - a[2]);
            if let Some(slot) = depths.get_mut((row - rows.start) * SHADOW_PX + column)
                && depth > *slot
            {
                *slot = depth;
            }
        }
    }
}

/// A running mean along the rows, written as columns: two calls blur both ways.
fn blurred_and_turned(source: &[[f32; 2]]) -> Vec<[f32; 2]> {
    let lines = parallel::bands(SHADOW_PX, 64, |rows| {
        rows.map(|row| {
            blurred(source.get(row * SHADOW_PX..(row + 1) * SHADOW_PX).unwrap_or_default())
        })
        .collect::<Vec<_>>()
    });
    let lines = lines.concat();
    let mut turned = vec![[0.0; 2]; SHADOW_PX * SHADOW_PX];
    for (row, line) in lines.iter().enumerate() {
        for (column, value) in line.iter().enumerate() {
            if let Some(slot) = turned.get_mut(column * SHADOW_PX + row) {
                *slot = *value;
            }
        }
    }
    turned
}

fn blurred(line: &[[f32; 2]]) -> Vec<[f32; 2]> {
    let last = line.len().saturating_sub(1);
    let at = |index: usize| line.get(index.min(last)).copied().unwrap_or_default();
    // Doubles, so that the running sum does not drift.
    let mut sum = [0.0_f64; 2];
    let width = (BLUR * 2 + 1) as f64;
    for index in 0..=BLUR * 2 {
        let value = at(index.saturating_sub(BLUR));
        sum[0] += f64::from(value[0]);
        sum[1] += f64::from(value[1]);
    }
    let mut result = Vec::with_capacity(line.len());
    for index in 0..line.len() {
        result.push([(sum[0] / width) as f32, (sum[1] / width) as f32]);
        let (enters, leaves) = (at(index + BLUR + 1), at(index.saturating_sub(BLUR)));
        sum[0] += f64::from(enters[0]) - f64::from(leaves[0]);
        sum[1] += f64::from(enters[1]) - f64::from(leaves[1]);
    }
    result
}
