//! Worker and coordinator: sessions, claims, reports.
//!
//! A worker opens a session, beats, claims with a long poll, starts, and then completes, fails or
//! releases each job. Every report carries a [`Fence`]; a stale one is refused with 409.

use crate::model::{
    AssetKind, AssetName, Checksum, Chunk, Epoch, ErrorClass, JobId, PathMapping, PipelineId,
    Reason, SessionId, Stage, TraceId,
};
use crate::recipes::Settings;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `POST /v1/sessions`: a worker process begins its life.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OpenSession {
    /// [`super::PROTOCOL_VERSION`] of the worker.
    pub protocol: u32,
    /// The worker's stable name, unique in the farm: `render-03`.
    pub worker: String,
    /// Names the worker's own folder, which it holds a lock on: a new session of the same worker
    /// and instance proves that the process of the old one is dead.
    pub instance: String,
    /// What it can do.
    pub capabilities: Capabilities,
}

/// What a worker can do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Capabilities {
    /// Host name.
    pub host: String,
    /// `linux`, `windows` or `macos`.
    pub os: String,
    /// Version of Sawah.
    pub version: String,
    /// Processor cores.
    pub cores: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Jobs it runs at once.
    pub slots: u32,
    /// Graphics adapters that can draw, as wgpu names them; empty where there is none.
    pub gpus: Vec<String>,
    /// Programs found, with their versions: `ffmpeg 5.1.9`.
    pub programs: Vec<Program>,
    /// What shared folders of other machines are called here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathMapping>,
}

/// A program on a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Program {
    /// Its name: `ffmpeg`.
    pub name: String,
    /// Its version as it says it.
    pub version: String,
}

/// The answer to [`OpenSession`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionOpened {
    /// The id to carry in every call.
    pub session: SessionId,
    /// Without a heartbeat for this long the jobs are handed on.
    pub lease_ms: u64,
    /// How often to beat at the latest.
    pub heartbeat_ms: u64,
}

/// A claim of a session on a job. Stale fences change nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Fence {
    /// The session that holds the job.
    pub session: SessionId,
    /// The epoch of its claim.
    pub epoch: Epoch,
}

/// `POST /v1/sessions/{session}/heartbeat`: lives, and how far its jobs are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Heartbeat {
    /// Every job the session holds.
    pub running: Vec<RunningJob>,
}

/// One job a session holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunningJob {
    /// The job.
    pub job: JobId,
    /// The epoch of the claim.
    pub epoch: Epoch,
    /// How far it is.
    pub progress: Progress,
}

/// How far an attempt is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// 0 to 100.
    pub percent: f32,
    /// What it does now: `frame 7 of 24`.
    pub message: String,
    /// The last frame that is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<i32>,
    /// The last line of its log.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub line: String,
    /// For how long nothing of this has changed; filled in by the coordinator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_ms: Option<u64>,
}

/// The answer to a [`Heartbeat`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HeartbeatReply {
    /// Jobs of the heartbeat that the session no longer holds: kill them, report nothing.
    pub stop: Vec<JobId>,
    /// The lease now lasts this long again.
    pub lease_ms: u64,
    /// Finish what runs, claim no more.
    pub drain: bool,
}

/// `POST /v1/sessions/{session}/claim`: asks for work, waiting for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClaimRequest {
    /// At most this many jobs.
    pub max_jobs: u32,
    /// Waits this long for the first one.
    pub wait_ms: u64,
}

/// The answer to a [`ClaimRequest`]; empty when the wait ended first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClaimReply {
    /// Now claimed by the session.
    pub jobs: Vec<Assignment>,
}

/// Everything a worker needs to do a job: the job's payload with its claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Assignment {
    /// The job.
    pub job_id: JobId,
    /// Its pipeline.
    pub pipeline_id: PipelineId,
    /// The asset.
    pub asset: AssetName,
    /// The asset's version, from 1.
    pub asset_version: u32,
    /// The stage.
    pub stage: Stage,
    /// Which part of the stage.
    pub chunk: Chunk,
    /// Names the logical effect; the same over attempts.
    pub idempotency_key: String,
    /// What the pipeline works on.
    pub input: JobInput,
    /// Files of the stages before, and the source files: the job's dependencies.
    pub dependencies: Vec<InputFile>,
    /// Files that earlier attempts made and that are right: they need not be made again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<OutputFile>,
    /// What to make.
    pub settings: Settings,
    /// The bounds of the attempt.
    pub limits: JobLimits,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Attempts the default policy allows.
    pub max_attempts: u32,
    /// The fencing number of this claim.
    pub epoch: Epoch,
    /// Follows the pipeline through every log.
    pub trace_id: TraceId,
    /// When the job was created, Unix milliseconds.
    pub enqueued_at_ms: i64,
    /// For publish: the generation of the asset's pointers that the publish replaces.
    pub pointer_generation: u64,
}

