//! The one place where a job changes its state: table, guard, counters, audit, together.

use super::StoreError;
use super::audit;
use super::columns::{size_column, size_value};
use super::flights;
use super::retries;
use super::writer::Tx;
use crate::model::state::next;
use crate::model::{Checksum, Chunk, Epoch, JobId, JobState, PipelineId, SessionId, Stage, Verb};
use crate::protocol::event::Change;
use crate::protocol::view::AttemptOutcome;
use crate::protocol::work::{Failure, Fence};
use rusqlite::{OptionalExtension, params};

/// A job as the verbs need it.
#[derive(Debug, Clone)]
pub(super) struct JobRow {
    pub(super) id: JobId,
    pub(super) pipeline: PipelineId,
    pub(super) stage: Stage,
    pub(super) chunk: Chunk,
    pub(super) state: JobState,
    pub(super) attempt: u32,
    pub(super) epoch: Epoch,
    pub(super) session: Option<SessionId>,
    pub(super) worker: Option<String>,
    pub(super) idempotency_key: String,
    pub(super) queue: String,
    pub(super) max_attempts: u32,
    /// The worker that it failed on last.
    pub(super) failed_on: Option<String>,
    pub(super) licence_waited_ms: u64,
    /// Which work it is alike to.
    pub(super) flight: Option<Checksum>,
    /// The alike job that runs now.
    pub(super) builder: Option<JobId>,
}

/// Reads one job.
pub(super) fn job(tx: &Tx<'_>, id: JobId) -> Result<JobRow, StoreError> {
    tx.db
        .prepare_cached(
            "SELECT j.id, j.pipeline, j.stage, j.chunk, j.state, j.attempt, j.epoch, j.session,
                s.worker, j.idempotency_key, j.queue, j.max_attempts, j.failed_on,
                j.licence_waited_ms, j.flight, j.builder
             FROM job j LEFT JOIN session s ON s.id = j.session WHERE j.id = ?1",
        )?
        .query_row([id], |row| {
            Ok(JobRow {
                id: row.get(0)?,
                pipeline: row.get(1)?,
                stage: row.get(2)?,
                chunk: row.get(3)?,
                state: row.get(4)?,
                attempt: row.get(5)?,
                epoch: row.get(6)?,
                session: row.get(7)?,
                worker: row.get(8)?,
                idempotency_key: row.get(9)?,
                queue: row.get(10)?,
                max_attempts: row.get(11)?,
                failed_on: row.get(12)?,
                licence_waited_ms: size_value(row.get(13)?),
                flight: row.get(14)?,
                builder: row.get(15)?,
            })
        })
        .optional()?
        .ok_or_else(|| StoreError::NotFound(format!("job {id}")))
}

/// Reads the job that a fence claims to hold, or says why the fence is stale.
pub(super) fn fenced(tx: &Tx<'_>, id: JobId, fence: &Fence) -> Result<JobRow, StoreError> {
    session_worker(tx, &fence.session)?;
    let row = job(tx, id)?;
    let held = row.session.as_ref() == Some(&fence.session) && row.epoch == fence.epoch;
    match row.state {
        JobState::Claimed | JobState::Processing if held => Ok(row),
        JobState::Cancelled => Err(StoreError::Cancelled(id)),
        JobState::Succeeded | JobState::FailedTerminal => Err(StoreError::Finished(id)),
        _ => Err(StoreError::Superseded(id)),
    }
}

/// The worker of an open session.
pub(super) fn session_worker(tx: &Tx<'_>, session: &SessionId) -> Result<String, StoreError> {
    tx.db
        .prepare_cached("SELECT worker FROM session WHERE id = ?1 AND closed_ms IS NULL")?
        .query_row([session], |row| row.get(0))
        .optional()?
        .ok_or(StoreError::UnknownSession)
}

/// What goes with a change of state.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct With<'a> {
    /// Who claims.
    pub(super) claimed_by: Option<(&'a SessionId, &'a str)>,
    /// Why it failed.
    pub(super) failure: Option<&'a Failure>,
    /// When the retry is due.
    pub(super) run_at_ms: Option<i64>,
    /// Attempts that the policy allows after this failure.
    pub(super) max_attempts: Option<u32>,
    /// The wait is for something that others hold: it uses no attempt.
    pub(super) licence_wait_ms: Option<u64>,
}

