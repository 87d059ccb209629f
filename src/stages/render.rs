//! Render: draws stills, thumbnails and turntables of meshes, and makes finished pictures of images
//! and of the frames of a sequence.

use super::failure::{failure_from_io, png_failure};
use super::formats::{load_image, load_scene};
use super::source::read_json;
use super::transform::{FRAMES_FILE, FrameList, LIGHT_FILE, PICTURE_FILE, SCENE_FILE};
use super::{Produced, Reporter, StageOutput, StageRequest, StageResult};
use crate::model::{AssetKind, Chunk, Pass, Reason};
use crate::preview::{
    Artist, DecodedImage, DrawError, Grade, Picture, View, fit, tone_map, write_png,
};
use crate::protocol::work::Failure;
use crate::recipes::{FilmAlpha, Settings};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Percent when the inputs are read and the still is drawn; reading a scene alone counts to 20.
const STILL_DONE: f32 = 25.0;
/// The still picture of every asset.
pub const STILL_FILE: &str = "still.png";

/// The file of a turntable's frame, numbered from 1.
pub fn turntable_file(index: u32) -> String {
    format!("turntable/{index:04}.png")
}

/// The file of a sequence's finished frame, numbered from 1.
pub fn frame_file(index: u32) -> String {
    format!("frames/{index:06}.png")
}

/// The file of a thumbnail whose longest edge is this many pixels.
pub fn thumbnail_file(px: u32) -> String {
    format!("thumb-{px}.png")
}

/// The file of another pass of a mesh.
pub fn pass_file(pass: Pass) -> String {
    format!("pass-{}.png", pass.as_str())
}

/// Draws what the job's chunk asks for.
pub fn run(request: &StageRequest, reporter: &dyn Reporter) -> StageResult {
    if let Some(scene) = &request.assignment.settings.scene {
        return super::scene::draw::run(request, scene, reporter);
    }
    let mut render = Render {
        settings: &request.assignment.settings,
        transformed: request.input_dir.join("transform"),
        output_dir: &request.output_dir,
        reporter,
        output: StageOutput::default(),
    };
    match render.kind(request) {
        AssetKind::Mesh => render.mesh(request.assignment.chunk)?,
        AssetKind::Image => render.image()?,
        AssetKind::Sequence => render.sequence(request.assignment.chunk)?,
        AssetKind::Scene => {
            let why = "the recipe names no renderer for the scene: submit it with --renderer";
            return Err(Failure::new(Reason::SettingInvalid, why));
        }
    }
    reporter.progress(100.0, "drawn");
    Ok(render.output)
}

struct Render<'a> {
    settings: &'a Settings,
    transformed: PathBuf,
    output_dir: &'a Path,
    reporter: &'a dyn Reporter,
    output: StageOutput,
}

