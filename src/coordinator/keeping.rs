//! How sessions are kept alive and ended, whoever brings the news: HTTP or the simulation.

use super::leases::{Beat, Ignored, Leases};
use crate::model::{Epoch, Intent, JobId, SessionId};
use crate::policy::watchdog::{Overdue, Watchdog};
use crate::protocol::work::{Fence, RunningJob};
use crate::store::{Store, StoreError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the sweep looks, for a lease of this length.
pub fn sweep_period(lease_ms: u64) -> Duration {
    Duration::from_millis((lease_ms / 4).clamp(1, 1_000))
}

/// The sessions; never held over an await. A panic elsewhere leaves them usable.
pub fn locked(leases: &Mutex<Leases>) -> MutexGuard<'_, Leases> {
    leases.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a session is told in answer to its heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Jobs it does not hold any more.
    pub stop: Vec<JobId>,
    /// Finish what runs, claim no more.
    pub drain: bool,
}

/// A heartbeat that was received at `now_ms`: renews the lease, gives claims back that the session
/// does not know of, and says which jobs it must stop.
pub async fn beat(
    store: &Store,
    leases: &Mutex<Leases>,
    session: &SessionId,
    running: &[RunningJob],
    now_ms: u64,
) -> Result<Answer, StoreError> {
    if !locked(leases).renew(session, now_ms) {
        return Err(StoreError::UnknownSession);
    }
    let told = store.told(session).await.inspect_err(|error| {
        if matches!(error, StoreError::UnknownSession) {
            locked(leases).close(session);
        }
    })?;
    let Beat { stop, orphans } = locked(leases).beat(session, running, &told.held, now_ms);
    for (job, epoch) in orphans {
        tracing::warn!(%session, %job, epoch, "the worker does not know of its claim: given back");
        let fence = Fence { session: session.clone(), epoch: Epoch(epoch) };
        if let Err(error) = store.release(job, &fence).await {
            tracing::debug!(%session, %job, %error, "the claim could not be given back");
        }
    }
    Ok(Answer { stop, drain: told.drain })
}

/// Looks after what was asked for at `now_ms`: what has had no effect for too long is applied
/// again and told; says what.
pub async fn look_after(
    store: &Store,
    leases: &Mutex<Leases>,
    watchdog: &Mutex<Watchdog>,
    now_ms: u64,
) -> Result<Vec<Overdue>, StoreError> {
    let mut pending = store.pending_intents().await?;
    let ignored = locked(leases).ignored(now_ms);
    pending.extend(ignored.into_iter().map(|Ignored { worker, job, waited_ms }| Overdue {
        intent: Intent::Stop { job, worker },
        waited_ms,
    }));
    let due = watchdog.lock().unwrap_or_else(PoisonError::into_inner).due(&pending, now_ms);
    for one in &due {
        let Overdue { intent, waited_ms } = one;
        tracing::warn!(%intent, waited_ms, "no effect yet: applied again");
        store.apply_again(one.clone()).await?;
    }
    Ok(due)
}

/// The sweep's look at `now_ms`: ends the sessions whose lease ran out; says which.
pub async fn sweep(
    store: &Store,
    leases: &Mutex<Leases>,
    now_ms: u64,
) -> Result<Vec<SessionId>, StoreError> {
    let expired = locked(leases).tick(now_ms);
    let mut ended = Vec::new();
    for session in expired {
        match store.close_session(&session, true).await {
            Ok(jobs) => {
                tracing::warn!(%session, jobs, "worker lost: its jobs are handed on");
                ended.push(session.clone());
            }
            // It ended by another way, for example because its worker came back.
            Err(StoreError::UnknownSession) => {}
            Err(error) => return Err(error),
        }
        locked(leases).close(&session);
    }
    Ok(ended)
}