/// Changes the state of `row` by the table, or says that the verb is not legal.
pub(super) fn apply(
    tx: &Tx<'_>,
    row: &JobRow,
    verb: Verb,
    actor: &str,
    with: With<'_>,
) -> Result<JobRow, StoreError> {
    let to = next(row.state, verb).ok_or_else(|| {
        StoreError::Conflict(format!(
            "job {} is {}: it cannot {}",
            row.id,
            row.state,
            verb.as_str()
        ))
    })?;
    let after = changed(row, verb, to, with);
    write(tx, row, &after, with.run_at_ms)?;
    count_state(tx, row, row.state, -1)?;
    count_state(tx, row, to, 1)?;
    semaphores_follow(tx, row, &after)?;
    flight_follows(tx, row, &after)?;
    if retries::is_retry(row) && row.state.is_leased() != to.is_leased() {
        count(tx, &retries::counter(&row.queue), if to.is_leased() { 1 } else { -1 })?;
    }
    attempt_follows(tx, row, &after, verb, with)?;
    let holder = if to.is_leased() { &after } else { row };
    audit::record(
        tx,
        actor,
        &Change::JobChanged {
            job: row.id,
            pipeline: row.pipeline,
            from: row.state,
            to,
            verb,
            attempt: after.attempt,
            epoch: after.epoch,
            worker: holder.worker.clone(),
            session: holder.session.clone(),
            failure: with.failure.cloned(),
            run_at_ms: with.run_at_ms,
            max_attempts: with.max_attempts,
        },
    )?;
    Ok(after)
}

fn changed(row: &JobRow, verb: Verb, to: JobState, with: With<'_>) -> JobRow {
    let mut after = row.clone();
    after.state = to;
    after.builder = None;
    match verb {
        Verb::Claim => {
            after.attempt = row.attempt.saturating_add(1);
            after.epoch = Epoch(row.epoch.0.saturating_add(1));
            after.session = with.claimed_by.map(|(session, _)| session.clone());
            after.worker = with.claimed_by.map(|(_, worker)| worker.to_owned());
        }
        // Given back or stopped from outside: the attempt is not counted.
        Verb::Release | Verb::Interrupt => after.attempt = row.attempt.saturating_sub(1),
        Verb::Retry => match with.licence_wait_ms {
            Some(wait_ms) => {
                after.attempt = row.attempt.saturating_sub(1);
                after.licence_waited_ms = row.licence_waited_ms.saturating_add(wait_ms);
            }
            None => after.failed_on.clone_from(&row.worker),
        },
        _ => {}
    }
    after.max_attempts = with.max_attempts.unwrap_or(row.max_attempts);
    if !to.is_leased() {
        after.session = None;
        after.worker = None;
    }
    after
}

fn write(
    tx: &Tx<'_>,
    before: &JobRow,
    after: &JobRow,
    run_at_ms: Option<i64>,
) -> Result<(), StoreError> {
    let now = tx.now.wall_ms;
    let rows = tx
        .db
        .prepare_cached(
            "UPDATE job SET state = ?1, attempt = ?2, epoch = ?3, session = ?4, run_at_ms = ?5,
                ready_ms = iif(?1 = 'queued', ?6, ready_ms), updated_ms = ?6, finished_ms = ?7,
                max_attempts = ?11, failed_on = ?12, licence_waited_ms = ?13,
                is_retry = (?12 IS NOT NULL), builder = NULL
             WHERE id = ?8 AND state = ?9 AND epoch = ?10",
        )?
        .execute(params![
            after.state,
            after.attempt,
            after.epoch,
            after.session,
            run_at_ms,
            now,
            after.state.is_terminal().then_some(now),
            before.id,
            before.state,
            before.epoch,
            after.max_attempts,
            after.failed_on,
            size_column(after.licence_waited_ms),
        ])?;
    if rows == 1 { Ok(()) } else { Err(StoreError::Superseded(before.id)) }
}

