//! The writer: one thread, one connection, many verbs in one commit.
//!
//! Callers' verbs wait in a bounded queue. The thread takes all that wait, runs each in a
//! savepoint of one transaction, commits with `synchronous=FULL`, and only then answers.

use super::StoreError;
use super::audit::last_seq;
use crate::clock::Clock;
use crate::model::Now;
use rusqlite::Connection;
use std::cell::Cell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// Verbs that may wait; more are refused as busy.
const QUEUE: usize = 4_096;
/// Verbs in one commit at most.
const BATCH: usize = 512;
/// A larger write-ahead log is emptied after the commit.
const WAL_BYTES: u64 = 16 << 20;
/// Where readers kept it from being emptied, it is tried again when it has grown by this much.
const WAL_STEP_BYTES: u64 = 4 << 20;
/// How long readers may keep it from being emptied, before work goes on.
const WAL_WAIT: Duration = Duration::from_millis(50);
/// After this long without work the write-ahead log is emptied.
const IDLE: Duration = Duration::from_secs(5);

/// What a verb works with: the open transaction and the time of its batch.
pub(super) struct Tx<'a> {
    /// Inside a savepoint of the batch's transaction.
    pub(super) db: &'a Connection,
    /// One time for the whole verb.
    pub(super) now: Now,
}

/// Answers the caller, after the commit or instead of it.
type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// A verb with its result inside: runs (or is told why it cannot), says whether to keep what it
/// did, and can answer.
type Verb = Box<dyn FnOnce(Result<&Tx<'_>, StoreError>) -> (bool, Answer) + Send>;

enum Message {
    Run(Verb),
    Close(oneshot::Sender<()>),
}

/// The way to the writer thread. The thread ends with the last clone.
#[derive(Clone)]
pub(super) struct Writer {
    queue: SyncSender<Message>,
    committed: watch::Receiver<u64>,
}

impl Writer {
    /// Starts the thread. `lock` is held as long as it runs.
    pub(super) fn start(
        db: Connection,
        lock: File,
        farm: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let (queue, inbox) = sync_channel(QUEUE);
        let (announce, committed) = watch::channel(last_seq(&db)?);
        let wal = farm.join(format!("{}-wal", super::connection::DATABASE));
        let empty_at_bytes = Cell::new(WAL_BYTES);
        let thread = Thread { db, lock, wal, empty_at_bytes, clock, announce };
        std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || thread.serve(&inbox))
            .map_err(|error| StoreError::Unusable(format!("no writer thread: {error}")))?;
        Ok(Self { queue, committed })
    }

    /// The number of the last committed event.
    pub(super) fn committed(&self) -> watch::Receiver<u64> {
        self.committed.clone()
    }

    /// Runs a verb and answers after its commit.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let verb: Verb = Box::new(move |tx| {
            let result = tx.and_then(verb);
            let keep = result.is_ok();
            let answer: Answer = Box::new(move |committed| {
                let result = result.and_then(|value| committed.map(|()| value));
                // A caller that went away wants no answer.
                let _gone = reply.send(result);
            });
            (keep, answer)
        });
        self.queue.try_send(Message::Run(verb)).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Busy(QUEUE),
            TrySendError::Disconnected(_) => StoreError::Closed,
        })?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Ends the thread after what waits.
    pub(super) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        let queue = self.queue.clone();
        let sent = tokio::task::spawn_blocking(move || queue.send(Message::Close(done))).await;
        if matches!(sent, Ok(Ok(()))) {
            let _ended = closed.await;
        }
    }
}

struct Thread {
    db: Connection,
    lock: File,
    wal: PathBuf,
    empty_at_bytes: Cell<u64>,
    clock: Arc<dyn Clock>,
    announce: watch::Sender<u64>,
}

impl Thread {
    fn serve(self, inbox: &Receiver<Message>) {
        let mut idle = false;
        loop {
            let message = if idle {
                inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                inbox.recv_timeout(IDLE)
            };
            match message {
                Ok(Message::Run(verb)) => {
                    idle = false;
                    if let Some(done) = self.batch(verb, inbox) {
                        return self.end(Some(done));
                    }
                }
                Ok(Message::Close(done)) => return self.end(Some(done)),
                Err(RecvTimeoutError::Timeout) => {
                    self.checkpoint("TRUNCATE");
                    idle = true;
                }
                Err(RecvTimeoutError::Disconnected) => return self.end(None),
            }
        }
    }

    /// Runs `first` and all that waits in one commit. A close that came in between is returned.
    fn batch(&self, first: Verb, inbox: &Receiver<Message>) -> Option<oneshot::Sender<()>> {
        let mut answers = Vec::new();
        let mut close = None;
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
                match inbox.try_recv() {
                    Ok(Message::Run(verb)) => next = Some(verb),
                    Ok(Message::Close(done)) => close = Some(done),
                    Err(_) => {}
                }
            }
        }
        let committed = outcome.and_then(|()| self.commit());
        self.announce();
        for (kept, answer) in answers {
            answer(if kept { repeat(&committed) } else { Ok(()) });
        }
        self.bound_wal();
        close
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

    fn run(&self, sql: &str) -> rusqlite::Result<()> {
        self.db.prepare_cached(sql)?.execute([]).map(|_| ())
    }

    fn in_savepoint(&self, verb: Verb, now: Now) -> (bool, Answer) {
        if let Err(error) = self.run("SAVEPOINT verb") {
            return verb(Err(error.into()));
        }
        let (keep, answer) = verb(Ok(&Tx { db: &self.db, now }));
        if self.db.is_autocommit() {
            return (keep, answer);
        }
        let undone = if keep { Ok(()) } else { self.run("ROLLBACK TO verb") };
        match undone.and_then(|()| self.run("RELEASE verb")) {
            Ok(()) => (keep, answer),
            Err(error) => {
                let error = StoreError::from(error);
                (false, Box::new(move |_| answer(Err(error))))
            }
        }
    }

    fn commit(&self) -> Result<(), StoreError> {
        self.db.execute_batch("COMMIT").map_err(|error| {
            if !self.db.is_autocommit()
                && let Err(undo) = self.db.execute_batch("ROLLBACK")
            {
                tracing::error!(%undo, "a failed commit could not be rolled back");
            }
            StoreError::from(error)
        })
    }

    fn announce(&self) {
        match last_seq(&self.db) {
            Ok(seq) => {
                self.announce.send_if_modified(|last| std::mem::replace(last, seq) != seq);
            }
            Err(error) => tracing::error!(%error, "the last event cannot be read"),
        }
    }

    fn checkpoint(&self, mode: &str) {
        let result = self.db.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()));
        if let Err(error) = result {
            tracing::warn!(%error, mode, "the write-ahead log was not checkpointed");
        }
    }

    fn end(self, done: Option<oneshot::Sender<()>>) {
        self.checkpoint("TRUNCATE");
        if let Err((_, error)) = self.db.close() {
            tracing::warn!(%error, "the database did not close cleanly");
        }
        drop(self.lock);
        if let Some(done) = done {
            let _gone = done.send(());
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
