//! A sunset with the light of a real sun, and a looping shower.

use super::paint::{Canvas, hash, mix, noise};
use sawah::preview::LinearImage;
use sawah::stages::formats::write_exr;
use std::f32::consts::TAU;

/// Keeps eight bits of the mantissa: smooth light, a third of the file.
fn coarse(value: f32) -> f32 {
    f32::from_bits((value.max(1e-4).to_bits().saturating_add(0x4000)) & 0xffff_8000)
}

fn ridge(u: f32, seed: u32, cells: i32) -> f32 {
    noise(u, 0.5, [cells, 1], seed) * 0.6
        + noise(u, 0.5, [cells * 3, 1], seed + 1) * 0.28
        + noise(u, 0.5, [cells * 7, 1], seed + 2) * 0.12
}

/// Light of the sky at a height from 0 (horizon) to 1.
fn sky(u: f32, height: f32) -> [f32; 3] {
    let bands = [
        (0.0, [2.6, 0.85, 0.22]),
        (0.12, [1.9, 0.55, 0.26]),
        (0.3, [0.85, 0.36, 0.38]),
        (0.6, [0.22, 0.20, 0.42]),
        (1.0, [0.05, 0.08, 0.24]),
    ];
    let mut light = bands[4].1;
    for pair in bands.windows(2) {
        let ((from, a), (to, b)) = (pair[0], pair[1]);
        if height >= from && height <= to {
            light = mix(a, b, (height - from) / (to - from));
        }
    }
    let streak = noise(u * 0.5, height * 3.0, [5, 26], 21) * noise(u, height, [9, 9], 22);
    let cloud = ((streak - 0.28) * 4.0).clamp(0.0, 1.0) * (1.0 - height) * 0.75;
    mix(light, [3.4, 1.15, 0.55], cloud)
}

fn evening(u: f32, v: f32) -> [f32; 3] {
    const HORIZON: f32 = 0.64;
    const SUN: [f32; 2] = [0.62, 0.555];
    let aspect = 16.0 / 9.0;
    let from_sun = |u: f32, v: f32| (((u - SUN[0]) * aspect).powi(2) + (v - SUN[1]).powi(2)).sqrt();
    let shine = |u: f32, v: f32| {
        let away = from_sun(u, v);
        let disc = ((0.052 - away) * 260.0).clamp(0.0, 1.0) * 46.0;
        disc + 3.2 * (-away * 9.0).exp() + 0.7 * (-away * 3.0).exp()
    };
    let with_sun = |u: f32, v: f32| {
        let light = sky(u, ((HORIZON - v) / HORIZON).clamp(0.0, 1.0));
        let glow = shine(u, v);
        [light[0] + glow, light[1] + glow * 0.62, light[2] + glow * 0.24]
    };
    let far = HORIZON - 0.09 * ridge(u, 31, 4) - 0.006;
    let near = HORIZON - 0.17 * (ridge(u, 51, 3) - 0.42 * (1.0 - (u - 0.62).abs() * 2.4)).max(0.0);
    if v < HORIZON {
        if v > near {
            return [0.022, 0.016, 0.030];
        }
        if v > far {
            return mix([0.17, 0.075, 0.10], with_sun(u, far - 0.01), 0.22);
        }
        return with_sun(u, v);
    }
    // The water mirrors the sky, broken by ripples that grow towards us.
    let depth = (v - HORIZON) / (1.0 - HORIZON);
    let ripple = noise(u * 0.7, depth.sqrt(), [14, 46], 71) - 0.5;
    let mirrored = HORIZON - (v - HORIZON) * 0.92 - ripple * 0.11 * (0.25 + depth);
    let light = with_sun(u + ripple * 0.045 * (0.3 + depth), mirrored.clamp(0.0, HORIZON - 0.012));
    let glitter = ((noise(u, depth.sqrt(), [60, 90], 77) - 0.66) * 5.0).clamp(0.0, 1.0);
    let path = (-((u - SUN[0]) * aspect / (0.05 + 0.16 * depth)).powi(2)).exp();
    let spark = glitter * path * 11.0;
    let light = light.map(|channel| channel.min(9.0) * (0.62 - 0.3 * depth));
    [light[0] + spark, light[1] + spark * 0.62, light[2] + spark * 0.26]
}

