//! What people's clients see.

use super::dead::Edit;
use super::quarantine::Quarantine;
use super::scaling::FarmLoad;
use super::work::{Capabilities, Failure, InputFile, OutputFile, Progress, Warning};
use crate::model::{
    AssetKind, AssetName, Checksum, Chunk, Epoch, ErrorClass, JobId, JobState, PipelineId,
    PipelineStatus, Reason, SessionId, Stage, StageStatus, TraceId,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A pipeline with its stages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PipelineView {
    /// Its id.
    pub id: PipelineId,
    /// The asset.
    pub asset: AssetName,
    /// The asset's version.
    pub asset_version: u32,
    /// Known after ingest.
    pub kind: Option<AssetKind>,
    /// The recipe's name.
    pub recipe: String,
    /// How far it is.
    pub status: PipelineStatus,
    /// When it was submitted, Unix milliseconds.
    pub created_at_ms: i64,
    /// When it ended.
    pub finished_at_ms: Option<i64>,
    /// Where the source came from.
    pub source_ref: String,
    /// Its stages in order.
    pub stages: Vec<StageView>,
    /// The still picture, once there is one.
    pub still: Option<Checksum>,
}

/// One stage of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StageView {
    /// Which.
    pub stage: Stage,
    /// How far it is.
    pub status: StageStatus,
    /// Parts to do.
    pub parts_total: u32,
    /// Parts done.
    pub parts_done: u32,
}

/// A job as listings show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobView {
    /// Its id.
    pub id: JobId,
    /// Its pipeline.
    pub pipeline: PipelineId,
    /// The stage.
    pub stage: Stage,
    /// Which part of the stage.
    pub chunk: Chunk,
    /// The frames of a scene that it draws: `101-105`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<String>,
    /// Where it waits: `render.preview`.
    pub queue: String,
    /// Its state.
    pub state: JobState,
    /// Attempts begun.
    pub attempt: u32,
    /// Attempts the default policy allows.
    pub max_attempts: u32,
    /// The fencing number.
    pub epoch: Epoch,
    /// The worker that holds it.
    pub worker: Option<String>,
    /// The session that holds it.
    pub session: Option<SessionId>,
    /// When it may run next, where a retry is scheduled; Unix milliseconds.
    pub run_at_ms: Option<i64>,
    /// How far the running attempt is.
    pub progress: Option<Progress>,
    /// Why the last attempt failed.
    pub last_failure: Option<Failure>,
    /// The job it replays.
    pub replay_of: Option<JobId>,
    /// When it was created, Unix milliseconds.
    pub created_at_ms: i64,
    /// When it last changed, Unix milliseconds.
    pub updated_at_ms: i64,
}

impl JobView {
    /// Its part of the stage, in the scene's own frame numbers where it has some.
    pub fn part(&self) -> String {
        match &self.frames {
            Some(frames) => format!("frames {frames}"),
            None => self.chunk.to_string(),
        }
    }
}

/// A worker that has a session now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkerView {
    /// Its name.
    pub name: String,
    /// Its session.
    pub session: SessionId,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Jobs it holds.
    pub jobs: Vec<JobId>,
    /// When the session began, Unix milliseconds.
    pub opened_at_ms: i64,
    /// Until its lease ends, if it stays silent.
    pub lease_left_ms: u64,
    /// Why it is given no work, where it is in quarantine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<Quarantine>,
}

/// A job that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadLetterView {
    /// The job.
    pub job: JobId,
    /// Its pipeline.
    pub pipeline: PipelineId,
    /// The asset.
    pub asset: AssetName,
    /// The asset's version.
    pub asset_version: u32,
    /// The stage.
    pub stage: Stage,
    /// Which part of the stage.
    pub chunk: Chunk,
    /// The stable code.
    pub reason: Reason,
    /// How it was treated.
    pub class: ErrorClass,
    /// What failed and why.
    pub message: String,
    /// What to do.
    pub remedy: String,
    /// Attempts made.
    pub attempts: u32,
    /// The worker of the last attempt.
    pub worker: Option<String>,
    /// When, Unix milliseconds.
    pub at_ms: i64,
    /// The job that replays it.
    pub replayed_as: Option<JobId>,
    /// Whether an operator dismissed it.
    pub dismissed: bool,
    /// The same for letters that are alike.
    #[serde(default)]
    pub fingerprint: String,
}

