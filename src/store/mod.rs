//! The truth: SQLite. One writer thread, few readers, every verb one transaction.
//!
//! SQL stays in this folder. Each group of verbs has its own file.

use crate::clock::Clock;
use crate::model::{Checksum, JobId, JobState, PipelineId, SessionId};
use crate::protocol::event::Event;
use crate::protocol::submit::{Submission, Submitted};
use crate::protocol::view::{
    DeadLetterView, FarmStatus, JobDetail, JobView, PipelineDetail, PipelineView, PublishedFile,
    Snapshot,
};
use crate::protocol::work::{Assignment, Capabilities, Completion, Failure, Fence};
use crate::recipes::Recipe;
use std::path::Path;
use std::sync::Arc;

/// Why a verb did nothing.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The session has ended or never was.
    #[error("the session is not known: open a new one")]
    UnknownSession,
    /// A later claim holds the job.
    #[error("job {0} was claimed again by another session")]
    Superseded(JobId),
    /// The job was cancelled.
    #[error("job {0} was cancelled")]
    Cancelled(JobId),
    /// The job has ended.
    #[error("job {0} has ended")]
    Finished(JobId),
    /// The job's state does not allow the verb.
    #[error("{0}")]
    Conflict(String),
    /// Nothing has this id.
    #[error("{0} does not exist")]
    NotFound(String),
    /// The request breaks a rule.
    #[error("{0}")]
    Invalid(String),
    /// Too much work waits.
    #[error("the store has {0} operations waiting: try again in a moment")]
    Busy(usize),
    /// The disk is full.
    #[error("the database cannot grow: free space on the farm's disk")]
    DiskFull,
    /// The database cannot be used.
    #[error("the database failed: {0}")]
    Sqlite(String),
    /// The database file cannot be opened as a farm's.
    #[error("{0}")]
    Unusable(String),
    /// The store is shutting down.
    #[error("the store is closing")]
    Closed,
}

/// A finished publish whose export folder is not written yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingExport {
    /// Row of the outbox.
    pub id: i64,
    /// The pipeline that published.
    pub pipeline: PipelineId,
    /// The asset's name.
    pub asset: crate::model::AssetName,
    /// The asset's version.
    pub asset_version: u32,
    /// What to write.
    pub files: Vec<PublishedFile>,
    /// Tries made.
    pub tries: u32,
}

/// One page of a listing, newest first.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Only rows with a smaller id.
    pub before: Option<i64>,
    /// At most this many.
    pub limit: u32,
}

/// The store. Cheap to clone; all clones share the writer thread, which ends with the last one.
#[derive(Clone)]
pub struct Store {
    _clock: Arc<dyn Clock>,
}

/// A session that was open when the store was opened, or is open now.
#[derive(Debug, Clone)]
pub struct SessionRecord {
    /// Its id.
    pub id: SessionId,
    /// The worker's name.
    pub worker: String,
    /// What it can do.
    pub capabilities: Capabilities,
    /// When it began, Unix milliseconds.
    pub opened_at_ms: i64,
}

#[expect(clippy::unused_async, clippy::todo, unused_variables, reason = "signatures first")]
impl Store {
    /// Opens or creates `sawah.db` in the farm's folder; takes the farm's lock file; migrates.
    pub fn open(farm: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        todo!()
    }

    /// The number of the last committed event; changes wake whoever watches it.
    pub fn committed(&self) -> tokio::sync::watch::Receiver<u64> {
        todo!()
    }

    /// Creates asset version, pipeline and first job, or finds the same work done before.
    /// The caller has checked that the bytes of all files are in the content store and gives the
    /// recipe with its settings changed. `trace` is 16 random bytes.
    pub async fn submit(
        &self,
        submission: Submission,
        recipe: Recipe,
        trace: [u8; 16],
    ) -> Result<Submitted, StoreError> {
        todo!()
    }

    /// A worker's session begins. A live session of the same worker name ends (its jobs are lost).
    pub async fn open_session(
        &self,
        session: SessionId,
        worker: String,
        capabilities: Capabilities,
    ) -> Result<SessionRecord, StoreError> {
        todo!()
    }

    /// Sessions that are open, for example after a restart.
    pub async fn sessions(&self) -> Result<Vec<SessionRecord>, StoreError> {
        todo!()
    }

    /// A session ends. `lost`: its lease ran out, attempts count as lost (retry or give up).
    /// Otherwise the worker said goodbye: jobs go back unstarted or interrupted, no attempt used.
    pub async fn close_session(&self, session: &SessionId, lost: bool) -> Result<u32, StoreError> {
        todo!()
    }

