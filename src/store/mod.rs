//! The truth: SQLite. One writer thread, few readers, every verb one transaction.
//!
//! SQL stays in this folder. Each group of verbs has its own file: `submit`, `sessions`,
//! `claim`, `report`, `failures`, `dead_letters`, `replays`, `quarantine`, `operate`, `controls`,
//! `flow_limits`, `publish`, `watch_folders`, `watch_files`, `watch_drops`, `explain` and `views`
//! (reading). Every change of a
//! job's state goes through `transition`, every move of a pipeline through `advance`, every
//! change leaves a row in `audit`.

mod admission;
mod advance;
mod audit;
mod audit_export;
mod batch;
mod check;
mod claim;
mod classes;
mod columns;
mod connection;
mod inline;
mod controls;
mod explain;
mod flights;
mod flow_limits;
mod intents;
mod kept;
mod lanes;
mod measured;
mod load;
mod dead_letters;
mod failures;
mod operate;
mod publish;
mod quarantine;
mod reader;
mod replays;
mod report;
mod retries;
mod schema;
mod sessions;
mod short_logs;
mod submission_keys;
mod submit;
mod transition;
mod verify;
mod watch_drops;
mod watch_files;
mod watch_folders;
mod views;
mod webhooks;
mod writer;
mod yardstick;

#[cfg(test)]
mod tests;

pub use audit_export::AuditFilter;
pub use batch::CrashPoint;
pub use controls::Told;
pub use inline::InlineControl;
pub use submission_keys::SubmissionKey;
pub use watch_drops::{EndedDrop, KnownDrop, NewDrop, Taken, TakenAs};
pub use watch_files::{FileNote, WATCH_NOTES_PER_CALL, WatchedFile};
pub use watch_folders::PendingWatchOrder;
pub use webhooks::PendingNews;
pub use yardstick::Yardstick;

use crate::clock::Clock;
use crate::model::{AssetName, JobId, PipelineId, SessionId};
use crate::protocol::view::PublishedFile;
use crate::protocol::work::Capabilities;
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
    /// As many jobs wait in a queue as may.
    #[error("queue {queue} is full: {queued} jobs wait, its limit is {max_queued}")]
    QueueFull {
        /// Which.
        queue: String,
        /// Jobs that wait.
        queued: u64,
        /// Jobs that may wait.
        max_queued: u64,
    },
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
    pub asset: AssetName,
    /// The folder's name among those of the asset: `v0007`.
    pub folder: String,
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
    clock: Arc<dyn Clock>,
    writer: writer::Writer,
    readers: reader::Readers,
    check: check::Background,
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

impl Store {
    /// Opens or creates `sawah.db` in the farm's folder; takes the farm's lock file; migrates.
    pub fn open(farm: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let lock = connection::lock(farm)?;
        let db = connection::writer(farm)?;
        let readers = reader::Readers::open(farm)?;
        let writer = writer::Writer::start(db, lock, farm, Arc::clone(&clock))?;
        let check = check::Background::start(farm)?;
        Ok(Self { clock, writer, readers, check })
    }

    /// The number of the last committed event; changes wake whoever watches it.
    pub fn committed(&self) -> tokio::sync::watch::Receiver<u64> {
        self.writer.committed()
    }

    /// Ends the writer after what is queued, checkpoints the write-ahead log, closes the database.
    pub async fn close(&self) {
        self.check.stop();
        self.readers.close();
        self.writer.close().await;
    }
}

/// The version of SQLite inside.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::DiskFull,
            _ => Self::Sqlite(error.to_string()),
        }
    }
}

impl StoreError {
    /// The same outcome for another caller of the same commit.
    fn again(&self) -> Self {
        match self {
            Self::DiskFull => Self::DiskFull,
            Self::Closed => Self::Closed,
            other => Self::Sqlite(other.to_string()),
        }
    }
}
