//! What operators and the coordinator's own timers do: retries that are due, cancel.

use super::transition::{self, With, apply};
use super::writer::Tx;
use super::{Store, StoreError, advance};
use crate::model::{JobId, PipelineId, PipelineStatus, Stage, StageStatus, Verb};
use rusqlite::params;

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
            "SELECT id FROM job INDEXED BY job_due WHERE state = 'retry_scheduled' AND run_at_ms <= ?1
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

pub(super) fn cancel(tx: &Tx<'_>, id: PipelineId, actor: &str) -> Result<u32, StoreError> {
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
    // Also one with dead letters: with some of its parts cancelled, no replay can end it any more.
    if pipeline.status != PipelineStatus::Cancelled {
        advance::set_pipeline(tx, &pipeline, PipelineStatus::Cancelled, actor)?;
    }
    Ok(u32::try_from(live.len()).unwrap_or(u32::MAX))
}
