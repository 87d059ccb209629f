//! The shadow on the studio's floor: dark where the object is close above, soft where the key light
//! is held off.

use super::parallel;
use super::prepare::Drawable;
use super::shadow::ShadowMap;
use super::studio::Studio;
use glam::Vec3;
use std::f32::consts::PI;

/// Cells across the object that hold its lowest surface.
const CELLS: usize = 64;
/// Half width that the cells cover.
const CELLS_REACH: f32 = 1.02;
/// Texels across the floor's shadow.
const TEXELS: usize = 112;
/// Half width of floor that is drawn; beyond it is no shadow.
pub(crate) const REACH: f32 = 2.6;
/// How dark the floor is where no surrounding light comes.
const CONTACT: f32 = 0.80;
/// How dark the floor is where no key light comes.
const KEY: f32 = 0.30;
/// Numbers in one step of the sum over cells.
const LANES: usize = 8;
/// Most samples along an edge of one triangle.
const MAX_STEPS: usize = 96;

/// How much of the studio's soft light the object keeps from each place of the floor. Stands for
/// all views.
#[derive(Debug)]
pub(crate) struct Contact {
    dimmed: Vec<f32>,
}

/// The floor as seen in one view: how dark it is, 0 to 1.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) y: f32,
    dark: Vec<f32>,
}

impl Contact {
    pub(crate) fn new(drawable: &Drawable) -> Self {
        let low = LowSurfaces::of(drawable);
        let cell = CELLS_REACH * 2.0 / CELLS as f32;
        let bands = parallel::bands(TEXELS, 8, |rows| {
            let mut dimmed = Vec::with_capacity(rows.len() * TEXELS);
            for row in rows {
                for column in 0..TEXELS {
                    let taken = low.taken_from(place(column), place(row));
                    dimmed.push((taken * cell * cell / PI).min(1.0));
                }
            }
            dimmed
        });
        Self { dimmed: bands.concat() }
    }
}

/// Numbers that the processor reckons with at once.
type Lanes = [f32; LANES];

/// The lowest surface of each cell that has one, in rows of [`LANES`]: this sum is the slowest part
/// of a small scene.
struct LowSurfaces {
    /// Place in x and z, and the square of the height above the floor.
    rows: Vec<[Lanes; 3]>,
}

impl LowSurfaces {
    fn of(drawable: &Drawable) -> Self {
        let row = |cells: &[[f32; 3]]| {
            // What fills the last row up is without height, and far away: it takes nothing.
            let mut row = [[1e6; LANES], [1e6; LANES], [0.0; LANES]];
            for (lane, [x, z, height]) in cells.iter().enumerate() {
                for (axis, value) in row.iter_mut().zip([*x, *z, height * height]) {
                    axis[lane] = value;
                }
            }
            row
        };
        Self { rows: lowest_surfaces(drawable).chunks(LANES).map(row).collect() }
    }

    /// What all of them together take from a patch of floor. Two parallel patches: the share of the
    /// sky that one takes from the other.
    fn taken_from(&self, x: f32, z: f32) -> f32 {
        let mut sums = [0.0; LANES];
        for [at_x, at_z, high2] in &self.rows {
            for lane in 0..LANES {
                let (across, along) = (at_x[lane] - x, at_z[lane] - z);
                let far2 = across * across + along * along + high2[lane];
                sums[lane] += high2[lane] / (far2 * far2);
            }
        }
        sums.iter().sum()
    }
}

/// The middle of a texel of the floor.
fn place(texel: usize) -> f32 {
    ((texel as f32 + 0.5) / TEXELS as f32 * 2.0 - 1.0) * REACH
}

/// Place and height above the floor of the lowest surface, for each cell that has one.
fn lowest_surfaces(drawable: &Drawable) -> Vec<[f32; 3]> {
    let cell = CELLS_REACH * 2.0 / CELLS as f32;
    let mut heights = vec![f32::MAX; CELLS * CELLS];
    for [a, b, c] in drawable.triangles() {
        let longest = flat(b - a).max(flat(c - a)).max(flat(c - b));
        let steps = ((longest / cell * 1.5).ceil() as usize).clamp(1, MAX_STEPS);
        for along_b in 0..=steps {
            for along_c in 0..=steps - along_b {
                let (share_b, share_c) =
                    (along_b as f32 / steps as f32, along_c as f32 / steps as f32);
                let point = a + (b - a) * share_b + (c - a) * share_c;
                let column = ((point.x + CELLS_REACH) / cell) as usize;
                let row = ((point.z + CELLS_REACH) / cell) as usize;
                if let Some(slot) =
                    heights.get_mut(row.min(CELLS - 1) * CELLS + column.min(CELLS - 1))
                {
                    *slot = slot.min(point.y - drawable.ground_y);
                }
            }
        }
    }
    let middle = |at: usize| (at as f32 + 0.5) * cell - CELLS_REACH;
    heights
        .iter()
        .enumerate()
        .filter(|(_, height)| **height < f32::MAX)
        // Lifted by a part of a cell: a touching patch would be a peak between texels.
        .map(|(at, height)| [middle(at % CELLS), middle(at / CELLS), height + cell * 0.9])
        .collect()
}

fn flat(edge: Vec3) -> f32 {
    edge.x.hypot(edge.z)
}

impl Ground {
    pub(crate) fn new(contact: &Contact, shadow: &ShadowMap, studio: &Studio, y: f32) -> Self {
        let bands = parallel::bands(TEXELS * 2, 32, |rows| {
            let mut dark = Vec::with_capacity(rows.len() * TEXELS * 2);
            for row in rows {
                for column in 0..TEXELS * 2 {
                    let (x, z) = (fine_place(column), fine_place(row));
                    let dimmed = lookup(&contact.dimmed, TEXELS, x, z);
                    let held_off = 1.0 - shadow.visibility(studio, Vec3::new(x, y, z));
                    let edge = ((REACH - x.hypot(z)) / (REACH * 0.4)).clamp(0.0, 1.0);
                    dark.push((1.0 - (1.0 - CONTACT * dimmed) * (1.0 - KEY * held_off)) * edge);
                }
            }
            dark
        });
        Self { y, dark: bands.concat() }
    }

    /// How dark the floor is at a place, 0 to 1.
    pub(crate) fn dark(&self, x: f32, z: f32) -> f32 {
        if x.abs() >= REACH || z.abs() >= REACH {
            return 0.0;
        }
        lookup(&self.dark, TEXELS * 2, x, z)
    }
}

fn fine_place(texel: usize) -> f32 {
    ((texel as f32 + 0.5) / (TEXELS * 2) as f32 * 2.0 - 1.0) * REACH
}

/// Bilinear, clamped at the edge.
fn lookup(texels: &[f32], size: usize, x: f32, z: f32) -> f32 {
    let scale = size as f32 / (REACH * 2.0);
    let last = (size - 1) as f32;
    let x = ((x + REACH) * scale - 0.5).clamp(0.0, last);
    let z = ((z + REACH) * scale - 0.5).clamp(0.0, last);
    let (column, row) = (x as usize, z as usize);
    let (share_x, share_z) = (x - column as f32, z - row as f32);
    let next = usize::from(column + 1 < size);
    let below = if row + 1 < size { size } else { 0 };
    let at = row * size + column;
    let get = |at: usize| texels.get(at).copied().unwrap_or(0.0);
    let upper = get(at) + (get(at + next) - get(at)) * share_x;
    let lower = get(at + below) + (get(at + below + next) - get(at + below)) * share_x;
    upper + (lower - upper) * share_z
}
