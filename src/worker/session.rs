//! One session: the lease, its heartbeat, the claim loop, and the end of it all.

use super::api::{Api, ApiError};
use super::attempt;
use super::bounds;
use super::cache::Cache;
use super::config::WorkerConfig;
use super::hosts::HostPool;
use super::lease::{Lease, LeaseCheck, margin_ms};
use super::pace::Pace;
use super::reports::ReportQueue;
use super::running::{Running, Stop};
use super::slots::Slots;
use super::staging::{self, WorkFolder};
use crate::model::{Now, SessionId, limits};
use crate::protocol::work::{ClaimRequest, Heartbeat, HeartbeatReply, SessionOpened};
use crate::stages::Workshop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

/// What all sessions of a worker share.
pub(super) struct Worker {
    pub(super) config: WorkerConfig,
    pub(super) api: Api,
    pub(super) work: Arc<WorkFolder>,
    pub(super) cache: Arc<Cache>,
    /// Stage hosts that wait for their next attempt.
    pub(super) hosts: HostPool,
    /// The programs of others that were found.
    pub(super) workshop: Workshop,
    /// An attempt failed for want of room, and no write has succeeded since.
    pub(super) disk_full: AtomicBool,
}

impl Worker {
    /// Attempts at once, 1 or more.
    fn slots(&self) -> usize {
        usize::try_from(self.config.slots.max(1)).unwrap_or(1)
    }
}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionEnd {
    /// The worker ends.
    Shutdown,
    /// The coordinator does not know it any more.
    Unknown,
    /// No heartbeat succeeded for too long: the jobs may be handed on.
    Fenced,
}

/// One session that is open.
pub(super) struct Session {
    pub(super) worker: Arc<Worker>,
    pub(super) id: SessionId,
    pub(super) running: Arc<Running>,
    /// Attempts at work at once; jobs that were fetched ahead wait for one.
    pub(super) slots: Slots,
    /// On their way to the coordinator.
    pub(super) reports: ReportQueue,
    pub(super) pace: Pace,
    heartbeat_ms: u64,
    lease_ms: u64,
    lease: Mutex<Lease>,
    /// False after a sleep of the machine, until a heartbeat has succeeded.
    proven: watch::Sender<bool>,
    beat_now: Notify,
    drain: watch::Sender<bool>,
    end: watch::Sender<Option<SessionEnd>>,
}

/// Lives through one session, opened by a call sent at `sent`. When this returns no attempt runs.
pub(super) async fn live(
    worker: Arc<Worker>,
    opened: SessionOpened,
    sent: Now,
    shutdown: &CancellationToken,
) -> SessionEnd {
    let session = Arc::new(Session::new(worker, opened, sent));
    let attempts = TaskTracker::new();
    let _stop_on_drop = StopOnDrop(Arc::clone(&session.running));
    let beat = AbortOnDropHandle::new(tokio::spawn(beat(Arc::clone(&session))));
    let reports = AbortOnDropHandle::new(tokio::spawn(report(Arc::clone(&session))));
    let guard = AbortOnDropHandle::new(tokio::spawn(guard_lease(Arc::clone(&session))));
    let claims =
        AbortOnDropHandle::new(tokio::spawn(claim(Arc::clone(&session), attempts.clone())));
    let mut ended = session.end.subscribe();
    let end = tokio::select! {
        () = shutdown.cancelled() => SessionEnd::Shutdown,
        end = ended.wait_for(Option::is_some) => end.ok().and_then(|end| *end).unwrap_or(SessionEnd::Unknown),
    };
    drop(claims);
    session.running.stop_all(match end {
        SessionEnd::Shutdown => Stop::Shutdown,
        SessionEnd::Unknown | SessionEnd::Fenced => Stop::Lost,
    });
    attempts.close();
    let wait = Duration::from_millis(bounds::STOP_WAIT_MS);
    if tokio::time::timeout(wait, attempts.wait()).await.is_err() {
        tracing::error!(session = %session.id, "attempts do not end: their folders stay");
    }
    session.worker.hosts.end_all().await;
    drop((beat, guard, reports));
    if end == SessionEnd::Shutdown
        && let Err(error) = session.worker.api.close_session(&session.id).await
    {
        tracing::warn!(%error, "the session could not be closed: its lease will run out");
    }
    end
}

/// Where `live` itself is dropped, its attempts must stop too.
struct StopOnDrop(Arc<Running>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop_all(Stop::Lost);
    }
}

impl Session {
    fn new(worker: Arc<Worker>, opened: SessionOpened, sent: Now) -> Self {
        let slots = worker.slots();
        Self {
            worker,
            id: opened.session,
            running: Running::new(),
            slots: Slots::new(slots),
            reports: ReportQueue::default(),
            pace: Pace::default(),
            heartbeat_ms: opened.heartbeat_ms.max(1),
            lease_ms: opened.lease_ms,
            lease: Mutex::new(Lease::begin(sent, opened.lease_ms)),
            proven: watch::Sender::new(true),
            beat_now: Notify::new(),
            drain: watch::Sender::new(false),
            end: watch::Sender::new(None),
        }
    }

    /// Ends the session; the first reason counts.
    pub(super) fn end(&self, why: SessionEnd) {
        self.end.send_if_modified(|end| {
            let first = end.is_none();
            *end = end.or(Some(why));
            first
        });
    }

    /// Waits until a report may be sent: at once, unless the machine has slept.
    pub(super) async fn proven(&self) {
        if self.look_at_lease() == LeaseCheck::Lost {
            // Only the stop can come now.
            std::future::pending::<()>().await;
        }
        // The sender lives in `self`.
        let _ = self.proven.subscribe().wait_for(|proven| *proven).await;
    }

