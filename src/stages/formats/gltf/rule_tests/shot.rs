//! Draws a scene by an adapter and by the processor, reads numbers from both pictures, and
//! compares them with the stored one.

use crate::preview::{
    Artist, Camera, DrawOn, LinearImage, Picture, Scene, USUAL_PIXELS_PER_DEGREE, View, adapters,
    flip, read_png, write_png,
};
use glam::{Mat4, Vec3, Vec4};
use std::path::{Path, PathBuf};

const PX: u32 = 256;

/// How far two pictures may be apart, by FLIP.
struct Tolerance {
    mean: f32,
    /// Share of the pixels that may differ by more than [`FAR`], which anybody sees.
    far: f32,
}

const FAR: f32 = 0.15;
/// The stored picture and lavapipe. On one machine they are equal to the byte. Another version of
/// LLVM, or vectors of another width, may round a sum otherwise: one step of a byte everywhere is
/// 0.03, so that on an eighth of the picture, and single samples on edges (a thousandth of the
/// pixels).
const SAME: Tolerance = Tolerance { mean: 0.004, far: 0.001 };
/// Another adapter, or the processor. Where an edge runs, how a texture is filtered on a slant and
/// derivatives (of pairs of pixels, or exact) are left to each. That touches pixels on outlines and
/// on creases of bent normals only: a 200th of a picture this small, and a mean well below what wgpu
/// allows between its own backends (0.015 and more). Measured: 0.004 at most.
const OTHER: Tolerance = Tolerance { mean: 0.01, far: 0.005 };

/// Straight from the front (+Z), all that lies within the bounding sphere.
pub(super) fn front() -> Camera {
    Camera { azimuth: 0.0, elevation: 0.0, ..corner() }
}

/// From the right, the front and above.
pub(super) fn corner() -> Camera {
    Camera {
        azimuth: 0.6,
        elevation: 0.35,
        distance: 4.0,
        target: Vec3::ZERO,
        fov_y: std::f32::consts::FRAC_PI_6,
    }
}

/// A scene drawn by all that can draw.
pub(super) struct Shot {
    pub(super) taken: Vec<Taken>,
}

/// One picture.
pub(super) struct Taken {
    pub(super) by: String,
    pub(super) picture: Picture,
    layer: LinearImage,
    /// From the scene's own coordinates to the picture.
    to_clip: Mat4,
}

impl Shot {
    pub(super) fn of(scene: &Scene, camera: Camera) -> Self {
        let mut on = vec![DrawOn::Cpu];
        if std::env::var_os("SAWAH_GPU").is_none_or(|word| word != "off") {
            assert!(
                !adapters().is_empty(),
                "no graphics adapter: run 'apt install mesa-vulkan-drivers' (a software adapter), \
                 or set SAWAH_GPU=off to leave it out"
            );
            on.insert(0, DrawOn::Gpu);
        }
        let to_clip = camera.view_projection(1.0) * to_sphere(scene);
        let view = View::new(camera, PX, PX);
        let taken = on.into_iter().map(|on| {
            let mut artist = Artist::open_on(scene, on).expect("can draw");
            let (layer, _) = artist.layer(&view).expect("drawn");
            let picture = artist.draw(&view).expect("drawn");
            Taken { by: artist.name().to_owned(), picture, layer, to_clip }
        });
        Self { taken: taken.collect() }
    }

    /// Holds this picture against the stored one, and the processor against the adapter.
    pub(super) fn holds(&self, name: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/references");
        let path = folder.join(format!("{name}.png"));
        let [first, rest @ ..] = self.taken.as_slice() else { panic!("nothing was drawn") };
        if std::env::var_os("SAWAH_WRITE_REFERENCES").is_some() {
            assert!(first.by.contains("llvmpipe"), "{} is not lavapipe", first.by);
            write_png(&first.picture, &path).expect("written");
        }
        let stored = read_png(&path).expect("a stored picture: SAWAH_WRITE_REFERENCES=1 makes it");
        let limit = if first.by.contains("llvmpipe") { SAME } else { OTHER };
        compare(&stored, &first.picture, &limit, &format!("{name}: stored and {}", first.by));
        for other in rest {
            let what = format!("{name}: {} and {}", first.by, other.by);
            compare(&first.picture, &other.picture, &OTHER, &what);
        }
    }

    /// Both scenes look the same on each device: at most a 200th of the pixels differ by more than
    /// `bytes`.
    pub(super) fn same_as(&self, other: &Self, bytes: u8) {
        for (one, other) in self.taken.iter().zip(&other.taken) {
            let far = one.apart(other, bytes);
            if far * 200 > (PX * PX) as usize {
                let what = format!("{}: {far} pixels differ by more than {bytes}", one.by);
                panic!("{what}: see {}", keep(&one.picture, &other.picture, &what).display());
            }
        }
    }

    /// Both scenes look different on each device.
    pub(super) fn differs_from(&self, other: &Self, bytes: u8) {
        for (one, other) in self.taken.iter().zip(&other.taken) {
            let far = one.apart(other, bytes);
            assert!(far * 100 > (PX * PX) as usize, "{}: only {far} pixels differ", one.by);
        }
    }
}

