//! What operators and the coordinator's own timers do: retries that are due, cancel, replay,
//! dismiss.

use super::audit;
use super::transition::{self, With, apply, count};
use super::writer::Tx;
use super::{Store, StoreError, advance};
use crate::model::{JobId, JobState, PipelineId, PipelineStatus, Stage, StageStatus, Verb};
use crate::protocol::event::Change;
use rusqlite::{OptionalExtension, params};

/// Retries promoted in one transaction.
const DUE_PER_CALL: u32 = 500;

impl Store {
    /// Retries that are due go back to their queues; returns how many.
    pub async fn promote_due(&self) -> Result<u32, StoreError> {
        self.writer.run(promote_due).await
    }

    /// Cancels every live job of a pipeline and the pipeline; returns how many jobs.
    pub async fn cancel_pipeline(
        &self,
        pipeline: PipelineId,
        actor: &str,
        reason: &str,
    ) -> Result<u32, StoreError> {
        let actor = named(actor, reason);
        self.writer.run(move |tx| cancel(tx, pipeline, &actor)).await
    }

    /// Replays a dead letter as a new job.
    pub async fn replay(&self, job: JobId, actor: &str, reason: &str) -> Result<JobId, StoreError> {
        let (actor, note) = (named(actor, ""), reason.to_owned());
        self.writer.run(move |tx| replay(tx, job, &actor, &note)).await
    }

    /// Dismisses a dead letter.
    pub async fn dismiss(&self, job: JobId, actor: &str, reason: &str) -> Result<(), StoreError> {
        let (actor, note) = (named(actor, ""), reason.to_owned());
        self.writer.run(move |tx| settle(tx, job, None, &actor, &note)).await
    }
}

pub(super) fn named(actor: &str, reason: &str) -> String {
    if reason.is_empty() {
        format!("operator {actor}")
    } else {
        format!("operator {actor}: {reason}")
    }
}

fn promote_due(tx: &Tx<'_>) -> Result<u32, StoreError> {
    let due: Vec<JobId> = tx
        .db
        .prepare_cached(
            "SELECT id FROM job WHERE state = 'retry_scheduled' AND run_at_ms <= ?1
             ORDER BY run_at_ms LIMIT ?2",
        )?
        .query_map(params![tx.now.wall_ms, DUE_PER_CALL], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for job in &due {
        let row = transition::job(tx, *job)?;
        apply(tx, &row, Verb::Due, "coordinator", With::default())?;
    }
    Ok(u32::try_from(due.len()).unwrap_or(u32::MAX))
}

fn cancel(tx: &Tx<'_>, id: PipelineId, actor: &str) -> Result<u32, StoreError> {
    let pipeline = advance::pipeline(tx.db, id)?;
    let live: Vec<JobId> = tx
        .db
        .prepare_cached(
            "SELECT id FROM job WHERE pipeline = ?1
                AND state IN ('queued', 'claimed', 'processing', 'retry_scheduled') ORDER BY id",
        )?
        .query_map([id], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    if pipeline.status != PipelineStatus::Running && live.is_empty() {
        return Err(StoreError::Conflict(format!(
            "pipeline {id} has ended: it is {}",
            pipeline.status
        )));
    }
    for job in &live {
        let row = transition::job(tx, *job)?;
        apply(tx, &row, Verb::Cancel, actor, With::default())?;
    }
    let open: Vec<Stage> = tx
        .db
        .prepare_cached(
            "SELECT stage FROM stage WHERE pipeline = ?1 AND status IN ('pending', 'running')
             ORDER BY ordinal",
        )?
        .query_map([id], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for stage in open {
        advance::set_stage(tx, id, stage, StageStatus::Cancelled, actor)?;
    }
    if pipeline.status == PipelineStatus::Running {
        advance::set_pipeline(tx, &pipeline, PipelineStatus::Cancelled, actor)?;
    }
    Ok(u32::try_from(live.len()).unwrap_or(u32::MAX))
}

fn replay(tx: &Tx<'_>, job: JobId, actor: &str, note: &str) -> Result<JobId, StoreError> {
    let row = transition::job(tx, job)?;
    if row.state != JobState::FailedTerminal {
        return Err(StoreError::Conflict(format!(
            "job {job} is {}: only a dead letter can be replayed",
            row.state
        )));
    }
    let before: Option<JobId> = tx
        .db
        .prepare_cached("SELECT replayed_as FROM dead_letter WHERE job = ?1")?
        .query_row([job], |found| found.get(0))?;
    if let Some(before) = before {
        return Err(StoreError::Conflict(format!(
            "job {job} was replayed before, as job {before}"
        )));
    }
    let pipeline = advance::pipeline(tx.db, row.pipeline)?;
    let twin: Option<PipelineId> = tx
        .db
        .prepare_cached(
            "SELECT id FROM pipeline WHERE asset_version = ?1 AND profile = ?2 AND id <> ?3
                AND status IN ('running', 'succeeded')",
        )?
        .query_row(params![pipeline.version_id, pipeline.profile, pipeline.id], |found| {
            found.get(0)
        })
        .optional()?;
    if let Some(twin) = twin {
        return Err(StoreError::Conflict(format!(
            "pipeline {twin} does the same work: dismiss this dead letter instead"
        )));
    }
    let new = advance::create_job(tx, &pipeline, row.stage, row.chunk, Some(job), actor)?;
    settle(tx, job, Some(new), actor, note)?;
    if !waiting_dead(tx, row.pipeline, Some(row.stage))? {
        advance::set_stage(tx, row.pipeline, row.stage, StageStatus::Running, actor)?;
    }
    if !waiting_dead(tx, row.pipeline, None)? {
        advance::set_pipeline(tx, &pipeline, PipelineStatus::Running, actor)?;
    }
    Ok(new)
}

/// Whether a dead letter of the pipeline (and stage) still waits for somebody.
fn waiting_dead(
    tx: &Tx<'_>,
    pipeline: PipelineId,
    stage: Option<Stage>,
) -> Result<bool, StoreError> {
    Ok(tx
        .db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM dead_letter d JOIN job j ON j.id = d.job
             WHERE j.pipeline = ?1 AND (?2 IS NULL OR j.stage = ?2) AND d.replayed_as IS NULL)",
        )?
        .query_row(params![pipeline, stage], |row| row.get(0))?)
}

fn settle(
    tx: &Tx<'_>,
    job: JobId,
    replayed_as: Option<JobId>,
    actor: &str,
    note: &str,
) -> Result<(), StoreError> {
    transition::job(tx, job)?;
    // A dismissed one that is replayed after all was taken off the count before.
    let open: bool = tx
        .db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM dead_letter
             WHERE job = ?1 AND replayed_as IS NULL AND dismissed = 0)",
        )?
        .query_row([job], |row| row.get(0))?;
    let rows = tx
        .db
        .prepare_cached(
            "UPDATE dead_letter SET replayed_as = ?1, dismissed = ?2, note = ?3
             WHERE job = ?4 AND replayed_as IS NULL AND (dismissed = 0 OR ?1 IS NOT NULL)",
        )?
        .execute(params![replayed_as, replayed_as.is_none(), note, job])?;
    if rows == 0 {
        return Err(StoreError::Conflict(format!(
            "job {job} is no dead letter, or was replayed or dismissed before"
        )));
    }
    if open {
        count(tx, "dead_letters", -1)?;
    }
    audit::record(tx, actor, &Change::DeadLetterSettled { job, replayed_as, note: note.to_owned() })
}
