//! Draws views of one scene, on the graphics adapter where there is one, else on the CPU.

use super::camera::Camera;
use super::cpu;
use super::develop::{Behind, develop};
#[cfg(feature = "gpu")]
use super::gpu::{Gpu, Wanted};
use super::ground::{Contact, Ground};
use super::picture::{LinearImage, Picture};
use super::prepare::{Drawable, MAX_TEXTURE_PX};
use super::scene::Scene;
use super::shadow::ShadowMap;
use super::studio::Studio;
use crate::model::{Pass, Reason};
use glam::Vec3;

/// Longest edge of a picture that is drawn, in pixels.
pub const MAX_PICTURE_PX: u32 = 8_192;

/// A picture could not be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DrawError {
    /// No triangle has three finite corners.
    #[error("the scene has no triangle with finite corners: nothing to draw")]
    NothingToDraw,
    /// The picture's size is outside its bounds.
    #[error(
        "cannot draw a picture of {width} × {height} pixels: each edge must be 1 to {MAX_PICTURE_PX}"
    )]
    Size {
        /// Width asked for.
        width: u32,
        /// Height asked for.
        height: u32,
    },
    /// No adapter can be used.
    #[error("no graphics adapter can draw: {0}")]
    NoAdapter(String),
    /// The adapter stopped working or refused a command.
    #[error("the graphics adapter '{adapter}' failed: {why}")]
    GpuLost {
        /// Its name.
        adapter: String,
        /// Its own words.
        why: String,
    },
    /// The adapter has too little memory.
    #[error("the graphics adapter '{adapter}' has too little memory: {why}")]
    GpuOutOfMemory {
        /// Its name.
        adapter: String,
        /// Its own words.
        why: String,
    },
}

impl DrawError {
    /// The stable code.
    pub const fn reason(&self) -> Reason {
        match self {
            Self::NothingToDraw => Reason::InputNothingToDraw,
            Self::Size { .. } => Reason::SettingInvalid,
            Self::NoAdapter(_) | Self::GpuLost { .. } => Reason::GpuLost,
            Self::GpuOutOfMemory { .. } => Reason::GpuOutOfMemory,
        }
    }
}

/// What is behind the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backdrop {
    /// The studio, with the object's shadow on its floor; a plain grey for all that is not light.
    #[default]
    Studio,
    /// Nothing: alpha 0, without a shadow.
    Transparent,
}

/// What is seen, and how large the picture is in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// Where it is seen from.
    pub camera: Camera,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// What of the object is shown.
    pub pass: Pass,
    /// What is behind it.
    pub backdrop: Backdrop,
}

impl View {
    /// The object in the light of the studio.
    pub fn new(camera: Camera, width: u32, height: u32) -> Self {
        Self { camera, width, height, pass: Pass::Beauty, backdrop: Backdrop::Studio }
    }
}

/// On what to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrawOn {
    /// The best adapter that is hardware, else the CPU. `SAWAH_GPU` in the environment says otherwise:
    /// `off`, `software` for adapters that are programs too, or a part of a name.
    Best,
    /// The CPU.
    Cpu,
    /// The best adapter, also one that is a program, or an error.
    Gpu,
}

/// Draws views of one scene.
pub struct Artist {
    drawable: Drawable,
    points: Vec<Vec3>,
    contact: Contact,
    #[cfg(feature = "gpu")]
    gpu: Option<Gpu>,
    /// What draws again when the adapter is lost; none when that has happened already.
    #[cfg(feature = "gpu")]
    spare: Option<Wanted>,
    notes: Vec<String>,
}

impl std::fmt::Debug for Artist {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Artist({})", self.name())
    }
}

impl Artist {
    /// Prepares a scene for the best adapter, or for the CPU where no adapter can be used.
    pub fn open(scene: &Scene) -> Result<Self, DrawError> {
        Self::open_on(scene, DrawOn::Best)
    }

    /// Prepares a scene for drawing on a chosen device.
    pub fn open_on(scene: &Scene, on: DrawOn) -> Result<Self, DrawError> {
        let drawable = Drawable::new(scene, MAX_TEXTURE_PX).ok_or(DrawError::NothingToDraw)?;
        let mut notes = drawable.notes.clone();
        #[cfg(feature = "gpu")]
        let gpu = open_gpu(&drawable, on, &mut notes)?;
        #[cfg(not(feature = "gpu"))]
        match on {
            DrawOn::Best => notes.push("built without the gpu feature: drawing on the CPU".into()),
            DrawOn::Cpu => {}
            DrawOn::Gpu => {
                return Err(DrawError::NoAdapter("built without the gpu feature".to_owned()));
            }
        }
        Ok(Self {
            points: drawable.points(),
            contact: Contact::new(&drawable),
            drawable,
            #[cfg(feature = "gpu")]
            spare: gpu.is_some().then(|| wanted(on)),
            #[cfg(feature = "gpu")]
            gpu,
            notes,
        })
    }

