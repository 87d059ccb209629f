//! Rules that read progress out of a line.

use super::event::Event;
use super::pattern::Pattern;
use regex::Captures;
use serde::{Deserialize, Serialize};

/// What a line tells. The named groups that its pattern must have stand behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tells {
    /// This frame begins: `frame`.
    Frame,
    /// The so-manieth frame begins: `index`, `total`.
    Index,
    /// This frame is done: `frame`, which may be absent: then the one that began last.
    Finished,
    /// So many frames are done: `count`.
    Count,
    /// Share of the frame that is done: `percent`.
    FramePercent,
    /// Share of the whole run that is done: `percent`.
    RunPercent,
    /// Part of the frame that is done: `done`, `total`.
    Sample,
    /// A picture was written: `path`.
    Saved,
    /// The frame was there already: `path`, which may be absent.
    Skipped,
    /// Memory in use: `size`, `unit` (K, M or G).
    Memory,
    /// Time left: `hours` and `minutes`, which may be absent, and `seconds`.
    Remaining,
    /// What it does, for people: `text`.
    Status,
}

/// One rule.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Raw")]
pub struct ProgressRule {
    /// What a line tells.
    pub tells: Tells,
    /// Which lines.
    pub pattern: Pattern,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    tells: Tells,
    pattern: Pattern,
}

/// A pattern that lacks a group or has one that nobody reads.
#[derive(Debug, thiserror::Error)]
#[error("the groups of this pattern must be {wanted:?}, and of these may be absent {optional:?}")]
pub struct GroupError {
    wanted: &'static [&'static str],
    optional: &'static [&'static str],
}

impl Tells {
    /// Groups that must be there, and groups that may.
    const fn groups(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Self::Frame => (&["frame"], &[]),
            Self::Finished => (&[], &["frame"]),
            Self::Index => (&["index", "total"], &[]),
            Self::Count => (&["count"], &[]),
            Self::FramePercent | Self::RunPercent => (&["percent"], &[]),
            Self::Sample => (&["done", "total"], &[]),
            Self::Saved => (&["path"], &[]),
            Self::Skipped => (&[], &["path"]),
            Self::Memory => (&["size", "unit"], &[]),
            Self::Remaining => (&["seconds"], &["hours", "minutes"]),
            Self::Status => (&["text"], &[]),
        }
    }
}

impl TryFrom<Raw> for ProgressRule {
    type Error = GroupError;

    fn try_from(raw: Raw) -> Result<Self, GroupError> {
        let (wanted, optional) = raw.tells.groups();
        let all_there = wanted.iter().all(|name| raw.pattern.groups().any(|group| group == *name));
        let none_more =
            raw.pattern.groups().all(|group| wanted.contains(&group) || optional.contains(&group));
        if all_there && none_more {
            Ok(Self { tells: raw.tells, pattern: raw.pattern })
        } else {
            Err(GroupError { wanted, optional })
        }
    }
}

impl ProgressRule {
    /// What `line` tells by this rule. A number that is none or too large tells nothing.
    pub fn read(&self, line: &str) -> Option<Event> {
        let found = self.pattern.captures(line)?;
        let text = |name| found.name(name).map(|one| one.as_str());
        Some(match self.tells {
            Tells::Frame => Event::Frame { frame: number(&found, "frame")? },
            Tells::Finished => Event::Finished { frame: number(&found, "frame") },
            Tells::Index => {
                Event::Index { index: number(&found, "index")?, total: number(&found, "total")? }
            }
            Tells::Count => Event::Count { frames: number(&found, "count")? },
            Tells::FramePercent => Event::FrameShare { share: percent(text("percent")?)? },
            Tells::RunPercent => Event::RunShare { share: percent(text("percent")?)? },
            Tells::Sample => {
                let (done, total): (u32, u32) = (number(&found, "done")?, number(&found, "total")?);
                let share = if total == 0 { 0.0 } else { done as f32 / total as f32 };
                Event::FrameShare { share: share.clamp(0.0, 1.0) }
            }
            Tells::Saved => Event::Saved { path: text("path")?.to_owned() },
            Tells::Skipped => Event::Skipped { path: text("path").map(str::to_owned) },
            Tells::Memory => Event::Memory { bytes: bytes(text("size")?, text("unit")?)? },
            Tells::Remaining => Event::Remaining { seconds: seconds(&found)? },
            Tells::Status => Event::Status { text: text("text")?.trim().to_owned() },
        })
    }
}

fn number<T: std::str::FromStr>(found: &Captures<'_>, name: &str) -> Option<T> {
    found.name(name)?.as_str().trim().parse().ok()
}

/// `12.5` or `12,5` of a hundred, as a share.
fn percent(text: &str) -> Option<f32> {
    let percent: f32 = text.trim().replace(',', ".").parse().ok()?;
    percent.is_finite().then(|| (percent / 100.0).clamp(0.0, 1.0))
}

fn bytes(size: &str, unit: &str) -> Option<u64> {
    let size: f64 = size.replace(',', "").parse().ok()?;
    let factor: f64 = match unit.get(..1)? {
        "K" | "k" => 1_024.0,
        "M" | "m" => 1_048_576.0,
        "G" | "g" => 1_073_741_824.0,
        _ => 1.0,
    };
    size.is_finite().then(|| (size.max(0.0) * factor) as u64)
}

fn seconds(found: &Captures<'_>) -> Option<u64> {
    let part = |name| number::<u64>(found, name).unwrap_or(0);
    let seconds: f64 = number(found, "seconds")?;
    let whole =
        part("hours").saturating_mul(3_600).saturating_add(part("minutes").saturating_mul(60));
    seconds.is_finite().then(|| whole.saturating_add(seconds.max(0.0) as u64))
}
