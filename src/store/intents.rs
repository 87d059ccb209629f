//! What was asked for and has no effect yet: found, applied again, and written into the audit.

use super::transition::{self, With, apply};
use super::writer::Tx;
use super::{Store, StoreError, audit, controls};
use crate::model::{Intent, JobId, JobState, Target, Verb};
use crate::policy::watchdog::Overdue;
use crate::protocol::event::Change;
use rusqlite::{Connection, params};

/// Pipelines looked after in one pass.
const PIPELINES_PER_PASS: u32 = 64;

/// Cancelled pipelines with jobs that sessions hold: as many rows as there are slots at most.
pub(super) const CANCELLED: &str = "SELECT p.id, min(p.finished_ms)
     FROM job j JOIN pipeline p ON p.id = j.pipeline
     WHERE j.state IN ('claimed', 'processing') AND p.status = 'cancelled'
     GROUP BY p.id LIMIT ?1";

impl Store {
    /// Cancels and drains whose effect is not there, with how long each has waited.
    pub async fn pending_intents(&self) -> Result<Vec<Overdue>, StoreError> {
        let now_ms = self.clock.now().wall_ms;
        self.readers.run(move |db| pending(db, now_ms)).await
    }

    /// Applies an intent again as far as the store can, and says so in the audit.
    pub async fn apply_again(&self, overdue: Overdue) -> Result<(), StoreError> {
        self.writer.run(move |tx| apply_again(tx, &overdue)).await
    }
}

fn pending(db: &Connection, now_ms: i64) -> Result<Vec<Overdue>, StoreError> {
    let waited = |since_ms: i64| u64::try_from(now_ms.saturating_sub(since_ms)).unwrap_or(0);
    let mut query = db.prepare_cached(CANCELLED)?;
    let rows = query.query_map([PIPELINES_PER_PASS], |row| {
        let since_ms: Option<i64> = row.get(1)?;
        Ok(Overdue {
            intent: Intent::Cancel { pipeline: row.get(0)? },
            waited_ms: waited(since_ms.unwrap_or(now_ms)),
        })
    })?;
    let mut pending = rows.collect::<Result<Vec<_>, _>>()?;
    for view in controls::draining(db)? {
        if view.running > 0 {
            pending.push(Overdue {
                intent: Intent::Drain { target: view.target },
                waited_ms: waited(view.since_ms.unwrap_or(now_ms)),
            });
        }
    }
    Ok(pending)
}

fn apply_again(tx: &Tx<'_>, overdue: &Overdue) -> Result<(), StoreError> {
    let (stopped, running) = match &overdue.intent {
        Intent::Cancel { pipeline } => (held(tx, "AND j.pipeline = ?1", pipeline)?, 0),
        Intent::Drain { target } => drained(tx, target)?,
        // The worker is told with its next heartbeat: the job is not its own any more.
        Intent::Stop { .. } => (Vec::new(), 1),
    };
    let verb =
        if matches!(overdue.intent, Intent::Cancel { .. }) { Verb::Cancel } else { Verb::Release };
    for job in &stopped {
        let row = transition::job(tx, *job)?;
        apply(tx, &row, verb, "coordinator", With::default())?;
    }
    let change = Change::IntentApplied {
        intent: overdue.intent.clone(),
        waited_ms: overdue.waited_ms,
        jobs: u32::try_from(stopped.len()).unwrap_or(u32::MAX),
        running,
    };
    audit::record(tx, "coordinator", &change)
}

/// What a drain still can give back: claims whose work has not begun. What has begun ends by
/// itself; its number is told.
fn drained(tx: &Tx<'_>, target: &Target) -> Result<(Vec<JobId>, u32), StoreError> {
    let jobs = match target {
        Target::Farm => held(tx, "AND ?1 = ''", &"")?,
        Target::Queue { queue } => held(tx, "AND j.queue = ?1", queue)?,
        Target::Worker { worker } => held(tx, "AND s.worker = ?1", worker)?,
    };
    let mut unbegun = Vec::new();
    for job in &jobs {
        if transition::job(tx, *job)?.state == JobState::Claimed {
            unbegun.push(*job);
        }
    }
    let running = jobs.len().saturating_sub(unbegun.len());
    Ok((unbegun, u32::try_from(running).unwrap_or(u32::MAX)))
}

/// Jobs that sessions hold and that meet the condition.
fn held(
    tx: &Tx<'_>,
    condition: &str,
    value: &dyn rusqlite::ToSql,
) -> Result<Vec<JobId>, StoreError> {
    let sql = format!(
        "SELECT j.id FROM job j JOIN session s ON s.id = j.session
         WHERE j.state IN ('claimed', 'processing') {condition} ORDER BY j.id"
    );
    let mut query = tx.db.prepare_cached(&sql)?;
    let rows = query.query_map(params![value], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
