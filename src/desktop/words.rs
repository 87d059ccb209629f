//! Numbers and states as people read them.

use super::theme::Tone;
use crate::model::{Chunk, JobState, PipelineStatus, Stage, StageStatus};
use crate::protocol::view::{AttemptOutcome, JobView, PipelineView};
use std::fmt::Write as _;

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// How long ago: `just now`, `4 min`, `3 h`, `2 d`.
pub fn age(now_ms: i64, then_ms: i64) -> String {
    let ago_ms = now_ms.saturating_sub(then_ms);
    if ago_ms < MINUTE_MS {
        "just now".to_owned()
    } else if ago_ms < HOUR_MS {
        format!("{} min", ago_ms / MINUTE_MS)
    } else if ago_ms < 2 * DAY_MS {
        format!("{} h", ago_ms / HOUR_MS)
    } else {
        format!("{} d", ago_ms / DAY_MS)
    }
}

/// How long ago, in a sentence: `just now`, `4 min ago`.
pub fn ago(now_ms: i64, then_ms: i64) -> String {
    let age = age(now_ms, then_ms);
    if now_ms.saturating_sub(then_ms) < MINUTE_MS { age } else { format!("{age} ago") }
}

/// How long: `840 ms`, `12.4 s`, `3 min 20 s`, `2 h 5 min`.
pub fn duration(ms: i64) -> String {
    let ms = ms.max(0);
    if ms < SECOND_MS {
        format!("{ms} ms")
    } else if ms < MINUTE_MS {
        format!("{}.{} s", ms / SECOND_MS, ms % SECOND_MS / 100)
    } else if ms < HOUR_MS {
        format!("{} min {} s", ms / MINUTE_MS, ms % MINUTE_MS / SECOND_MS)
    } else {
        format!("{} h {} min", ms / HOUR_MS, ms % HOUR_MS / MINUTE_MS)
    }
}

/// How long until then, in whole seconds, rounded up: `0 s`, `28 s`, `4 min 56 s`.
pub fn countdown(left_ms: i64) -> String {
    let left_ms = left_ms.max(0);
    if left_ms < MINUTE_MS {
        format!("{} s", (left_ms + SECOND_MS - 1) / SECOND_MS)
    } else {
        duration(left_ms)
    }
}

/// A size: `812 B`, `1.4 KiB`, `2.0 GiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS.get(unit).copied().unwrap_or_default())
}

/// A count with thousands set apart: `100 000`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A moment on this machine's calendar: `2026-11-30 10:29:41`.
pub fn moment(at_ms: i64) -> String {
    match jiff::Timestamp::from_millisecond(at_ms) {
        Ok(moment) => {
            let local = moment.to_zoned_datetime(jiff::tz::TimeZone::system());
            local.strftime("%Y-%m-%d %H:%M:%S").to_string()
        }
        Err(_) => "an unknown time".to_owned(),
    }
}

/// `1 job`, `3 jobs`.
pub fn plural(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(number as u64), if number == 1 { one } else { many })
}

/// `Ingest`.
pub const fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Ingest => "Ingest",
        Stage::Inspect => "Inspect",
        Stage::Transform => "Transform",
        Stage::Render => "Render",
        Stage::Assemble => "Assemble",
        Stage::Publish => "Publish",
        Stage::Cleanup => "Cleanup",
    }
}

/// The part of a stage.
pub fn chunk(chunk: Chunk) -> String {
    match chunk {
        Chunk::Whole => "whole".to_owned(),
        Chunk::Still => "still".to_owned(),
        Chunk::Frames { first, last } => format!("frames {first}–{last}"),
    }
}

/// A pipeline's status and its tone.
pub const fn pipeline_status(status: PipelineStatus) -> (&'static str, Tone) {
    match status {
        PipelineStatus::Running => ("Running", Tone::Run),
        PipelineStatus::Succeeded => ("Succeeded", Tone::Good),
        PipelineStatus::DeadLettered => ("Dead letter", Tone::Dead),
        PipelineStatus::Cancelled => ("Cancelled", Tone::Calm),
    }
}

/// A stage's status and its tone.
pub const fn stage_status(status: StageStatus) -> (&'static str, Tone) {
    match status {
        StageStatus::Pending => ("pending", Tone::Calm),
        StageStatus::Running => ("running", Tone::Run),
        StageStatus::Succeeded => ("succeeded", Tone::Good),
        StageStatus::Skipped => ("skipped", Tone::Calm),
        StageStatus::DeadLettered => ("dead letter", Tone::Dead),
        StageStatus::Cancelled => ("cancelled", Tone::Calm),
    }
}

/// A job's state and its tone.
pub const fn job_state(state: JobState) -> (&'static str, Tone) {
    match state {
        JobState::Queued => ("Queued", Tone::Calm),
        JobState::Claimed => ("Claimed", Tone::Run),
        JobState::Processing => ("Processing", Tone::Run),
        JobState::RetryScheduled => ("Retrying", Tone::Wait),
        JobState::Succeeded => ("Succeeded", Tone::Good),
        JobState::FailedTerminal => ("Dead letter", Tone::Dead),
        JobState::Cancelled => ("Cancelled", Tone::Calm),
    }
}

/// How an attempt ended and its tone.
pub const fn outcome(outcome: AttemptOutcome) -> (&'static str, Tone) {
    match outcome {
        AttemptOutcome::Running => ("running", Tone::Run),
        AttemptOutcome::Succeeded => ("succeeded", Tone::Good),
        AttemptOutcome::Failed => ("failed", Tone::Dead),
        AttemptOutcome::Lost => ("worker lost", Tone::Dead),
        AttemptOutcome::Returned => ("given back", Tone::Calm),
        AttemptOutcome::Cancelled => ("cancelled", Tone::Calm),
    }
}

/// `dragon v3`.
pub fn asset(pipeline: &PipelineView) -> String {
    format!("{} v{}", pipeline.asset, pipeline.asset_version)
}

/// All stages in one sentence, for screen readers.
pub fn stages(pipeline: &PipelineView) -> String {
    let mut text = String::new();
    for view in &pipeline.stages {
        let lead = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{lead}{} {}", view.stage, stage_status(view.status).0);
        if view.parts_total > 1 {
            let _ = write!(text, " {} of {}", view.parts_done, view.parts_total);
        }
    }
    text
}

/// `Render still`, or `Ingest` where the job does all of a stage.
pub fn job_title(job: &JobView) -> String {
    if let Some(frames) = &job.frames {
        return format!("{} frames {frames}", stage(job.stage));
    }
    match job.chunk {
        Chunk::Whole => stage(job.stage).to_owned(),
        part => format!("{} {}", stage(job.stage), chunk(part)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_read_well_at_their_edges() {
        assert_eq!(age(59_999, 0), "just now");
        assert_eq!(age(0, 5_000), "just now", "a clock that stepped back");
        assert_eq!(age(60_000, 0), "1 min");
        assert_eq!(age(47 * HOUR_MS, 0), "47 h");
        assert_eq!(age(72 * HOUR_MS, 0), "3 d");
        assert_eq!(duration(-4), "0 ms");
        assert_eq!(duration(12_490), "12.4 s");
        assert_eq!(duration(200_000), "3 min 20 s");
        assert_eq!(countdown(1), "1 s");
        assert_eq!(countdown(0), "0 s");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(u64::MAX), "16777216.0 TiB");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(plural(1, "job", "jobs"), "1 job");
    }
}
