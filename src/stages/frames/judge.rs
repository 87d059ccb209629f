//! Says what it means that something was seen in a frame.

use super::measure::{Measured, measure};
use super::read::{Content, FrameFile};
use super::{Checked, Expected, FrameFacts};
use crate::model::Reason;
use crate::protocol::work::{Failure, Warning};
use crate::renderers::output::Finding;

/// Channels of a picture in colour.
const COLOURS: u8 = 3;
/// Files of two frames of one size and format that differ more than this many times are told.
const SUDDEN_TIMES: u64 = 20;
/// Mean brightness that is a normal picture's, and one that is dark.
const NORMAL_MEAN: f32 = 0.02;
const DARK_MEAN: f32 = 0.001;

/// Judges a frame that could be read.
pub(super) fn judge(file: FrameFile, expected: &Expected<'_>) -> Result<Checked, Failure> {
    right_size(&file, expected)?;
    let measured = match &file.content {
        Content::Pixels(examined) => Some((measure(&examined.image), examined.not_finite)),
        Content::Header(..) | Content::Unknown => None,
    };
    let facts = facts(&file, measured);
    let mut findings = Vec::new();
    by_check(&file, &facts, expected, &mut findings)?;
    let black_is_told = expected.check.black != Finding::Ignore;
    findings.extend(sudden_change(&file.name, &facts, expected.previous, black_is_told));
    let image = match file.content {
        Content::Pixels(examined) => Some(examined.image),
        Content::Header(..) | Content::Unknown => None,
    };
    Ok(Checked { facts, findings, notes: file.notes, image })
}

fn right_size(file: &FrameFile, expected: &Expected<'_>) -> Result<(), Failure> {
    let (true, Some(asked), Some(found)) = (expected.check.size, expected.size, file.size()) else {
        return Ok(());
    };
    if asked == found {
        return Ok(());
    }
    let ((width, height), (asked_width, asked_height)) = (found, asked);
    Err(Failure::new(
        Reason::OutputInvalid,
        format!(
            "{} has {width} × {height} pixels, but {asked_width} × {asked_height} were asked for. See whether the scene sets a size, a border or a percentage of its own",
            file.name
        ),
    ))
}

fn facts(file: &FrameFile, measured: Option<(Measured, u64)>) -> FrameFacts {
    let (width, height) = file.size().unwrap_or_default();
    let pixels = u64::from(width).saturating_mul(u64::from(height)).max(1);
    let percent = |count: u64| (100.0 * count as f64 / pixels as f64) as f32;
    let mut facts = FrameFacts {
        size_bytes: file.size_bytes,
        format: file.format.clone(),
        decoded: measured.is_some(),
        width,
        height,
        channels: file.channels().unwrap_or_default(),
        black: false,
        magenta_percent: 0.0,
        not_a_number_percent: 0.0,
        mean: 0.0,
    };
    if let Some((measured, not_finite)) = measured {
        facts.black = measured.black;
        facts.magenta_percent = percent(measured.magenta);
        facts.not_a_number_percent = percent(not_finite);
        facts.mean = measured.mean;
    }
    facts
}

fn by_check(
    file: &FrameFile,
    facts: &FrameFacts,
    expected: &Expected<'_>,
    findings: &mut Vec<Warning>,
) -> Result<(), Failure> {
    let (name, check) = (&file.name, expected.check);
    let mut found = |finding: Finding, is: bool, message: String| {
        match finding {
            Finding::Warn if is => {
                findings.push(Warning { reason: Reason::OutputDegraded, message });
            }
            Finding::Fail if is => return Err(Failure::new(Reason::OutputDegraded, message)),
            Finding::Ignore | Finding::Warn | Finding::Fail => {}
        }
        Ok(())
    };
    let share = facts.not_a_number_percent;
    found(
        check.not_a_number,
        share > 0.0,
        format!(
            "{share:.2} % of the pixels of {name} are no numbers: a material or a filter divides by zero. They are shown as black or white"
        ),
    )?;
    let share = facts.magenta_percent;
    found(
        check.magenta,
        share > 0.0 && share >= f32::from(check.magenta_percent),
        format!(
            "{share:.1} % of {name} is pure magenta, the colour of missing textures. Put the textures where the scene looks for them"
        ),
    )?;
    found(
        check.black,
        facts.black,
        format!("{name} is black all over. See whether camera, lights and layers are on"),
    )?;
    found(
        check.grey,
        (1..COLOURS).contains(&facts.channels),
        format!(
            "{name} has no colour, only {} channels. Set the output to RGB if that is not meant",
            facts.channels
        ),
    )
}

/// Never more than a warning: a cut changes everything as well.
fn sudden_change(
    name: &str,
    facts: &FrameFacts,
    previous: Option<&FrameFacts>,
    black_is_told: bool,
) -> Option<Warning> {
    let before = previous.filter(|before| {
        before.format == facts.format
            && (before.width, before.height) == (facts.width, facts.height)
            && !(black_is_told && (before.black || facts.black))
    })?;
    let warn = |message: String| Some(Warning { reason: Reason::OutputDegraded, message });
    let is_dark = facts.decoded && facts.mean <= DARK_MEAN;
    if before.decoded && before.mean >= NORMAL_MEAN && is_dark {
        return warn(format!(
            "{name} is black, and the frame before is not. Look at both before you use them"
        ));
    }
    let (less, more) =
        (facts.size_bytes.min(before.size_bytes).max(1), facts.size_bytes.max(before.size_bytes));
    if more <= less.saturating_mul(SUDDEN_TIMES) {
        return None;
    }
    warn(format!(
        "{name} has {} bytes, the frame before {}: one of the two may lack something. Look at both",
        facts.size_bytes, before.size_bytes
    ))
}
