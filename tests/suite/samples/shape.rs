//! Building blocks of meshes.

use glam::{Mat4, Vec2, Vec3};
use sawah::preview::scene::Part;
use std::f32::consts::TAU;

/// Rounds to a fraction of a power of two, so that platforms agree on every bit.
pub(super) fn round(value: f32) -> f32 {
    (value * 4096.0).round() / 4096.0
}

/// A growing list of triangles.
#[derive(Default, Clone)]
pub(super) struct Shape {
    pub positions: Vec<Vec3>,
    pub uvs: Vec<Vec2>,
    pub indices: Vec<u32>,
    smooth_from: usize,
    normals: Vec<Vec3>,
}

impl Shape {
    /// Four corners, counter-clockwise, flat.
    pub(super) fn quad(&mut self, corners: [Vec3; 4], uvs: [Vec2; 4]) {
        self.close();
        let start = self.positions.len() as u32;
        let [a, b, _, d] = corners;
        let normal = (b - a).cross(d - a).normalize_or(Vec3::Y);
        self.positions.extend(corners);
        self.uvs.extend(uvs);
        self.normals.extend([normal; 4]);
        self.indices.extend([0, 1, 2, 0, 2, 3].map(|at| start + at));
        self.smooth_from = self.positions.len();
    }

    /// A flat triangle.
    pub(super) fn triangle(&mut self, corners: [Vec3; 3], normal: Vec3) {
        self.close();
        let start = self.positions.len() as u32;
        self.positions.extend(corners);
        self.uvs.extend([Vec2::ZERO; 3]);
        self.normals.extend([normal; 3]);
        self.indices.extend([start, start + 1, start + 2]);
        self.smooth_from = self.positions.len();
    }

    /// A box; its texture runs along the longest edge of each side, `scale` times a metre.
    pub(super) fn cuboid(&mut self, size: Vec3, place: Mat4, scale: f32) {
        let half = size / 2.0;
        for axis in 0..3 {
            for sign in [1.0_f32, -1.0] {
                let mut normal = Vec3::ZERO;
                normal[axis] = sign;
                let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                let corner = |a: f32, b: f32| {
                    let mut corner = normal * half;
                    corner[u] = a * half[u];
                    corner[v] = b * half[v];
                    corner
                };
                let corners = [
                    corner(-1.0, -sign),
                    corner(1.0, -sign),
                    corner(1.0, sign),
                    corner(-1.0, sign),
                ];
                let along = if size[u] >= size[v] { (u, v) } else { (v, u) };
                let shift = (axis as f32 + sign) * 0.37;
                let uvs = corners.map(|c| {
                    Vec2::new(
                        c[along.0] + half[along.0] + shift,
                        c[along.1] + half[along.1] + shift,
                    ) * scale
                });
                self.quad(corners.map(|c| place.transform_point3(c)), uvs);
            }
        }
    }

    /// A smooth sheet of `rows` lists of points, all of one length; turns counter-clockwise where
    /// columns run along x and rows along y.
    pub(super) fn sheet(&mut self, rows: &[Vec<Vec3>], uv: impl Fn(usize, usize) -> Vec2) {
        self.close();
        let start = self.positions.len() as u32;
        let columns = rows.first().map_or(0, Vec::len);
        for (row, points) in rows.iter().enumerate() {
            for (column, point) in points.iter().enumerate() {
                self.positions.push(*point);
                self.uvs.push(uv(row, column));
            }
        }
        for row in 0..rows.len().saturating_sub(1) {
            for column in 0..columns.saturating_sub(1) {
                let at = |r: usize, c: usize| start + (r * columns + c) as u32;
                let (a, b) = (at(row, column), at(row, column + 1));
                let (c, d) = (at(row + 1, column + 1), at(row + 1, column));
                self.indices.extend([a, b, c, a, c, d]);
            }
        }
        self.close();
    }

    /// A round tube along a path, with a radius at each point.
    pub(super) fn tube(&mut self, path: &[(Vec3, f32)], sides: usize) {
        let rows: Vec<Vec<Vec3>> = path
            .iter()
            .enumerate()
            .map(|(at, (center, radius))| {
                let before = path[at.saturating_sub(1)].0;
                let after = path[(at + 1).min(path.len() - 1)].0;
                let along = (after - before).normalize_or(Vec3::Y);
                let side = along.cross(Vec3::new(0.31, 0.12, 0.94)).normalize();
                let up = side.cross(along);
                (0..=sides)
                    .map(|side_at| {
                        let angle = side_at as f32 / sides as f32 * TAU;
                        *center + (side * angle.cos() + up * angle.sin()) * *radius
                    })
                    .collect()
            })
            .collect();
        self.sheet(&rows, |row, column| Vec2::new(column as f32 / sides as f32, row as f32 * 0.5));
    }

    /// Gives the corners since the last call smooth normals; corners at one place share one.
    fn close(&mut self) {
        let from = self.normals.len();
        if from == self.positions.len() {
            return;
        }
        let key = |p: Vec3| (p * 2048.0).round().to_array().map(|v| v as i32);
        let mut sums: std::collections::HashMap<[i32; 3], Vec3> = std::collections::HashMap::new();
        for triangle in self.indices.chunks_exact(3) {
            let corners = [0, 1, 2].map(|at| triangle[at] as usize);
            if corners.iter().any(|at| *at < from) {
                continue;
            }
            let [a, b, c] = corners.map(|at| self.positions[at]);
            for corner in [a, b, c] {
                *sums.entry(key(corner)).or_default() += (b - a).cross(c - a);
            }
        }
        let normals: Vec<Vec3> = self.positions[from..]
            .iter()
            .map(|p| sums.get(&key(*p)).copied().unwrap_or_default().normalize_or(Vec3::Y))
            .collect();
        self.normals.extend(normals);
        self.smooth_from = self.positions.len();
    }

    /// The finished part, rounded.
    pub(super) fn part(mut self, name: &str, material: usize, textured: bool) -> Part {
        self.close();
        let rounded =
            |list: Vec<Vec3>| list.into_iter().map(|p| Vec3::from(p.to_array().map(round)));
        Part {
            name: name.to_owned(),
            positions: rounded(self.positions).collect(),
            normals: rounded(self.normals).collect(),
            uvs: if textured {
                self.uvs.into_iter().map(|uv| Vec2::from(uv.to_array().map(round))).collect()
            } else {
                Vec::new()
            },
            colors: Vec::new(),
            indices: self.indices,
            material,
            ..Part::default()
        }
    }
}