/// The semaphores that the job needs are held exactly as long as its lease, whatever ends it.
fn semaphores_follow(tx: &Tx<'_>, before: &JobRow, after: &JobRow) -> Result<(), StoreError> {
    match (before.state.is_leased(), after.state.is_leased()) {
        (false, true) => tx
            .db
            .prepare_cached(
                "INSERT INTO semaphore_holder (semaphore, job, epoch)
                 SELECT c.semaphore, j.id, ?2 FROM job j JOIN class_semaphore c ON c.class = j.class
                 WHERE j.id = ?1",
            )?
            .execute(params![after.id, after.epoch])?,
        (true, false) => tx
            .db
            .prepare_cached("DELETE FROM semaphore_holder WHERE job = ?1 AND epoch = ?2")?
            .execute(params![before.id, before.epoch])?,
        _ => 0,
    };
    Ok(())
}

/// Alike jobs wait exactly as long as this one is leased.
fn flight_follows(tx: &Tx<'_>, before: &JobRow, after: &JobRow) -> Result<(), StoreError> {
    match (before.state.is_leased(), after.state.is_leased()) {
        (false, true) => flights::hold_others(tx, after),
        (true, false) => flights::release_others(tx, before),
        _ => Ok(()),
    }
}

/// The attempt's row begins with the claim and ends with whatever ends the lease.
fn attempt_follows(
    tx: &Tx<'_>,
    before: &JobRow,
    after: &JobRow,
    verb: Verb,
    with: With<'_>,
) -> Result<(), StoreError> {
    let now = tx.now.wall_ms;
    let outcome = match verb {
        Verb::Claim => {
            tx.db
                .prepare_cached(
                    "INSERT INTO attempt (job, epoch, attempt, session, worker, claimed_ms, outcome)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'running')",
                )?
                .execute(params![
                    after.id,
                    after.epoch,
                    after.attempt,
                    after.session,
                    after.worker,
                    now
                ])?;
            return Ok(());
        }
        Verb::Start => {
            tx.db
                .prepare_cached("UPDATE attempt SET started_ms = ?1 WHERE job = ?2 AND epoch = ?3")?
                .execute(params![now, after.id, after.epoch])?;
            return Ok(());
        }
        Verb::Due | Verb::Reuse => return Ok(()),
        Verb::Cancel if !before.state.is_leased() => return Ok(()),
        Verb::Release | Verb::Interrupt => AttemptOutcome::Returned,
        Verb::Complete => AttemptOutcome::Succeeded,
        Verb::Cancel => AttemptOutcome::Cancelled,
        Verb::Retry if with.licence_wait_ms.is_some() => AttemptOutcome::Returned,
        Verb::Retry | Verb::GiveUp => match with.failure {
            Some(failure) if is_loss(failure) => AttemptOutcome::Lost,
            _ => AttemptOutcome::Failed,
        },
    };
    tx.db
        .prepare_cached(
            "UPDATE attempt SET ended_ms = ?1, outcome = ?2, reason = ?3, class = ?4, message = ?5
             WHERE job = ?6 AND epoch = ?7 AND outcome = 'running'",
        )?
        .execute(params![
            now,
            outcome,
            with.failure.map(|failure| failure.reason),
            with.failure.map(|failure| failure.class),
            with.failure.map(|failure| failure.message.as_str()),
            before.id,
            before.epoch,
        ])?;
    Ok(())
}

/// Whether the worker vanished, as against a failure that it reported.
pub(super) fn is_loss(failure: &Failure) -> bool {
    use crate::model::Reason;
    matches!(failure.reason, Reason::LeaseLost | Reason::WorkerPoisoned)
}

/// Counts a job in or out of a state, and out of or into its queue.
fn count_state(tx: &Tx<'_>, row: &JobRow, state: JobState, change: i64) -> Result<(), StoreError> {
    count(tx, state.as_str(), change)?;
    if state == JobState::Queued { count_queued(tx, &row.queue, change) } else { Ok(()) }
}

/// Counts jobs that wait in one queue.
pub(super) fn count_queued(tx: &Tx<'_>, queue: &str, change: i64) -> Result<(), StoreError> {
    count(tx, &format!("queued/{queue}"), change)
}

/// Adds to a kept counter; requests never count rows.
pub(super) fn count(tx: &Tx<'_>, name: &str, change: i64) -> Result<(), StoreError> {
    tx.db
        .prepare_cached(
            "INSERT INTO counter (name, n) VALUES (?1, max(?2, 0))
             ON CONFLICT (name) DO UPDATE SET n = n + ?2",
        )?
        .execute(params![name, change])?;
    Ok(())
}