    /// What draws: `cpu`, or the adapter and its interface.
    #[cfg_attr(
        not(feature = "gpu"),
        expect(clippy::unnecessary_literal_bound, reason = "an adapter has its own name")
    )]
    pub fn name(&self) -> &str {
        #[cfg(feature = "gpu")]
        if let Some(gpu) = &self.gpu {
            return gpu.name();
        }
        "cpu"
    }

    /// What draws this of the object: all but its light the CPU.
    pub fn drawer(&self, pass: Pass) -> &str {
        if pass == Pass::Beauty { self.name() } else { "cpu" }
    }

    /// Lines for the log since the last call: what was left out, and why the CPU draws.
    pub fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// The three-quarter view, framed for a picture of this size.
    pub fn still_view(&self, width: u32, height: u32) -> View {
        let camera = Camera::still(&self.points, aspect(width, height));
        View::new(camera, width, height)
    }

    /// The views of a turntable of `count` frames, framed alike for pictures of this size.
    pub fn turntable_views(&self, width: u32, height: u32, count: u32) -> Vec<View> {
        let cameras = Camera::turntable(&self.points, aspect(width, height), count);
        cameras.map(|camera| View::new(camera, width, height)).collect()
    }

    /// Draws one view. An adapter that is lost is opened anew once; if it fails again, or has too
    /// little memory, the CPU draws this and all later views. [`Artist::notes`] says so.
    pub fn draw(&mut self, view: &View) -> Result<Picture, DrawError> {
        let (layer, ground) = self.layer(view)?;
        let behind = match (view.backdrop, view.pass) {
            (Backdrop::Transparent, _) => Behind::Nothing,
            (Backdrop::Studio, Pass::Beauty) => Behind::Studio(&view.camera, &ground),
            (Backdrop::Studio, _) => Behind::Plain,
        };
        Ok(develop(&layer, &behind))
    }

    /// The object alone (tone-mapped linear light, premultiplied alpha), and the floor.
    pub(crate) fn layer(&mut self, view: &View) -> Result<(LinearImage, Ground), DrawError> {
        let View { camera, width, height, pass, .. } = *view;
        if !(1..=MAX_PICTURE_PX).contains(&width) || !(1..=MAX_PICTURE_PX).contains(&height) {
            return Err(DrawError::Size { width, height });
        }
        let studio = Studio::new(&camera, aspect(width, height), self.drawable.ground_y);
        let shadow = ShadowMap::draw(&self.drawable, &studio);
        let ground = Ground::new(&self.contact, &shadow, &studio, self.drawable.ground_y);
        #[cfg(feature = "gpu")]
        if pass == Pass::Beauty {
            while let Some(gpu) = &mut self.gpu {
                match gpu.draw(&self.drawable, &studio, &shadow, width, height) {
                    Ok(layer) => return Ok((layer, ground)),
                    Err(error) => self.after(&error),
                }
            }
        }
        Ok((cpu::draw(pass, &self.drawable, &studio, &shadow, (width, height)), ground))
    }

    /// Opens a lost adapter anew, or goes on without one.
    #[cfg(feature = "gpu")]
    fn after(&mut self, error: &DrawError) {
        self.gpu = None;
        let lost = matches!(error, DrawError::GpuLost { .. });
        let next = match self.spare.take().filter(|_| lost) {
            Some(spare) => Gpu::open(&self.drawable, &spare),
            None => Err(error.clone()),
        };
        match next {
            Ok(gpu) => {
                self.notes.push(format!("{error}; '{}' was opened anew", gpu.name()));
                self.gpu = Some(gpu);
            }
            Err(_) => self.notes.push(format!("{error}; drawing on the CPU from here on")),
        }
    }

    /// Takes the adapter away under the scene.
    #[cfg(all(test, feature = "gpu"))]
    pub(crate) fn lose_adapter(&self) {
        if let Some(gpu) = &self.gpu {
            gpu.lose();
        }
    }
}

/// The graphics adapters that can draw, the best first: `llvmpipe (LLVM 15.0.6, 256 bits) ·
/// Vulkan`. Empty with `SAWAH_GPU=off`, and in a build without the `gpu` feature.
pub fn adapters() -> Vec<String> {
    #[cfg(feature = "gpu")]
    return super::gpu::adapters();
    #[cfg(not(feature = "gpu"))]
    Vec::new()
}

fn aspect(width: u32, height: u32) -> f32 {
    width.max(1) as f32 / height.max(1) as f32
}

#[cfg(feature = "gpu")]
fn open_gpu(
    drawable: &Drawable,
    on: DrawOn,
    notes: &mut Vec<String>,
) -> Result<Option<Gpu>, DrawError> {
    let wanted = wanted(on);
    match on {
        DrawOn::Cpu => Ok(None),
        DrawOn::Best if wanted == Wanted::Off => {
            notes.push("SAWAH_GPU=off: drawing on the CPU".to_owned());
            Ok(None)
        }
        DrawOn::Gpu => Gpu::open(drawable, &wanted).map(Some),
        DrawOn::Best => match Gpu::open(drawable, &wanted) {
            Ok(gpu) => Ok(Some(gpu)),
            Err(error) => {
                notes.push(format!("{error}; drawing on the CPU"));
                Ok(None)
            }
        },
    }
}

#[cfg(feature = "gpu")]
fn wanted(on: DrawOn) -> Wanted {
    match on {
        DrawOn::Cpu => Wanted::Off,
        DrawOn::Best => Wanted::here(),
        DrawOn::Gpu => Wanted::Any,
    }
}
