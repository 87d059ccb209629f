//! The orbit camera, and how it is placed so that the whole object is seen.
//!
//! Lengths are in the prepared scene's unit: its bounding sphere has radius 1 around the origin.

use glam::{Mat4, Vec3, Vec4};
use std::f32::consts::TAU;

/// Vertical field of view in radians: a short telephoto lens, as in product photographs.
const FOV_Y: f32 = 30.0 * TAU / 360.0;
/// Azimuth of the three-quarter view in radians, from +Z towards +X.
const AZIMUTH: f32 = 35.0 * TAU / 360.0;
/// Height of the camera above the horizon in radians.
const ELEVATION: f32 = 18.0 * TAU / 360.0;
/// Share of the picture that the object may fill.
const FILL: f32 = 0.84;
/// Nearer than this the perspective looks wrong (and a corner could come behind the lens).
const MIN_DISTANCE: f32 = 3.0;
/// Slices of the lathe hull that frames a turntable.
const SLICES: usize = 32;
/// Points around each slice.
const SPOKES: usize = 32;

/// Looks at a point from a distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// Angle around +Y in radians: 0 looks from +Z, a quarter turn from +X.
    pub azimuth: f32,
    /// Angle above the horizon in radians.
    pub elevation: f32,
    /// Distance from the target.
    pub distance: f32,
    /// What is in the middle of the picture.
    pub target: Vec3,
    /// Vertical field of view in radians.
    pub fov_y: f32,
}

/// The axes of a camera: `back` points from the target to the eye.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axes {
    pub(crate) right: Vec3,
    pub(crate) up: Vec3,
    pub(crate) back: Vec3,
}

impl Camera {
    /// The three-quarter view that just holds all `points` in a picture of this aspect (width by
    /// height).
    pub(crate) fn still(points: &[Vec3], aspect: f32) -> Self {
        Self::fitted(points, AZIMUTH, aspect, true)
    }

    /// The views of a turntable in which the object turns once in `count` frames. Target and
    /// distance are the same for all of them.
    pub(crate) fn turntable(
        points: &[Vec3],
        aspect: f32,
        count: u32,
    ) -> impl Iterator<Item = Self> + use<> {
        let first = Self::fitted(&lathe_hull(points), AZIMUTH, aspect, false);
        (0..count).map(move |index| {
            let turned = index as f32 / count as f32 * TAU;
            Self { azimuth: AZIMUTH - turned, ..first }
        })
    }

    fn fitted(points: &[Vec3], azimuth: f32, aspect: f32, pan: bool) -> Self {
        let mut camera = Self {
            azimuth,
            elevation: ELEVATION,
            distance: MIN_DISTANCE,
            target: Vec3::ZERO,
            fov_y: FOV_Y,
        };
        let tan_y = (FOV_Y * 0.5).tan() * FILL;
        let tan_x = tan_y * aspect;
        // Each round centres what the round before framed; four are enough for a tenth of a pixel.
        for _ in 0..4 {
            let seen = camera.extents(points, tan_x, tan_y);
            let axes = camera.axes();
            camera.distance = seen.distance.max(MIN_DISTANCE);
            if pan {
                camera.target += axes.right * (seen.middle[0] * tan_x * camera.distance);
                camera.target += axes.up * (seen.middle[1] * tan_y * camera.distance);
            } else {
                camera.target.y += seen.middle[1] * tan_y * camera.distance / axes.up.y.max(0.1);
            }
        }
        camera.distance = camera.extents(points, tan_x, tan_y).distance.max(MIN_DISTANCE);
        camera
    }

    fn extents(&self, points: &[Vec3], tan_x: f32, tan_y: f32) -> Extents {
        let Axes { right, up, back } = self.axes();
        let mut seen = Extents { distance: 0.0, middle: [0.0; 2] };
        let (mut low, mut high) = ([f32::MAX; 2], [f32::MIN; 2]);
        for point in points {
            let from_target = *point - self.target;
            let across = [from_target.dot(right) / tan_x, from_target.dot(up) / tan_y];
            let near = from_target.dot(back);
            let depth = (self.distance - near).max(0.1);
            for (axis, value) in across.into_iter().enumerate() {
                seen.distance = seen.distance.max(value.abs() + near);
                low[axis] = low[axis].min(value / depth);
                high[axis] = high[axis].max(value / depth);
            }
        }
        if !points.is_empty() {
            seen.middle = [(low[0] + high[0]) * 0.5, (low[1] + high[1]) * 0.5];
        }
        seen
    }

