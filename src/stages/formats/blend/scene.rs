//! Scenes and cameras.

use super::blocks::{Block, Blocks};
use super::error::BlendError;
use super::properties;
use serde::Serialize;

/// Object type of cameras.
const OBJECT_CAMERA: i64 = 11;

/// One scene of a file: what it renders when nothing is overridden.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlendScene {
    /// Its name.
    pub name: String,
    /// First frame.
    pub frame_start: i32,
    /// Last frame, inclusive.
    pub frame_end: i32,
    /// Every how many frames one is rendered; at least 1.
    pub frame_step: u32,
    /// Frames per second.
    pub fps: FrameRate,
    /// Width in pixels at 100 percent.
    pub width: u32,
    /// Height in pixels at 100 percent.
    pub height: u32,
    /// The share of width and height that is rendered.
    pub percent: u32,
    /// The render engine as Blender calls it: `CYCLES`, `BLENDER_EEVEE`, `BLENDER_WORKBENCH`.
    /// Files before 2.50 have no name for it: `BLENDER_RENDER`.
    pub engine: String,
    /// Name of the object that is looked through. Without it a render of this scene fails.
    pub active_camera: Option<String>,
    /// Samples for each pixel: Cycles where it was ever set, and EEVEE.
    pub samples: Option<u32>,
    /// Whether Cycles removes noise, where it was ever set. Before 3.0 each view layer has its own.
    pub uses_denoising: Option<bool>,
    /// Whether this is the scene that was open when the file was saved: the one rendered.
    pub is_active: bool,
}

/// Frames per second as Blender keeps them: 24 per 1.001 s is 23.976.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FrameRate {
    /// This many frames …
    pub frames: u32,
    /// … in this many seconds.
    pub seconds: f64,
}

impl FrameRate {
    /// Frames per second; `None` where the file holds no usable numbers.
    pub fn per_second(self) -> Option<f64> {
        let rate = f64::from(self.frames) / self.seconds;
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }
}

/// All scenes, in the order of the file.
pub(super) fn scenes(blocks: &Blocks) -> Result<Vec<BlendScene>, BlendError> {
    let active = active_scene(blocks);
    let mut scenes = Vec::new();
    for block in blocks.of_code(b"SC\0\0") {
        scenes.push(scene(blocks, block, active == Some(block.head.old))?);
    }
    if let [only] = scenes.as_mut_slice() {
        only.is_active = true;
    }
    Ok(scenes)
}

fn scene(blocks: &Blocks, block: &Block, is_active: bool) -> Result<BlendScene, BlendError> {
    let record = blocks.record(block)?;
    let name = record.id_name().ok_or_else(|| BlendError::corrupt("a scene has no name"))?;
    let frame = |path: &str| record.int(path).and_then(|frame| i32::try_from(frame).ok());
    let lacks = |what: &str| BlendError::corrupt(format!("the scene {name} has no {what}"));
    let engine = record.text("r.engine").unwrap_or_else(|| "BLENDER_RENDER".to_owned());
    Ok(BlendScene {
        frame_start: frame("r.sfra").ok_or_else(|| lacks("first frame"))?,
        frame_end: frame("r.efra").ok_or_else(|| lacks("last frame"))?,
        frame_step: record.count("r.frame_step").unwrap_or(1).max(1),
        fps: FrameRate {
            frames: record.count("r.frs_sec").ok_or_else(|| lacks("frame rate"))?,
            seconds: record.float("r.frs_sec_base").unwrap_or(1.0),
        },
        width: record.count("r.xsch").ok_or_else(|| lacks("width"))?,
        height: record.count("r.ysch").ok_or_else(|| lacks("height"))?,
        percent: record.count("r.size").unwrap_or(100),
        active_camera: active_camera(blocks, block)
            .and_then(|camera| blocks.record(camera).ok()?.id_name()),
        samples: samples(blocks, block, &engine),
        uses_denoising: (engine == "CYCLES")
            .then(|| properties::number(blocks, block, "cycles", "use_denoising"))
            .flatten()
            .map(|value| value != 0),
        is_active,
        engine,
        name,
    })
}

fn samples(blocks: &Blocks, scene: &Block, engine: &str) -> Option<u32> {
    if engine == "CYCLES" {
        return properties::number(blocks, scene, "cycles", "samples")?.try_into().ok();
    }
    let is_eevee = engine.starts_with("BLENDER_EEVEE");
    is_eevee.then(|| blocks.record(scene).ok()?.count("eevee.taa_render_samples")).flatten()
}

fn active_camera<'a>(blocks: &'a Blocks, scene: &Block) -> Option<&'a Block> {
    blocks.id_at(blocks.record(scene).ok()?.pointer("camera")?)
}

/// The address of the scene that was open; before 2.50 only its screen names it.
fn active_scene(blocks: &Blocks) -> Option<u64> {
    let global = blocks.of_code(b"GLOB").next()?;
    let record = blocks.record(global).ok()?;
    record.pointer("curscene").or_else(|| {
        let screen = blocks.id_at(record.pointer("curscreen")?)?;
        blocks.record(screen).ok()?.pointer("scene")
    })
}

/// Names of all cameras, sorted: objects that hold camera data, and linked ones that a scene looks
/// through (of other linked objects the file does not say what they are).
pub(super) fn cameras(blocks: &Blocks) -> Result<Vec<String>, BlendError> {
    let mut cameras = Vec::new();
    for block in blocks.of_code(b"OB\0\0") {
        let record = blocks.record(block)?;
        if record.int("type") == Some(OBJECT_CAMERA) {
            cameras.extend(record.id_name());
        }
    }
    for block in blocks.of_code(b"SC\0\0") {
        let linked = active_camera(blocks, block).filter(|camera| &camera.head.code == b"ID\0\0");
        cameras.extend(linked.and_then(|camera| blocks.record(camera).ok()?.id_name()));
    }
    cameras.sort();
    cameras.dedup();
    Ok(cameras)
}
