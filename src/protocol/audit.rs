//! The audit as people export it: what changed, from what to what, by whom and why.

use crate::model::{Epoch, JobId, PipelineId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One row of the audit. What does not apply is absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditRow {
    /// Its number; there are no gaps.
    pub seq: u64,
    /// When it was committed, Unix milliseconds.
    pub at_ms: i64,
    /// Who caused it: `worker render-03`, `operator ana`, `coordinator`.
    pub actor: String,
    /// What happened: `claim`, `retry`, `control`.
    pub cause: String,
    /// The pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<PipelineId>,
    /// The job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// The fencing number of the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// State before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// State after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// How a failure was treated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The stable code of a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `GET /v1/audit`: one page, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    /// The rows; may be fewer than asked for, or none, before the end.
    pub rows: Vec<AuditRow>,
    /// Ask for the next page after this number.
    pub after: u64,
    /// The last number that there was: the end is reached at it.
    pub last: u64,
}