    pub(crate) fn axes(&self) -> Axes {
        let (sin_a, cos_a) = self.azimuth.sin_cos();
        let (sin_e, cos_e) = self.elevation.sin_cos();
        let back = Vec3::new(sin_a * cos_e, sin_e, cos_a * cos_e);
        let right = Vec3::new(cos_a, 0.0, -sin_a);
        Axes { right, up: back.cross(right), back }
    }

    pub(crate) fn eye(&self) -> Vec3 {
        self.target + self.axes().back * self.distance
    }

    /// World to clip space, depth 0 to 1.
    pub(crate) fn view_projection(&self, aspect: f32) -> Mat4 {
        // The object lies within radius 1 of the origin.
        let reach = 1.05 + self.target.length();
        let near = (self.distance - reach).max(0.05);
        let far = self.distance + reach;
        let Axes { right, up, back } = self.axes();
        let eye = self.eye();
        let view = Mat4::from_rows(
            right.extend(-right.dot(eye)),
            up.extend(-up.dot(eye)),
            back.extend(-back.dot(eye)),
            Vec4::W,
        );
        let zoom = (self.fov_y * 0.5).tan().recip();
        let depth = far / (near - far);
        let lens = Mat4::from_rows(
            Vec4::new(zoom / aspect, 0.0, 0.0, 0.0),
            Vec4::new(0.0, zoom, 0.0, 0.0),
            Vec4::new(0.0, 0.0, depth, depth * near),
            Vec4::new(0.0, 0.0, -1.0, 0.0),
        );
        lens * view
    }
}

struct Extents {
    /// Least distance at which all points are in the picture.
    distance: f32,
    /// Middle of the points in the picture, −1 to 1.
    middle: [f32; 2],
}

/// Points around the body that the object sweeps when it turns about the vertical axis.
fn lathe_hull(points: &[Vec3]) -> Vec<Vec3> {
    let (low, high) = points
        .iter()
        .fold((f32::MAX, f32::MIN), |(low, high), point| (low.min(point.y), high.max(point.y)));
    let height = (high - low).max(1e-6);
    let mut slices = [None::<(f32, f32, f32)>; SLICES];
    for point in points {
        let share = (point.y - low) / height;
        let index = ((share * SLICES as f32) as usize).min(SLICES - 1);
        let radius = point.x.hypot(point.z);
        if let Some(slot) = slices.get_mut(index) {
            let (bottom, top, widest) = slot.unwrap_or((point.y, point.y, radius));
            *slot = Some((bottom.min(point.y), top.max(point.y), widest.max(radius)));
        }
    }
    let mut hull = Vec::with_capacity(SLICES * SPOKES * 2);
    for (bottom, top, radius) in slices.into_iter().flatten() {
        for spoke in 0..SPOKES {
            let (sin, cos) = (spoke as f32 / SPOKES as f32 * TAU).sin_cos();
            hull.push(Vec3::new(radius * sin, bottom, radius * cos));
            hull.push(Vec3::new(radius * sin, top, radius * cos));
        }
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corners() -> Vec<Vec3> {
        let mut points = Vec::new();
        for x in [-0.8, 0.8] {
            for y in [-0.3, 0.3] {
                for z in [-0.5, 0.5] {
                    points.push(Vec3::new(x, y, z));
                }
            }
        }
        points
    }

    fn extent(camera: &Camera, aspect: f32) -> (f32, f32) {
        let matrix = camera.view_projection(aspect);
        corners().iter().fold((f32::MAX, f32::MIN), |(low, high), point| {
            let clip = matrix.project_point3(*point);
            assert!((0.0..=1.0).contains(&clip.z), "{clip}");
            (low.min(clip.x.min(clip.y)), high.max(clip.x.max(clip.y)))
        })
    }

    #[test]
    fn the_still_fills_the_picture_and_no_more() {
        for aspect in [0.5, 1.0, 2.0] {
            let (low, high) = extent(&Camera::still(&corners(), aspect), aspect);
            assert!(low >= -0.87 && high <= 0.87, "{aspect}: {low} {high}");
            assert!(high - low > 1.3, "{aspect}: {low} {high}");
        }
    }

    #[test]
    fn every_frame_of_a_turntable_holds_the_object_at_one_distance() {
        let cameras: Vec<_> = Camera::turntable(&corners(), 1.0, 24).collect();
        assert_eq!(cameras.len(), 24);
        for camera in &cameras {
            assert!((camera.distance - cameras[0].distance).abs() < 1e-6);
            assert_eq!(camera.target, cameras[0].target);
            let (low, high) = extent(camera, 1.0);
            assert!(low >= -0.9 && high <= 0.9, "{camera:?}: {low} {high}");
        }
    }
}
