//! Sessions of workers, and what their end does to the jobs they hold.

use super::audit;
use super::columns::{from_json, size_value, to_json};
use super::failures::{Ending, end_attempt};
use super::transition::{self, With, session_worker};
use super::writer::Tx;
use super::{SessionRecord, Store, StoreError, quarantine};
use crate::model::{JobId, JobState, Reason, SessionId, Verb};
use crate::protocol::event::Change;
use crate::protocol::view::WorkerView;
use crate::protocol::work::{Capabilities, Failure};
use rusqlite::{Connection, OptionalExtension, params};

impl Store {
    /// A worker's session begins. `instance` names the worker's own folder, which it holds a lock
    /// on: an open session of the same worker and instance must be that of a dead process and
    /// ends as lost; one of another instance is a clash of names and is refused.
    pub async fn open_session(
        &self,
        session: SessionId,
        worker: String,
        instance: String,
        capabilities: Capabilities,
    ) -> Result<SessionRecord, StoreError> {
        self.writer
            .run(move |tx| {
                let opened_at_ms = tx.now.wall_ms;
                let record = SessionRecord { id: session, worker, capabilities, opened_at_ms };
                open(tx, &record, &instance)?;
                Ok(record)
            })
            .await
    }

    /// Sessions that are open, for example after a restart.
    pub async fn sessions(&self) -> Result<Vec<SessionRecord>, StoreError> {
        self.readers.run(open_sessions).await
    }

    /// A session ends. `lost`: its lease ran out, so its attempts count as lost. Otherwise the
    /// worker said goodbye and its jobs go back with no attempt used. Returns how many jobs.
    pub async fn close_session(&self, session: &SessionId, lost: bool) -> Result<u32, StoreError> {
        let session = session.clone();
        self.writer.run(move |tx| close(tx, &session, lost)).await
    }

    /// The claims that an open session holds.
    pub async fn held(&self, session: &SessionId) -> Result<Vec<(JobId, u32)>, StoreError> {
        let session = session.clone();
        self.readers
            .run(move |db| {
                let known: Option<i64> = db
                    .prepare_cached("SELECT 1 FROM session WHERE id = ?1 AND closed_ms IS NULL")?
                    .query_row([&session], |row| row.get(0))
                    .optional()?;
                known.ok_or(StoreError::UnknownSession)?;
                held(db, &session)
            })
            .await
    }
}

fn open(tx: &Tx<'_>, record: &SessionRecord, instance: &str) -> Result<(), StoreError> {
    let other: Option<(SessionId, String)> = tx
        .db
        .prepare_cached("SELECT id, instance FROM session WHERE worker = ?1 AND closed_ms IS NULL")?
        .query_row([&record.worker], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match other {
        Some((_, other)) if other != instance => {
            return Err(StoreError::Conflict(format!(
                "a worker called '{}' is here already: start this one with another --name",
                record.worker
            )));
        }
        Some((dead, _)) => {
            close(tx, &dead, true)?;
        }
        None => {}
    }
    tx.db
        .prepare_cached(
            "INSERT INTO session (id, worker, instance, capabilities, opened_ms)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            record.id,
            record.worker,
            instance,
            to_json(&record.capabilities)?,
            tx.now.wall_ms
        ])?;
    let change = Change::WorkerJoined { worker: worker_view(tx.db, record, Vec::new())? };
    audit::record(tx, &actor(&record.worker), &change)
}

/// How the audit names a worker.
pub(super) fn actor(worker: &str) -> String {
    format!("worker {worker}")
}

/// A worker as clients see it. The coordinator, which keeps the leases, fills in what is left.
pub(super) fn worker_view(
    db: &Connection,
    record: &SessionRecord,
    jobs: Vec<JobId>,
) -> Result<WorkerView, StoreError> {
    Ok(WorkerView {
        name: record.worker.clone(),
        session: record.id.clone(),
        capabilities: record.capabilities.clone(),
        jobs,
        opened_at_ms: record.opened_at_ms,
        lease_left_ms: 0,
        quarantine: quarantine::of(db, &record.worker)?,
    })
}

fn close(tx: &Tx<'_>, session: &SessionId, lost: bool) -> Result<u32, StoreError> {
    let worker = session_worker(tx, session)?;
    let who = if lost { "coordinator".to_owned() } else { actor(&worker) };
    let jobs = held(tx.db, session)?;
    for (job, _) in &jobs {
        let row = transition::job(tx, *job)?;
        if lost {
            let failure = Failure::new(
                Reason::LeaseLost,
                format!("worker {worker} stopped reporting while it held the job"),
            );
            end_attempt(tx, &row, &failure, Ending::Lost, &who)?;
        } else {
            let verb = if row.state == JobState::Claimed { Verb::Release } else { Verb::Interrupt };
            transition::apply(tx, &row, verb, &who, With::default())?;
        }
    }
    tx.db
        .prepare_cached("UPDATE session SET closed_ms = ?1, lost = ?2 WHERE id = ?3")?
        .execute(params![tx.now.wall_ms, lost, session])?;
    audit::record(tx, &who, &Change::WorkerLeft { worker, session: session.clone(), lost })?;
    Ok(u32::try_from(jobs.len()).unwrap_or(u32::MAX))
}

/// Jobs that a session holds, with the epochs of its claims.
pub(super) fn held(db: &Connection, session: &SessionId) -> Result<Vec<(JobId, u32)>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT id, epoch FROM job WHERE session = ?1 AND state IN ('claimed', 'processing')
         ORDER BY id",
    )?;
    let rows = query.query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// What the worker of an open session can do.
pub(super) fn capabilities(
    db: &Connection,
    session: &SessionId,
) -> Result<Capabilities, StoreError> {
    let found: Option<String> = db
        .prepare_cached("SELECT capabilities FROM session WHERE id = ?1 AND closed_ms IS NULL")?
        .query_row([session], |row| row.get(0))
        .optional()?;
    from_json(&found.ok_or(StoreError::UnknownSession)?)
}

/// How many sessions are open.
pub(super) fn open_count(db: &Connection) -> Result<u64, StoreError> {
    let count: i64 = db
        .prepare_cached(
            "SELECT count(*) FROM session INDEXED BY session_open WHERE closed_ms IS NULL",
        )?
        .query_row([], |row| row.get(0))?;
    Ok(size_value(count))
}

/// Open sessions, oldest first.
pub(super) fn open_sessions(db: &Connection) -> Result<Vec<SessionRecord>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT id, worker, capabilities, opened_ms FROM session INDEXED BY session_open
         WHERE closed_ms IS NULL
         ORDER BY opened_ms, id",
    )?;
    let rows = query.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?, row.get(3)?))
    })?;
    rows.map(|row| {
        let (id, worker, capabilities, opened_at_ms) = row?;
        Ok(SessionRecord { id, worker, capabilities: from_json(&capabilities)?, opened_at_ms })
    })
    .collect()
}
