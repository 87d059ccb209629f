//! Lays the drawn object over the studio's backdrop and makes finished pixels of it.

use super::camera::{Axes, Camera};
use super::ground::Ground;
use super::parallel;
use super::picture::{LinearImage, Picture};
use super::texels::to_srgb;

/// Rows that one thread takes at a time.
const BAND: usize = 32;
/// Linear colours of the backdrop from the top of the picture to the bottom, evenly spaced.
const BACKDROP: [[f32; 3]; 4] =
    [[0.430, 0.443, 0.462], [0.560, 0.570, 0.585], [0.680, 0.686, 0.692], [0.620, 0.623, 0.628]];
/// Behind what is no light.
const PLAIN: f32 = 0.10;
/// How much darker the corners are.
const VIGNETTE: f32 = 0.16;

/// The camera as rays through pixels.
struct Rays {
    axes: Axes,
    eye: glam::Vec3,
    tan_x: f32,
    tan_y: f32,
}

impl Rays {
    fn through(camera: &Camera, aspect: f32) -> Self {
        let tan_y = (camera.fov_y * 0.5).tan();
        Self { axes: camera.axes(), eye: camera.eye(), tan_x: tan_y * aspect, tan_y }
    }
}

/// What an object layer is laid over.
pub(crate) enum Behind<'a> {
    /// The studio's wall and floor, seen through a camera, with a shadow on the floor.
    Studio(&'a Camera, &'a Ground),
    /// One grey.
    Plain,
    /// Nothing: the picture keeps its alpha.
    Nothing,
}

/// Finished pixels of an object layer; opaque but over nothing.
pub(crate) fn develop(layer: &LinearImage, behind: &Behind<'_>) -> Picture {
    let (width, height) = (layer.width as usize, layer.height as usize);
    let studio = match behind {
        Behind::Studio(camera, ground) => {
            Some((Rays::through(camera, width as f32 / height.max(1) as f32), *ground))
        }
        Behind::Plain | Behind::Nothing => None,
    };
    let backdrop = |x: f32, y: f32| {
        studio.as_ref().map_or([PLAIN; 3], |(rays, ground)| {
            let lit = 1.0 - floor_shadow(rays, ground, x, y);
            wall(x, y).map(|light| light * lit)
        })
    };
    let bands = parallel::bands(height, BAND, |rows| {
        let mut bytes = Vec::with_capacity(rows.len() * width * 4);
        for row in rows {
            let line = layer.pixels.get(row * width..(row + 1) * width).unwrap_or_default();
            let y = (row as f32 + 0.5) / height as f32;
            for (column, [red, green, blue, alpha]) in line.iter().enumerate() {
                let mut color = [*red, *green, *blue];
                let mut opacity = 255;
                if *alpha < 0.999 {
                    if matches!(behind, Behind::Nothing) {
                        let alpha = alpha.clamp(0.0, 1.0);
                        opacity = (alpha * 255.0 + 0.5) as u8;
                        color = color.map(|light| light / alpha.max(1e-4));
                    } else {
                        let x = (column as f32 + 0.5) / width as f32;
                        let behind = backdrop(x, y);
                        color = [0, 1, 2]
                            .map(|channel| color[channel] + behind[channel] * (1.0 - alpha));
                    }
                }
                let noise = dither(column, row);
                bytes.extend(color.map(|light| (to_srgb(light) * 255.0 + noise) as u8));
                bytes.push(opacity);
            }
        }
        bytes
    });
    Picture { width: layer.width, height: layer.height, rgba: bands.concat() }
}

/// The studio's wall at a place of the picture, 0 to 1 from the top left.
fn wall(x: f32, y: f32) -> [f32; 3] {
    let steps = (BACKDROP.len() - 1) as f32;
    let at = (y * steps).clamp(0.0, steps);
    let index = (at as usize).min(BACKDROP.len() - 2);
    let share = at - index as f32;
    let share = share * share * (3.0 - 2.0 * share);
    let (upper, lower) = (BACKDROP[index], BACKDROP[index + 1]);
    let out2 = (x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5);
    let dim = 1.0 - VIGNETTE * out2 * 2.0;
    [0, 1, 2].map(|channel| (upper[channel] + (lower[channel] - upper[channel]) * share) * dim)
}

fn floor_shadow(rays: &Rays, ground: &Ground, x: f32, y: f32) -> f32 {
    let (across, up) = ((x * 2.0 - 1.0) * rays.tan_x, (1.0 - y * 2.0) * rays.tan_y);
    let Axes { right, up: above, back } = rays.axes;
    let fall = right.y * across + above.y * up - back.y;
    if fall >= -1e-4 {
        return 0.0;
    }
    let far = (ground.y - rays.eye.y) / fall;
    let at_x = rays.eye.x + (right.x * across + above.x * up - back.x) * far;
    let at_z = rays.eye.z + (right.z * across + above.z * up - back.z) * far;
    if far > 0.0 { ground.dark(at_x, at_z) } else { 0.0 }
}

/// Rounds up or down by place, so that the gradient shows no steps: an ordered pattern between 0
/// and 1 that is the same in every frame.
fn dither(column: usize, row: usize) -> f32 {
    let turned = column as f32 * 0.067_110_56 + row as f32 * 0.005_837_15;
    let noise = 52.982_918 * (turned - turned.floor());
    noise - noise.floor()
}
