//! The rasteriser for machines without a graphics adapter: same camera, same lights, same four
//! samples a pixel as the GPU.
//!
//! Bands of rows are drawn in parallel. In each band the nearest triangle of every sample is found
//! first, then each pixel is shaded once for each triangle it shows, then blended triangles are
//! laid over from far to near.

#![expect(
    clippy::cast_possible_wrap,
    reason = "columns and rows are far below the range of i64: a picture's edge is bounded"
)]

mod band;
mod cover;
mod point;

use super::parallel;
use super::picture::LinearImage;
use super::prepare::Drawable;
use super::shade::Surroundings;
use super::shadow::ShadowMap;
use super::studio::Studio;
use crate::model::Pass;
use cover::{Corner, SUBPIXELS};
use glam::{Vec3, Vec4, Vec4Swizzles};

/// Rows in a band.
const BAND: usize = 32;

/// Which triangle: its group and the first of its three indices.
#[derive(Debug, Clone, Copy)]
struct Triangle {
    group: u32,
    first: u32,
}

/// Everything a band needs to draw itself.
struct Frame<'a> {
    pass: Pass,
    drawable: &'a Drawable,
    around: Surroundings<'a>,
    width: usize,
    /// Corners on the picture, by group.
    corners: Vec<Vec<Option<Corner>>>,
    triangles: Vec<Triangle>,
    /// Triangles that touch each band: opaque and masked ones, and blended ones from far to near.
    solid: Vec<Vec<u32>>,
    blended: Vec<Vec<u32>>,
}

/// Draws the object alone: tone-mapped linear light, premultiplied alpha.
pub(crate) fn draw(
    pass: Pass,
    drawable: &Drawable,
    studio: &Studio,
    shadow: &ShadowMap,
    (width, height): (u32, u32),
) -> LinearImage {
    let around = Surroundings { studio, shadow, textures: &drawable.textures };
    let frame = Frame::new(pass, drawable, around, (width as usize, height as usize));
    let rows = parallel::bands(height as usize, BAND, |rows| band::draw(&frame, rows));
    LinearImage { width, height, pixels: rows.concat() }
}

impl<'a> Frame<'a> {
    fn new(
        pass: Pass,
        drawable: &'a Drawable,
        around: Surroundings<'a>,
        (width, height): (usize, usize),
    ) -> Self {
        let bands = height.div_ceil(BAND);
        let mut frame = Self {
            pass,
            drawable,
            around,
            width,
            corners: Vec::with_capacity(drawable.groups.len()),
            triangles: Vec::new(),
            solid: vec![Vec::new(); bands],
            blended: vec![Vec::new(); bands],
        };
        let mut far_to_near = Vec::new();
        for (index, group) in drawable.groups.iter().enumerate() {
            let project = |vertex: &super::prepare::Vertex| {
                let clip = around.studio.view_projection * Vec3::from(vertex.position).extend(1.0);
                on_picture(clip, width as f32, height as f32)
            };
            frame.corners.push(group.vertices.iter().map(project).collect());
            let blended = drawable.surface(group).is_some_and(|surface| surface.blended);
            for first in (0..group.indices.len().saturating_sub(2)).step_by(3) {
                let id = frame.triangles.len() as u32;
                frame.triangles.push(Triangle { group: index as u32, first: first as u32 });
                let Some(corners) = frame.corners_of(id) else { continue };
                if blended {
                    let depth = corners.iter().map(|corner| corner.inv_w.recip()).sum::<f32>();
                    far_to_near.push((depth, id));
                } else {
                    bin(&mut frame.solid, id, &corners);
                }
            }
        }
        far_to_near.sort_by(|(near, _), (far, _)| far.total_cmp(near));
        for (_, id) in far_to_near {
            if let Some(corners) = frame.corners_of(id) {
                bin(&mut frame.blended, id, &corners);
            }
        }
        frame
    }

    fn vertex_indices(&self, id: u32) -> Option<(usize, [usize; 3])> {
        let triangle = self.triangles.get(id as usize)?;
        let group = triangle.group as usize;
        let first = triangle.first as usize;
        let indices = self.drawable.groups.get(group)?.indices.get(first..first + 3)?;
        Some((group, [*indices.first()?, *indices.get(1)?, *indices.get(2)?].map(|at| at as usize)))
    }

    /// None where a corner is behind the lens.
    fn corners_of(&self, id: u32) -> Option<[Corner; 3]> {
        let (group, [a, b, c]) = self.vertex_indices(id)?;
        let corners = self.corners.get(group)?;
        Some([*corners.get(a)?.as_ref()?, *corners.get(b)?.as_ref()?, *corners.get(c)?.as_ref()?])
    }
}

fn on_picture(clip: Vec4, width: f32, height: f32) -> Option<Corner> {
    if !clip.is_finite() || clip.w <= 1e-4 {
        return None;
    }
    let inv_w = clip.w.recip();
    let shown = clip.xyz() * inv_w;
    let x = (shown.x * 0.5 + 0.5) * width * SUBPIXELS as f32;
    let y = (0.5 - shown.y * 0.5) * height * SUBPIXELS as f32;
    // A corner this far outside would overflow the exact edge tests.
    let limit = (1 << 26) as f32;
    let inside = x.abs() < limit && y.abs() < limit;
    inside.then(|| Corner { x: x.round() as i64, y: y.round() as i64, z: shown.z, inv_w })
}

fn bin(bins: &mut [Vec<u32>], id: u32, corners: &[Corner; 3]) {
    let rows = corners.map(|corner| corner.y.div_euclid(SUBPIXELS * BAND as i64));
    let [a, b, c] = rows;
    let (first, last) = (a.min(b).min(c).max(0), a.max(b).max(c).max(-1));
    let last = (last + 1).min(bins.len() as i64);
    if let Some(touched) = bins.get_mut(first as usize..(last as usize).max(first as usize)) {
        for bin in touched {
            bin.push(id);
        }
    }
}
