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
use std::sync::{Mutex, PoisonError};
use tiles::Targets;
use upload::Uploads;

/// Whether `SAWAH_GPU=off` forbids the use of adapters (bad drivers, tests).
pub(crate) fn is_off() -> bool {
    wanted("off")
}

/// Whether `SAWAH_GPU=software` asks for adapters that are programs: our own rasteriser is quicker.
pub(crate) fn is_software_wanted() -> bool {
    wanted("software")
}

fn wanted(word: &str) -> bool {
    std::env::var_os("SAWAH_GPU").is_some_and(|value| value.eq_ignore_ascii_case(word))
}

/// The adapters that can draw, the best first: `llvmpipe (LLVM 15.0.6, 256 bits) · Vulkan`. Empty
/// with `SAWAH_GPU=off`.
pub(crate) fn adapters() -> Vec<String> {
    if is_off() {
        return Vec::new();
    }
    device::find().iter().map(device::describe).collect()
}

/// An open adapter with what every scene needs on it.
struct Rig {
    connection: Connection,
    pipelines: Pipelines,
    targets: Option<Targets>,
}

/// The adapter that no scene uses now: opening one takes longer than most pictures.
static IDLE: Mutex<Option<Rig>> = Mutex::new(None);

impl Rig {
    /// The idle one where it still works and will do, or a new one on the best adapter.
    fn take(software: bool) -> Result<Self, DrawError> {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).take();
        let fits = |connection: &Connection| software || !connection.is_software;
        if let Some(rig) =
            idle.filter(|rig| rig.connection.check().is_ok() && fits(&rig.connection))
        {
            return Ok(rig);
        }
        let connection = Connection::open(software)?;
        let pipelines = connection.guarded(|connection| Pipelines::new(&connection.device))?;
        Ok(Self { connection, pipelines, targets: None })
    }
}

/// One scene on one adapter.
pub(crate) struct Gpu {
    rig: Option<Rig>,
    uploads: Uploads,
    name: String,
}

/// The adapter waits for the next scene, unless something went wrong on it.
impl Drop for Gpu {
    fn drop(&mut self) {
        if let Some(rig) = self.rig.take().filter(|rig| rig.connection.check().is_ok()) {
            *IDLE.lock().unwrap_or_else(PoisonError::into_inner) = Some(rig);
        }
    }
}

impl Gpu {
    /// Connects to the best adapter, one that is a program only where `software` allows it, and
    /// uploads the scene.
    pub(crate) fn open(drawable: &Drawable, software: bool) -> Result<Self, DrawError> {
        let rig = Rig::take(software)?;
        let uploads = rig
            .connection
            .guarded(|connection| Uploads::new(connection, &rig.pipelines, drawable))?;
        let name = rig.connection.name.clone();
        Ok(Self { rig: Some(rig), uploads, name })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
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
        let order = self.uploads.far_to_near(drawable, studio);
        // Taken out: an adapter on which something failed is not used again.
        let gone = || DrawError::NoAdapter("it failed before".to_owned());
        let mut rig = self.rig.take().ok_or_else(gone)?;
        let image = self.draw_on(&mut rig, &order, studio, shadow, (width, height))?;
        self.rig = Some(rig);
        Ok(image)
    }

    fn draw_on(
        &self,
        rig: &mut Rig,
        order: &upload::Order,
        studio: &Studio,
        shadow: &ShadowMap,
        (width, height): (u32, u32),
    ) -> Result<LinearImage, DrawError> {
        let Rig { connection, pipelines, targets } = rig;
        let edge = tiles::TILE_PX.min(connection.device.limits().max_texture_dimension_2d);
        let size = (width.min(edge), height.min(edge));
        let fitting = targets.take().filter(|targets| targets.size == size);
        let targets = match fitting {
            Some(fitting) => targets.insert(fitting),
            None => targets
                .insert(connection.guarded(|connection| Targets::new(&connection.device, size))?),
        };
        connection.guarded(|connection| {
            upload::write_shadow(connection, pipelines, shadow);
            self.uploads.write_order(connection, order);
        })?;
        let mut image =
            LinearImage { width, height, pixels: vec![[0.0; 4]; width as usize * height as usize] };
        for top in (0..height).step_by(size.1 as usize) {
            for left in (0..width).step_by(size.0 as usize) {
                let cropped = tiles::cropped(studio, [left, top], size, [width, height]);
                connection.guarded(|connection| {
                    targets.draw(connection, pipelines, &self.uploads, order, &cropped)
                })??;
                let bytes = targets.read(connection)?;
                tiles::lay(&mut image, &bytes, size, [left, top]);
            }
        }
        Ok(image)
    }
}
