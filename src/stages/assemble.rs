//! Assemble: joins frames to a film and a contact sheet.
//!
//! Every frame is read before ffmpeg starts, for ffmpeg ends without an error at the first gap.

use super::failure::png_failure;
use super::film::{Film, Programs, encode};
use super::render::{frame_file, turntable_file};
use super::{Produced, Reporter, StageOutput, StageRequest, StageResult};
use crate::model::{AssetKind, Reason, limits};
use crate::preview::{Cell, contact_sheet, evenly_chosen, fit, read_png, write_png};
use crate::protocol::work::{Failure, StageReport, Warning};
use crate::recipes::FilmPolicy;
use std::path::Path;

/// The film of a mesh.
pub const TURNTABLE_FILM: &str = "turntable.mp4";
/// The film of a sequence.
pub const SEQUENCE_FILM: &str = "film.mp4";
/// The sheet of frames.
pub const SHEET_FILE: &str = "contact-sheet.png";

/// Most frames on a contact sheet, in how many columns, and the width of one in pixels.
const SHEET_FRAMES: u32 = 24;
const SHEET_COLUMNS: u32 = 6;
const SHEET_CELL_PX: u32 = 384;
/// Percent of the stage after which the frames are checked, and the film is made.
const CHECKED: f32 = 45.0;
const FILMED: f32 = 95.0;

/// Joins what render drew.
pub fn run(request: &StageRequest, reporter: &dyn Reporter) -> StageResult {
    run_with(request, reporter, &Programs::find())
}

/// The frames to join.
struct Frames {
    count: u32,
    file: fn(u32) -> String,
    pattern: &'static str,
    film: &'static str,
}

impl Frames {
    fn of(request: &StageRequest) -> Option<Self> {
        let assignment = &request.assignment;
        match assignment.input.kind {
            Some(AssetKind::Mesh) => Some(Self {
                count: assignment.settings.turntable_frames,
                file: turntable_file,
                pattern: "turntable/%04d.png",
                film: TURNTABLE_FILM,
            }),
            Some(AssetKind::Sequence) => Some(Self {
                count: assignment.input.frame_count.unwrap_or(0),
                file: frame_file,
                pattern: "frames/%06d.png",
                film: SEQUENCE_FILM,
            }),
            Some(AssetKind::Image) | None => None,
        }
        .filter(|frames| frames.count > 0)
    }
}

fn run_with(request: &StageRequest, reporter: &dyn Reporter, programs: &Programs) -> StageResult {
    let Some(frames) = Frames::of(request) else {
        reporter.log("there are no frames to join");
        return Ok(StageOutput::default());
    };
    let policy = request.assignment.settings.film;
    if policy == FilmPolicy::Required && programs.ffmpeg.is_none() {
        return Err(Failure::new(Reason::ProgramMissing, missing_ffmpeg()));
    }
    let folder = request.input_dir.join("render");
    let cells = checked(&frames, &folder, reporter)?;
    let mut output = StageOutput { files: Vec::new(), report: StageReport::default() };
    match (&programs.ffmpeg, policy) {
        (_, FilmPolicy::Never) => {}
        (None, _) => output
            .report
            .warnings
            .push(Warning { reason: Reason::ProgramMissing, message: missing_ffmpeg() }),
        (Some(ffmpeg), _) => {
            let film = Film {
                folder: &folder,
                pattern: frames.pattern,
                frames: frames.count,
                fps: request.assignment.settings.fps,
                target: &request.output_dir.join(frames.film),
            };
            let tell = |frame: u32| {
                let share = frame as f32 / frames.count as f32;
                let message = format!("frame {frame} of {} joined", frames.count);
                reporter.progress(CHECKED + (FILMED - CHECKED) * share, &message);
            };
            let warnings = encode(&film, ffmpeg, programs.ffprobe.as_deref(), reporter, tell)?;
            output.report.warnings.extend(warnings);
            output.files.push(produced(frames.film, "video/mp4"));
        }
    }
    let sheet = contact_sheet(&cells, SHEET_COLUMNS);
    write_png(&sheet, &request.output_dir.join(SHEET_FILE)).map_err(|error| png_failure(&error))?;
    output.files.push(produced(SHEET_FILE, "image/png"));
    reporter.progress(100.0, "joined");
    Ok(output)
}

fn produced(name: &str, media_type: &str) -> Produced {
    Produced { name: name.to_owned(), media_type: media_type.to_owned() }
}

fn missing_ffmpeg() -> String {
    "ffmpeg is not installed on this worker, so no film can be made. Run 'apt install ffmpeg' (or \
     get it from ffmpeg.org) and replay the job"
        .to_owned()
}

/// Reads every frame; small pictures of some of them for the sheet.
fn checked(frames: &Frames, folder: &Path, reporter: &dyn Reporter) -> Result<Vec<Cell>, Failure> {
    if frames.count > limits::FRAMES {
        let why = format!("{} frames are more than {}", frames.count, limits::FRAMES);
        return Err(Failure::new(Reason::InputTooLarge, why));
    }
    let chosen = evenly_chosen(frames.count, SHEET_FRAMES);
    let mut cells = Vec::with_capacity(chosen.len());
    let mut first_size = None;
    for index in 1..=frames.count {
        let name = (frames.file)(index);
        let path = folder.join(&name);
        if !path.is_file() {
            let why = format!("frame {index} of {} is missing: {name}", frames.count);
            return Err(Failure::new(Reason::OutputMissing, why));
        }
        let picture = read_png(&path).map_err(|error| png_failure(&error))?;
        let size = (picture.width, picture.height);
        let expected = *first_size.get_or_insert(size);
        if size != expected {
            let why = format!(
                "frame {index} of {} has {} × {} pixels, but the first has {} × {}: {name}",
                frames.count, size.0, size.1, expected.0, expected.1
            );
            return Err(Failure::new(Reason::OutputInvalid, why));
        }
        if chosen.binary_search(&index).is_ok() {
            cells.push(Cell { picture: fit(&picture, SHEET_CELL_PX), number: index });
        }
        let percent = CHECKED * index as f32 / frames.count as f32;
        reporter.frame(index, percent, &format!("frame {index} of {} checked", frames.count));
    }
    Ok(cells)
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
