//! Many submissions or reports in one call: each has its own outcome, all share one commit.

use super::problem::Problem;
use super::submit::{Submission, Submitted};
use super::work::{Completion, Failure};
use crate::model::{Epoch, JobId, JobState};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /v1/pipelines/batch`: many asset versions at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchSubmission {
    /// At most [`crate::model::limits::SUBMISSIONS_PER_CALL`].
    pub submissions: Vec<Submission>,
}

/// The answer to a [`BatchSubmission`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchSubmitted {
    /// One for each submission, in their order.
    pub outcomes: Vec<SubmissionOutcome>,
}

/// What became of one submission of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubmissionOutcome {
    /// It is in work, or was before.
    Submitted(Submitted),
    /// It was refused and changed nothing.
    Refused(Problem),
}

/// `POST /v1/sessions/{session}/reports`: many reports of one session at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Reports {
    /// In the order in which they happened; at most
    /// [`crate::model::limits::REPORTS_PER_CALL`].
    pub reports: Vec<Report>,
}

/// One report about one job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Report {
    /// The job.
    pub job: JobId,
    /// The epoch of the session's claim on it.
    pub epoch: Epoch,
    /// What happened.
    pub event: ReportEvent,
}

/// What a report says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReportEvent {
    /// The work begins.
    Start,
    /// The whole log of the attempt, of which nothing was sent before; the report of its end
    /// follows.
    Log {
        /// Whole lines, at most [`crate::model::limits::SHORT_LOG_BYTES`].
        text: String,
    },
    /// The result, whose bytes are in the content store already.
    Complete {
        /// The result.
        completion: Completion,
    },
    /// The attempt failed.
    Fail {
        /// Why.
        failure: Failure,
    },
    /// The worker gives the job back; no attempt is used.
    Release,
}

/// The answer to [`Reports`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReportsReply {
    /// One for each report, in their order.
    pub outcomes: Vec<ReportOutcome>,
}

/// What became of one report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportOutcome {
    /// The job's state now.
    State(JobState),
    /// It was refused and changed nothing.
    Refused(Problem),
}
