//! Stage hosts that wait for their next attempt: their start is paid once, and what they keep warm
//! is used again.

use super::bounds;
use super::host::{Host, HostProgram};
use super::staging::WorkFolder;
use crate::model::PipelineId;
use crate::programs::Mark;
use crate::stages::{Reporter, StageRequest};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

/// The hosts of one worker. A host is in here or with one attempt, never with two.
pub struct HostPool {
    work: Arc<WorkFolder>,
    shared: Arc<Shared>,
}

struct Shared {
    most: usize,
    idle_time: Duration,
    next: AtomicU64,
    /// Those that wait, the longest waiting first.
    idle: Mutex<Vec<Idle>>,
    /// Their guards.
    guards: TaskTracker,
}

struct Idle {
    number: u64,
    served: Served,
    /// Makes its guard hand it over; dropped, it ends.
    take: oneshot::Sender<oneshot::Sender<Host>>,
}

/// What a host served last: what it keeps warm is of use for the same again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Served {
    kind: HostKind,
    pipeline: PipelineId,
    gpu_mask: Option<String>,
}

/// Hosts of different kinds cannot stand in for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HostKind {
    /// It runs programs of others.
    Programs,
    /// It draws itself, and its memory is bounded for good.
    Pictures { memory_bytes: u64 },
}

impl Served {
    pub(super) fn of(request: &StageRequest) -> Self {
        let gpu_mask = request.workshop.gpu_mask.clone();
        let memory_bytes = request.assignment.limits.memory_bytes;
        let kind = match request.assignment.settings.scene {
            Some(_) => HostKind::Programs,
            None => HostKind::Pictures { memory_bytes },
        };
        Self { kind, pipeline: request.assignment.pipeline_id, gpu_mask }
    }
}

/// What an idle host says is heard by nobody.
struct Nobody;

impl Reporter for Nobody {
    fn progress(&self, _percent: f32, _message: &str) {}
    fn log(&self, _line: &str) {}
}

impl HostPool {
    /// A pool of at most `most` idle hosts, each for at most `idle_time`.
    pub fn new(work: Arc<WorkFolder>, most: usize, idle_time: Duration) -> Self {
        let shared = Shared {
            most,
            idle_time,
            next: AtomicU64::new(1),
            idle: Mutex::default(),
            guards: TaskTracker::new(),
        };
        Self { work, shared: Arc::new(shared) }
    }

    /// A host that waits, the one that served the same last before others.
    pub(super) async fn take(&self, next: &Served) -> Option<Host> {
        loop {
            let idle = {
                let mut idle = self.shared.idle();
                let same = idle.iter().rposition(|one| one.served == *next);
                let alike = || idle.iter().rposition(|one| one.served.kind == next.kind);
                let found = same.or_else(alike)?;
                idle.remove(found)
            };
            let (give, given) = oneshot::channel();
            // One that has ended meanwhile answers nothing.
            if idle.take.send(give).is_ok()
                && let Ok(host) = given.await
            {
                return Some(host);
            }
        }
    }

    /// Starts a host that stays.
    pub(super) async fn start(&self, program: HostProgram<'_>) -> io::Result<Host> {
        let number = self.shared.number();
        let work = Arc::clone(&self.work);
        let folder = tokio::task::spawn_blocking(move || work.host(number)).await;
        let folder = folder.unwrap_or_else(|error| Err(io::Error::other(error)))?;
        let mark = Mark::of_host(self.work.instance(), number);
        Host::start_to_stay(program, folder, &mark)
    }

    /// Takes a host back that has answered and is ready for the next attempt.
    pub(super) fn give_back(&self, host: Host, served: Served) {
        let number = self.shared.number();
        let (take, taken) = oneshot::channel();
        let mut idle = self.shared.idle();
        idle.push(Idle { number, served, take });
        if idle.len() > self.shared.most {
            idle.remove(0);
        }
        drop(idle);
        let guard = guard(Arc::clone(&self.shared), host, number, taken);
        self.shared.guards.spawn(guard);
    }

    /// Ends idle hosts until `busy` attempts and they are no more than the worker's slots: what they
    /// keep warm is memory that others need.
    pub(super) fn make_room(&self, busy: usize) {
        let mut idle = self.shared.idle();
        while !idle.is_empty() && idle.len().saturating_add(busy) > self.shared.most {
            idle.remove(0);
        }
    }

    /// Ends all of them. No attempt may give one back meanwhile.
    pub(super) async fn end_all(&self) {
        self.shared.idle().clear();
        self.shared.guards.close();
        let wait = Duration::from_millis(bounds::STOP_WAIT_MS);
        if tokio::time::timeout(wait, self.shared.guards.wait()).await.is_err() {
            tracing::error!("idle stage hosts do not end: their folders stay");
        }
        self.shared.guards.reopen();
    }

    /// How many wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.shared.idle().len()
    }
}

impl Shared {
    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds an idle host until it is taken, does anything by itself, or has waited for long enough.
async fn guard(
    shared: Arc<Shared>,
    mut host: Host,
    number: u64,
    taken: oneshot::Receiver<oneshot::Sender<Host>>,
) {
    let taken = tokio::select! {
        biased;
        () = host.stirs() => None,
        taken = taken => taken.ok(),
        () = tokio::time::sleep(shared.idle_time) => None,
    };
    shared.idle().retain(|one| one.number != number);
    let left = match taken {
        Some(give) => give.send(host).err(),
        None => Some(host),
    };
    if let Some(mut host) = left {
        if host.heard.programs > 0 {
            host.ask(&Nobody, Duration::from_millis(bounds::IDLE_GRACE_MS)).await;
        }
        if let Err(error) = host.end(&Nobody).await {
            tracing::warn!(%error, "the end of an idle stage host cannot be read");
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
#[path = "hosts_tests.rs"]
mod tests;
