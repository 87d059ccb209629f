//! Flow control: what is paused, which limits there are, who holds them.

use crate::model::{Epoch, JobId, Mode, Name, Target};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `PUT /v1/controls`: pauses, resumes or drains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SetControl {
    /// The farm, a queue or a worker.
    pub target: Target,
    /// What to do from now on.
    pub mode: Mode,
    /// Who asks, for the audit.
    pub actor: String,
    /// Why, for the audit.
    pub reason: String,
}

/// `GET /v1/controls`: something that is paused or draining; what is not listed runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ControlView {
    /// The farm, a queue or a worker.
    pub target: Target,
    /// What it does.
    pub mode: Mode,
    /// Who asked for it; empty where it runs.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// Since when, Unix milliseconds; none where it runs.
    pub since_ms: Option<i64>,
    /// Jobs of it that still run: a drain is done at 0.
    pub running: u64,
}

/// A limit with its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Limit {
    /// How many attempts may hold something at once.
    Semaphore {
        /// As recipes name it.
        name: Name,
        /// Holders at most; none removes the limit.
        capacity: Option<u32>,
    },
    /// How often attempts that name it may begin.
    Rate {
        /// As recipes name it.
        name: Name,
        /// Attempts a minute; none removes the limit.
        per_minute: Option<u32>,
        /// Attempts that may begin at once after a quiet time.
        burst: u32,
    },
    /// The share of a project; sets both values.
    Project {
        /// As submissions name it.
        name: Name,
        /// Turns it gets against the others' weights, from 1.
        weight: u32,
        /// Jobs of it that may run at once; none means any number.
        quota: Option<u32>,
    },
    /// How many jobs may wait in a queue before submissions are refused.
    Queue {
        /// The queue.
        queue: String,
        /// Jobs at most; none means the default.
        max_queued: Option<u64>,
    },
}

/// `PUT /v1/limits`: sets or removes a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SetLimit {
    /// What to set.
    pub limit: Limit,
    /// Who asks, for the audit.
    pub actor: String,
    /// Why, for the audit.
    pub reason: String,
}

/// `GET /v1/limits`: all limits and how full they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Limits {
    /// Semaphores that have a limit or holders.
    pub semaphores: Vec<SemaphoreView>,
    /// Rates that have a limit.
    pub rates: Vec<RateView>,
    /// All projects.
    pub projects: Vec<ProjectView>,
    /// All queues.
    pub queues: Vec<QueueView>,
}

/// A semaphore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SemaphoreView {
    /// Its name.
    pub name: Name,
    /// Holders at most; none means any number.
    pub capacity: Option<u32>,
    /// Holders now.
    pub held: u32,
    /// The first of them.
    pub holders: Vec<Holder>,
}

/// An attempt that holds a semaphore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Holder {
    /// The job.
    pub job: JobId,
    /// The fencing number of its claim.
    pub epoch: Epoch,
    /// The worker that runs it.
    pub worker: String,
}

/// A rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RateView {
    /// Its name.
    pub name: Name,
    /// Attempts a minute.
    pub per_minute: u32,
    /// Attempts at once after a quiet time.
    pub burst: u32,
    /// Tokens that are there now.
    pub tokens: u32,
    /// When the next token is there, Unix milliseconds; none means never.
    pub next_ms: Option<i64>,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProjectView {
    /// Its name.
    pub name: Name,
    /// Its share.
    pub weight: u32,
    /// Jobs at once; none means any number.
    pub quota: Option<u32>,
    /// Jobs of it that run now.
    pub running: u32,
}

/// A queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueView {
    /// Its name.
    pub queue: String,
    /// What operators want of it.
    pub mode: Mode,
    /// Jobs that wait.
    pub queued: u64,
    /// Jobs at most, then submissions are refused.
    pub max_queued: u64,
    /// How long the oldest has waited.
    pub oldest_ms: Option<u64>,
}
