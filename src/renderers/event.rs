//! What a log tells.

use crate::model::Reason;
use serde::Serialize;

/// One thing that a line told.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// This frame begins.
    Frame {
        /// Its number.
        frame: i32,
    },
    /// The so-manieth frame begins.
    Index {
        /// From 1.
        index: u32,
        /// How many there are in this run.
        total: u32,
    },
    /// A frame is done.
    Finished {
        /// Its number; without it the one that began last.
        frame: Option<i32>,
    },
    /// So many frames are done.
    Count {
        /// How many.
        frames: u32,
    },
    /// This much of the frame is done.
    FrameShare {
        /// 0 to 1.
        share: f32,
    },
    /// This much of the run is done.
    RunShare {
        /// 0 to 1.
        share: f32,
    },
    /// A picture was written.
    Saved {
        /// As the program wrote it.
        path: String,
    },
    /// A picture was there already.
    Skipped {
        /// As the program wrote it.
        path: Option<String>,
    },
    /// Memory in use.
    Memory {
        /// How much.
        bytes: u64,
    },
    /// Time left by the program's own reckoning.
    Remaining {
        /// How long.
        seconds: u64,
    },
    /// What the program does.
    Status {
        /// For people.
        text: String,
    },
    /// Something that does not stop the work.
    Warning {
        /// Its code.
        reason: Reason,
        /// For people.
        message: String,
        /// What the program wrote.
        line: String,
    },
    /// Something that makes the run a failure.
    Error {
        /// Place of its rule: a lower one is nearer to the cause.
        rank: usize,
        /// Its code.
        reason: Reason,
        /// For people.
        message: String,
        /// What the program wrote.
        line: String,
    },
    /// The line that says that all is done.
    Success,
    /// The log is longer than is read for progress; errors are still looked for.
    TooLong,
}
