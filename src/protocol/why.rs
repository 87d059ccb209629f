//! Why a job does not run.

use super::control::Holder;
use crate::model::{JobId, JobState, Name, PipelineId, Stage};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `GET /v1/jobs/{job}/why`: what keeps a job from running, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Why {
    /// The job.
    pub job: JobId,
    /// Its pipeline.
    pub pipeline: PipelineId,
    /// Its stage.
    pub stage: Stage,
    /// Where it waits.
    pub queue: String,
    /// Its state.
    pub state: JobState,
    /// Whose it is.
    pub project: Name,
    /// Its priority, 0 to 9.
    pub priority: u8,
    /// Its priority with what it has gained by waiting.
    pub level: u8,
    /// What keeps it from every worker; or that nothing does.
    pub reasons: Vec<WhyReason>,
    /// What keeps it from each worker.
    pub workers: Vec<WorkerWhy>,
    /// Its place among the jobs that no limit keeps back, from 1; none where a limit does, or
    /// where it is further back than is counted.
    pub position: Option<u32>,
}

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhyReason {
    /// Which rule.
    pub code: WhyCode,
    /// For people.
    pub message: String,
    /// When it ends by itself, Unix milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<i64>,
    /// Who holds what it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<Holder>,
}

/// What keeps a job from one worker; no reasons means that this worker may take it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WorkerWhy {
    /// The worker.
    pub worker: String,
    /// In order.
    pub reasons: Vec<WhyReason>,
}

/// The rules that can keep a job back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhyCode {
    /// It has ended.
    Ended,
    /// It runs.
    Runs,
    /// Its next attempt is not due.
    RetryNotDue,
    /// An alike job runs: one makes the result for all.
    AlikeRuns,
    /// The farm is paused.
    FarmPaused,
    /// The farm drains.
    FarmDraining,
    /// Its queue is paused.
    QueuePaused,
    /// Its queue drains.
    QueueDraining,
    /// Its project runs as many jobs as it may.
    QuotaUsed,
    /// As many retries of its queue run as may.
    RetriesAtOnce,
    /// A semaphore that it needs is full.
    SemaphoreFull,
    /// A rate that it needs has no token.
    RateLimited,
    /// It was let in while a queue was full, and one still is.
    AdmissionHeld,
    /// The worker that it is for has no session.
    TargetAway,
    /// No worker that is here has what it requires.
    NoCapableWorker,
    /// No worker has a session.
    NoWorker,
    /// The worker is paused.
    WorkerPaused,
    /// The worker drains.
    WorkerDraining,
    /// The worker is in quarantine.
    Quarantined,
    /// It failed on this worker last: another one comes first.
    FailedHere,
    /// Workers with a graphics adapter come first.
    GpuPreferred,
    /// It is for another worker.
    NotTarget,
    /// It may not run on this worker.
    Excluded,
    /// The worker's machine has too few processor cores.
    LacksCores,
    /// The worker's machine has too little memory.
    LacksMemory,
    /// The worker's machine has no graphics adapter.
    LacksGpu,
    /// The worker's machine lacks a program.
    LacksProgram,
    /// The worker's machine does not see the folder of shared storage that it reads.
    LacksFolder,
    /// The worker's slots are taken.
    SlotsBusy,
    /// Nothing is wrong: it waits for its turn.
    InLine,
}
