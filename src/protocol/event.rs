//! The live stream: what changed, in order, without gaps.
//!
//! Every event with a `seq` is a row of the audit; a client that sees a gap asks for a snapshot.
//! Progress and leases change too often to be kept and travel as [`Pulse`].

use super::control::Limit;
use super::dead::{BatchKind, DeadLetterFilter, Edit};
use super::quarantine::Quarantine;
use super::view::{PipelineView, WorkerView};
use super::watch::{WatchFileState, WatchVerb};
use super::work::{Failure, Progress};
use crate::model::{
    AssetKind, Checksum, Chunk, Epoch, Intent, JobId, JobState, Mode, PipelineId, PipelineStatus,
    SessionId, Stage, StageStatus, Target, Verb, WatchFolderId,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One committed change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Its number; the next one has the next number.
    pub seq: u64,
    /// When it was committed, Unix milliseconds.
    pub at_ms: i64,
    /// Who caused it: `worker render-03`, `operator ana`, `coordinator`.
    pub actor: String,
    /// What changed.
    pub change: Change,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Change {
    /// A pipeline began.
    PipelineCreated {
        /// As it is at its beginning.
        pipeline: PipelineView,
    },
    /// A pipeline moved on.
    PipelineChanged {
        /// Which.
        pipeline: PipelineId,
        /// How far it is.
        status: PipelineStatus,
        /// Known after ingest.
        kind: Option<AssetKind>,
        /// The still picture, once there is one.
        still: Option<Checksum>,
    },
    /// A stage moved on.
    StageChanged {
        /// Which pipeline.
        pipeline: PipelineId,
        /// Which stage.
        stage: Stage,
        /// How far it is.
        status: StageStatus,
        /// Parts to do.
        parts_total: u32,
        /// Parts done.
        parts_done: u32,
    },
    /// A job was created.
    JobCreated {
        /// Its id.
        job: JobId,
        /// Its pipeline.
        pipeline: PipelineId,
        /// The stage.
        stage: Stage,
        /// Which part of the stage.
        chunk: Chunk,
        /// The frames of a scene that it draws.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frames: Option<String>,
        /// Where it waits.
        queue: String,
        /// Attempts the default policy allows.
        max_attempts: u32,
        /// The job it replays.
        replay_of: Option<JobId>,
    },
    /// A job changed its state.
    JobChanged {
        /// Which.
        job: JobId,
        /// Its pipeline.
        pipeline: PipelineId,
        /// State before.
        from: JobState,
        /// State after.
        to: JobState,
        /// What happened to it.
        verb: Verb,
        /// Attempts begun.
        attempt: u32,
        /// The fencing number.
        epoch: Epoch,
        /// The worker that holds or held it.
        worker: Option<String>,
        /// The session that holds or held it.
        session: Option<SessionId>,
        /// Why, where it failed.
        failure: Option<Failure>,
        /// When it may run next, where a retry is scheduled.
        run_at_ms: Option<i64>,
        /// Attempts that the policy allows after this failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_attempts: Option<u32>,
    },
    /// A dead letter was replayed or dismissed.
    DeadLetterSettled {
        /// The job that was given up.
        job: JobId,
        /// The job that replays it; none where it was dismissed.
        replayed_as: Option<JobId>,
        /// Why, as the operator said.
        note: String,
    },
    /// One order replayed or dismissed many dead letters; each has its own event before this one.
    DeadLettersSettled {
        /// What was asked for.
        kind: BatchKind,
        /// Which letters.
        filter: DeadLetterFilter,
        /// What the replays do differently.
        edit: Option<Edit>,
        /// Open letters that matched.
        matched: u32,
        /// Of these replayed or dismissed.
        done: u32,
        /// Of these refused.
        refused: u32,
        /// Why, as the operator said.
        note: String,
    },
    /// The pointers of an asset moved.
    Published {
        /// Which pipeline published.
        pipeline: PipelineId,
        /// The generation of the asset's pointers now.
        generation: u64,
        /// Outputs published.
        outputs: u32,
    },
    /// The export folder of a pipeline is complete.
    Exported {
        /// Which pipeline.
        pipeline: PipelineId,
        /// Where, on the coordinator's machine.
        folder: String,
    },
    /// A worker's session began.
    WorkerJoined {
        /// The worker.
        worker: WorkerView,
    },
    /// A worker's session ended.
    WorkerLeft {
        /// Its name.
        worker: String,
        /// The session that ended.
        session: SessionId,
        /// Whether its lease ran out.
        lost: bool,
    },
    /// The farm, a queue or a worker was paused, drained or resumed.
    ControlChanged {
        /// Which.
        target: Target,
        /// Before.
        from: Mode,
        /// From now on.
        mode: Mode,
        /// Why, as the operator said.
        reason: String,
    },
    /// A limit was set or removed.
    LimitChanged {
        /// As it is now.
        limit: Limit,
        /// Why, as the operator said.
        reason: String,
    },
    /// Something asked for had no effect for a while, so it was applied again.
    IntentApplied {
        /// Which.
        intent: Intent,
        /// How long it had waited.
        waited_ms: u64,
        /// Jobs that this cancelled or gave back.
        jobs: u32,
        /// Jobs that still run.
        running: u32,
    },
    /// A worker failed too much and is given no more work.
    WorkerQuarantined {
        /// Its name.
        worker: String,
        /// The evidence.
        quarantine: Quarantine,
    },
    /// A worker in quarantine is given work again.
    WorkerForgiven {
        /// Its name.
        worker: String,
        /// Why, as the operator said.
        reason: String,
    },
    /// Somebody changed a watch folder.
    WatchFolderChanged {
        /// Which.
        folder: WatchFolderId,
        /// Where it is.
        path: String,
        /// What was done.
        verb: WatchVerb,
        /// Why, as the operator said.
        reason: String,
    },
    /// A file of a watch folder was handed in, refused, known already, or taken back.
    WatchFileChanged {
        /// Its folder.
        folder: WatchFolderId,
        /// Below the folder, for people.
        path: String,
        /// What became of it.
        state: WatchFileState,
        /// The pipeline that does it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pipeline: Option<PipelineId>,
        /// Why, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
}

/// What changes too often to be kept: sent without a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Pulse {
    /// A worker beat.
    Beat {
        /// Its session.
        session: SessionId,
        /// Until its lease ends, if it stays silent.
        lease_left_ms: u64,
        /// How far its jobs are.
        running: Vec<JobProgress>,
    },
}

/// How far one job is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobProgress {
    /// Which job.
    pub job: JobId,
    /// How far.
    pub progress: Progress,
}
