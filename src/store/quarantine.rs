//! What counts against a worker, and who is given no more work.

use super::audit;
use super::transition::JobRow;
use super::writer::Tx;
use super::{Store, StoreError};
use crate::model::{Reason, SessionId};
use crate::policy::quarantine::{Failures, counts_against_worker, is_due, is_too_big};
use crate::protocol::event::Change;
use crate::protocol::quarantine::{Quarantine, WorkerFailure};
use crate::protocol::work::Failure;
use rusqlite::{Connection, OptionalExtension, params};

impl Store {
    /// A worker in quarantine is given work again; what counted against it is forgotten.
    pub async fn forgive(&self, worker: &str, actor: &str, reason: &str) -> Result<(), StoreError> {
        let (worker, actor, reason) = (worker.to_owned(), actor.to_owned(), reason.to_owned());
        self.writer.run(move |tx| forgive(tx, &worker, &actor, &reason)).await
    }

    /// Why a worker is given no work; none where it is.
    pub async fn quarantine(&self, worker: &str) -> Result<Option<Quarantine>, StoreError> {
        let worker = worker.to_owned();
        self.readers.run(move |db| of(db, &worker)).await
    }
}

/// Counts a reported failure; the last straw ends the worker's work.
pub(super) fn failed(
    tx: &Tx<'_>,
    row: &JobRow,
    failure: &Failure,
    actor: &str,
) -> Result<(), StoreError> {
    let Some(worker) = &row.worker else { return Ok(()) };
    if !counts_against_worker(failure.class) || is_barred(tx.db, worker)? {
        return Ok(());
    }
    tx.db
        .prepare_cached(
            "INSERT INTO worker_failure (worker, pipeline, job, reason, class, message, at_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (worker, pipeline) DO UPDATE SET job = ?3, reason = ?4, class = ?5,
                message = ?6, at_ms = ?7 WHERE NOT ?8",
        )?
        .execute(params![
            worker,
            row.pipeline,
            row.id,
            failure.reason,
            failure.class,
            failure.message,
            tx.now.wall_ms,
            // What says less of the worker does not hide what says more.
            is_too_big(failure.reason),
        ])?;
    let failures = tx
        .db
        .prepare_cached(
            "SELECT count(*), count(*) FILTER (WHERE reason = ?2) FROM worker_failure
             WHERE worker = ?1",
        )?
        .query_row(params![worker, Reason::LimitMemory], |found| {
            Ok(Failures { pipelines: found.get(0)?, too_big: found.get(1)? })
        })?;
    if !is_due(failures) {
        return Ok(());
    }
    tx.db
        .prepare_cached("INSERT INTO quarantine (worker, since_ms) VALUES (?1, ?2)")?
        .execute(params![worker, tx.now.wall_ms])?;
    let Some(quarantine) = of(tx.db, worker)? else { return Ok(()) };
    let change = Change::WorkerQuarantined { worker: worker.clone(), quarantine };
    audit::record(tx, actor, &change)
}

/// A success ends the row of failures, but not a quarantine.
pub(super) fn succeeded(tx: &Tx<'_>, row: &JobRow) -> Result<(), StoreError> {
    if let Some(worker) = &row.worker {
        tx.db
            .prepare_cached(
                "DELETE FROM worker_failure WHERE worker = ?1
                    AND NOT EXISTS (SELECT 1 FROM quarantine WHERE worker = ?1)",
            )?
            .execute([worker])?;
    }
    Ok(())
}

/// Whether the worker is given no work.
pub(super) fn is_barred(db: &Connection, worker: &str) -> Result<bool, StoreError> {
    Ok(db
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM quarantine WHERE worker = ?1)")?
        .query_row([worker], |row| row.get(0))?)
}

/// Workers beside this session's that are here but given no work.
pub(super) fn barred_beside(db: &Connection, session: &SessionId) -> Result<u32, StoreError> {
    Ok(db
        .prepare_cached(
            "SELECT count(*) FROM quarantine q CROSS JOIN session s
                ON s.worker = q.worker AND s.closed_ms IS NULL
             WHERE s.id <> ?1",
        )?
        .query_row([session], |row| row.get(0))?)
}

/// Why a worker is given no work.
pub(super) fn of(db: &Connection, worker: &str) -> Result<Option<Quarantine>, StoreError> {
    let since_ms: Option<i64> = db
        .prepare_cached("SELECT since_ms FROM quarantine WHERE worker = ?1")?
        .query_row([worker], |row| row.get(0))
        .optional()?;
    let Some(since_ms) = since_ms else { return Ok(None) };
    let mut query = db.prepare_cached(
        "SELECT pipeline, job, reason, class, message, at_ms FROM worker_failure
         WHERE worker = ?1 ORDER BY at_ms, pipeline",
    )?;
    let rows = query.query_map([worker], |row| {
        Ok(WorkerFailure {
            pipeline: row.get(0)?,
            job: row.get(1)?,
            reason: row.get(2)?,
            class: row.get(3)?,
            message: row.get(4)?,
            at_ms: row.get(5)?,
        })
    })?;
    Ok(Some(Quarantine { since_ms, evidence: rows.collect::<Result<_, _>>()? }))
}

fn forgive(tx: &Tx<'_>, worker: &str, actor: &str, reason: &str) -> Result<(), StoreError> {
    let rows = tx.db.execute("DELETE FROM quarantine WHERE worker = ?1", [worker])?;
    if rows == 0 {
        return Err(StoreError::Conflict(format!("worker '{worker}' is not in quarantine")));
    }
    tx.db.execute("DELETE FROM worker_failure WHERE worker = ?1", [worker])?;
    let change = Change::WorkerForgiven { worker: worker.to_owned(), reason: reason.to_owned() };
    audit::record(tx, &format!("operator {actor}"), &change)
}