impl Render<'_> {
    fn kind(&self, request: &StageRequest) -> AssetKind {
        let there = |name: &str| self.transformed.join(name).is_file();
        request.assignment.input.kind.unwrap_or_else(|| {
            if there(SCENE_FILE) {
                AssetKind::Mesh
            } else if there(FRAMES_FILE) {
                AssetKind::Sequence
            } else {
                AssetKind::Image
            }
        })
    }

    fn mesh(&mut self, chunk: Chunk) -> Result<(), Failure> {
        let path = self.transformed.join(SCENE_FILE);
        self.reporter.progress(0.0, "reading the scene");
        let loaded = load_scene(&path, &self.transformed, self.reporter)?;
        let mut artist = Artist::open(&loaded.scene).map_err(|error| draw_failure(&error))?;
        self.reporter.log(&format!("drawing with {}", artist.name()));
        let count = self.settings.turntable_frames;
        let (still, frames) = parts(chunk, count)?;
        if still {
            let view = artist.still_view(self.settings.still_px, self.settings.still_px);
            let picture = self.drawn(&mut artist, &view)?;
            self.still(&picture)?;
            for pass in &self.settings.passes {
                let picture = self.drawn(&mut artist, &View { pass: *pass, ..view })?;
                self.save(&picture, pass_file(*pass))?;
            }
        }
        if !frames.is_empty() {
            let px = self.settings.turntable_px;
            let views = artist.turntable_views(px, px, count);
            let steps = Steps::of(&frames);
            for index in frames {
                let Some(view) = views.get(index as usize - 1) else { break };
                let picture = self.drawn(&mut artist, view)?;
                self.save(&picture, turntable_file(index))?;
                let message = format!("frame {index} of {count}");
                self.reporter.frame(index.cast_signed(), steps.percent(index), &message);
            }
        }
        self.output.report.drawn_by = Some(artist.name().to_owned());
        Ok(())
    }

    fn drawn(&self, artist: &mut Artist, view: &View) -> Result<Picture, Failure> {
        let picture = artist.draw(view).map_err(|error| draw_failure(&error))?;
        artist.notes().iter().for_each(|note| self.reporter.log(note));
        Ok(picture)
    }

    fn image(&mut self) -> Result<(), Failure> {
        let finished = self.transformed.join(PICTURE_FILE);
        let path = if finished.is_file() { finished } else { self.transformed.join(LIGHT_FILE) };
        self.reporter.progress(0.0, "reading the picture");
        let decoded = load_image(&path)?;
        let grade = self.grade(&decoded);
        let still = fit(&finished_picture(decoded, grade), self.settings.still_px);
        self.still(&still)
    }

    fn sequence(&mut self, chunk: Chunk) -> Result<(), Failure> {
        let list = self.frame_list()?;
        let count = u32::try_from(list.frames.len()).unwrap_or(u32::MAX);
        let (still, frames) = parts(chunk, count)?;
        let middle = list.frames.get(list.frames.len() / 2).ok_or_else(|| {
            Failure::new(Reason::InputNothingToDraw, "the sequence has no frames")
        })?;
        // One exposure for all frames, from a frame that every chunk has: no flicker.
        let decoded = load_image(&self.transformed.join(&middle.name))?;
        let grade = self.grade(&decoded);
        if still {
            let picture = fit(&finished_picture(decoded, grade), self.settings.still_px);
            self.still(&picture)?;
        }
        let steps = Steps::of(&frames);
        for index in frames {
            let Some(frame) = list.frames.get(index as usize - 1) else { break };
            let decoded = load_image(&self.transformed.join(&frame.name))?;
            let picture = fit(&finished_picture(decoded, grade), self.settings.film_px);
            let flat = match self.settings.film_alpha {
                FilmAlpha::Black => on_black(picture),
                FilmAlpha::Keep => picture,
            };
            self.save(&flat, frame_file(index))?;
            let message = format!("frame {index} of {count}");
            self.reporter.frame(index.cast_signed(), steps.percent(index), &message);
        }
        Ok(())
    }

    fn frame_list(&self) -> Result<FrameList, Failure> {
        let path = self.transformed.join(FRAMES_FILE);
        read_json(&path, "the frame list")
    }

    /// The recipe's tone map, and an exposure that is other than 0 only for a nearly black or white
    /// picture.
    fn grade(&self, decoded: &DecodedImage) -> Grade {
        let DecodedImage::Light(light) = decoded else { return Grade::default() };
        let grade = Grade::automatic(light, self.settings.tone_map);
        let (map, stops) = (grade.tone_map.title(), grade.exposure_stops);
        self.reporter.log(&format!("tone map {map}, exposure {stops:+.2} EV"));
        grade
    }

    /// The still picture and its thumbnails.
    fn still(&mut self, picture: &Picture) -> Result<(), Failure> {
        self.save(picture, STILL_FILE.to_owned())?;
        self.reporter.progress(STILL_DONE, "still drawn");
        for px in &self.settings.thumbnails_px {
            self.save(&fit(picture, *px), thumbnail_file(*px))?;
        }
        Ok(())
    }

    fn save(&mut self, picture: &Picture, name: String) -> Result<(), Failure> {
        if self.output.files.iter().any(|file| file.name == name) {
            return Ok(());
        }
        let path = self.output_dir.join(&name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| failure_from_io(&error, "a folder could not be made", folder))?;
        }
        write_png(picture, &path).map_err(|error| png_failure(&error))?;
        self.output.files.push(Produced { name, media_type: "image/png".to_owned() });
        Ok(())
    }
}

/// Whether the chunk wants the still, and which of `count` frames.
fn parts(chunk: Chunk, count: u32) -> Result<(bool, RangeInclusive<u32>), Failure> {
    match chunk {
        Chunk::Whole => Ok((true, 1..=count)),
        Chunk::Still => Ok((true, RangeInclusive::new(1, 0))),
        Chunk::Frames { first, last } if first >= 1 && last <= count => Ok((false, first..=last)),
        Chunk::Frames { first, last } => Err(Failure::new(
            Reason::SettingInvalid,
            format!("frames {first} to {last} were asked for, but there are {count}"),
        )),
    }
}

/// How far a run through frames is.
struct Steps {
    first: u32,
    count: f32,
}

impl Steps {
    fn of(frames: &RangeInclusive<u32>) -> Self {
        let count = (frames.end() + 1).saturating_sub(*frames.start()).max(1);
        Self { first: *frames.start(), count: count as f32 }
    }

    /// Percent when frame `index` is done.
    fn percent(&self, index: u32) -> f32 {
        STILL_DONE
            + (100.0 - STILL_DONE) * (index + 1).saturating_sub(self.first) as f32 / self.count
    }
}

/// Pixels as they are shown: light is tone-mapped.
pub(super) fn finished_picture(decoded: DecodedImage, grade: Grade) -> Picture {
    match decoded {
        DecodedImage::Display(picture) => picture,
        DecodedImage::Light(light) => tone_map(&light, grade),
    }
}

/// Most films have no alpha: what is transparent is black.
pub(super) fn on_black(mut picture: Picture) -> Picture {
    for pixel in picture.rgba.chunks_exact_mut(4) {
        if let [red, green, blue, alpha @ 0..=254] = pixel {
            for channel in [red, green, blue] {
                *channel = ((u16::from(*channel) * u16::from(*alpha) + 127) / 255) as u8;
            }
            *alpha = 255;
        }
    }
    picture
}

fn draw_failure(error: &DrawError) -> Failure {
    Failure::new(error.reason(), error.to_string())
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
