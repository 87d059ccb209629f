//! Times, sizes and states as people say them.

use crate::model::{PipelineStatus, StageStatus};
use crate::protocol::view::PipelineView;
use crate::protocol::work::Failure;

/// `3 s ago`; a time in the future is `now`.
pub(super) fn ago(now_ms: i64, then_ms: i64) -> String {
    let age_ms = now_ms.saturating_sub(then_ms);
    if age_ms < 1_000 { "now".to_owned() } else { format!("{} ago", rough(age_ms / 1_000)) }
}

fn rough(seconds: i64) -> String {
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// `850 ms`, `3.2 s`, `4 min 5 s`, `2 h 7 min`.
pub(super) fn span(ms: i64) -> String {
    let ms = ms.max(0);
    let seconds = ms / 1_000;
    match ms {
        ..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{seconds}.{} s", ms % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// The local date and time to the second.
pub(super) fn date(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map_or_else(
        |_| format!("{ms} ms"),
        |time| {
            let local = time.to_zoned_datetime(jiff::tz::TimeZone::system());
            local.strftime("%Y-%m-%d %H:%M:%S").to_string()
        },
    )
}

/// `512 B`, `1.5 KiB`, `3.0 GiB`.
pub(super) fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1_024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1_024.0;
    let mut unit = 0;
    while value >= 1_024.0 && unit + 1 < units.len() {
        value /= 1_024.0;
        unit += 1;
    }
    format!("{value:.1} {}", units.get(unit).unwrap_or(&"TiB"))
}

/// Where a pipeline is: `render 3/12`, `done`, `inspect failed`.
pub(super) fn place(pipeline: &PipelineView) -> String {
    let stage = |status| pipeline.stages.iter().find(|stage| stage.status == status);
    let failed = || stage(StageStatus::DeadLettered).map(|one| format!("{} failed", one.stage));
    match pipeline.status {
        PipelineStatus::Succeeded => "done".to_owned(),
        PipelineStatus::Cancelled => "cancelled".to_owned(),
        PipelineStatus::DeadLettered => failed().unwrap_or_else(|| "failed".to_owned()),
        // The stage's event comes before that of its pipeline.
        PipelineStatus::Running => failed().unwrap_or_else(|| {
            match stage(StageStatus::Running).or_else(|| stage(StageStatus::Pending)) {
                Some(stage) if stage.parts_total > 1 => {
                    format!("{} {}/{}", stage.stage, stage.parts_done, stage.parts_total)
                }
                Some(stage) => stage.stage.to_string(),
                None => "done".to_owned(),
            }
        }),
    }
}

/// `input.truncated: the file ends early. Copy it again.`
pub(super) fn failure(failure: &Failure) -> String {
    let message = failure.message.trim().trim_end_matches('.');
    format!("{}: {message}. {}", failure.reason, failure.reason.remedy())
}

/// `1 job`, `2 jobs`.
pub(super) fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_read_well() {
        let ages = [(0, "now"), (3_000, "3 s ago"), (240_000, "4 min ago"), (7_200_000, "2 h ago")];
        for (age, text) in ages {
            assert_eq!(ago(10_000_000_000, 10_000_000_000 - age), text);
        }
        assert_eq!(ago(5, 100_000), "now");
        for (ms, text) in [
            (850, "850 ms"),
            (3_250, "3.2 s"),
            (245_000, "4 min 5 s"),
            (7_620_000, "2 h 7 min"),
            (-5, "0 ms"),
        ] {
            assert_eq!(span(ms), text);
        }
        for (bytes, text) in
            [(512, "512 B"), (1_536, "1.5 KiB"), (3 << 30, "3.0 GiB"), (u64::MAX, "16777216.0 TiB")]
        {
            assert_eq!(size(bytes), text);
        }
        assert!(date(i64::MAX).ends_with("ms"), "a time beyond all calendars");
    }
}