    /// Claims up to `max_jobs` ready jobs that the session's worker may run; may be empty.
    /// `live` are the capabilities of all live sessions, for the GPU preference.
    pub async fn claim(
        &self,
        session: &SessionId,
        max_jobs: u32,
        live: Vec<Capabilities>,
    ) -> Result<Vec<Assignment>, StoreError> {
        todo!()
    }

    /// The work begins.
    pub async fn start(&self, job: JobId, fence: &Fence) -> Result<(), StoreError> {
        todo!()
    }

    /// Commits the result: job, outputs, stage, next stage's jobs or the end of the pipeline, and
    /// for publish the pointers (compare-and-set) and the export in the outbox.
    /// The same call repeated after it succeeded gets the same answer.
    pub async fn complete(
        &self,
        job: JobId,
        fence: &Fence,
        completion: Completion,
    ) -> Result<JobState, StoreError> {
        todo!()
    }

    /// The attempt failed: retry or dead letter, by policy.
    pub async fn fail(
        &self,
        job: JobId,
        fence: &Fence,
        failure: Failure,
    ) -> Result<JobState, StoreError> {
        todo!()
    }

    /// The worker gives the job back; no attempt is used.
    pub async fn release(&self, job: JobId, fence: &Fence) -> Result<(), StoreError> {
        todo!()
    }

    /// Which of these claims the session still holds; for heartbeats and log appends.
    pub async fn held(&self, session: &SessionId) -> Result<Vec<(JobId, u32)>, StoreError> {
        todo!()
    }

    /// Retries that are due go back to their queues; returns how many.
    pub async fn promote_due(&self) -> Result<u32, StoreError> {
        todo!()
    }

    /// Cancels every live job of a pipeline and the pipeline; returns how many jobs.
    pub async fn cancel_pipeline(
        &self,
        pipeline: PipelineId,
        actor: &str,
        reason: &str,
    ) -> Result<u32, StoreError> {
        todo!()
    }

    /// Replays a dead letter as a new job.
    pub async fn replay(&self, job: JobId, actor: &str, reason: &str) -> Result<JobId, StoreError> {
        todo!()
    }

    /// Dismisses a dead letter.
    pub async fn dismiss(&self, job: JobId, actor: &str, reason: &str) -> Result<(), StoreError> {
        todo!()
    }

    /// Exports that wait, oldest first, at most `limit`, that are due.
    pub async fn pending_exports(&self, limit: u32) -> Result<Vec<PendingExport>, StoreError> {
        todo!()
    }

    /// The export folder is complete: the publish stage moves on.
    pub async fn export_done(&self, id: i64, folder: &str) -> Result<(), StoreError> {
        todo!()
    }

    /// The export failed; it is tried again later.
    pub async fn export_failed(&self, id: i64, why: &str) -> Result<(), StoreError> {
        todo!()
    }

    /// Events after `seq`, oldest first.
    pub async fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        todo!()
    }

    /// What a live client starts from. Progress and lease times are filled in by the coordinator.
    pub async fn snapshot(&self, pipelines: u32) -> Result<Snapshot, StoreError> {
        todo!()
    }

    /// Newest pipelines first.
    pub async fn pipelines(&self, page: Page) -> Result<Vec<PipelineView>, StoreError> {
        todo!()
    }

    /// One pipeline in full.
    pub async fn pipeline(&self, pipeline: PipelineId) -> Result<PipelineDetail, StoreError> {
        todo!()
    }

    /// Newest jobs first, of one state or all.
    pub async fn jobs(
        &self,
        state: Option<JobState>,
        page: Page,
    ) -> Result<Vec<JobView>, StoreError> {
        todo!()
    }

    /// One job in full.
    pub async fn job(&self, job: JobId) -> Result<JobDetail, StoreError> {
        todo!()
    }

    /// Dead letters, newest first; `all` includes the settled ones.
    pub async fn dead_letters(
        &self,
        all: bool,
        page: Page,
    ) -> Result<Vec<DeadLetterView>, StoreError> {
        todo!()
    }

    /// Counts for [`FarmStatus`]: version, farm and uptime are filled in by the coordinator.
    pub async fn status(&self) -> Result<FarmStatus, StoreError> {
        todo!()
    }

    /// Whether every one of these is referred to by a source or an output.
    pub async fn known_artifacts(
        &self,
        checksums: Vec<Checksum>,
    ) -> Result<Vec<Checksum>, StoreError> {
        todo!()
    }

    /// Ends the writer after what is queued, checkpoints the write-ahead log, closes the database.
    pub async fn close(&self) {
        todo!()
    }
}