    /// How long a lost attempt may take to end well: it must be gone before its job is handed on.
    pub(super) fn lost_grace(&self) -> Duration {
        Duration::from_millis(bounds::LOST_GRACE_MS.min(margin_ms(self.lease_ms) / 2))
    }

    fn now(&self) -> Now {
        self.worker.config.clock.now()
    }

    fn look_at_lease(&self) -> LeaseCheck {
        let check = self.lease.lock().unwrap_or_else(PoisonError::into_inner).check(self.now());
        match check {
            LeaseCheck::Held { .. } => {}
            LeaseCheck::Doubted => {
                if self.proven.send_replace(false) {
                    tracing::warn!(session = %self.id, "the machine has slept: asking whether the lease still holds");
                    self.beat_now.notify_one();
                }
            }
            LeaseCheck::Lost => self.end(SessionEnd::Fenced),
        }
        check
    }

    fn beaten(&self, sent: Now, beat: &Heartbeat, reply: &HeartbeatReply) {
        let mut lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        lease.renew(sent, reply.lease_ms);
        let check = lease.check(self.now());
        drop(lease);
        if matches!(check, LeaseCheck::Held { .. }) {
            self.proven.send_replace(true);
        }
        self.running.stop_reported(&beat.running, &reply.stop);
        self.drain.send_if_modified(|drain| std::mem::replace(drain, reply.drain) != reply.drain);
    }
}

/// Says that the session lives: at the latest after the heartbeat's time, earlier when progress
/// has changed.
async fn beat(session: Arc<Session>) {
    let gap_ms = bounds::BEAT_GAP_MS.min(session.heartbeat_ms);
    let timeout_ms = bounds::BEAT_CALL_MS.min(session.lease_ms / 2).max(1);
    let mut reached = true;
    loop {
        let gap = tokio::time::sleep(Duration::from_millis(gap_ms));
        let rest_ms = if reached { session.heartbeat_ms - gap_ms } else { 0 };
        tokio::select! {
            () = session.beat_now.notified() => {}
            () = async {
                gap.await;
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(rest_ms)) => {}
                    () = session.running.progress_changed.notified() => {}
                }
            } => {}
        }
        let sent = session.now();
        let beat = Heartbeat { running: session.running.report() };
        match session.worker.api.heartbeat(&session.id, &beat, timeout_ms).await {
            Ok(reply) => {
                reached = true;
                session.beaten(sent, &beat, &reply);
            }
            Err(ApiError::UnknownSession) => return session.end(SessionEnd::Unknown),
            Err(error) => {
                if std::mem::replace(&mut reached, false) {
                    tracing::warn!(session = %session.id, %error, "heartbeat failed, trying on");
                }
            }
        }
    }
}

/// Sends what the attempts report, for ever.
async fn report(session: Arc<Session>) {
    session.reports.run(&session.worker.api, &session.id).await;
}

/// Ends the session before the coordinator may hand its jobs on.
async fn guard_lease(session: Arc<Session>) {
    // Often enough to be well inside the margin, and to notice a sleep soon.
    let tick = Duration::from_millis((session.lease_ms / 40).clamp(10, 500));
    while session.look_at_lease() != LeaseCheck::Lost {
        tokio::time::sleep(tick).await;
    }
}

/// Asks for as many jobs as there are free slots, and for some ahead where they are short, for ever.
async fn claim(session: Arc<Session>, attempts: TaskTracker) {
    let slots = session.worker.slots();
    let mut drain = session.drain.subscribe();
    let mut failures = 0;
    loop {
        if drain.wait_for(|drain| !drain).await.is_err() {
            return;
        }
        let ahead = session.pace.ahead(slots);
        // Half of those ahead are used up first, so that one call brings several.
        let free = session.running.wait_free(slots + ahead / 2).await + ahead.div_ceil(2);
        session.wait_for_room().await;
        let max_jobs = u32::try_from(free).unwrap_or(u32::MAX).clamp(1, limits::JOBS_PER_CLAIM);
        let request = ClaimRequest { max_jobs, wait_ms: bounds::CLAIM_WAIT_MS };
        match session.worker.api.claim(&session.id, &request).await {
            Ok(reply) => {
                failures = 0;
                let empty = reply.jobs.is_empty();
                for assignment in reply.jobs {
                    attempt::begin(&session, assignment, &attempts);
                }
                if empty {
                    // A coordinator that does not wait must not be asked in a tight loop.
                    pause(1).await;
                }
            }
            Err(ApiError::UnknownSession) => return session.end(SessionEnd::Unknown),
            Err(error) => {
                failures += 1;
                tracing::debug!(session = %session.id, %error, failures, "claim failed");
                pause(failures).await;
            }
        }
    }
}

impl Session {
    /// Notes that an attempt failed for want of room on this worker's disk.
    pub(super) fn disk_is_full(&self) {
        self.worker.disk_full.store(true, Ordering::Release);
    }

    /// After a full disk: waits until the work folder takes bytes again, so that a worker without
    /// room does not fail one job after the other.
    async fn wait_for_room(&self) {
        if !self.worker.disk_full.load(Ordering::Acquire) {
            return;
        }
        let root = self.worker.work.root().to_owned();
        tracing::warn!(folder = %root.display(), "the work folder's disk is full: no work is claimed until there is room");
        loop {
            let folder = root.clone();
            let tried = tokio::task::spawn_blocking(move || staging::has_room(&folder)).await;
            if tried.unwrap_or(false) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(bounds::ROOM_PROBE_MS)).await;
        }
        self.worker.disk_full.store(false, Ordering::Release);
        tracing::info!("there is room again: work is claimed");
    }
}

pub(super) async fn pause(failures: u32) {
    tokio::time::sleep(Duration::from_millis(bounds::backoff_ms(failures))).await;
}
