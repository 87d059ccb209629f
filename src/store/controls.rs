//! What operators pause, drain and resume. It is state in the database, looked at by every claim
//! and every heartbeat: nothing has to be told twice, and a restart forgets nothing.

use super::audit;
use super::operate::named;
use super::writer::Tx;
use super::{Store, StoreError, sessions};
use crate::model::{JobId, Mode, SessionId, Target, limits};
use crate::policy::flow;
use crate::protocol::control::ControlView;
use crate::protocol::event::Change;
use rusqlite::{Connection, OptionalExtension, Row, params};

/// What a heartbeat is answered from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The claims that the session holds.
    pub held: Vec<(JobId, u32)>,
    /// Its worker is to finish what runs and ask for nothing more.
    pub drain: bool,
}

impl Store {
    /// Pauses, drains or resumes the farm, a queue or a worker. Asked for what is already so, it
    /// changes nothing.
    pub async fn set_control(
        &self,
        target: Target,
        mode: Mode,
        actor: &str,
        reason: &str,
    ) -> Result<ControlView, StoreError> {
        let (actor, reason) = (actor.to_owned(), reason.to_owned());
        self.writer.run(move |tx| set(tx, &target, mode, &actor, &reason)).await
    }

    /// All that is paused or draining.
    pub async fn controls(&self) -> Result<Vec<ControlView>, StoreError> {
        self.readers.run(|db| all(db, "")).await
    }

    /// What to answer to a heartbeat of an open session.
    pub async fn told(&self, session: &SessionId) -> Result<Told, StoreError> {
        let session = session.clone();
        self.readers
            .run(move |db| {
                let worker: String = db
                    .prepare_cached(
                        "SELECT worker FROM session WHERE id = ?1 AND closed_ms IS NULL",
                    )?
                    .query_row([&session], |row| row.get(0))
                    .optional()?
                    .ok_or(StoreError::UnknownSession)?;
                let drain = db
                    .prepare_cached(
                        "SELECT EXISTS (SELECT 1 FROM control WHERE scope = 'worker' AND name = ?1
                            AND mode = 'draining')
                         OR EXISTS (SELECT 1 FROM control WHERE scope = 'farm'
                            AND mode = 'draining')",
                    )?
                    .query_row([&worker], |row| row.get(0))?;
                Ok(Told { held: sessions::held(db, &session)?, drain })
            })
            .await
    }
}

const CONTROL: &str = "SELECT scope, name, mode, actor, reason, changed_ms FROM control";

fn view(row: &Row<'_>) -> rusqlite::Result<ControlView> {
    let (scope, name): (String, String) = (row.get(0)?, row.get(1)?);
    Ok(ControlView {
        target: match scope.as_str() {
            "queue" => Target::Queue { queue: name },
            "worker" => Target::Worker { worker: name },
            _ => Target::Farm,
        },
        mode: row.get(2)?,
        actor: row.get(3)?,
        reason: row.get(4)?,
        since_ms: row.get(5)?,
        running: 0,
    })
}

/// All controls, or those that meet a condition.
fn all(db: &Connection, condition: &str) -> Result<Vec<ControlView>, StoreError> {
    let mut query = db.prepare_cached(&format!("{CONTROL} {condition} ORDER BY scope, name"))?;
    let rows = query.query_map([], view)?.collect::<Result<Vec<_>, _>>()?;
    rows.into_iter().map(|view| with_running(db, view)).collect()
}

/// All that drains.
pub(super) fn draining(db: &Connection) -> Result<Vec<ControlView>, StoreError> {
    all(db, "WHERE mode = 'draining'")
}

/// How the target stands in the table.
fn key(target: &Target) -> (&'static str, &str) {
    match target {
        Target::Farm => ("farm", ""),
        Target::Queue { queue } => ("queue", queue),
        Target::Worker { worker } => ("worker", worker),
    }
}

fn check(target: &Target) -> Result<(), StoreError> {
    let (_, name) = key(target);
    match target {
        Target::Queue { queue } if !flow::is_queue(queue) => {
            Err(StoreError::NotFound(format!("queue {queue}")))
        }
        Target::Worker { .. }
            if name.trim().is_empty()
                || name.len() > limits::TARGET_BYTES
                || name.contains(char::is_control) =>
        {
            Err(StoreError::Invalid(format!(
                "a worker's name has 1 to {} bytes and no control characters",
                limits::TARGET_BYTES
            )))
        }
        _ => Ok(()),
    }
}

fn find(db: &Connection, target: &Target) -> Result<Option<ControlView>, StoreError> {
    let (scope, name) = key(target);
    Ok(db
        .prepare_cached(&format!("{CONTROL} WHERE scope = ?1 AND name = ?2"))?
        .query_row([scope, name], view)
        .optional()?)
}

fn set(
    tx: &Tx<'_>,
    target: &Target,
    mode: Mode,
    actor: &str,
    reason: &str,
) -> Result<ControlView, StoreError> {
    check(target)?;
    let from = find(tx.db, target)?.map_or(Mode::Running, |view| view.mode);
    let (scope, name) = key(target);
    if from != mode {
        if mode == Mode::Running {
            tx.db
                .prepare_cached("DELETE FROM control WHERE scope = ?1 AND name = ?2")?
                .execute([scope, name])?;
        } else {
            room(tx.db)?;
            tx.db
                .prepare_cached(
                    "INSERT INTO control (scope, name, mode, actor, reason, changed_ms)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                     ON CONFLICT (scope, name) DO UPDATE SET mode = ?3, actor = ?4, reason = ?5,
                        changed_ms = ?6",
                )?
                .execute(params![scope, name, mode, actor, reason, tx.now.wall_ms])?;
        }
        let (target, reason) = (target.clone(), reason.to_owned());
        let change = Change::ControlChanged { target, from, mode, reason };
        audit::record(tx, &named(actor, ""), &change)?;
    }
    let running = ControlView {
        target: target.clone(),
        mode: Mode::Running,
        actor: String::new(),
        reason: String::new(),
        since_ms: None,
        running: 0,
    };
    with_running(tx.db, find(tx.db, target)?.unwrap_or(running))
}

fn room(db: &Connection) -> Result<(), StoreError> {
    let rows: u32 =
        db.prepare_cached("SELECT count(*) FROM control")?.query_row([], |row| row.get(0))?;
    if rows < limits::CONTROLS {
        return Ok(());
    }
    Err(StoreError::Invalid(format!(
        "{} queues and workers are paused or draining already: resume some",
        limits::CONTROLS
    )))
}

/// Fills in how many jobs still run: of those that are leased, never of all.
fn with_running(db: &Connection, mut view: ControlView) -> Result<ControlView, StoreError> {
    let (scope, name) = key(&view.target);
    view.running = db
        .prepare_cached(
            "SELECT count(*) FROM session s JOIN job j ON j.session = s.id
                AND j.state IN ('claimed', 'processing')
             WHERE s.closed_ms IS NULL AND (?1 = 'farm' OR (?1 = 'queue' AND j.queue = ?2)
                OR (?1 = 'worker' AND s.worker = ?2))",
        )?
        .query_row([scope, name], |row| row.get::<_, i64>(0))?
        .unsigned_abs();
    Ok(view)
}
