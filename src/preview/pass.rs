//! What of a surface is shown: its light, or what it is made of.
//!
//! All but the light are drawn on the CPU, whatever draws the light: they are looked at one by one,
//! and must say the same everywhere.

use super::prepare::Surface;
use super::shade::{Point, Surroundings, base_color, shade, shading_normal};
use super::texels::to_linear;
use crate::model::Pass;
use glam::{Vec3, Vec4, Vec4Swizzles};

/// Squares of the checker in one turn of u or v.
const CHECKS: f32 = 8.0;
/// How much darker every other square is.
const CHECK_DIM: f32 = 0.55;
/// Half width of an edge in pixels, and over how many it fades.
const LINE_PX: f32 = 0.6;
/// Triangles lower than this many pixels have fainter edges: else dense meshes would be ink.
const DENSE_PX: f32 = 6.0;
/// Colour of the edges, linear.
const INK: Vec3 = Vec3::new(0.01, 0.02, 0.05);
/// Colour of the surface between them.
const PAPER: Vec3 = Vec3::new(0.62, 0.63, 0.65);

/// Where a point lies in its triangle, in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// From the nearest edge.
    pub(super) edge_px: f32,
    /// The triangle's least height.
    pub(super) height_px: f32,
}

/// Linear light, premultiplied; none where the alpha test lets see through.
pub(super) fn color(
    pass: Pass,
    around: Surroundings<'_>,
    surface: &Surface,
    point: &Point,
    place: impl FnOnce() -> Place,
) -> Option<Vec4> {
    if pass == Pass::Beauty {
        return shade(around, surface, point);
    }
    let base = base_color(around, surface, point);
    if base.w < surface.factors.numbers.z {
        return None;
    }
    Some(match pass {
        Pass::Beauty | Pass::BaseColor => {
            let alpha = if surface.blended { base.w.clamp(0.0, 1.0) } else { 1.0 };
            (base.xyz().clamp(Vec3::ZERO, Vec3::ONE) * alpha).extend(alpha)
        }
        Pass::Normal => {
            let normal = shading_normal(around, surface, point) * 0.5 + 0.5;
            shown(normal).extend(1.0)
        }
        Pass::Uv => shown(checker(point.uv.x, point.uv.y)).extend(1.0),
        Pass::Wireframe => {
            let Place { edge_px, height_px } = place();
            let strength = (height_px / DENSE_PX).clamp(0.2, 1.0);
            let ink = (LINE_PX + 0.5 - edge_px).clamp(0.0, 1.0) * strength;
            let to_eye = (around.studio.eye.xyz() - point.position).normalize_or(Vec3::Z);
            let facing = shading_normal(around, surface, point).dot(to_eye).clamp(0.0, 1.0);
            (PAPER * (0.35 + 0.65 * facing)).lerp(INK, ink).extend(1.0)
        }
    })
}

/// Numbers that are to be seen as they are: developing turns light into bytes.
fn shown(numbers: Vec3) -> Vec3 {
    Vec3::from(numbers.to_array().map(to_linear))
}

fn checker(u: f32, v: f32) -> Vec3 {
    let turn = |value: f32| value - value.floor();
    let (u, v) = (turn(u), turn(v));
    let odd = ((u * CHECKS) as u32 + (v * CHECKS) as u32) % 2 == 1;
    Vec3::new(u, v, 0.35) * if odd { CHECK_DIM } else { 1.0 }
}
