//! Many verbs in one commit: each in a savepoint of one transaction, answered after it.

use super::StoreError;
use super::audit::last_seq;
use crate::clock::Clock;
use crate::model::Now;
use rusqlite::Connection;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Verbs in one commit at most.
const BATCH: usize = 512;
/// A larger write-ahead log is emptied after the commit.
const WAL_BYTES: u64 = 16 << 20;
/// Where readers kept it from being emptied, it is tried again when it has grown by this much.
const WAL_STEP_BYTES: u64 = 4 << 20;
/// How long readers may keep it from being emptied, before work goes on.
const WAL_WAIT: Duration = Duration::from_millis(50);

/// What a verb works with: the open transaction and the time of its batch.
pub(super) struct Tx<'a> {
    /// Inside a savepoint of the batch's transaction.
    pub(super) db: &'a Connection,
    /// One time for the whole verb.
    pub(super) now: Now,
}

/// Answers the caller, after the commit or instead of it.
pub(super) type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// A verb with its result inside: runs (or is told why it cannot), says whether to keep what it
/// did, and can answer.
pub(super) type Verb = Box<dyn FnOnce(Result<&Tx<'_>, StoreError>) -> (bool, Answer) + Send>;

/// Where a simulated crash ends the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    /// The verbs ran, nothing was committed.
    BeforeCommit,
    /// All was committed, nothing was answered.
    AfterCommit,
}

/// The one connection that writes, and what a commit needs.
pub(super) struct Batches {
    db: Connection,
    wal: PathBuf,
    empty_at_bytes: Cell<u64>,
    clock: Arc<dyn Clock>,
    announce: watch::Sender<u64>,
    /// Where the next batch ends the process; set by the simulation only.
    crash: Cell<Option<CrashPoint>>,
}

impl Batches {
    /// With the number of the last committed event, for all who wait for commits.
    pub(super) fn new(
        db: Connection,
        farm: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, watch::Receiver<u64>), StoreError> {
        let (announce, committed) = watch::channel(last_seq(&db)?);
        let wal = farm.join(format!("{}-wal", super::connection::DATABASE));
        let empty_at_bytes = Cell::new(WAL_BYTES);
        let crash = Cell::new(None);
        Ok((Self { db, wal, empty_at_bytes, clock, announce, crash }, committed))
    }

    /// Runs `first` and all that `more` gives in one commit, then answers.
    pub(super) fn run(&self, first: Verb, mut more: impl FnMut() -> Option<Verb>) {
        let mut answers = Vec::new();
        let mut outcome = self.db.execute_batch("BEGIN IMMEDIATE").map_err(StoreError::from);
        let now = self.clock.now();
        let mut next = Some(first);
        while let Some(verb) = next.take() {
            answers.push(match &outcome {
                Ok(()) => self.in_savepoint(verb, now),
                Err(error) => verb(Err(error.again())),
            });
            // SQLite ends the whole transaction by itself when the disk is full.
            if outcome.is_ok() && self.db.is_autocommit() {
                outcome = Err(StoreError::DiskFull);
            }
            if answers.len() < BATCH && outcome.is_ok() {
                next = more();
            }
        }
        let committed = outcome.and_then(|()| self.commit());
        self.announce();
        for (kept, answer) in answers {
            answer(if kept { repeat(&committed) } else { Ok(()) });
        }
        self.bound_wal();
    }

    /// The log's file keeps its length until it is emptied, so its length alone must not make
    /// every commit a checkpoint.
    fn bound_wal(&self) {
        let length = || std::fs::metadata(&self.wal).map_or(0, |wal| wal.len());
        if length() > self.empty_at_bytes.get() {
            self.wait_for_readers(WAL_WAIT);
            self.checkpoint("TRUNCATE");
            self.wait_for_readers(super::connection::BUSY);
            self.empty_at_bytes.set(length().saturating_add(WAL_STEP_BYTES).max(WAL_BYTES));
        }
    }

    fn wait_for_readers(&self, at_most: Duration) {
        if let Err(error) = self.db.busy_timeout(at_most) {
            tracing::warn!(%error, "how long to wait for readers cannot be set");
        }
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.db.prepare_cached(sql)?.execute([]).map(|_| ())
    }

    fn in_savepoint(&self, verb: Verb, now: Now) -> (bool, Answer) {
        if let Err(error) = self.execute("SAVEPOINT verb") {
            return verb(Err(error.into()));
        }
        let (keep, answer) = verb(Ok(&Tx { db: &self.db, now }));
        if self.db.is_autocommit() {
            return (keep, answer);
        }
        let undone = if keep { Ok(()) } else { self.execute("ROLLBACK TO verb") };
        match undone.and_then(|()| self.execute("RELEASE verb")) {
            Ok(()) => (keep, answer),
            Err(error) => {
                let error = StoreError::from(error);
                (false, Box::new(move |_| answer(Err(error))))
            }
        }
    }

    fn commit(&self) -> Result<(), StoreError> {
        let crash = self.crash.get();
        if crash == Some(CrashPoint::BeforeCommit) {
            return Err(StoreError::Closed);
        }
        self.db.execute_batch("COMMIT").map_err(|error| {
            if !self.db.is_autocommit()
                && let Err(undo) = self.db.execute_batch("ROLLBACK")
            {
                tracing::error!(%undo, "a failed commit could not be rolled back");
            }
            StoreError::from(error)
        })?;
        if crash.is_some() { Err(StoreError::Closed) } else { Ok(()) }
    }

    fn announce(&self) {
        match last_seq(&self.db) {
            Ok(seq) => {
                self.announce.send_if_modified(|last| std::mem::replace(last, seq) != seq);
            }
            Err(error) => tracing::error!(%error, "the last event cannot be read"),
        }
    }

    /// Moves the write-ahead log into the database.
    pub(super) fn checkpoint(&self, mode: &str) {
        let result = self.db.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()));
        if let Err(error) = result {
            tracing::warn!(%error, mode, "the write-ahead log was not checkpointed");
        }
    }

    /// The simulation's crash comes with the next commit.
    pub(super) fn crash_at(&self, point: CrashPoint) {
        self.crash.set(Some(point));
    }

    /// The connection, for what only the simulation does to it.
    pub(super) fn db(&self) -> &Connection {
        &self.db
    }

    /// Closes the connection.
    pub(super) fn close(self) {
        self.checkpoint("TRUNCATE");
        if let Err((_, error)) = self.db.close() {
            tracing::warn!(%error, "the database did not close cleanly");
        }
    }
}

/// The same outcome for every caller of a batch.
fn repeat(outcome: &Result<(), StoreError>) -> Result<(), StoreError> {
    match outcome {
        Ok(()) => Ok(()),
        Err(error) => Err(error.again()),
    }
}
