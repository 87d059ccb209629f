//! Reads every frame before a film is begun: an encoder stops at a bad one without an error.

use super::frames::{FrameFile, Frames};
use super::gaps::numbers;
use crate::model::{AssetKind, Reason, ToneMap, limits};
use crate::preview::{Cell, DecodedImage, Grade, evenly_chosen, fit};
use crate::protocol::work::Failure;
use crate::renderers::output::{Expect, Finding, OutputCheck};
use crate::stages::Reporter;
use crate::stages::formats::{Format, load_image, sniff_file};
use crate::stages::frames::{Checked, Expected, check};
use crate::stages::render::finished_picture;
use std::collections::BTreeMap;

/// Most frames on a contact sheet, and the width of one in pixels.
const SHEET_FRAMES: u32 = 24;
const SHEET_CELL_PX: u32 = 384;
/// Percent of the stage when all frames are checked.
pub(super) const CHECKED: f32 = 45.0;
/// Most bad frames that a message describes; it counts and numbers all.
const DESCRIBED: usize = 8;
/// Whether frames can be joined is all that is asked: what they show was judged when they were
/// made.
const CHECK: OutputCheck = OutputCheck {
    expect: Expect::Frames,
    least_bytes: 1,
    newer: false,
    decode: true,
    size: false,
    grey: Finding::Ignore,
    black: Finding::Ignore,
    magenta: Finding::Ignore,
    magenta_percent: 100,
    not_a_number: Finding::Ignore,
};

/// Frames that can be joined.
pub(super) struct Looked {
    /// Small pictures of some of them.
    pub(super) cells: Vec<Cell>,
    /// The frame in the middle, where the asset is a scene.
    pub(super) middle: Option<DecodedImage>,
    /// How their light becomes colours.
    pub(super) grade: Grade,
}

/// What came of reading the frames.
pub(super) enum Look {
    /// They can be joined.
    Good(Looked),
    /// They are right, but of a format that is not read here; says which.
    Foreign(String),
}

/// A frame that cannot be joined.
struct Bad {
    number: i64,
    reason: Reason,
    message: String,
}

/// Reads every frame once, to be shown by `tone_map`; refuses all that cannot be joined in one failure.
pub(super) fn look(
    frames: &Frames,
    tone_map: ToneMap,
    reporter: &dyn Reporter,
) -> Result<Look, Failure> {
    let files: Vec<(i64, &FrameFile)> = frames.there().collect();
    let count = u32::try_from(files.len()).unwrap_or(u32::MAX);
    if count > limits::FRAMES {
        let why = format!("{count} frames are more than {}", limits::FRAMES);
        return Err(Failure::new(Reason::InputTooLarge, why));
    }
    let middle = files.get(files.len() / 2).and_then(|(_, file)| middle(frames.kind, file));
    let grade = middle.as_ref().map_or_else(Grade::default, |image| Grade::of(image, tone_map));
    if grade.exposure_stops.abs() > 0.0 {
        let stops = grade.exposure_stops;
        reporter.log(&format!("all frames are shown with an exposure of {stops:+.2} EV"));
    }
    let chosen = evenly_chosen(count, SHEET_FRAMES);
    let mut sizes: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
    let (mut cells, mut bad, mut foreign) = (Vec::new(), Vec::new(), None);
    for (index, (number, file)) in (1_u32..).zip(&files) {
        let place = place(index, count, *number);
        match read(file) {
            Ok(frame) => {
                let size = (frame.facts.width, frame.facts.height);
                sizes.entry(size).or_default().push(index);
                match frame.image {
                    None => foreign = Some(format!("{} ({})", file.name, frame.facts.format)),
                    Some(image) if chosen.binary_search(&index).is_ok() => {
                        let picture = fit(&finished_picture(image, grade), SHEET_CELL_PX);
                        cells.push(Cell { picture, number: *number });
                    }
                    Some(_) => {}
                }
            }
            Err(failure) if is_bad_frame(failure.reason) => bad.push(Bad {
                number: *number,
                reason: failure.reason,
                message: match failure.reason {
                    Reason::OutputMissing => format!("{place} is missing: {}", file.name),
                    _ => format!("{place}: {}", failure.message),
                },
            }),
            Err(failure) => return Err(failure),
        }
        let percent = CHECKED * index as f32 / count as f32;
        reporter.frame(index.cast_signed(), percent, &format!("frame {index} of {count} checked"));
    }
    bad.extend(odd_sizes(&files, &sizes, count));
    if !bad.is_empty() {
        return Err(refusal(bad, count));
    }
    Ok(match foreign {
        Some(name) => Look::Foreign(name),
        None => Look::Good(Looked { cells, middle, grade }),
    })
}

