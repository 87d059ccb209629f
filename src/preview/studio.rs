//! The studio: lights and surroundings, the same numbers for the GPU and the CPU.
//!
//! Lights stand still relative to the camera, so a turntable turns the object and not the studio.
//! Intensities are irradiance over π: a white surface that faces a light of 1 shows 1.

use super::camera::Camera;
use bytemuck::{Pod, Zeroable};
use glam::{Mat4, Quat, Vec3, Vec4};

/// Direct lights.
pub(crate) const LIGHTS: usize = 3;
/// Bright boxes that only reflections see.
pub(crate) const BOXES: usize = 4;

/// A light or a bright box of the surroundings.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct Lamp {
    /// Unit vector towards it; w is the sharpness of a box.
    pub(crate) direction: Vec4,
    /// Linear colour times strength.
    pub(crate) color: Vec4,
}

/// All that shading needs and that is the same for the whole picture. Laid out for WGSL.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct Studio {
    /// World to clip space.
    pub(crate) view_projection: Mat4,
    /// The eye; w is the height of the ground.
    pub(crate) eye: Vec4,
    /// Axes of the key light's shadow map: right, up, towards the light.
    pub(crate) shadow_axes: [Vec4; 3],
    /// Key, fill and rim. Only the key throws a shadow.
    pub(crate) lights: [Lamp; LIGHTS],
    /// Soft boxes and strips.
    pub(crate) boxes: [Lamp; BOXES],
    /// Radiance from above.
    pub(crate) sky: Vec4,
    /// Radiance from the horizon.
    pub(crate) horizon: Vec4,
    /// Radiance from below: the light floor.
    pub(crate) floor: Vec4,
}

impl Studio {
    /// The studio around a camera. `aspect` is width by height.
    pub(crate) fn new(camera: &Camera, aspect: f32, ground_y: f32) -> Self {
        let turn = Quat::from_rotation_y(camera.azimuth);
        let lamp = |azimuth: f32, elevation: f32, sharpness: f32, color: [f32; 3], power: f32| {
            let direction = turn * direction(azimuth, elevation);
            Lamp {
                direction: direction.extend(sharpness),
                color: (Vec3::from(color) * power).extend(0.0),
            }
        };
        let key = lamp(-38.0, 50.0, 0.0, [1.0, 0.965, 0.92], 0.74);
        let toward = key.direction.truncate();
        let right = Vec3::Y.cross(toward).normalize_or(Vec3::X);
        Self {
            view_projection: camera.view_projection(aspect),
            eye: camera.eye().extend(ground_y),
            shadow_axes: [right.extend(0.0), toward.cross(right).extend(0.0), toward.extend(0.0)],
            lights: [
                key,
                lamp(62.0, 16.0, 0.0, [0.90, 0.95, 1.0], 0.13),
                lamp(152.0, 22.0, 0.0, [0.95, 0.98, 1.0], 0.50),
            ],
            boxes: [
                lamp(-42.0, 42.0, 14.0, [1.0, 0.98, 0.95], 2.6),
                lamp(78.0, 14.0, 34.0, [0.94, 0.97, 1.0], 1.7),
                lamp(178.0, 40.0, 12.0, [0.97, 0.99, 1.0], 1.5),
                lamp(-100.0, 8.0, 40.0, [1.0, 0.98, 0.96], 1.1),
            ],
            sky: Vec4::new(0.32, 0.33, 0.35, 0.0),
            horizon: Vec4::new(0.19, 0.20, 0.215, 0.0),
            floor: Vec4::new(0.35, 0.345, 0.335, 0.0),
        }
    }
}

/// A unit vector by degrees: azimuth from the camera to the right, elevation above the horizon.
fn direction(azimuth: f32, elevation: f32) -> Vec3 {
    let (sin_a, cos_a) = azimuth.to_radians().sin_cos();
    let (sin_e, cos_e) = elevation.to_radians().sin_cos();
    Vec3::new(sin_a * cos_e, sin_e, cos_a * cos_e)
}
