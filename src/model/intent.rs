//! What somebody asked for and what takes its time to happen.

use super::{JobId, PipelineId, Target};
use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::ToSchema;

/// Something that was asked for and whose effect is looked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Intent {
    /// No job of a cancelled pipeline runs.
    Cancel {
        /// Which.
        pipeline: PipelineId,
    },
    /// A worker stops a job that it does not hold any more.
    Stop {
        /// Which.
        job: JobId,
        /// Who still names it.
        worker: String,
    },
    /// What drains gets empty.
    Drain {
        /// The farm, a queue or a worker.
        target: Target,
    },
}

impl fmt::Display for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancel { pipeline } => write!(f, "cancel pipeline {pipeline}"),
            Self::Stop { job, worker } => write!(f, "stop job {job} on worker {worker}"),
            Self::Drain { target } => write!(f, "drain {target}"),
        }
    }
}
