//! Workers that failed too much to be given more work.

use crate::model::{ErrorClass, JobId, PipelineId, Reason};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A worker is given no more work: `sawah forgive` ends that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Quarantine {
    /// Since when, Unix milliseconds.
    pub since_ms: i64,
    /// The failures in a row, one for each pipeline, oldest first.
    pub evidence: Vec<WorkerFailure>,
}

/// One failure that counts against a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerFailure {
    /// The pipeline.
    pub pipeline: PipelineId,
    /// The job that failed.
    pub job: JobId,
    /// The stable code.
    pub reason: Reason,
    /// How it was treated.
    pub class: ErrorClass,
    /// What failed and why.
    pub message: String,
    /// When, Unix milliseconds.
    pub at_ms: i64,
}