pub(super) fn sunset() -> Vec<u8> {
    let (width, height) = (480_u32, 270_u32);
    let pixels = Canvas::paint(width as usize, height as usize, evening).rgb;
    let pixels =
        pixels.into_iter().map(|[r, g, b]| [coarse(r), coarse(g), coarse(b), 1.0]).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sunset.exr");
    write_exr(&LinearImage { width, height, pixels }, &path).expect("written");
    std::fs::read(path).expect("readable")
}

/// A drop's streak at a place of the picture: brightness from 0 to 1.
fn streaks(u: f32, v: f32, time: f32) -> f32 {
    let mut light = 0.0_f32;
    for (layer, columns, length, speed) in [(0_u32, 46.0, 0.10, 2.0), (1, 26.0, 0.17, 3.0)] {
        let slanted = u + v * 0.09;
        let column = (slanted * columns).floor();
        let inside = slanted * columns - column - 0.5;
        let start = hash(column as i32, 5, layer + 100);
        let fall = (v - time * speed - start).rem_euclid(1.0);
        let width = 0.055 + 0.03 * layer as f32;
        if fall < length && inside.abs() < width {
            light = light
                .max((fall / length) * (1.0 - inside.abs() / width) * (0.45 + 0.35 * layer as f32));
        }
    }
    light
}

/// Rings on the water from drops that fall at fixed places, each once in the loop.
fn rings(u: f32, depth: f32, time: f32) -> f32 {
    let mut light = 0.0_f32;
    for drop in 0..26 {
        let (x, y) = (hash(drop, 1, 7), hash(drop, 2, 7) * 0.9 + 0.06);
        let age = (time + hash(drop, 3, 7)).rem_euclid(1.0);
        let flat = 0.35 + 0.4 * y;
        let away = (((u - x) * 1.78).powi(2) + ((depth - y) * 0.36 / flat).powi(2)).sqrt();
        let radius = age * (0.05 + 0.08 * y);
        let edge = 1.0 - ((away - radius).abs() / (0.004 + 0.004 * y)).min(1.0);
        light = light.max(edge * (1.0 - age) * 0.8);
    }
    light
}

pub(super) fn rain(frame: u32) -> Vec<u8> {
    const SHORE: f32 = 0.66;
    let time = (frame - 1) as f32 / 24.0;
    Canvas::paint(320, 180, |u, v| {
        let steps = |value: f32, count: f32| (value * count).floor() / count;
        let mut color = mix([0.10, 0.14, 0.22], [0.36, 0.44, 0.52], steps(v / SHORE, 20.0));
        for (at, (height, tone)) in
            [(0.30_f32, [0.27, 0.35, 0.42]), (0.22, [0.19, 0.27, 0.32]), (0.13, [0.11, 0.18, 0.20])]
                .into_iter()
                .enumerate()
        {
            let top = SHORE - height * (0.35 + ridge(u, 200 + at as u32 * 10, 4 + at as i32 * 2));
            if v > top {
                color = tone;
            }
        }
        if v > SHORE {
            let depth = (v - SHORE) / (1.0 - SHORE);
            let sway = (TAU * (time + depth * 4.0 + u)).sin() * 0.015;
            color = mix([0.17, 0.25, 0.30], [0.08, 0.13, 0.18], steps(depth + sway, 10.0));
            color = mix(color, [0.72, 0.82, 0.88], rings(u, depth, time));
        }
        // A boat with a lantern rocks on the water.
        let rock = (TAU * time).sin() * 0.008;
        let (x, y) = ((u - 0.34) * 1.78, v - 0.765 - rock);
        let hull = y > 0.0 && y < 0.042 && x.abs() < 0.13 - y * 1.1;
        let roof = y > -0.055 && y <= 0.0 && x.abs() < 0.062 - (y + 0.03).abs() * 0.5;
        if hull || roof {
            color = if hull { [0.16, 0.09, 0.06] } else { [0.23, 0.16, 0.10] };
        }
        let lamp = ((x - 0.088).powi(2) + (y + 0.028).powi(2)).sqrt();
        let flicker = 0.9 + 0.1 * (TAU * time * 3.0).sin();
        color = mix(
            color,
            [1.0, 0.72, 0.32],
            steps((0.085 - lamp) * 6.0, 12.0).clamp(0.0, 0.4) * flicker,
        );
        if lamp < 0.010 {
            color = [1.0, 0.90, 0.62];
        }
        mix(color, [0.80, 0.88, 0.95], streaks(u, v, time) * 0.6)
    })
    .png()
}