/// `GET /v1/pipelines/{id}`: one pipeline in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PipelineDetail {
    /// The pipeline.
    pub pipeline: PipelineView,
    /// Follows it through every log.
    pub trace_id: TraceId,
    /// Its source files.
    pub sources: Vec<InputFile>,
    /// Its jobs in order.
    pub jobs: Vec<JobDetail>,
    /// What was published, once it was.
    pub published: Vec<PublishedFile>,
    /// Where people find the published files, on the coordinator's machine.
    pub export_folder: Option<String>,
}

/// `GET /v1/jobs/{id}`: one job in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobDetail {
    /// The job.
    pub job: JobView,
    /// Names the logical effect.
    pub idempotency_key: String,
    /// Its attempts in order.
    pub attempts: Vec<AttemptView>,
    /// Files it made.
    pub outputs: Vec<OutputFile>,
    /// What people should know.
    pub warnings: Vec<Warning>,
    /// What drew its pictures.
    pub drawn_by: Option<String>,
    /// What a replay changed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Edit>,
    /// The alike job whose result it took, with no attempt of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused_from: Option<JobId>,
}

/// One execution of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttemptView {
    /// The fencing number of its claim.
    pub epoch: Epoch,
    /// Its number, from 1.
    pub attempt: u32,
    /// The worker.
    pub worker: String,
    /// Its session.
    pub session: SessionId,
    /// When it was claimed, Unix milliseconds.
    pub claimed_at_ms: i64,
    /// When the work began.
    pub started_at_ms: Option<i64>,
    /// When it ended.
    pub ended_at_ms: Option<i64>,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// Why, where it failed.
    pub failure: Option<Failure>,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// It runs.
    Running,
    /// Its result was accepted.
    Succeeded,
    /// It failed.
    Failed,
    /// Its session was lost.
    Lost,
    /// It was given back; not counted.
    Returned,
    /// It was cancelled.
    Cancelled,
}

impl AttemptOutcome {
    /// All outcomes.
    pub const ALL: [Self; 6] =
        [Self::Running, Self::Succeeded, Self::Failed, Self::Lost, Self::Returned, Self::Cancelled];

    /// The name used in the API and the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Lost => "lost",
            Self::Returned => "returned",
            Self::Cancelled => "cancelled",
        }
    }

    /// The outcome with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }
}

/// One published file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PublishedFile {
    /// The output's name.
    pub output: String,
    /// Its content.
    pub checksum: Checksum,
    /// Its size.
    pub size_bytes: u64,
    /// Its path on the coordinator's machine, once exported.
    pub path: Option<String>,
}

/// `GET /v1/snapshot`: all that a live client starts from; then it folds events after `seq`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Snapshot {
    /// The last event that is in here.
    pub seq: u64,
    /// When it was taken, Unix milliseconds.
    pub at_ms: i64,
    /// The newest pipelines.
    pub pipelines: Vec<PipelineView>,
    /// Their jobs.
    pub jobs: Vec<JobView>,
    /// Workers with a session.
    pub workers: Vec<WorkerView>,
    /// Dead letters that wait for somebody.
    pub dead_letters: Vec<DeadLetterView>,
    /// Pipelines in the store, of which `pipelines` may be the newest only.
    pub pipelines_total: u64,
}

/// `GET /v1/status`: one look at the farm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FarmStatus {
    /// Version of Sawah.
    pub version: String,
    /// Version of SQLite.
    pub sqlite: String,
    /// The farm's folder.
    pub farm: String,
    /// How long the coordinator has run.
    pub uptime_ms: u64,
    /// Jobs that are queued.
    pub queued: u64,
    /// Jobs that are claimed or processing.
    pub running: u64,
    /// Jobs that wait for a retry.
    pub retrying: u64,
    /// Dead letters that wait for somebody.
    pub dead_letters: u64,
    /// Workers with a session.
    pub workers: u64,
    /// Exports that wait, and why the oldest does.
    pub exports_waiting: u64,
    /// Why the oldest export waits.
    pub export_trouble: Option<String>,
    /// How loaded it is, and what would help.
    #[serde(default)]
    pub load: FarmLoad,
    /// The last event.
    pub seq: u64,
}
