//! What every route and reconciler shares.

use super::auth::TokenHash;
use super::keeping;
use super::leases::Leases;
use super::logs::Logs;
use super::problem::Refusal;
use crate::artifacts::Artifacts;
use crate::clock::Clock;
use crate::model::Now;
use crate::protocol::event::Pulse;
use crate::protocol::view::{JobView, WorkerView};
use crate::recipes::Library;
use crate::store::Store;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::{Notify, Semaphore, broadcast};
use tokio_util::sync::CancellationToken;

/// Event streams open at once.
const STREAMS: usize = 256;
/// Pulses that a slow stream may be behind before it skips some.
const PULSES: usize = 256;

/// One farm's coordinator.
pub(super) struct Farm {
    pub(super) folder: PathBuf,
    pub(super) store: Store,
    pub(super) artifacts: Artifacts,
    pub(super) logs: Logs,
    pub(super) library: Library,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) started: Now,
    pub(super) heartbeat_ms: u64,
    pub(super) token: TokenHash,
    pub(super) document: String,
    pub(super) streams: Arc<Semaphore>,
    pub(super) pulses: broadcast::Sender<Pulse>,
    pub(super) stopping: CancellationToken,
    /// Told when an operator changed a watch folder or left an order for it.
    pub(super) watch_changed: Arc<Notify>,
    leases: Mutex<Leases>,
}

/// What the routes are given.
pub(super) type Shared = Arc<Farm>;

/// What [`Farm::new`] is made of.
pub(super) struct Parts {
    pub(super) folder: PathBuf,
    pub(super) store: Store,
    pub(super) artifacts: Artifacts,
    pub(super) library: Library,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) heartbeat_ms: u64,
    pub(super) token: TokenHash,
    pub(super) document: String,
    pub(super) leases: Leases,
}

impl Farm {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            logs: Logs::new(parts.folder.join("logs")),
            started: parts.clock.now(),
            folder: parts.folder,
            store: parts.store,
            artifacts: parts.artifacts,
            library: parts.library,
            clock: parts.clock,
            heartbeat_ms: parts.heartbeat_ms,
            token: parts.token,
            document: parts.document,
            streams: Arc::new(Semaphore::new(STREAMS)),
            pulses: broadcast::Sender::new(PULSES),
            stopping: CancellationToken::new(),
            watch_changed: Arc::new(Notify::new()),
            leases: Mutex::new(parts.leases),
        }
    }

    /// The monotonic clock, in milliseconds.
    pub(super) fn mono_ms(&self) -> u64 {
        self.clock.now().mono_ms
    }

    /// The sessions; never held over an await. A panic elsewhere leaves them usable.
    pub(super) fn leases(&self) -> MutexGuard<'_, Leases> {
        keeping::locked(&self.leases)
    }

    /// The sessions, for those who lock them themselves.
    pub(super) fn lease_book(&self) -> &Mutex<Leases> {
        &self.leases
    }

    /// Fills in how far the running attempts are.
    pub(super) fn fill_progress<'a>(&self, jobs: impl IntoIterator<Item = &'a mut JobView>) {
        let now_ms = self.mono_ms();
        let leases = self.leases();
        for job in jobs.into_iter().filter(|job| job.state.is_leased()) {
            job.progress = job
                .session
                .as_ref()
                .and_then(|session| leases.progress(session, job.id, job.epoch.0, now_ms));
        }
    }

    /// Fills in how long the leases last.
    pub(super) fn fill_leases(&self, workers: &mut [WorkerView]) {
        let now_ms = self.mono_ms();
        let leases = self.leases();
        for worker in workers {
            worker.lease_left_ms = leases.left_ms(&worker.session, now_ms);
        }
    }
}

/// Runs disk work beside the runtime's threads.
pub(super) async fn blocking<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, Refusal>
where
    T: Send + 'static,
    E: Into<Refusal> + Send + 'static,
{
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Refusal::internal(format!("work on the disk ended early: {error}")))?
        .map_err(Into::into)
}
