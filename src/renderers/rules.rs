//! Rules that find errors and warnings, what exit codes mean, and the line that says "done".

use super::pattern::Pattern;
use super::progress::ProgressRule;
use crate::model::Reason;
use serde::{Deserialize, Serialize};

/// How a log is read. Lines end with `\n`, `\r` or both.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogRules {
    /// What stands before every line and is cut off: time stamps, module names.
    pub strip: Vec<Pattern>,
    /// Lines that sound bad and are not.
    pub ignore: Vec<Pattern>,
    /// Progress; of each kind the first that matches counts.
    pub progress: Vec<ProgressRule>,
    /// Errors in order: causes before their consequences. A line counts for the first that
    /// matches it, and of all that were found the one that stands first decides.
    pub error: Vec<ReasonRule>,
    /// Warnings; looked for in lines that are no errors.
    pub warning: Vec<ReasonRule>,
}

/// A line that means something.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReasonRule {
    /// What went wrong; its class says what happens next.
    pub reason: Reason,
    /// One sentence for people.
    pub message: String,
    /// Which lines.
    pub pattern: Pattern,
}

/// What an exit code means where the log tells nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExitRule {
    /// Which code.
    pub code: i32,
    /// What went wrong.
    pub reason: Reason,
    /// One sentence for people.
    pub message: String,
}

/// The line that says that all is done.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuccessRule {
    /// Which line.
    pub pattern: Pattern,
    /// Whether a run without it has failed whatever its exit code.
    pub required: bool,
    /// What it means that the log counts fewer frames than were asked for; none where its count
    /// says nothing.
    #[serde(default)]
    pub counted: Option<Reason>,
}