/// The bounding sphere has radius 1 around the origin when a scene is drawn.
fn to_sphere(scene: &Scene) -> Mat4 {
    let bounds = scene.bounds().expect("has corners");
    let middle = (bounds.min + bounds.max) * 0.5;
    let corners = scene
        .parts
        .iter()
        .flat_map(|part| part.indices.iter().filter_map(|at| part.positions.get(*at as usize)));
    let radius = corners
        .filter(|corner| corner.is_finite())
        .map(|corner| corner.distance(middle))
        .fold(0.0, f32::max);
    Mat4::from_scale(Vec3::splat(radius.recip())) * Mat4::from_translation(-middle)
}

fn compare(one: &Picture, other: &Picture, limit: &Tolerance, what: &str) {
    let map = flip(one, other, USUAL_PIXELS_PER_DEGREE).expect("comparable");
    let (mean, far) = (map.mean(), map.share_above(FAR));
    eprintln!("{what}: FLIP {mean:.5}, far {far:.5}");
    assert!(
        mean <= limit.mean && far <= limit.far,
        "{what}: FLIP {mean} (at most {}), {far} of the pixels far apart (at most {}): see {}",
        limit.mean,
        limit.far,
        keep(one, other, what).display()
    );
}

/// Leaves "reference | actual | difference" to be looked at.
fn keep(one: &Picture, other: &Picture, what: &str) -> PathBuf {
    let folder = tempfile::Builder::new().prefix("sawah-kept-").tempdir().expect("a folder").keep();
    let difference = flip(one, other, USUAL_PIXELS_PER_DEGREE).expect("comparable").picture();
    let row = one.width as usize * 4;
    let lines = [one, other, &difference].map(|picture| picture.rgba.chunks(row));
    let [a, b, c] = lines;
    let rgba = a.zip(b).zip(c).flat_map(|((a, b), c)| [a, b, c].concat()).collect();
    let plain: String = what.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    let path = folder.join(format!("{plain}.png"));
    let panels = Picture { width: one.width * 3, height: one.height, rgba };
    write_png(&panels, &path).expect("written");
    path
}

impl Taken {
    /// Column and row of a point of the scene.
    pub(super) fn pixel(&self, at: Vec3) -> [f32; 2] {
        let seen = self.to_clip.project_point3(at);
        [(seen.x + 1.0) * 0.5 * PX as f32, (1.0 - seen.y) * 0.5 * PX as f32]
    }

    /// The object's light at a point of the scene (tone-mapped, linear, premultiplied): the mean
    /// of 3 × 3 pixels. Nothing outside the picture.
    pub(super) fn at(&self, at: Vec3) -> Vec4 {
        let [x, y] = self.pixel(at);
        let mut sum = Vec4::ZERO;
        for step in 0..9 {
            let (x, y) = (x as i32 + step % 3 - 1, y as i32 + step / 3 - 1);
            let inside = (0..PX.cast_signed()).contains(&x) && (0..PX.cast_signed()).contains(&y);
            if inside {
                sum += Vec4::from(self.layer.pixels[(y * PX.cast_signed() + x) as usize]);
            }
        }
        sum / 9.0
    }

    /// The finished bytes at a point of the scene.
    pub(super) fn bytes(&self, at: Vec3) -> [u8; 3] {
        let [x, y] = self.pixel(at).map(|edge| edge as usize);
        let first = (y * PX as usize + x) * 4;
        let rgba = &self.picture.rgba[first..first + 3];
        [rgba[0], rgba[1], rgba[2]]
    }

    /// The greatest light of each channel in a square of the picture around a point.
    pub(super) fn most(&self, at: Vec3, half_px: i32) -> Vec4 {
        let [x, y] = self.pixel(at);
        let mut most = Vec4::ZERO;
        for down in -half_px..=half_px {
            for across in -half_px..=half_px {
                let (x, y) = ((x as i32 + across) as usize, (y as i32 + down) as usize);
                most = most.max(Vec4::from(self.layer.pixels[y * PX as usize + x]));
            }
        }
        most
    }

    /// The mean column and row of the pixels that are mostly of one channel.
    pub(super) fn middle_of(&self, channel: usize) -> [f32; 2] {
        let (mut sum, mut count) = ([0.0; 2], 0.0);
        for (at, pixel) in self.layer.pixels.iter().enumerate() {
            let others = (0..3).filter(|other| *other != channel).map(|other| pixel[other]);
            if pixel[channel] > 0.3 && others.fold(0.0, f32::max) < 0.1 {
                sum[0] += (at % PX as usize) as f32;
                sum[1] += (at / PX as usize) as f32;
                count += 1.0;
            }
        }
        assert!(count > 0.0, "{}: nothing of channel {channel}", self.by);
        sum.map(|sum| sum / count)
    }

    /// Pixels in which a byte differs by more than `bytes`.
    fn apart(&self, other: &Self, bytes: u8) -> usize {
        let pairs = self.picture.rgba.chunks(4).zip(other.picture.rgba.chunks(4));
        pairs.filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > bytes)).count()
    }

    /// Fails unless the light at a point is as expected.
    #[track_caller]
    pub(super) fn is(&self, at: Vec3, expected: [f32; 4], by: f32) {
        let found = self.at(at);
        assert!(
            found.abs_diff_eq(Vec4::from(expected), by),
            "{}: {found} at {at} instead of {expected:?}",
            self.by
        );
    }
}
