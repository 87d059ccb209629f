//! What a film shows in place of missing frames, decided before it is made.

use super::frames::Frames;
use crate::model::frames::FrameList;
use crate::model::{AssetKind, limits};
use crate::protocol::work::{Failure, Warning};
use crate::recipes::GapPolicy;

/// Longest list of numbers in a message, in bytes.
const NUMBERS_BYTES: usize = 300;

/// What stands at one place of a film.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// The frame at this place of [`Frames::wanted`], which has a file.
    Frame(usize),
    /// Nothing but black.
    Black,
}

/// A film from its first place to its last.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// What each place shows; never empty.
    pub(super) shown: Vec<Shown>,
    /// What is not as it should be.
    pub(super) warning: Option<Warning>,
}

/// First and last number of each run of missing frames.
fn gaps(frames: &Frames) -> Vec<(i64, i64)> {
    let mut gaps: Vec<(i64, i64)> = Vec::new();
    let mut before: Option<i64> = None;
    for wanted in &frames.wanted {
        // Every number of a sequence is wanted; of a scene and a turntable those that were asked.
        if frames.kind == AssetKind::Sequence
            && let Some(next) = before.and_then(|number| number.checked_add(1))
            && next < wanted.number
        {
            gaps.push((next, wanted.number - 1));
        }
        if wanted.file.is_none() {
            gaps.push((wanted.number, wanted.number));
        }
        before = Some(wanted.number);
    }
    gaps
}

/// Plans a film. Fails where frames are missing and the policy wants none to be.
pub(super) fn plan(frames: &Frames, policy: GapPolicy) -> Result<Plan, Failure> {
    let gaps = gaps(frames);
    let missing = gaps.iter().fold(0_u64, |sum, (first, last)| {
        sum.saturating_add(last.abs_diff(*first)).saturating_add(1)
    });
    let there = frames.there().count();
    let told = format!("{} missing: {}", frames_are(missing), numbers(&gaps));
    if there == 0 || (policy == GapPolicy::Fail && missing > 0) {
        return Err(refused(frames, &told));
    }
    let most = u64::from(limits::FRAMES);
    let total = (there as u64).saturating_add(missing);
    let filled = total <= most;
    let fill = if filled { Some(policy) } else { None };
    let shown = shown(frames, fill);
    let instead = match (filled, policy) {
        (false, _) => format!(
            "With them the film would have {total} frames, more than {most}: it goes on without them"
        ),
        (true, GapPolicy::Black) => "The film is black in their place".to_owned(),
        (true, GapPolicy::Fail | GapPolicy::Hold) => {
            "The film repeats the frame before them".to_owned()
        }
    };
    let warning = (missing > 0)
        .then(|| Warning { reason: frames.lack, message: format!("{told}. {instead}") });
    Ok(Plan { shown, warning })
}

fn frames_are(count: u64) -> String {
    if count == 1 { "1 frame is".to_owned() } else { format!("{count} frames are") }
}

fn refused(frames: &Frames, told: &str) -> Failure {
    let remedy = match frames.kind {
        AssetKind::Sequence => "Submit the sequence with them",
        AssetKind::Scene | AssetKind::Mesh | AssetKind::Image => "Render them",
    };
    let message = format!("{told}. {remedy}, or set gaps to hold or black for a film all the same");
    Failure::new(frames.lack, message)
}

/// Walks through the numbers; `fill` says what stands in a gap, none leaves it out.
fn shown(frames: &Frames, fill: Option<GapPolicy>) -> Vec<Shown> {
    let first = frames.wanted.iter().position(|wanted| wanted.file.is_some()).unwrap_or(0);
    let mut last = Shown::Frame(first);
    let mut before: Option<i64> = None;
    let mut shown = Vec::with_capacity(frames.wanted.len());
    for (at, wanted) in frames.wanted.iter().enumerate() {
        let lacking = match before {
            Some(before) if frames.kind == AssetKind::Sequence => {
                wanted.number.abs_diff(before).saturating_sub(1)
            }
            _ => 0,
        };
        before = Some(wanted.number);
        let lacking = lacking.saturating_add(u64::from(wanted.file.is_none()));
        if let Some(policy) = fill {
            let place = if policy == GapPolicy::Black { Shown::Black } else { last };
            shown.extend((0..lacking).map(|_| place));
        }
        if wanted.file.is_some() {
            last = Shown::Frame(at);
            shown.push(last);
        }
    }
    shown
}

/// Frame numbers in their short form, cut at a bound.
pub(super) fn numbers(runs: &[(i64, i64)]) -> String {
    let most = limits::FRAMES as usize;
    let each = runs.iter().flat_map(|(first, last)| *first..=*last);
    let short: Option<Vec<i32>> =
        each.take(most + 1).map(|number| i32::try_from(number).ok()).collect();
    let text = short.and_then(FrameList::new).map_or_else(|| plain(runs), |list| list.to_string());
    if text.len() <= NUMBERS_BYTES {
        return text;
    }
    let cut = text.get(..NUMBERS_BYTES).and_then(|text| text.rsplit_once(','));
    format!("{} …", cut.map_or("", |(whole, _)| whole))
}

/// Runs that are too many or too great for a list of frames.
fn plain(runs: &[(i64, i64)]) -> String {
    let one = |(first, last): &(i64, i64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    let parts: Vec<String> = runs.iter().take(NUMBERS_BYTES).map(one).collect();
    parts.join(",")
}
