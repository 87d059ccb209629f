//! Draws on a graphics adapter, without a window.
//!
//! Adapters are reached by Vulkan, Metal or Direct3D 12; software adapters (lavapipe, WARP) count.
//! Nothing here panics on a lost device, a full memory or a refused command: each is a
//! [`DrawError`], and the caller goes on with the CPU.

mod device;
mod pipelines;
mod tiles;
mod upload;

use super::artist::DrawError;
use super::picture::LinearImage;
use super::prepare::Drawable;
use super::shadow::ShadowMap;
use super::studio::Studio;
use device::Connection;
use pipelines::Pipelines;
use tiles::Targets;
use upload::Uploads;

/// Whether `SAWAH_GPU=off` forbids the use of adapters (bad drivers, tests).
pub(crate) fn is_off() -> bool {
    std::env::var_os("SAWAH_GPU").is_some_and(|value| value.eq_ignore_ascii_case("off"))
}

/// The adapters that can draw, the best first: `llvmpipe (LLVM 15.0.6, 256 bits) · Vulkan`. Empty
/// with `SAWAH_GPU=off`.
pub(crate) fn adapters() -> Vec<String> {
    if is_off() {
        return Vec::new();
    }
    device::find().iter().map(device::describe).collect()
}

/// One scene on one adapter.
pub(crate) struct Gpu {
    connection: Connection,
    pipelines: Pipelines,
    uploads: Uploads,
    targets: Option<Targets>,
}

impl Gpu {
    /// Connects to the best adapter and uploads the scene.
    pub(crate) fn open(drawable: &Drawable) -> Result<Self, DrawError> {
        let connection = Connection::open()?;
        let (pipelines, uploads) = connection.guarded(|connection| {
            let pipelines = Pipelines::new(&connection.device);
            let uploads = Uploads::new(connection, &pipelines, drawable);
            (pipelines, uploads)
        })?;
        Ok(Self { connection, pipelines, uploads, targets: None })
    }

    pub(crate) fn name(&self) -> &str {
        &self.connection.name
    }

    /// The object alone: tone-mapped linear light, premultiplied alpha.
    pub(crate) fn draw(
        &mut self,
        drawable: &Drawable,
        studio: &Studio,
        shadow: &ShadowMap,
        width: u32,
        height: u32,
    ) -> Result<LinearImage, DrawError> {
        let edge = tiles::TILE_PX.min(self.connection.device.limits().max_texture_dimension_2d);
        let size = (width.min(edge), height.min(edge));
        if self.targets.as_ref().is_none_or(|targets| targets.size != size) {
            self.targets =
                Some(self.connection.guarded(|connection| Targets::new(&connection.device, size))?);
        }
        let Some(targets) = &self.targets else {
            return Err(self.connection.lost("the picture's memory is gone"));
        };
        let order = self.uploads.far_to_near(drawable, studio);
        self.connection.guarded(|connection| {
            upload::write_shadow(connection, &self.pipelines, shadow);
            self.uploads.write_order(connection, &order);
        })?;
        let mut image =
            LinearImage { width, height, pixels: vec![[0.0; 4]; width as usize * height as usize] };
        for top in (0..height).step_by(size.1 as usize) {
            for left in (0..width).step_by(size.0 as usize) {
                let cropped = tiles::cropped(studio, [left, top], size, [width, height]);
                self.connection.guarded(|connection| {
                    let Self { pipelines, uploads, .. } = self;
                    targets.draw(connection, pipelines, uploads, &order, &cropped)
                })??;
                let bytes = targets.read(&self.connection)?;
                tiles::lay(&mut image, &bytes, size, [left, top]);
            }
        }
        Ok(image)
    }
}
