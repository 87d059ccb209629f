//! Interpolates a triangle's corners at a place of the picture.

use super::Frame;
use super::cover::{Cover, SAMPLE_AT, SUBPIXELS};
use crate::preview::pass::Place;
use crate::preview::prepare::{Layout, Surface, Vertex};
use crate::preview::shade::Point;
use glam::{Vec2, Vec3, Vec4};
use std::ops::{Add, Mul};

/// A triangle with all that is needed to shade it.
pub(super) struct Face<'a> {
    pub(super) cover: Cover,
    pub(super) surface: &'a Surface,
    vertices: [&'a Vertex; 3],
}

impl<'a> Face<'a> {
    pub(super) fn new(frame: &'a Frame<'a>, id: u32) -> Option<Self> {
        let (group, [a, b, c]) = frame.vertex_indices(id)?;
        let group = frame.drawable.groups.get(group)?;
        let surface = frame.drawable.surface(group)?;
        let cover = Cover::new(frame.corners_of(id)?, surface.double_sided)?;
        let vertices = [group.vertices.get(a)?, group.vertices.get(b)?, group.vertices.get(c)?];
        Some(Self { cover, surface, vertices })
    }

    /// The point that stands for the samples of `mask`: the pixel's middle if all are covered,
    /// else the middle of the covered ones, which lies inside the triangle.
    pub(super) fn point(&self, column: usize, row: usize, mask: u8) -> Point {
        let (x, y) = middle(column, row, mask);
        let pixel = SUBPIXELS as f32;
        let weights = self.cover.weights(x, y);
        let weights_x = self.cover.weights(x + pixel, y);
        let weights_y = self.cover.weights(x, y + pixel);
        let position = self.position(weights);
        let uv = self.uv(weights);
        let mut point = Point {
            position,
            normal: self.normal(weights),
            color: self.color(weights),
            uv,
            tangent: Vec4::ZERO,
            second_uv: Vec2::ZERO,
            position_steps: [
                self.position(weights_x) - position,
                self.position(weights_y) - position,
            ],
            uv_steps: [self.uv(weights_x) - uv, self.uv(weights_y) - uv],
            second_uv_steps: [Vec2::ZERO; 2],
            front: self.cover.front,
        };
        // Few surfaces want these.
        if self.surface.factors.switches.y > 0.5 {
            point.tangent = self.tangent(weights);
        }
        if self.surface.layout == Layout::Placed {
            let uv = self.second_uv(weights);
            point.second_uv = uv;
            point.second_uv_steps = [weights_x, weights_y].map(|at| self.second_uv(at) - uv);
        }
        point
    }

    /// Where that point lies in the triangle.
    pub(super) fn place(&self, column: usize, row: usize, mask: u8) -> Place {
        let (x, y) = middle(column, row, mask);
        let (edge, height) = self.cover.place(x, y);
        let pixel = SUBPIXELS as f32;
        Place { edge_px: edge / pixel, height_px: height / pixel }
    }

    /// What the corners have, each by its weight.
    fn mixed<T>(&self, [a, b, c]: [f32; 3], of: impl Fn(&Vertex) -> T) -> T
    where
        T: Add<Output = T> + Mul<f32, Output = T>,
    {
        let [at_a, at_b, at_c] = self.vertices.map(of);
        at_a * a + at_b * b + at_c * c
    }

    fn position(&self, weights: [f32; 3]) -> Vec3 {
        self.mixed(weights, |vertex| vertex.position.into())
    }

    fn normal(&self, weights: [f32; 3]) -> Vec3 {
        self.mixed(weights, |vertex| vertex.normal.into())
    }

    fn uv(&self, weights: [f32; 3]) -> Vec2 {
        self.mixed(weights, |vertex| vertex.uv.into())
    }

    fn second_uv(&self, weights: [f32; 3]) -> Vec2 {
        self.mixed(weights, |vertex| vertex.second_uv.into())
    }

    fn tangent(&self, weights: [f32; 3]) -> Vec4 {
        self.mixed(weights, |vertex| vertex.tangent.into())
    }

    fn color(&self, weights: [f32; 3]) -> Vec4 {
        self.mixed(weights, |vertex| vertex.color.into())
    }
}

/// The middle of the samples of `mask`, in subpixels.
fn middle(column: usize, row: usize, mask: u8) -> (f32, f32) {
    let (mut x, mut y, mut count) = (0, 0, 0);
    for (sample, [at_x, at_y]) in SAMPLE_AT.into_iter().enumerate() {
        if mask >> sample & 1 == 1 {
            (x, y, count) = (x + at_x, y + at_y, count + 1);
        }
    }
    let count = count.max(1) as f32;
    let x = (column as i64 * SUBPIXELS) as f32 + x as f32 / count;
    let y = (row as i64 * SUBPIXELS) as f32 + y as f32 / count;
    (x, y)
}
