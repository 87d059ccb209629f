//! Every answer that is not a success has this body.

use crate::model::Reason;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What failed, why, and what to do now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Which rule refused the call.
    pub code: ProblemCode,
    /// What failed and why, for people.
    pub message: String,
    /// What to do now.
    pub remedy: String,
    /// The reason code where the refusal is about content (`input.too_large`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// The kinds of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemCode {
    /// No token, or a wrong one (401).
    Unauthorized,
    /// Nothing has this id (404).
    NotFound,
    /// The body or a parameter is wrong (400, 413, 422).
    Invalid,
    /// The session is not known or has ended: stop everything, open a new one (409).
    UnknownSession,
    /// A later claim holds the job: stop it, report nothing more (409).
    Superseded,
    /// The job was cancelled: stop it, report nothing more (409).
    Cancelled,
    /// The job has ended: stop it, report nothing more (409).
    Finished,
    /// The job is not in a state that allows this (409).
    Conflict,
    /// A bound is reached, try later (429, 503).
    Busy,
    /// The coordinator's disk is full (507).
    StorageFull,
    /// A fault of the coordinator (500).
    Internal,
}
