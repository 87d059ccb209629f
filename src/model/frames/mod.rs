//! Which frames: one grammar, an ordered list without doubles, its canonical text, its chunks.
//!
//! ```text
//! frames := part ("," part)*                blanks are allowed between numbers and signs
//! part   := int | int ("-" | "..") int [("x" | "y" | ":") step]
//! int    := "-"? digit+                     step := "-"? digit+, not 0
//! ```
//!
//! `1-10x3` takes every third frame, `1-10y3` all the others, `1-10:3` first every third, then
//! with half the step down to 1 those not taken yet. `10-1` counts down. The order is kept.

mod chunks;
mod dialect;
mod expand;
mod parse;
mod print;

pub use chunks::{ChunkShape, chunk_size};
pub use dialect::Dialect;
pub use parse::FrameError;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Frames in the order in which they are wanted: at least one, none twice, at most
/// [`FRAMES`](super::limits::FRAMES).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FrameList(Vec<i32>);

/// Frames as somebody wrote them, and what was noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// The frames.
    pub frames: FrameList,
    /// Frames that were named more than once and are taken once.
    pub doubles: u32,
}

impl FrameList {
    /// Reads frames as people write them for `dialect`.
    pub fn parse(text: &str, dialect: Dialect) -> Result<Parsed, FrameError> {
        parse::parse(text, dialect)
    }

    /// These frames in this order; none where there are none, too many, or doubles.
    pub fn new(frames: Vec<i32>) -> Option<Self> {
        let mut sorted = frames.clone();
        sorted.sort_unstable();
        let doubles = sorted.windows(2).any(|pair| pair.first() == pair.get(1));
        let most = usize::try_from(super::limits::FRAMES).unwrap_or(usize::MAX);
        (!frames.is_empty() && frames.len() <= most && !doubles).then_some(Self(frames))
    }

    /// Frame 1 alone.
    pub fn one() -> Self {
        Self(vec![1])
    }

    /// The frames in order.
    pub fn as_slice(&self) -> &[i32] {
        &self.0
    }

    /// How many; never 0.
    pub fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// The frame that comes first.
    pub fn first(&self) -> i32 {
        self.0.first().copied().unwrap_or_default()
    }

    /// The frame that comes last.
    pub fn last(&self) -> i32 {
        self.0.last().copied().unwrap_or_default()
    }

    /// Those of the frames that `keep` wants; none where it wants none.
    pub fn filtered(&self, keep: impl Fn(i32) -> bool) -> Option<Self> {
        let kept: Vec<i32> = self.0.iter().copied().filter(|frame| keep(*frame)).collect();
        (!kept.is_empty()).then_some(Self(kept))
    }

    /// First frame, last frame and step where the frames are one run: `1-9x4` is (1, 9, 4), one
    /// frame has step 1, a run that counts down has a negative step.
    pub fn as_run(&self) -> Option<(i32, i32, i32)> {
        print::run_length(&self.0)
            .filter(|(length, _)| *length == self.0.len())
            .map(|(_, step)| (self.first(), self.last(), step))
    }
}

impl fmt::Display for FrameList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&print::canonical(&self.0))
    }
}

impl FromStr for FrameList {
    type Err = FrameError;

    fn from_str(text: &str) -> Result<Self, FrameError> {
        Ok(Self::parse(text, Dialect::Sawah)?.frames)
    }
}

impl Serialize for FrameList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FrameList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl utoipa::PartialSchema for FrameList {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .description(Some("Frames in the order in which they are wanted: 1-10, 20-40x5"))
            .into()
    }
}

impl utoipa::ToSchema for FrameList {}

#[cfg(test)]
mod tests;
