//! Counts what a film really holds.

use super::programs::start_failure;
use crate::model::Reason;
use crate::protocol::work::Failure;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a film's length may differ by beside one frame: containers round to milliseconds.
const SLACK_S: f64 = 0.002;

/// What was counted in a film; none where it cannot be read.
#[derive(Debug, Default)]
struct Counted {
    frames: Option<u32>,
    duration_s: Option<f64>,
}

/// Counts by decoding all of it. An encoder whose input breaks off ends without an error, and a
/// wrong rate gives all frames in the wrong time: both are seen here only.
pub(super) fn check(ffprobe: &Path, film: &Path, frames: u32, fps: f64) -> Result<(), Failure> {
    let counted = count(ffprobe, film)?;
    let invalid = |why: String| {
        Err(Failure::new(Reason::OutputInvalid, format!("the film {why}. {}", film.display())))
    };
    if counted.frames != Some(frames) {
        let found = counted
            .frames
            .map_or_else(|| "no readable number of".to_owned(), |count| count.to_string());
        return invalid(format!("has {found} frames, but {frames} were to be joined"));
    }
    let expected_s = f64::from(frames) / fps;
    let is_right =
        |found: f64| (found - expected_s).abs() <= 1.0 / fps + SLACK_S && found.is_finite();
    match counted.duration_s {
        Some(found) if is_right(found) => Ok(()),
        Some(found) => invalid(format!(
            "lasts {found:.3} s, but {frames} frames at {fps:.2} a second last {expected_s:.3} s"
        )),
        None => invalid("does not say how long it lasts".to_owned()),
    }
}

fn count(ffprobe: &Path, film: &Path) -> Result<Counted, Failure> {
    let output = Command::new(ffprobe)
        .args(["-v", "error", "-count_frames", "-select_streams", "v:0"])
        .args(["-show_entries", "stream=nb_read_frames:format=duration"])
        .args(["-of", "default=noprint_wrappers=1"])
        .arg(film)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| start_failure(ffprobe, &error))?;
    let mut counted = Counted::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        match line.trim().split_once('=') {
            Some(("nb_read_frames", value)) => counted.frames = value.parse().ok(),
            Some(("duration", value)) => counted.duration_s = value.parse().ok(),
            _ => {}
        }
    }
    Ok(counted)
}
