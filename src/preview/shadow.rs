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
/// How far the blur reaches, in texels.
const REACHED: usize = 8;
/// What the blur takes of each texel along a line: less and less to both sides, which makes a smooth
/// penumbra. The sum is 1.
const WEIGHTS: [f32; REACHED * 2 + 1] = {
    let mut weights = [0.0; REACHED * 2 + 1];
    let mut step = 0;
    while step < weights.len() {
        let share = (REACHED + 1) - step.abs_diff(REACHED);
        weights[step] = share as f32 / ((REACHED + 1) * (REACHED + 1)) as f32;
        step += 1;
    }
    weights
};
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
        let moments: Vec<[f32; 2]> =
            bands.concat().into_iter().map(|depth| [depth, depth * depth]).collect();
        Self { moments: blurred(&moments) }
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

/// Blurred along the rows and along the columns.
fn blurred(source: &[[f32; 2]]) -> Vec<[f32; 2]> {
    let along = parallel::bands(SHADOW_PX, 32, |rows| {
        let mut lines = vec![[0.0; 2]; rows.len() * SHADOW_PX];
        for (line, row) in lines.chunks_exact_mut(SHADOW_PX).zip(rows) {
            let padded = padded(line_of(source, row));
            for (step, weight) in WEIGHTS.iter().enumerate() {
                add(line, padded.get(step..).unwrap_or_default(), *weight);
            }
        }
        lines
    });
    let along = along.concat();
    let across = parallel::bands(SHADOW_PX, 32, |rows| {
        let mut lines = vec![[0.0; 2]; rows.len() * SHADOW_PX];
        for (line, row) in lines.chunks_exact_mut(SHADOW_PX).zip(rows) {
            for (step, weight) in WEIGHTS.iter().enumerate() {
                let near = (row + step).saturating_sub(REACHED).min(SHADOW_PX - 1);
                add(line, line_of(&along, near), *weight);
            }
        }
        lines
    });
    across.concat()
}

fn line_of(texels: &[[f32; 2]], row: usize) -> &[[f32; 2]] {
    texels.get(row * SHADOW_PX..(row + 1) * SHADOW_PX).unwrap_or_default()
}

/// A line with its ends repeated, as far as the blur reaches.
fn padded(line: &[[f32; 2]]) -> Vec<[f32; 2]> {
    let end = |at: Option<&[f32; 2]>| std::iter::repeat_n(at.copied().unwrap_or_default(), REACHED);
    end(line.first()).chain(line.iter().copied()).chain(end(line.last())).collect()
}

fn add(sums: &mut [[f32; 2]], line: &[[f32; 2]], weight: f32) {
    for (sum, value) in sums.iter_mut().zip(line) {
        *sum = [sum[0] + value[0] * weight, sum[1] + value[1] * weight];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blur_keeps_what_there_is_and_spreads_it_evenly() {
        let mut texels = vec![[0.0; 2]; SHADOW_PX * SHADOW_PX];
        let middle = SHADOW_PX / 2;
        texels[middle * SHADOW_PX + middle] = [1.0, 2.0];
        let blurred = blurred(&texels);
        let total = |axis: usize| blurred.iter().map(|texel| texel[axis]).sum::<f32>();
        assert!((total(0) - 1.0).abs() < 1e-4 && (total(1) - 2.0).abs() < 1e-4);
        for (x, y) in (0..=REACHED).flat_map(|x| (0..=REACHED).map(move |y| (x, y))) {
            let at = |x: usize, y: usize| blurred[y * SHADOW_PX + x][0];
            let one = at(middle + x, middle + y);
            assert!(one > 0.0, "{x} {y}");
            for other in [at(middle - x, middle + y), at(middle + y, middle - x)] {
                assert!((one - other).abs() < 1e-6, "{x} {y}: {one} {other}");
            }
        }
        assert!(blurred[middle * SHADOW_PX + middle + REACHED + 1][0].abs() < 1e-9);
    }

    #[test]
    fn an_even_map_stays_as_it_is_to_its_edges() {
        let blurred = blurred(&vec![[0.5, 0.25]; SHADOW_PX * SHADOW_PX]);
        assert!(
            blurred.iter().all(|[one, two]| (one - 0.5).abs() < 1e-5 && (two - 0.25).abs() < 1e-5)
        );
    }
}
