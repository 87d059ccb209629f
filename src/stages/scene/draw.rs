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
    let mut peak_bytes = 0;
    let mut failed = None;
    for part in frames.iter().flat_map(|frames| order.runs(frames)) {
        let mut session = Session {
            request,
            order: &order,
            pictures: &mut pictures,
            reporter,
            memory_bytes: request.assignment.limits.memory_bytes,
            expect,
            total: chunk.count(),
        };
        match session.run(&part, &request.output_dir.join("program.log")) {
            Ok(bytes) => peak_bytes = peak_bytes.max(bytes),
            Err(failure) => {
                // Another frame may be drawn where one crashed; what is wrong with the scene or the
                // machine is wrong for all.
                let goes_on = failure.class == ErrorClass::Unknown;
                failed = Some(failure);
                if !goes_on {
                    break;
                }
            }
        }
    }
    finish(&order, pictures, expect, failed, peak_bytes)
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
