//! How other farm managers write frames.

use super::expand::Take;

/// Whose way of writing frames.
///
/// Sources: the job compiler's frame chunker of Flamenco 3, `FrameRange` of `OpenCue` (where its two
/// implementations differ, the server's), the range expressions of the Open Job Description
/// specification §3.4.1.1.1, the frame list page of Deadline 10's manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Our own.
    Sawah,
    /// `1-100x5`, `1:100:5`, `1-100 step 5`; parts are separated by commas or blanks.
    Deadline,
    /// Like ours, without blanks and `..`.
    OpenCue,
    /// Lists of `a-b` and `a..b`, no steps; the result is sorted.
    Flamenco,
    /// `1-10:2` is a step; values must rise and not overlap.
    OpenJd,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 5] =
        [Self::Sawah, Self::Deadline, Self::OpenCue, Self::Flamenco, Self::OpenJd];

    /// The name used on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sawah => "sawah",
            Self::Deadline => "deadline",
            Self::OpenCue => "opencue",
            Self::Flamenco => "flamenco",
            Self::OpenJd => "openjd",
        }
    }

    /// The dialect with this name.
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.as_str() == text)
    }

    pub(super) const fn allows_blanks(self) -> bool {
        !matches!(self, Self::OpenCue)
    }

    pub(super) const fn blanks_separate(self) -> bool {
        matches!(self, Self::Deadline)
    }

    pub(super) const fn allows_negatives(self) -> bool {
        !matches!(self, Self::Flamenco)
    }

    pub(super) const fn must_rise(self) -> bool {
        matches!(self, Self::OpenJd)
    }

    pub(super) const fn sorts(self) -> bool {
        matches!(self, Self::Flamenco)
    }

    /// What stands between the ends of a range.
    pub(super) const fn range_signs(self) -> &'static [&'static str] {
        match self {
            Self::Sawah | Self::Flamenco => &["..", "-"],
            Self::Deadline => &["-", ":"],
            Self::OpenCue | Self::OpenJd => &["-"],
        }
    }

    /// What stands before a step, and what it takes.
    pub(super) const fn step_signs(self) -> &'static [(&'static str, Take)] {
        match self {
            Self::Sawah | Self::OpenCue => {
                &[("x", Take::Every), ("y", Take::AllBut), (":", Take::Interleaved)]
            }
            Self::Deadline => &[
                ("x", Take::Every),
                (":", Take::Every),
                ("step", Take::Every),
                ("by", Take::Every),
                ("every", Take::Every),
            ],
            Self::Flamenco => &[],
            Self::OpenJd => &[(":", Take::Every)],
        }
    }
}
