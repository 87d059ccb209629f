//! Scenes made in code, for tests.

use super::scene::{AlphaMode, Material, Part, Scene, Texture, Wrap};
use glam::{Vec2, Vec3, Vec4};
use std::f32::consts::{PI, TAU};

pub(crate) fn material(color: [f32; 3], metallic: f32, roughness: f32) -> Material {
    Material {
        base_color: Vec3::from(color).extend(1.0),
        metallic,
        roughness,
        double_sided: false,
        ..Material::default()
    }
}

/// A ball with texture coordinates.
pub(crate) fn ball(center: Vec3, radius: f32, material: usize) -> Part {
    let (rings, spokes) = (48_u32, 64_u32);
    let mut part = Part { name: "ball".into(), material, ..Part::default() };
    for ring in 0..=rings {
        let down = ring as f32 / rings as f32;
        for spoke in 0..=spokes {
            let around = spoke as f32 / spokes as f32;
            let (sin, cos) = (around * TAU).sin_cos();
            let out = (down * PI).sin();
            let normal = Vec3::new(out * sin, (down * PI).cos(), out * cos);
            part.positions.push(center + normal * radius);
            part.normals.push(normal);
            part.uvs.push(Vec2::new(around, down));
        }
    }
    for ring in 0..rings {
        for spoke in 0..spokes {
            let a = ring * (spokes + 1) + spoke;
            let b = a + spokes + 1;
            part.indices.extend([a, b, b + 1, a, b + 1, a + 1]);
        }
    }
    part
}

/// A box with hard edges, each side with the whole texture.
pub(crate) fn cuboid(center: Vec3, half: Vec3, material: usize) -> Part {
    let mut part = Part { name: "box".into(), material, ..Part::default() };
    for axis in 0..3 {
        for side in [-1.0, 1.0] {
            let mut normal = Vec3::ZERO;
            normal[axis] = side;
            let right = if axis == 1 { Vec3::X } else { Vec3::Y.cross(normal) };
            let up = normal.cross(right);
            let first = part.positions.len() as u32;
            for (x, y) in [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)] {
                part.positions.push(center + (normal + right * x + up * y) * half);
                part.normals.push(normal);
                part.uvs.push(Vec2::new(x * 0.5 + 0.5, 0.5 - y * 0.5));
            }
            part.indices.extend([0, 1, 2, 0, 2, 3].map(|at| first + at));
        }
    }
    part
}

/// A texture from a function of the texel.
pub(crate) fn texture(size: u32, texel: impl Fn(u32, u32) -> [u8; 4]) -> Texture {
    let rgba = (0..size * size).flat_map(|at| texel(at % size, at / size)).collect();
    Texture {
        name: "made".into(),
        width: size,
        height: size,
        rgba,
        wrap: [Wrap::Repeat; 2],
        nearest: false,
    }
}

pub(crate) fn checker(size: u32, cells: u32, a: [u8; 4], b: [u8; 4]) -> Texture {
    let cell = (size / cells).max(1);
    texture(size, |x, y| if (x / cell + y / cell).is_multiple_of(2) { a } else { b })
}

/// Round bumps in a grid, as a normal texture.
pub(crate) fn bumps(size: u32, cells: u32) -> Texture {
    texture(size, |x, y| {
        let place = |at: u32| (at as f32 / size as f32 * cells as f32).fract() * 2.0 - 1.0;
        let (x, y) = (place(x), place(y));
        let normal = if x.hypot(y) < 0.8 {
            // Green points up in the image, y grows down.
            Vec3::new(x, -y, 1.0).normalize()
        } else {
            Vec3::Z
        };
        let [red, green, blue] = (normal * 127.5 + 127.5).to_array().map(|value| value as u8);
        [red, green, blue, 255]
    })
}

/// One part, one material.
pub(crate) fn simple(part: Part, material: Material) -> Scene {
    Scene { parts: vec![part], materials: vec![material], textures: vec![] }
}

/// Something of everything: clay, metal, glass, textures, bumps, glow, cut-outs.
pub(crate) fn still_life() -> Scene {
    let mut gold = material([1.0, 0.77, 0.34], 1.0, 0.22);
    gold.name = "gold".into();
    let mut tiles = material([1.0; 3], 0.0, 0.45);
    tiles.base_color_texture = Some(0);
    let mut bumpy = material([0.05, 0.32, 0.52], 0.0, 0.35);
    bumpy.normal_texture = Some(1);
    let mut glass = material([0.75, 0.9, 0.92], 0.0, 0.08);
    glass.base_color.w = 0.32;
    glass.alpha = AlphaMode::Blend;
    glass.double_sided = true;
    let mut grid = material([0.85, 0.25, 0.16], 0.0, 0.6);
    grid.base_color_texture = Some(2);
    grid.alpha = AlphaMode::Mask { cutoff: 0.5 };
    grid.double_sided = true;
    let mut lamp = material([0.1; 3], 0.0, 0.5);
    lamp.emissive = Vec3::new(2.4, 1.3, 0.4);
    let clay = material([0.72; 3], 0.0, 0.8);
    Scene {
        parts: vec![
            cuboid(Vec3::new(0.0, -0.55, 0.0), Vec3::new(2.2, 0.1, 1.4), 6),
            ball(Vec3::new(-1.2, 0.15, 0.3), 0.6, 0),
            cuboid(Vec3::new(0.15, 0.05, -0.5), Vec3::splat(0.5), 1),
            ball(Vec3::new(0.55, -0.05, 0.75), 0.4, 2),
            ball(Vec3::new(1.4, 0.15, 0.1), 0.6, 3),
            cuboid(Vec3::new(1.4, 0.05, 0.1), Vec3::splat(0.2), 5),
            cuboid(Vec3::new(-0.35, -0.15, 0.85), Vec3::new(0.3, 0.3, 0.3), 4),
        ],
        materials: vec![gold, tiles, bumpy, glass, grid, lamp, clay],
        textures: vec![
            checker(256, 8, [235, 230, 220, 255], [52, 58, 66, 255]),
            bumps(256, 8),
            texture(64, |x, y| {
                let solid = x % 16 < 5 || y % 16 < 5;
                [255, 255, 255, if solid { 255 } else { 0 }]
            }),
        ],
    }
}

/// A grey donut, as a plain STL looks.
pub(crate) fn donut() -> Scene {
    let (rings, spokes) = (96_u32, 48_u32);
    let mut part = Part { name: "donut".into(), ..Part::default() };
    for ring in 0..rings {
        let (sin_a, cos_a) = (ring as f32 / rings as f32 * TAU).sin_cos();
        for spoke in 0..spokes {
            let (sin_b, cos_b) = (spoke as f32 / spokes as f32 * TAU).sin_cos();
            let normal = Vec3::new(cos_b * cos_a, sin_b, cos_b * sin_a);
            part.positions.push(Vec3::new(cos_a, 0.0, sin_a) + normal * 0.42);
            part.normals.push(normal);
            part.colors.push(Vec4::ONE);
            let next_ring = (ring + 1) % rings * spokes;
            let next_spoke = (spoke + 1) % spokes;
            let (a, b) = (ring * spokes + spoke, next_ring + spoke);
            let (c, d) = (next_ring + next_spoke, ring * spokes + next_spoke);
            part.indices.extend([a, c, b, a, d, c]);
        }
    }
    simple(part, Material::default())
}
