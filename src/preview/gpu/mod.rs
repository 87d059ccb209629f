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

/// Which adapters may draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// None: bad drivers, tests.
    Off,
    /// Those that are hardware: our own rasteriser is quicker than a program that plays an adapter.
    Hardware,
    /// All.
    Any,
    /// Those whose name holds this, in small letters.
    Named(String),
}

impl Wanted {
    /// As `SAWAH_GPU` in the environment says: `off`, `software`, a part of a name, or `auto`.
    pub(crate) fn here() -> Self {
        Self::parse(&std::env::var("SAWAH_GPU").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        match text.trim().to_lowercase().as_str() {
            "" | "auto" => Self::Hardware,
            "off" => Self::Off,
            "software" => Self::Any,
            name => Self::Named(name.to_owned()),
        }
    }

    /// Whether one with this name may draw.
    fn fits(&self, name: &str, is_software: bool) -> bool {
        match self {
            Self::Off => false,
            Self::Hardware => !is_software,
            Self::Any => true,
            Self::Named(part) => name.to_lowercase().contains(part.as_str()),
        }
    }
}

/// Whether no adapter may be used.
pub(crate) fn is_off() -> bool {
    Wanted::here() == Wanted::Off
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
    fn take(wanted: &Wanted) -> Result<Self, DrawError> {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).take();
        let fits = |rig: &Self| wanted.fits(&rig.connection.name, rig.connection.is_software);
        if let Some(rig) = idle.filter(|rig| rig.connection.check().is_ok() && fits(rig)) {
            return Ok(rig);
        }
        let connection = connect(wanted)?;
        let pipelines = connection.guarded(|connection| Pipelines::new(&connection.device))?;
        Ok(Self { connection, pipelines, targets: None })
    }
}

/// The last search that found no adapter, and what it said.
static NONE: Mutex<Option<(Wanted, DrawError)>> = Mutex::new(None);

/// Opens the best adapter. Where none fits, this is remembered as long as the process lives: to look
/// again takes as long as a small picture.
fn connect(wanted: &Wanted) -> Result<Connection, DrawError> {
    let mut none = NONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, error)) = none.as_ref().filter(|(known, _)| known == wanted) {
        return Err(error.clone());
    }
    let opened = Connection::open(wanted);
    if let Err(error @ DrawError::NoAdapter(_)) = &opened {
        *none = Some((wanted.clone(), error.clone()));
    }
    opened
}

/// One scene on one adapter.
pub(crate) struct Gpu {
    rig: Option<Rig>,
    uploads: Option<Uploads>,
    name: String,
}

/// The adapter waits for the next scene, unless something went wrong on it.
impl Drop for Gpu {
    fn drop(&mut self) {
        self.uploads = None;
        if let Some(rig) = self.rig.take().filter(|rig| rig.connection.check().is_ok()) {
            // What was dropped is freed when the adapter is asked next.
            let _ = rig.connection.device.poll(wgpu::PollType::wait_indefinitely());
            *IDLE.lock().unwrap_or_else(PoisonError::into_inner) = Some(rig);
        }
    }
}

impl Gpu {
    /// Connects to the best adapter that may draw, and uploads the scene.
    pub(crate) fn open(drawable: &Drawable, wanted: &Wanted) -> Result<Self, DrawError> {
        let rig = Rig::take(wanted)?;
        let uploads = rig
            .connection
            .guarded(|connection| Uploads::new(connection, &rig.pipelines, drawable))?;
        let name = rig.connection.name.clone();
        Ok(Self { rig: Some(rig), uploads: Some(uploads), name })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Ends the adapter's device, as a driver that crashes does.
    #[cfg(test)]
    pub(crate) fn lose(&self) {
        if let Some(rig) = &self.rig {
            rig.connection.device.destroy();
        }
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
        // Taken out: an adapter on which something failed is not used again.
        let gone = || DrawError::NoAdapter("it failed before".to_owned());
        let mut rig = self.rig.take().ok_or_else(gone)?;
        let uploads = self.uploads.as_ref().ok_or_else(gone)?;
        let order = uploads.far_to_near(drawable, studio);
        let image = draw_on(&mut rig, uploads, &order, studio, shadow, (width, height))?;
        self.rig = Some(rig);
        Ok(image)
    }
}

fn draw_on(
    rig: &mut Rig,
    uploads: &Uploads,
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
        None => {
            targets.insert(connection.guarded(|connection| Targets::new(&connection.device, size))?)
        }
    };
    connection.guarded(|connection| {
        upload::write_shadow(connection, pipelines, shadow);
        uploads.write_order(connection, order);
    })?;
    let mut image =
        LinearImage { width, height, pixels: vec![[0.0; 4]; width as usize * height as usize] };
    for top in (0..height).step_by(size.1 as usize) {
        for left in (0..width).step_by(size.0 as usize) {
            let cropped = tiles::cropped(studio, [left, top], size, [width, height]);
            connection.guarded(|connection| {
                targets.draw(connection, pipelines, uploads, order, &cropped)
            })??;
            let bytes = targets.read(connection)?;
            tiles::lay(&mut image, &bytes, size, [left, top]);
        }
    }
    Ok(image)
}

#[cfg(test)]
mod wanted_tests {
    use super::*;

    #[test]
    fn adapters_are_wanted_by_kind_or_by_name() {
        let (card, lavapipe) = ("NVIDIA RTX A4000 · Vulkan", "llvmpipe (LLVM 15) · Vulkan");
        for (text, of_card, of_program) in [
            ("", true, false),
            ("auto", true, false),
            ("OFF", false, false),
            ("software", true, true),
            ("rtx a4000", true, false),
            ("llvmpipe", false, true),
            ("radeon", false, false),
        ] {
            let wanted = Wanted::parse(text);
            let fits = (wanted.fits(card, false), wanted.fits(lavapipe, true));
            assert_eq!(fits, (of_card, of_program), "{text}");
        }
    }
}
