//! What operators want of the farm, of a queue or of a worker.

use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::ToSchema;

/// Whether work is handed out.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Work is handed out.
    #[default]
    Running,
    /// Nothing is handed out until somebody resumes; what runs goes on.
    Paused,
    /// What runs ends, then nothing is left; workers are told not to ask for more.
    Draining,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Running, Self::Paused, Self::Draining];

    /// The name used in the API and the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Draining => "draining",
        }
    }

    /// The mode with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a mode is set for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(tag = "scope", rename_all = "snake_case")]
pub enum Target {
    /// Everything.
    Farm,
    /// One queue.
    Queue {
        /// Its name: `render.preview`.
        queue: String,
    },
    /// One worker, also while it has no session.
    Worker {
        /// Its name: `render-03`.
        worker: String,
    },
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Farm => f.write_str("the farm"),
            Self::Queue { queue } => write!(f, "queue {queue}"),
            Self::Worker { worker } => write!(f, "worker {worker}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for mode in Mode::ALL {
            assert_eq!(Mode::parse(mode.as_str()), Some(mode));
        }
    }
}
