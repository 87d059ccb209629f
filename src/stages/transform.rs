//! Transform: brings foreign formats to the farm's own.

use super::failure::{failure_from_io, png_failure};
use super::formats::{
    Format, load_asset, load_scene, sniff_file, with_tangents, write_exr, write_glb,
};
use super::source::{Source, write_json};
use super::{Produced, Reporter, StageOutput, StageRequest, StageResult};
use crate::model::{AssetKind, Reason, limits};
use crate::preview::{DecodedImage, write_png};
use crate::protocol::work::{Failure, StageReport, Warning};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// The mesh that transform makes.
pub const SCENE_FILE: &str = "scene.glb";
/// The finished picture that transform makes of PNG, JPEG and alike.
pub const PICTURE_FILE: &str = "image.png";
/// The light that transform makes of EXR and HDR.
pub const LIGHT_FILE: &str = "image.exr";
/// The list of frames that transform makes of a sequence.
pub const FRAMES_FILE: &str = "frames.json";

/// The content of `frames.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrameList {
    /// Frames a second, if the source says it.
    pub fps: Option<f32>,
    /// The frames in order.
    pub frames: Vec<FrameEntry>,
}

/// One frame of a [`FrameList`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameEntry {
    /// Its place, from 1.
    pub index: u32,
    /// Its number in the source.
    pub number: i64,
    /// Its file: `frames/000001.png`.
    pub name: String,
}

/// Makes `scene.glb`, `image.png`, `image.exr`, or `frames.json` with the frames.
pub fn run(request: &StageRequest, reporter: &dyn Reporter) -> StageResult {
    if request.assignment.settings.scene.is_some() {
        reporter.log("a program reads the scene as it is");
        return Ok(StageOutput::default());
    }
    let source = Source::of(request)?;
    let format = source.format()?;
    let out = &request.output_dir;
    let mut output = match source.kind(request.assignment.input.kind, format) {
        AssetKind::Mesh => mesh(&source, out, reporter)?,
        AssetKind::Image => image(&source, out)?,
        AssetKind::Sequence => sequence(&source, out, reporter)?,
        AssetKind::Scene => StageOutput::default(),
    };
    output.report.warnings.truncate(limits::WARNINGS_PER_JOB);
    reporter.progress(100.0, "transformed");
    Ok(output)
}

fn made(name: &str, media_type: &str) -> Produced {
    Produced { name: name.to_owned(), media_type: media_type.to_owned() }
}

fn output(files: Vec<Produced>, warnings: Vec<Warning>) -> StageOutput {
    StageOutput { files, report: StageReport { warnings, ..StageReport::default() } }
}

fn mesh(source: &Source<'_>, out: &Path, reporter: &dyn Reporter) -> Result<StageOutput, Failure> {
    let mut loaded = load_scene(&source.main, &source.root, reporter)?;
    for note in with_tangents(&mut loaded) {
        reporter.log(&note);
    }
    let path = out.join(SCENE_FILE);
    write_glb(&loaded.scene, &path)
        .map_err(|error| failure_from_io(&error, "the scene could not be written", &path))?;
    // Inspect has told the warnings already.
    Ok(output(vec![made(SCENE_FILE, Format::Glb.media_type())], Vec::new()))
}

fn image(source: &Source<'_>, out: &Path) -> Result<StageOutput, Failure> {
    let (name, media_type) = match load_asset(&source.main)?.examined.image {
        DecodedImage::Display(picture) => {
            write_png(&picture, &out.join(PICTURE_FILE)).map_err(|error| png_failure(&error))?;
            (PICTURE_FILE, Format::Png.media_type())
        }
        DecodedImage::Light(light) => {
            let path = out.join(LIGHT_FILE);
            write_exr(&light, &path).map_err(|error| {
                failure_from_io(&error, "the picture could not be written", &path)
            })?;
            (LIGHT_FILE, Format::Exr.media_type())
        }
    };
    Ok(output(vec![made(name, media_type)], Vec::new()))
}

fn sequence(
    source: &Source<'_>,
    out: &Path,
    reporter: &dyn Reporter,
) -> Result<StageOutput, Failure> {
    let sequence = source.frames()?;
    let count = sequence.frames.len();
    let frame_count = u32::try_from(count).ok().filter(|count| *count <= limits::FRAMES);
    let frame_count = frame_count.ok_or_else(|| {
        Failure::new(
            Reason::InputTooLarge,
            format!("the sequence has {count} frames; at most {} can be used", limits::FRAMES),
        )
    })?;
    let folder = out.join("frames");
    fs::create_dir_all(&folder)
        .map_err(|error| failure_from_io(&error, "a folder could not be made", &folder))?;
    let mut files = Vec::new();
    let mut list = FrameList { fps: None, frames: Vec::new() };
    for (index, frame) in (1_u32..).zip(&sequence.frames) {
        let from = source.path(&frame.name)?;
        let format = sniff_file(&from)?;
        let name = format!("frames/{index:06}.{}", format.suffix());
        let to = out.join(&name);
        fs::copy(&from, &to)
            .map_err(|error| failure_from_io(&error, "a frame could not be copied", &to))?;
        files.push(made(&name, format.media_type()));
        list.frames.push(FrameEntry { index, number: frame.number, name });
        reporter.progress(90.0 * index as f32 / frame_count as f32, &frame.name);
    }
    write_json(&list, &out.join(FRAMES_FILE))?;
    files.push(made(FRAMES_FILE, "application/json"));
    let mut output = output(files, Vec::new());
    output.report.frame_count = Some(frame_count);
    Ok(output)
}
