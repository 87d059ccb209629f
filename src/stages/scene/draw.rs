//! Draws a chunk of a scene's frames with the program of its renderer profile.
//!
//! The exit code is not believed: a chunk is done when each of its frames is there and right.
//! Frames that are right are kept whatever becomes of the others.

use super::super::{Reporter, StageOutput, StageRequest, StageResult};
use super::order::Order;
use super::pictures::{Pictures, produced};
use super::session::Session;
use crate::model::frames::FrameList;
use crate::model::{Chunk, ErrorClass, Reason};
use crate::protocol::work::{Failure, StageReport};
use crate::recipes::SceneSettings;
use crate::renderers::Unit;
use crate::renderers::output::Expect;
use std::collections::VecDeque;
use std::io::Write as _;
use std::path::Path;

/// Draws what the job's chunk asks for.
pub fn run(request: &StageRequest, scene: &SceneSettings, reporter: &dyn Reporter) -> StageResult {
    let order = Order::of(request, scene)?;
    let chunk = chunk(request, scene, &order)?;
    let folder = order.out.parent().unwrap_or(&request.output_dir);
    std::fs::create_dir_all(folder).map_err(|error| {
        super::super::failure::failure_from_io(&error, "a folder could not be made", folder)
    })?;
    super::look::version_fits(&order)?;
    let kept = &request.assignment.kept;
    let mut pictures = Pictures::new(&order.out, chunk.clone(), kept);
    if !kept.is_empty() {
        let done = pictures.done();
        reporter.log(&format!("{done} of {} frames are kept of an earlier attempt", chunk.count()));
    }
    let expect = scene.expect.unwrap_or(order.profile.output.expect);
    let frames = if expect == Expect::Frames { pictures.missing() } else { Some(chunk.clone()) };
    let runs = Runs { order: &order, reporter, request, expect, total: chunk.count() };
    let (failed, peak_bytes) = runs.all(frames.as_ref(), &mut pictures);
    finish(&order, pictures, expect, failed, peak_bytes)
        .map_err(|failure| unwritable(&order, failure))
}

/// Runs in a row that bring no new frame and end an attempt.
const BARREN_RUNS: u32 = 10;
/// The same while there is no frame at all: then hardly a single one is at fault.
const FIRST_BARREN_RUNS: u32 = 2;

/// The runs of a program that together draw a chunk.
struct Runs<'a> {
    order: &'a Order<'a>,
    reporter: &'a dyn Reporter,
    request: &'a StageRequest,
    expect: Expect,
    total: u32,
}

impl Runs<'_> {
    /// Runs the program until each frame had its turn; what failed last, and the most memory taken.
    fn all(&self, frames: Option<&FrameList>, pictures: &mut Pictures) -> (Option<Failure>, u64) {
        let mut parts: VecDeque<FrameList> =
            frames.into_iter().flat_map(|frames| self.order.runs(frames)).collect();
        let (mut failed, mut peak_bytes, mut barren) = (None, 0, 0);
        while let Some(part) = parts.pop_front() {
            let done = pictures.done();
            let mut session = Session {
                request: self.request,
                order: self.order,
                pictures,
                reporter: self.reporter,
                memory_bytes: self.request.assignment.limits.memory_bytes,
                expect: self.expect,
                total: self.total,
            };
            let failure = match session.run(&part, &self.request.output_dir.join("program.log")) {
                Ok(bytes) => {
                    peak_bytes = peak_bytes.max(bytes);
                    continue;
                }
                Err(failure) => failure,
            };
            // Another frame may be drawn where one crashed; what is wrong with the scene or the
            // machine is wrong for all.
            let goes_on = failure.class == ErrorClass::Unknown;
            failed = Some(failure);
            barren = if pictures.done() > done { 0 } else { barren + 1 };
            let most = if pictures.done() > 0 { BARREN_RUNS } else { FIRST_BARREN_RUNS };
            if !goes_on || barren >= most {
                break;
            }
            if self.expect == Expect::Frames && self.order.profile.command.unit != Unit::Whole {
                let rest = behind_the_fault(&part, pictures);
                let rest = rest.iter().flat_map(|rest| self.order.runs(rest));
                rest.collect::<Vec<_>>().into_iter().rev().for_each(|run| parts.push_front(run));
            }
        }
        (failed, peak_bytes)
    }
}

/// What is left of a part whose run ended early, without the frame at which it did.
fn behind_the_fault(part: &FrameList, pictures: &Pictures) -> Option<FrameList> {
    let left = part.filtered(|frame| pictures.made(frame).is_none())?;
    FrameList::new(left.as_slice().get(1..)?.to_vec())
}

/// A failure's true cause where no picture can be written at all: logs seldom say it clearly.
fn unwritable(order: &Order<'_>, failure: Failure) -> Failure {
    let folder = order.out.parent().unwrap_or(Path::new("."));
    let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| file.write_all(b"x"));
    let Err(error) = written else { return failure };
    let full = super::super::failure::is_disk_full(&error);
    let reason = if full { Reason::DiskFull } else { Reason::OutputUnwritable };
    let why = "the folder of the pictures cannot be written";
    Failure::new(reason, format!("{why}: {error}: {}; {}", folder.display(), failure.message))
}

/// The frames of the job.
fn chunk(
    request: &StageRequest,
    scene: &SceneSettings,
    order: &Order<'_>,
) -> Result<FrameList, Failure> {
    let all = scene.frames();
    let chunk = match request.assignment.chunk {
        Chunk::Whole => Some(all.clone()),
        Chunk::Frames { first, last } => scene.chunk(first, last),
        Chunk::Still => None,
    };
    let chunk = chunk.ok_or_else(|| {
        let why = format!("the scene has no frames {}", request.assignment.chunk);
        Failure::new(Reason::SettingInvalid, why)
    })?;
    if order.profile.command.unit == Unit::Whole && chunk.count() < all.count() {
        let title = &order.profile.title;
        let why = format!(
            "{title} makes all frames at once: submit it with chunk_frames = {}",
            all.count()
        );
        return Err(Failure::new(Reason::SettingInvalid, why));
    }
    Ok(chunk)
}

/// The result, or what is wrong with which frames.
fn finish(
    order: &Order<'_>,
    pictures: Pictures,
    expect: Expect,
    failed: Option<Failure>,
    peak_bytes: u64,
) -> StageResult {
    let title = &order.profile.title;
    let frames = if expect == Expect::Frames { pictures.failure(title) } else { None };
    match (failed, frames) {
        (Some(failed), Some(frames)) => {
            let message = format!("{}; {}", failed.message, frames.message);
            return Err(Failure { message, ..failed });
        }
        (Some(failure), None) | (None, Some(failure)) => return Err(failure),
        (None, None) => {}
    }
    let mut files = pictures.all_made();
    if expect != Expect::Frames {
        files.extend(pictures.others().iter().map(|name| produced(name)));
        if files.is_empty() && expect == Expect::Files {
            let why = format!("{title} said that it was done, but left no file");
            return Err(Failure::new(Reason::OutputMissing, why));
        }
    }
    let drawn_by =
        order.version.map_or_else(|| title.clone(), |version| format!("{title} {version}"));
    let report = StageReport {
        warnings: pictures.warnings,
        drawn_by: Some(drawn_by),
        peak_memory_bytes: (peak_bytes > 0).then_some(peak_bytes),
        ..StageReport::default()
    };
    Ok(StageOutput { files, report })
}
