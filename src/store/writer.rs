//! The writer: one thread, one connection, many verbs in one commit.
//!
//! Callers' verbs wait in a bounded queue. The thread takes all that wait, runs each in a
//! savepoint of one transaction, commits with `synchronous=FULL`, and only then answers. The
//! simulation has no thread: there the same batches run at once.

use super::StoreError;
use super::batch::{Answer, Batches, Verb};
use super::inline::Inline;
use crate::clock::Clock;
use rusqlite::Connection;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

pub(super) use super::batch::Tx;

/// Verbs that may wait; more are refused as busy.
const QUEUE: usize = 4_096;
/// After this long without work the write-ahead log is emptied.
const IDLE: Duration = Duration::from_secs(5);

enum Message {
    Run(Verb),
    Close(oneshot::Sender<()>),
}

/// The way to the one who writes. The thread ends with the last clone.
#[derive(Clone)]
pub(super) struct Writer {
    way: Way,
    committed: watch::Receiver<u64>,
}

#[derive(Clone)]
enum Way {
    Thread(SyncSender<Message>),
    Inline(Arc<Inline>),
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
        let (batches, committed) = Batches::new(db, farm, clock)?;
        let thread = Thread { batches, lock };
        std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || thread.serve(&inbox))
            .map_err(|error| StoreError::Unusable(format!("no writer thread: {error}")))?;
        Ok(Self { way: Way::Thread(queue), committed })
    }

    /// Without a thread: verbs run where they are called.
    pub(super) fn inline(
        db: Connection,
        lock: File,
        farm: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, Arc<Inline>), StoreError> {
        let (batches, committed) = Batches::new(db, farm, clock)?;
        let inline = Arc::new(Inline::new(batches, lock));
        Ok((Self { way: Way::Inline(Arc::clone(&inline)), committed }, inline))
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
        match &self.way {
            Way::Thread(queue) => {
                queue.try_send(Message::Run(verb)).map_err(|error| match error {
                    TrySendError::Full(_) => StoreError::Busy(QUEUE),
                    TrySendError::Disconnected(_) => StoreError::Closed,
                })?;
            }
            Way::Inline(inline) => inline.run(verb)?,
        }
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Ends the thread after what waits.
    pub(super) async fn close(&self) {
        match &self.way {
            Way::Thread(queue) => {
                let (done, closed) = oneshot::channel();
                let queue = queue.clone();
                let sent =
                    tokio::task::spawn_blocking(move || queue.send(Message::Close(done))).await;
                if matches!(sent, Ok(Ok(()))) {
                    let _ended = closed.await;
                }
            }
            Way::Inline(inline) => inline.close(),
        }
    }
}

struct Thread {
    batches: Batches,
    lock: File,
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
                    self.batches.checkpoint("TRUNCATE");
                    idle = true;
                }
                Err(RecvTimeoutError::Disconnected) => return self.end(None),
            }
        }
    }

    /// Runs `first` and all that waits in one commit. A close that came in between is returned.
    fn batch(&self, first: Verb, inbox: &Receiver<Message>) -> Option<oneshot::Sender<()>> {
        let mut close = None;
        self.batches.run(first, || match inbox.try_recv() {
            Ok(Message::Run(verb)) => Some(verb),
            Ok(Message::Close(done)) => {
                close = Some(done);
                None
            }
            Err(_) => None,
        });
        close
    }

    fn end(self, done: Option<oneshot::Sender<()>>) {
        self.batches.close();
        drop(self.lock);
        if let Some(done) = done {
            let _gone = done.send(());
        }
    }
}
