//! Painted textures: noise, wood, earth.

use sawah::preview::scene::{Texture, Wrap};
use sawah::stages::formats::image_writer::png_bytes;

/// A square or oblong picture of 8-bit RGB.
pub(super) struct Canvas {
    pub width: usize,
    pub height: usize,
    pub rgb: Vec<[f32; 3]>,
}

impl Canvas {
    /// Paints each pixel; `paint` gets its place from 0 to 1.
    pub(super) fn paint(width: usize, height: usize, paint: impl Fn(f32, f32) -> [f32; 3]) -> Self {
        let place = |at: usize, count: usize| (at as f32 + 0.5) / count as f32;
        let rgb = (0..height)
            .flat_map(|y| (0..width).map(move |x| (x, y)))
            .map(|(x, y)| paint(place(x, width), place(y, height)))
            .collect();
        Self { width, height, rgb }
    }

    /// The pixels; every second level only, which halves the file and is not seen.
    pub(super) fn rgba(&self) -> Vec<u8> {
        let byte = |value: f32| ((value.clamp(0.0, 1.0) * 127.0).round() * 2.0) as u8;
        self.rgb.iter().flat_map(|[r, g, b]| [byte(*r), byte(*g), byte(*b), 255]).collect()
    }

    /// As a PNG file.
    pub(super) fn png(&self) -> Vec<u8> {
        png_bytes(self.width as u32, self.height as u32, &self.rgba()).expect("is encoded")
    }

    /// As a texture that repeats.
    pub(super) fn texture(&self, name: &str) -> Texture {
        Texture {
            name: name.to_owned(),
            width: self.width as u32,
            height: self.height as u32,
            rgba: self.rgba(),
            wrap: [Wrap::Repeat; 2],
            nearest: false,
        }
    }

    /// Tangent-space normals of a height field that repeats.
    pub(super) fn normals(
        width: usize,
        height: usize,
        strength: f32,
        height_at: impl Fn(f32, f32) -> f32,
    ) -> Self {
        let step = 1.0 / width as f32;
        Self::paint(width, height, |u, v| {
            let du = (height_at(u + step, v) - height_at(u - step, v)) * strength;
            let dv = (height_at(u, v + step) - height_at(u, v - step)) * strength;
            let length = (du * du + dv * dv + 1.0).sqrt();
            // Green is up, and v runs down.
            [-du, dv, 1.0].map(|part| part / length * 0.5 + 0.5)
        })
    }
}

/// A number from 0 to 1 that only depends on its place.
pub(super) fn hash(x: i32, y: i32, seed: u32) -> f32 {
    let mut bits = (x as u32).wrapping_mul(0x9e37_79b1)
        ^ (y as u32).wrapping_mul(0x85eb_ca77)
        ^ seed.wrapping_mul(0xc2b2_ae3d);
    bits ^= bits >> 15;
    bits = bits.wrapping_mul(0x2c1b_3c6d);
    bits ^= bits >> 12;
    bits = bits.wrapping_mul(0x297a_2d39);
    bits ^= bits >> 15;
    (bits & 0xffff) as f32 / 65_535.0
}

/// Smooth noise from 0 to 1 with `cells` cells in u and v; repeats at 1.
pub(super) fn noise(u: f32, v: f32, cells: [i32; 2], seed: u32) -> f32 {
    let (x, y) = (u * cells[0] as f32, v * cells[1] as f32);
    let (x0, y0) = (x.floor(), y.floor());
    let ease = |t: f32| t * t * (3.0 - 2.0 * t);
    let (fx, fy) = (ease(x - x0), ease(y - y0));
    let at = |dx: i32, dy: i32| {
        hash((x0 as i32 + dx).rem_euclid(cells[0]), (y0 as i32 + dy).rem_euclid(cells[1]), seed)
    };
    let mix = |a: f32, b: f32, t: f32| a + (b - a) * t;
    mix(mix(at(0, 0), at(1, 0), fx), mix(at(0, 1), at(1, 1), fx), fy)
}

pub(super) fn mix(a: [f32; 3], b: [f32; 3], t: f32) -> [f32; 3] {
    let t = t.clamp(0.0, 1.0);
    [0, 1, 2].map(|at| a[at] + (b[at] - a[at]) * t)
}

/// Planks along u, four of them, with grain.
pub(super) fn wood() -> Canvas {
    Canvas::paint(256, 256, |u, v| {
        let plank = (v * 4.0).floor();
        let inside = v * 4.0 - plank;
        let seed = plank as u32 + 11;
        let bend = noise(u, v, [3, 8], seed) * 0.9;
        let ring = ((inside * 5.0 + bend * 2.2 + seed as f32 * 0.37) * 6.3).sin() * 0.5 + 0.5;
        let fibre = noise(u, v, [6, 96], seed + 40);
        let tone = hash(plank as i32, 3, 9) * 0.35;
        let light = [0.74, 0.52, 0.31];
        let dark = [0.50, 0.31, 0.16];
        let base = mix(light, dark, ring * 0.55 + fibre * 0.35 + tone);
        let edge = (inside.min(1.0 - inside) * 22.0).clamp(0.25, 1.0);
        base.map(|channel| channel * edge)
    })
}

/// How high the earth of the terraces stands out.
pub(super) fn earth_height(u: f32, v: f32) -> f32 {
    noise(u, v, [7, 5], 1) * 0.55 + noise(u, v, [16, 12], 2) * 0.3 + noise(u, v, [36, 30], 3) * 0.15
}

/// Earth under a fringe of grass: v 0 is the top of a terrace's wall.
pub(super) fn earth() -> Canvas {
    Canvas::paint(128, 128, |u, v| {
        let height = earth_height(u, v);
        let soil = mix([0.29, 0.19, 0.11], [0.52, 0.37, 0.22], height);
        let grass = mix([0.18, 0.33, 0.07], [0.45, 0.60, 0.17], noise(u, v, [28, 14], 7));
        let fringe = 0.42 + 0.34 * noise(u, 0.5, [18, 1], 5) - v;
        mix(soil, grass, fringe * 6.0 + 0.5)
    })
}

/// Green is roughness, blue is metalness.
pub(super) fn earth_rough() -> Canvas {
    Canvas::paint(64, 64, |u, v| [0.0, 0.72 + 0.28 * (1.0 - earth_height(u, v)), 0.0])
}
