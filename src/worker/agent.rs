//! The worker: one session after the other until it is told to end.

use super::api::{Api, ApiError};
use super::bounds;
use super::cache::Cache;
use super::capabilities;
use super::config::{WorkerConfig, WorkerError};
use super::hosts::HostPool;
use super::session::{self, SessionEnd, Worker, pause};
use super::staging::WorkFolder;
use crate::model::{Now, SessionId};
use crate::protocol::PROTOCOL_VERSION;
use crate::protocol::problem::ProblemCode;
use crate::protocol::work::Capabilities;
use crate::protocol::work::{OpenSession, SessionOpened};
use crate::renderers::Library;
use crate::stages::Workshop;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Works until `shutdown` is cancelled; then gives its jobs back and says goodbye.
///
/// A coordinator that cannot be reached is waited for. Ends early only where no work is possible:
/// the folder cannot be used, or the coordinator refuses the worker.
pub async fn run(config: WorkerConfig, shutdown: CancellationToken) -> Result<(), WorkerError> {
    let api = Api::new(&config.coordinator, &config.token)?;
    let (work_dir, cache_bytes) = (config.work_dir.clone(), config.cache_bytes);
    let prepare = tokio::task::spawn_blocking(move || {
        let work = WorkFolder::open(&work_dir)?;
        let cache = Cache::open(work.root(), cache_bytes)?;
        Ok((Arc::new(work), Arc::new(cache)))
    });
    let (work, cache) = prepare.await.unwrap_or_else(|error| {
        Err(WorkerError::Folder {
            what: "the work folder cannot be opened",
            error: std::io::Error::other(error),
            path: config.work_dir.clone(),
        })
    })?;
    let library = renderers(&config);
    let probe = capabilities::probe(config.slots.max(1), config.gpus.clone(), &library);
    let Some((capabilities, workshop)) = shutdown.run_until_cancelled(probe).await else {
        return Ok(());
    };
    let capabilities = Capabilities { paths: config.paths.clone(), ..capabilities };
    let workshop = Workshop {
        profiles_dir: config.profiles_dir.clone(),
        paths: config.paths.clone(),
        ..workshop
    };
    let open = OpenSession {
        protocol: PROTOCOL_VERSION,
        worker: config.name.clone(),
        instance: work.instance().to_owned(),
        capabilities,
    };
    let disk_full = AtomicBool::new(false);
    let slots = usize::try_from(config.slots.max(1)).unwrap_or(1);
    let idle = Duration::from_millis(bounds::HOST_IDLE_MS);
    let hosts = HostPool::new(Arc::clone(&work), slots, idle);
    let worker = Arc::new(Worker { config, api, work, cache, hosts, workshop, disk_full });
    let mut fenced = None;
    loop {
        let opening = open_session(&worker, &open, fenced.take());
        let Some(opened) = shutdown.run_until_cancelled(opening).await else { return Ok(()) };
        let (opened, sent) = opened?;
        let id = opened.session.clone();
        tracing::info!(session = %id, worker = open.worker, "session opened");
        let end = session::live(Arc::clone(&worker), opened, sent, &shutdown).await;
        tracing::info!(session = %id, ?end, "session ended");
        wipe(&worker).await;
        if end == SessionEnd::Shutdown {
            return Ok(());
        }
        fenced = (end == SessionEnd::Fenced).then_some(id);
        let gap = tokio::time::sleep(Duration::from_millis(bounds::REOPEN_GAP_MS));
        if shutdown.run_until_cancelled(gap).await.is_none() {
            return Ok(());
        }
    }
}

/// The shipped profiles and the user's own; a wrong one of the user's costs only the own ones.
fn renderers(config: &WorkerConfig) -> Library {
    let loaded = Library::load(config.profiles_dir.as_deref()).or_else(|error| {
        tracing::error!(%error, "own renderer profiles are not used");
        Library::load(None)
    });
    loaded.unwrap_or_default()
}

/// Opens a session, waiting for the coordinator as long as it takes.
///
/// A session that was given up because the coordinator could not be reached is said goodbye to
/// first: nothing of it runs any more, and its jobs go back without having used an attempt.
async fn open_session(
    worker: &Worker,
    open: &OpenSession,
    mut fenced: Option<SessionId>,
) -> Result<(SessionOpened, Now), WorkerError> {
    let mut failures = 0;
    loop {
        if let Some(old) = &fenced {
            match worker.api.close_session(old).await {
                Err(error) if error.may_pass() => {
                    failures += 1;
                    pause(failures).await;
                    continue;
                }
                _ => fenced = None,
            }
        }
        let sent = worker.config.clock.now();
        match worker.api.open_session(open).await {
            Ok(opened) => return Ok((opened, sent)),
            Err(ApiError::Refused(problem)) if !passes(problem.code) => {
                return Err(WorkerError::Refused(problem));
            }
            Err(error) => {
                failures += 1;
                if failures == 1 {
                    tracing::warn!(%error, "no session yet, trying on");
                }
                pause(failures).await;
            }
        }
    }
}

fn passes(code: ProblemCode) -> bool {
    !matches!(code, ProblemCode::Unauthorized | ProblemCode::Invalid | ProblemCode::NotFound)
}

async fn wipe(worker: &Arc<Worker>) {
    let worker = Arc::clone(worker);
    let wiped = tokio::task::spawn_blocking(move || worker.work.wipe()).await;
    if !matches!(wiped, Ok(Ok(()))) {
        tracing::warn!(?wiped, "staging could not be emptied: the next start tries again");
    }
}

#[cfg(test)]
#[cfg(unix)]
#[path = "agent_tests.rs"]
mod tests;
