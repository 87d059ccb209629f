//! Textures ready to sample: checked, bounded, with mip levels.

use super::scene::{Texture, Wrap};
use glam::Vec4;
use std::sync::{LazyLock, OnceLock};

/// What a texture's numbers mean; one image used for both is prepared twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// sRGB-encoded colour.
    Color,
    /// Plain numbers: normals, roughness, occlusion.
    Data,
}

/// One mip level.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) rgba: Vec<u8>,
}

/// A texture with its mip levels, the largest first; never empty.
#[derive(Debug, Clone)]
pub(crate) struct Texels {
    pub(crate) levels: Vec<Level>,
    pub(crate) role: Role,
    pub(crate) wrap: [Wrap; 2],
    pub(crate) nearest: bool,
}

/// sRGB to linear, for each byte.
pub(crate) fn srgb_table() -> &'static [f32; 256] {
    static TABLE: OnceLock<[f32; 256]> = OnceLock::new();
    TABLE.get_or_init(|| std::array::from_fn(|byte| to_linear(byte as f32 / 255.0)))
}

/// sRGB to linear.
pub(crate) fn to_linear(value: f32) -> f32 {
    if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

/// Steps of [`SRGB`]: between them a straight line is off by less than a hundredth of a byte's step.
const SRGB_STEPS: usize = 4_096;

/// The curve from linear to sRGB (IEC 61966-2-1), evenly spaced from 0 to 1.
static SRGB: LazyLock<Vec<f32>> = LazyLock::new(|| {
    let curve = |step: usize| {
        let value = step as f32 / SRGB_STEPS as f32;
        if value > 0.003_130_8 { 1.055 * value.powf(1.0 / 2.4) - 0.055 } else { value * 12.92 }
    };
    (0..=SRGB_STEPS).map(curve).collect()
});

/// Linear to sRGB, 0 to 1; values outside are clamped, not-a-number gives 0.
pub(crate) fn to_srgb(value: f32) -> f32 {
    if value >= 1.0 {
        return 1.0;
    }
    if value.is_nan() || value <= 0.0 {
        return 0.0;
    }
    let at = value * SRGB_STEPS as f32;
    let step = at as usize;
    match SRGB.get(step..step + 2) {
        Some([low, high]) => low + (high - low) * (at - step as f32),
        _ => 1.0,
    }
}

impl Texels {
    /// Checks an image and makes its mip levels; the first has no edge above `max_px`. None for an
    /// image without pixels or with too few bytes.
    pub(crate) fn prepare(texture: &Texture, role: Role, max_px: u32) -> Option<Self> {
        let bytes = (texture.width as usize)
            .checked_mul(texture.height as usize)
            .and_then(|pixels| pixels.checked_mul(4))
            .filter(|bytes| *bytes > 0)?;
        let rgba = texture.rgba.get(..bytes)?.to_vec();
        let mut level = Level { width: texture.width, height: texture.height, rgba };
        while level.width > max_px || level.height > max_px {
            level = halve(&level, role);
        }
        let mut levels = vec![level];
        while let Some(last) = levels.last().filter(|level| level.width > 1 || level.height > 1) {
            let next = halve(last, role);
            levels.push(next);
        }
        Some(Self { levels, role, wrap: texture.wrap, nearest: texture.nearest })
    }

    /// Trilinear sample; linear colour. `footprint` is how far `uv` moves from one pixel to the
    /// next, in x and y.
    pub(crate) fn sample(&self, uv: [f32; 2], footprint: [[f32; 2]; 2]) -> Vec4 {
        let Some(first) = self.levels.first() else { return Vec4::ONE };
        let size = [first.width as f32, first.height as f32];
        let length = |step: [f32; 2]| (step[0] * size[0]).hypot(step[1] * size[1]);
        let texels = length(footprint[0]).max(length(footprint[1]));
        let lod = if texels > 1.0 { texels.log2() } else { 0.0 };
        let lod = lod.min((self.levels.len() - 1) as f32);
        if self.nearest && lod <= 0.0 {
            return self.fetch_nearest(first, uv);
        }
        let below = lod as usize;
        let share = lod - below as f32;
        let mut color = self.levels.get(below).map_or(Vec4::ONE, |level| self.bilinear(level, uv));
        if share > 0.0
            && let Some(level) = self.levels.get(below + 1)
        {
            color = color.lerp(self.bilinear(level, uv), share);
        }
        color
    }

    fn fetch_nearest(&self, level: &Level, uv: [f32; 2]) -> Vec4 {
        let x = wrapped((uv[0] * level.width as f32).floor(), level.width, self.wrap[0]);
        let y = wrapped((uv[1] * level.height as f32).floor(), level.height, self.wrap[1]);
        self.texel(level, x, y)
    }

    fn bilinear(&self, level: &Level, uv: [f32; 2]) -> Vec4 {
        let x = uv[0] * level.width as f32 - 0.5;
        let y = uv[1] * level.height as f32 - 0.5;
        let (left, top) = (x.floor(), y.floor());
        let (share_x, share_y) = (x - left, y - top);
        let columns = [
            wrapped(left, level.width, self.wrap[0]),
            wrapped(left + 1.0, level.width, self.wrap[0]),
        ];
        let rows = [
            wrapped(top, level.height, self.wrap[1]),
            wrapped(top + 1.0, level.height, self.wrap[1]),
        ];
        let upper = self
            .texel(level, columns[0], rows[0])
            .lerp(self.texel(level, columns[1], rows[0]), share_x);
        let lower = self
            .texel(level, columns[0], rows[1])
            .lerp(self.texel(level, columns[1], rows[1]), share_x);
        upper.lerp(lower, share_y)
    }

    fn texel(&self, level: &Level, x: u32, y: u32) -> Vec4 {
        let at = (y as usize * level.width as usize + x as usize) * 4;
        let Some([red, green, blue, alpha]) = level.rgba.get(at..at + 4) else { return Vec4::ONE };
        let alpha = f32::from(*alpha) / 255.0;
        match self.role {
            Role::Color => {
                let table = srgb_table();
                let [red, green, blue] = [red, green, blue].map(|byte| table[usize::from(*byte)]);
                Vec4::new(red, green, blue, alpha)
            }
            Role::Data => {
                Vec4::new(f32::from(*red), f32::from(*green), f32::from(*blue), alpha * 255.0)
                    / 255.0
            }
        }
    }
}

/// The texel that a whole coordinate means. Not-a-number means the first.
fn wrapped(at: f32, size: u32, wrap: Wrap) -> u32 {
    // Beyond this a float has no fraction left, and the cast would saturate anyway.
    let at = at.clamp(-1e9, 1e9) as i64;
    let size = i64::from(size.max(1));
    let inside = match wrap {
        Wrap::Repeat => at.rem_euclid(size),
        Wrap::Clamp => at.clamp(0, size - 1),
        Wrap::Mirror => {
            let folded = at.rem_euclid(size * 2);
            if folded < size { folded } else { size * 2 - 1 - folded }
        }
    };
    inside as u32
}

/// Half the size (at least 1), averaged in linear light and weighted by alpha.
fn halve(level: &Level, role: Role) -> Level {
    let (width, height) = ((level.width / 2).max(1), (level.height / 2).max(1));
    let mut rgba = Vec::with_capacity(width as usize * height as usize * 4);
    for y in 0..height {
        let rows = [(y * 2).min(level.height - 1), (y * 2 + 1).min(level.height - 1)];
        for x in 0..width {
            let columns = [(x * 2).min(level.width - 1), (x * 2 + 1).min(level.width - 1)];
            rgba.extend_from_slice(&average(level, columns, rows, role));
        }
    }
    Level { width, height, rgba }
}

fn average(level: &Level, columns: [u32; 2], rows: [u32; 2], role: Role) -> [u8; 4] {
    let table = srgb_table();
    let (mut plain, mut weighted, mut alphas) = ([0.0_f32; 3], [0.0_f32; 3], 0.0_f32);
    for row in rows {
        for column in columns {
            let at = (row as usize * level.width as usize + column as usize) * 4;
            let Some([color @ .., alpha]) = level.rgba.get(at..at + 4) else { continue };
            let alpha = f32::from(*alpha);
            alphas += alpha;
            for ((plain, weighted), byte) in plain.iter_mut().zip(&mut weighted).zip(color) {
                let value = match role {
                    Role::Color => table[usize::from(*byte)],
                    Role::Data => f32::from(*byte) / 255.0,
                };
                *plain += value * 0.25;
                *weighted += value * alpha;
            }
        }
    }
    let color = match role {
        Role::Color if alphas > 0.0 => weighted.map(|sum| to_srgb(sum / alphas)),
        Role::Color => plain.map(to_srgb),
        Role::Data => plain,
    };
    let [red, green, blue] = color.map(|value| (value * 255.0 + 0.5) as u8);
    [red, green, blue, (alphas * 0.25 + 0.5) as u8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_is_that_of_the_standard() {
        let exact = |value: f32| match value {
            _ if value > 0.003_130_8 => 1.055 * value.powf(1.0 / 2.4) - 0.055,
            _ => value * 12.92,
        };
        for value in (0..=100_000_u32).map(|step| step as f32 / 100_000.0) {
            let off = (to_srgb(value) - exact(value)).abs() * 255.0;
            assert!(off < 0.01, "{value}: off by {off} of a byte's step");
        }
        let ends = [f32::NAN, -1.0, 0.0, 1.0, f32::INFINITY].map(|value| to_srgb(value) as u8);
        assert_eq!(ends, [0, 0, 0, 1, 1]);
    }

    fn texture(width: u32, height: u32, rgba: Vec<u8>) -> Texture {
        Texture {
            name: String::new(),
            width,
            height,
            rgba,
            wrap: [Wrap::Repeat; 2],
            nearest: false,
        }
    }

    #[test]
    fn broken_images_are_refused_and_large_ones_are_reduced() {
        assert!(Texels::prepare(&texture(0, 4, vec![]), Role::Color, 64).is_none());
        assert!(Texels::prepare(&texture(4, 4, vec![0; 63]), Role::Color, 64).is_none());
        assert!(Texels::prepare(&texture(u32::MAX, u32::MAX, vec![]), Role::Color, 64).is_none());
        let large = Texels::prepare(&texture(100, 3, vec![7; 1200]), Role::Data, 64);
        let sizes: Vec<_> = large
            .into_iter()
            .flat_map(|texels| texels.levels)
            .map(|level| (level.width, level.height))
            .collect();
        assert_eq!(sizes, [(50, 1), (25, 1), (12, 1), (6, 1), (3, 1), (1, 1)]);
    }

    #[test]
    fn wrap_modes_fold_coordinates() {
        for (at, repeat, mirror, clamp) in
            [(-1.0, 3, 0, 0), (4.0, 0, 3, 3), (5.0, 1, 2, 3), (f32::NAN, 0, 0, 0)]
        {
            assert_eq!(wrapped(at, 4, Wrap::Repeat), repeat, "{at}");
            assert_eq!(wrapped(at, 4, Wrap::Mirror), mirror, "{at}");
            assert_eq!(wrapped(at, 4, Wrap::Clamp), clamp, "{at}");
        }
    }

    #[test]
    fn mips_average_light_and_not_bytes() {
        let checker = texture(2, 1, vec![0, 0, 0, 255, 255, 255, 255, 255]);
        let texels = Texels::prepare(&checker, Role::Color, 64).unwrap();
        assert_eq!(texels.levels[1].rgba, [188, 188, 188, 255]);
    }
}
