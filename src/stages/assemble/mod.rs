//! Assemble: joins frames to a film, a contact sheet and small pictures.
//!
//! Every frame is read before ffmpeg starts, for ffmpeg ends without an error at the first gap.

mod feed;
mod film;
mod frames;
mod gaps;
mod look;
mod moving;
mod probe;
pub(super) mod programs;
mod scene;
#[cfg(test)]
mod film_tests;
#[cfg(test)]
mod scene_tests;
#[cfg(test)]
mod tests;

use self::feed::Feed;
use self::film::{Film, encode, encoder};
use self::frames::Frames;
use self::look::{CHECKED, Look, Looked, look};
use self::programs::{Encoders, Programs};
use super::failure::png_failure;
use super::render::{STILL_FILE, finished_picture, thumbnail_file};
use super::{Produced, Reporter, StageOutput, StageRequest, StageResult};
use crate::model::{AssetKind, Reason};
use crate::preview::{Grade, Picture, contact_sheet, fit, write_png};
use crate::protocol::work::{Failure, Warning};
use crate::recipes::{FilmPolicy, MovingPicture, Settings};
use std::borrow::Cow;
use std::path::Path;

/// The sheet of frames.
pub const SHEET_FILE: &str = "contact-sheet.png";

/// Columns of the contact sheet.
const SHEET_COLUMNS: u32 = 6;
/// Percent of the stage when the film is made.
const FILMED: f32 = 90.0;

/// Joins what render drew.
pub fn run(request: &StageRequest, reporter: &dyn Reporter) -> StageResult {
    run_with(request, reporter, &Programs::find())
}

fn run_with(request: &StageRequest, reporter: &dyn Reporter, programs: &Programs) -> StageResult {
    let Some(frames) = Frames::of(request)? else {
        reporter.log("there are no frames to join");
        return Ok(StageOutput::default());
    };
    let settings = &request.assignment.settings;
    if settings.film == FilmPolicy::Required && programs.ffmpeg.is_none() {
        return Err(Failure::new(Reason::ProgramMissing, missing_ffmpeg()));
    }
    let mut assemble = Assemble {
        settings,
        frames: &frames,
        folder: &request.output_dir,
        programs,
        reporter,
        output: StageOutput::default(),
    };
    let plan = assemble.wants_film().then(|| gaps::plan(&frames, settings.gaps)).transpose()?;
    match look(&frames, settings.tone_map, reporter)? {
        Look::Good(looked) => {
            if let Some(plan) = plan {
                assemble.tell_gaps(plan.warning);
                assemble.films(&plan.shown, looked.grade)?;
            }
            assemble.pictures(looked)?;
        }
        Look::Foreign(name) => assemble.foreign(&name)?,
    }
    reporter.progress(100.0, "joined");
    Ok(assemble.output)
}

fn missing_ffmpeg() -> String {
    "ffmpeg is not installed on this worker, so no film can be made. Run 'apt install ffmpeg' (or \
     get it from ffmpeg.org) and replay the job"
        .to_owned()
}

struct Assemble<'a> {
    settings: &'a Settings,
    frames: &'a Frames,
    folder: &'a Path,
    programs: &'a Programs,
    reporter: &'a dyn Reporter,
    output: StageOutput,
}

impl Assemble<'_> {
    fn wants_film(&self) -> bool {
        let settings = self.settings;
        settings.film != FilmPolicy::Never || settings.moving_picture != MovingPicture::None
    }

    /// What is missing of a sequence is a warning of inspect already.
    fn tell_gaps(&mut self, warning: Option<Warning>) {
        let Some(warning) = warning else { return };
        self.reporter.log(&warning.message);
        if self.frames.kind != AssetKind::Sequence {
            self.output.report.warnings.push(warning);
        }
    }

    /// Frames that are right but cannot be read here: nothing can be made of them.
    fn foreign(&mut self, name: &str) -> Result<(), Failure> {
        let message = format!(
            "the frames are of a format that cannot be read here, so no film and no pictures are made of them. Render PNG, EXR, TIFF or JPEG. {name}"
        );
        if self.settings.film == FilmPolicy::Required {
            return Err(Failure::new(Reason::InputUnsupported, message));
        }
        self.warn(Reason::InputUnsupported, message);
        Ok(())
    }

    fn warn(&mut self, reason: Reason, message: String) {
        self.output.report.warnings.push(Warning { reason, message });
    }

    /// What ffmpeg makes: the film and the moving picture.
    fn films(&mut self, shown: &[gaps::Shown], grade: Grade) -> Result<(), Failure> {
        let Some(ffmpeg) = &self.programs.ffmpeg else {
            self.warn(Reason::ProgramMissing, missing_ffmpeg());
            return Ok(());
        };
        let known = Encoders::of(ffmpeg)?;
        let settings = self.settings;
        let feed = Feed {
            frames: self.frames,
            shown: Cow::Borrowed(shown),
            grade,
            longest_px: settings.film_px,
            alpha: settings.film_alpha,
        };
        if let Some(kind) = moving::kind(settings.moving_picture) {
            match moving::lack(kind, &known) {
                None => {
                    moving::make(kind, &feed, settings.fps, ffmpeg, self.folder, self.reporter)?;
                    self.made(kind.file.to_owned(), kind.media_type);
                }
                Some(why) if settings.film == FilmPolicy::Required => {
                    return Err(Failure::new(Reason::ProgramMissing, why));
                }
                Some(why) => self.warn(Reason::ProgramMissing, why),
            }
        }
        if settings.film == FilmPolicy::Never {
            return Ok(());
        }
        let codec = settings.film_codec;
        let (encoder, warning) = encoder(codec, settings.film_alpha, settings.film, &known)?;
        self.output.report.warnings.extend(warning);
        let Some(encoder) = encoder else { return Ok(()) };
        let name = format!("{}.{}", self.frames.film, codec.facts().suffix);
        let count = feed.count();
        let target = self.folder.join(&name);
        let film = Film { codec, alpha: settings.film_alpha, fps: settings.fps, feed, target };
        let tell = |frame: u32| {
            let percent = CHECKED + (FILMED - CHECKED) * frame as f32 / count as f32;
            self.reporter.progress(percent, &format!("frame {frame} of {count} joined"));
        };
        encode(&film, &encoder, ffmpeg, self.programs, self.reporter, tell)?;
        self.made(name, codec.facts().media_type);
        Ok(())
    }

    /// The sheet; of a scene also the still and its thumbnails, which render makes of the others.
    fn pictures(&mut self, looked: Looked) -> Result<(), Failure> {
        let sheet = contact_sheet(&looked.cells, SHEET_COLUMNS);
        self.save(&sheet, SHEET_FILE.to_owned())?;
        if self.frames.kind != AssetKind::Scene {
            return Ok(());
        }
        let Some(middle) = looked.middle else { return Ok(()) };
        let still = fit(&finished_picture(middle, looked.grade), self.settings.still_px);
        self.save(&still, STILL_FILE.to_owned())?;
        for px in &self.settings.thumbnails_px {
            self.save(&fit(&still, *px), thumbnail_file(*px))?;
        }
        Ok(())
    }

    fn save(&mut self, picture: &Picture, name: String) -> Result<(), Failure> {
        if self.output.files.iter().any(|file| file.name == name) {
            return Ok(());
        }
        write_png(picture, &self.folder.join(&name)).map_err(|error| png_failure(&error))?;
        self.made(name, "image/png");
        Ok(())
    }

    fn made(&mut self, name: String, media_type: &str) {
        self.output.files.push(Produced { name, media_type: media_type.to_owned() });
    }
}