/// What a pipeline works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobInput {
    /// Where the source came from, for people: the path as submitted.
    pub source_ref: String,
    /// Of the file set.
    pub checksum: Checksum,
    /// Recipe and settings: equal profiles make equal results.
    pub profile: String,
    /// Which recipe the options came from.
    pub options_ref: String,
    /// Known after ingest.
    pub kind: Option<AssetKind>,
    /// The file that names the asset among the source files, relative to the source folder.
    pub main_file: String,
    /// Known after transform: frames of a sequence.
    pub frame_count: Option<u32>,
}

/// The bounds of one attempt. Zero means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobLimits {
    /// Longest run.
    pub timeout_ms: u64,
    /// Longest time without progress.
    pub stall_ms: u64,
    /// Address space of the stage's process.
    pub memory_bytes: u64,
}

/// A file that a job reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InputFile {
    /// Which stage made it; none for a source file.
    pub made_by: Option<Stage>,
    /// Relative name with `/`: `textures/wood.png`.
    pub name: String,
    /// Its content.
    pub checksum: Checksum,
    /// Its size.
    pub size_bytes: u64,
}

/// `POST /v1/jobs/{job}/complete`: the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CompleteRequest {
    /// Who reports.
    pub fence: Fence,
    /// The result.
    pub completion: Completion,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
pub struct Completion {
    /// Files made; their bytes are in the content store already.
    pub outputs: Vec<OutputFile>,
    /// What was learned.
    pub report: StageReport,
    /// For publish: the generation that [`Assignment::pointer_generation`] said.
    pub pointer_generation: u64,
}

/// A file that a job made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OutputFile {
    /// Relative name with `/`: `turntable/0001.png`.
    pub name: String,
    /// Its content.
    pub checksum: Checksum,
    /// Its size.
    pub size_bytes: u64,
    /// Its type: `image/png`.
    pub media_type: String,
}

/// What a stage learned besides its files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct StageReport {
    /// What the asset is (from ingest).
    pub kind: Option<AssetKind>,
    /// Frames of a sequence (from transform).
    pub frame_count: Option<u32>,
    /// What people should know though the stage succeeded.
    pub warnings: Vec<Warning>,
    /// What drew the pictures: `cpu`, or the adapter's name.
    pub drawn_by: Option<String>,
    /// The most memory that programs of the attempt took at once, in bytes; where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
}

/// Something to know about a result that is right all the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Warning {
    /// Which reason it would have been as a failure.
    pub reason: Reason,
    /// What was seen, and what to do.
    pub message: String,
}

/// `POST /v1/jobs/{job}/fail`: the attempt failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailRequest {
    /// Who reports.
    pub fence: Fence,
    /// Why.
    pub failure: Failure,
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Failure {
    /// The stable code.
    pub reason: Reason,
    /// How to treat it; mostly [`Reason::class`].
    pub class: ErrorClass,
    /// What failed and why, for people.
    pub message: String,
}

impl Failure {
    /// A failure with the reason's own class.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, class: reason.class(), message: message.into() }
    }
}

/// `POST /v1/jobs/{job}/start` and `/release`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FenceRequest {
    /// Who reports.
    pub fence: Fence,
}

/// `POST /v1/jobs/{job}/keep`: files that are right before the job is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeepRequest {
    /// Who reports.
    pub fence: Fence,
    /// The files; their bytes are in the content store already.
    pub files: Vec<OutputFile>,
}

/// `POST /v1/jobs/{job}/log`: more lines of the attempt's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogAppend {
    /// Who reports.
    pub fence: Fence,
    /// Bytes of the log sent before; a repeated call with the same offset changes nothing.
    pub offset: u64,
    /// Whole lines, each ended by a newline.
    pub text: String,
}
