//! The audit: every change is written here in its own transaction, and read as the event stream.

use super::StoreError;
use super::columns::{from_json, to_json};
use super::writer::Tx;
use crate::model::Intent;
use crate::protocol::dead::BatchKind;
use crate::protocol::event::{Change, Event};
use rusqlite::{Connection, params};

/// Writes one change.
pub(super) fn record(tx: &Tx<'_>, actor: &str, change: &Change) -> Result<(), StoreError> {
    let body = to_json(change)?;
    let row = Row::of(change);
    tx.db
        .prepare_cached(
            "INSERT INTO audit (at_ms, actor, pipeline, job, epoch, from_state, to_state, cause,
                error_class, reason, change)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            tx.now.wall_ms,
            actor,
            row.pipeline,
            row.job,
            row.epoch,
            row.from,
            row.to,
            row.cause,
            row.class,
            row.reason,
            body
        ])?;
    Ok(())
}

/// The columns people search by.
#[derive(Default)]
struct Row {
    pipeline: Option<i64>,
    job: Option<i64>,
    epoch: Option<u32>,
    from: Option<&'static str>,
    to: Option<&'static str>,
    cause: &'static str,
    class: Option<&'static str>,
    reason: Option<&'static str>,
}

impl Row {
    fn of(change: &Change) -> Self {
        match change {
            Change::PipelineCreated { pipeline } => {
                Self { pipeline: Some(pipeline.id.0), cause: "submitted", ..Self::default() }
            }
            Change::PipelineChanged { pipeline, status, .. } => Self {
                pipeline: Some(pipeline.0),
                to: Some(status.as_str()),
                cause: "pipeline",
                ..Self::default()
            },
            Change::StageChanged { pipeline, status, .. } => Self {
                pipeline: Some(pipeline.0),
                to: Some(status.as_str()),
                cause: "stage",
                ..Self::default()
            },
            Change::JobCreated { job, pipeline, .. } => Self {
                pipeline: Some(pipeline.0),
                job: Some(job.0),
                to: Some("queued"),
                cause: "created",
                ..Self::default()
            },
            Change::JobChanged { job, pipeline, from, to, verb, epoch, failure, .. } => Self {
                pipeline: Some(pipeline.0),
                job: Some(job.0),
                epoch: Some(epoch.0),
                from: Some(from.as_str()),
                to: Some(to.as_str()),
                cause: verb.as_str(),
                class: failure.as_ref().map(|failure| failure.class.as_str()),
                reason: failure.as_ref().map(|failure| failure.reason.code()),
            },
            Change::DeadLetterSettled { job, replayed_as, .. } => Self {
                job: Some(job.0),
                cause: if replayed_as.is_some() { "replayed" } else { "dismissed" },
                ..Self::default()
            },
            Change::DeadLettersSettled { kind, .. } => Self {
                cause: match kind {
                    BatchKind::Replay => "replayed_many",
                    BatchKind::Dismiss => "dismissed_many",
                },
                ..Self::default()
            },
            Change::Published { pipeline, .. } => {
                Self { pipeline: Some(pipeline.0), cause: "published", ..Self::default() }
            }
            Change::Exported { pipeline, .. } => {
                Self { pipeline: Some(pipeline.0), cause: "exported", ..Self::default() }
            }
            Change::WorkerJoined { .. } => Self { cause: "worker_joined", ..Self::default() },
            Change::WorkerLeft { .. } => Self { cause: "worker_left", ..Self::default() },
            Change::ControlChanged { from, mode, .. } => Self {
                from: Some(from.as_str()),
                to: Some(mode.as_str()),
                cause: "control",
                ..Self::default()
            },
            Change::LimitChanged { .. } => Self { cause: "limit", ..Self::default() },
            Change::IntentApplied { intent, .. } => Self::of_intent(intent),
            Change::WorkerQuarantined { .. } => {
                Self { cause: "worker_quarantined", ..Self::default() }
            }
            Change::WorkerForgiven { .. } => Self { cause: "worker_forgiven", ..Self::default() },
            Change::WatchFolderChanged { .. } | Change::WatchFileChanged { .. } => {
                Self::of_watching(change)
            }
        }
    }

    fn of_watching(change: &Change) -> Self {
        match change {
            Change::WatchFolderChanged { verb, .. } => {
                Self { cause: verb.as_str(), ..Self::default() }
            }
            Change::WatchFileChanged { state, pipeline, .. } => Self {
                pipeline: pipeline.map(|pipeline| pipeline.0),
                to: Some(state.as_str()),
                cause: "watch",
                ..Self::default()
            },
            _ => Self::default(),
        }
    }

    fn of_intent(intent: &Intent) -> Self {
        let row = Self { cause: "applied_again", ..Self::default() };
        match intent {
            Intent::Cancel { pipeline } => Self { pipeline: Some(pipeline.0), ..row },
            Intent::Stop { job, .. } => Self { job: Some(job.0), ..row },
            Intent::Drain { .. } => row,
        }
    }
}

/// Events after `seq`, oldest first.
pub(super) fn after(db: &Connection, seq: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT seq, at_ms, actor, change FROM audit WHERE seq > ?1 ORDER BY seq LIMIT ?2",
    )?;
    let seq = i64::try_from(seq).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = query.query_map([seq, limit], |row| {
        Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get::<_, String>(3)?))
    })?;
    rows.map(|row| {
        let (seq, at_ms, actor, change) = row?;
        let seq = u64::try_from(seq).unwrap_or(0);
        Ok(Event { seq, at_ms, actor, change: from_json(&change)? })
    })
    .collect()
}

/// The number of the last event.
pub(super) fn last_seq(db: &Connection) -> Result<u64, StoreError> {
    let seq: Option<i64> =
        db.prepare_cached("SELECT max(seq) FROM audit")?.query_row([], |row| row.get(0))?;
    Ok(seq.and_then(|seq| u64::try_from(seq).ok()).unwrap_or(0))
}