/// The middle frame, which sets the exposure of frames of light and is a scene's still. A bad one
/// is told with the others.
fn middle(kind: AssetKind, file: &FrameFile) -> Option<DecodedImage> {
    let is_light = |format: Format| matches!(format, Format::Exr | Format::Hdr | Format::Tiff);
    let needed = kind == AssetKind::Scene || sniff_file(&file.path).is_ok_and(is_light);
    needed.then(|| load_image(&file.path).ok()).flatten()
}

fn read(file: &FrameFile) -> Result<Checked, Failure> {
    check(&file.path, &Expected { check: &CHECK, size: None, made_since: None, previous: None })
}

const fn is_bad_frame(reason: Reason) -> bool {
    matches!(reason, Reason::OutputMissing | Reason::OutputInvalid)
}

/// `frame 3 of 5`, with its number where that is another.
fn place(index: u32, count: u32, number: i64) -> String {
    if number == i64::from(index) {
        format!("frame {index} of {count}")
    } else {
        format!("frame {index} of {count} (number {number})")
    }
}

/// Frames of another size than most have.
fn odd_sizes(
    files: &[(i64, &FrameFile)],
    sizes: &BTreeMap<(u32, u32), Vec<u32>>,
    count: u32,
) -> Vec<Bad> {
    // Among equally many the size of the earliest frame counts.
    let usual = sizes
        .iter()
        .max_by_key(|(_, frames)| (frames.len(), std::cmp::Reverse(frames.first().copied())));
    let Some((usual, _)) = usual else { return Vec::new() };
    let mut odd: Vec<(u32, (u32, u32))> = sizes
        .iter()
        .filter(|(size, _)| *size != usual)
        .flat_map(|(size, frames)| frames.iter().map(|index| (*index, *size)))
        .collect();
    odd.sort_unstable();
    odd.into_iter()
        .filter_map(|(index, size)| {
            let (number, file) = files.get(index as usize - 1)?;
            let place = place(index, count, *number);
            let message = format!(
                "{place} has {} × {} pixels, but most have {} × {}: {}",
                size.0, size.1, usual.0, usual.1, file.name
            );
            Some(Bad { number: *number, reason: Reason::OutputInvalid, message })
        })
        .collect()
}

/// One failure for all bad frames.
fn refusal(mut bad: Vec<Bad>, count: u32) -> Failure {
    bad.sort_by_key(|frame| frame.number);
    let all_missing = bad.iter().all(|frame| frame.reason == Reason::OutputMissing);
    let reason = if all_missing { Reason::OutputMissing } else { Reason::OutputInvalid };
    let runs: Vec<(i64, i64)> = bad.iter().map(|frame| (frame.number, frame.number)).collect();
    let described: Vec<&str> =
        bad.iter().take(DESCRIBED).map(|frame| frame.message.as_str()).collect();
    let more = bad.len().saturating_sub(DESCRIBED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    Failure::new(
        reason,
        format!(
            "{} of {count} frames cannot be joined, number {}. Render them again. {}{more}",
            bad.len(),
            numbers(&runs),
            described.join("; ")
        ),
    )
}
