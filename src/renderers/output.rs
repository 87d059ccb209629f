//! What is looked at before a program's pictures count as made.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a finding about a picture means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Nothing.
    Ignore,
    /// A warning of the job.
    Warn,
    /// The frame has failed.
    Fail,
}

/// What a program must leave behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// A picture of each frame that was asked for.
    Frames,
    /// At least one file.
    Files,
    /// Nothing: what it leaves is taken.
    Nothing,
}

impl Expect {
    /// All of them, for people.
    pub const WORDS: &'static str = "use frames, files or nothing";

    /// The one with this name.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "frames" => Some(Self::Frames),
            "files" => Some(Self::Files),
            "nothing" => Some(Self::Nothing),
            _ => None,
        }
    }
}

/// The check of each frame that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OutputCheck {
    /// What must be there.
    pub expect: Expect,
    /// Least bytes of the file.
    pub least_bytes: u64,
    /// It must be newer than the attempt.
    pub newer: bool,
    /// It must decode.
    pub decode: bool,
    /// It must have the asked width and height.
    pub size: bool,
    /// It has no colour: fewer than three channels. Right where grey pictures are meant.
    pub grey: Finding,
    /// Every pixel is black, or nothing is drawn at all.
    pub black: Finding,
    /// Much of it is pure magenta: Blender's colour of a missing texture.
    pub magenta: Finding,
    /// Share of magenta pixels that counts as much, in percent.
    pub magenta_percent: u8,
    /// Some values are no numbers.
    pub not_a_number: Finding,
}

impl Default for OutputCheck {
    fn default() -> Self {
        Self {
            expect: Expect::Frames,
            least_bytes: 64,
            newer: true,
            decode: true,
            size: true,
            grey: Finding::Warn,
            black: Finding::Warn,
            magenta: Finding::Ignore,
            magenta_percent: 2,
            not_a_number: Finding::Warn,
        }
    }
}
