//! A spur gear with six spokes, as binary STL in millimetres, +Z up.

use super::shape::round;
use glam::{Mat4, Quat, Vec2, Vec3};
use std::f32::consts::TAU;

const TEETH: usize = 24;

#[derive(Default)]
struct Solid(Vec<[Vec3; 3]>);

impl Solid {
    fn quad(&mut self, a: Vec3, b: Vec3, c: Vec3, d: Vec3) {
        self.0.push([a, b, c]);
        self.0.push([a, c, d]);
    }

    /// A ring between two outlines of equally many points, with bevelled edges.
    fn ring(&mut self, outer: &[Vec2], inner: &[Vec2], half: f32, bevel: f32) {
        let count = outer.len();
        let shrunk = |outline: &[Vec2], by: f32| -> Vec<Vec2> {
            outline.iter().map(|p| *p * ((p.length() - by) / p.length())).collect()
        };
        let (outer_top, inner_top) = (shrunk(outer, bevel), shrunk(inner, -bevel));
        let at = |outline: &[Vec2], index: usize, z: f32| outline[index % count].extend(z);
        for i in 0..count {
            let j = i + 1;
            for sign in [1.0_f32, -1.0] {
                let (side, top) = ((half - bevel) * sign, half * sign);
                let faces = [
                    [
                        at(&inner_top, i, top),
                        at(&outer_top, i, top),
                        at(&outer_top, j, top),
                        at(&inner_top, j, top),
                    ],
                    [
                        at(&outer_top, i, top),
                        at(outer, i, side),
                        at(outer, j, side),
                        at(&outer_top, j, top),
                    ],
                    [
                        at(inner, i, side),
                        at(&inner_top, i, top),
                        at(&inner_top, j, top),
                        at(inner, j, side),
                    ],
                ];
                for [a, b, c, d] in faces {
                    if sign > 0.0 { self.quad(a, b, c, d) } else { self.quad(d, c, b, a) }
                }
            }
            let z = half - bevel;
            self.quad(at(outer, i, -z), at(outer, j, -z), at(outer, j, z), at(outer, i, z));
            self.quad(at(inner, j, -z), at(inner, i, -z), at(inner, i, z), at(inner, j, z));
        }
    }

    fn spoke(&mut self, angle: f32) {
        let turn = Mat4::from_quat(Quat::from_rotation_z(angle));
        let corner = |x: f32, y: f32, z: f32| turn.transform_point3(Vec3::new(x, y, z));
        let end = |x: f32, y: f32, z: f32| {
            [corner(x, -y, -z), corner(x, y, -z), corner(x, y, z), corner(x, -y, z)]
        };
        let (near, far) = (end(11.0, 4.2, 3.2), end(29.5, 2.6, 2.4));
        for i in 0..4 {
            let j = (i + 1) % 4;
            self.quad(near[j], near[i], far[i], far[j]);
        }
    }
}

/// The outline of the teeth: root, flank, tip, flank.
fn teeth() -> Vec<Vec2> {
    const STEPS: [(f32, f32); 8] = [
        (0.00, 34.0),
        (0.18, 34.0),
        (0.25, 35.2),
        (0.33, 38.2),
        (0.40, 40.0),
        (0.60, 40.0),
        (0.67, 38.2),
        (0.75, 35.2),
    ];
    (0..TEETH * STEPS.len())
        .map(|at| {
            let (part, radius) = STEPS[at % STEPS.len()];
            let angle = ((at / STEPS.len()) as f32 + part) / TEETH as f32 * TAU;
            Vec2::from_angle(angle) * radius
        })
        .collect()
}

fn circle_like(outline: &[Vec2], radius: f32) -> Vec<Vec2> {
    outline.iter().map(|p| p.normalize() * radius).collect()
}

pub(super) fn stl() -> Vec<u8> {
    let mut solid = Solid::default();
    let outline = teeth();
    solid.ring(&outline, &circle_like(&outline, 28.5), 5.0, 0.6);
    let round_outline: Vec<Vec2> =
        (0..64).map(|at| Vec2::from_angle(at as f32 / 64.0 * TAU) * 12.0).collect();
    solid.ring(&round_outline, &circle_like(&round_outline, 6.0), 8.0, 0.9);
    for spoke in 0..6 {
        solid.spoke(spoke as f32 / 6.0 * TAU + 0.1);
    }
    let mut bytes = b"Gear, 24 teeth, millimetres. Made by Sawah.".to_vec();
    bytes.resize(80, b' ');
    bytes.extend((solid.0.len() as u32).to_le_bytes());
    for [a, b, c] in solid.0 {
        let normal = (b - a).cross(c - a).normalize_or_zero();
        for point in [normal, a, b, c] {
            for value in point.to_array() {
                bytes.extend(round(value).to_le_bytes());
            }
        }
        bytes.extend([0, 0]);
    }
    bytes
}
