//! Submissions that would rather wait than be refused: let in while a queue is full, and held
//! before their first stage until none is.

use super::submission_keys::{self, SubmissionKey};
use super::submit::{self, Prepared};
use super::writer::Tx;
use super::{Store, StoreError, advance, flow_limits, lanes};
use crate::model::{PipelineId, Stage};
use crate::policy::{flow, needs};
use crate::protocol::submit::{Submission, SubmitOutcome, Submitted};
use crate::recipes::Recipe;
use rusqlite::params;

impl Store {
    /// [`Store::submit`], but where a later queue is full the work is held, not refused. Only a
    /// full first queue still refuses it: nothing may pile up without a bound.
    pub async fn submit_or_hold(
        &self,
        key: Option<SubmissionKey>,
        submission: Submission,
        recipe: Recipe,
        trace: [u8; 16],
    ) -> Result<Submitted, StoreError> {
        let prepared = Prepared::new(submission, recipe, trace)?;
        self.writer
            .run(move |tx| match &key {
                None => submit_held(tx, &prepared),
                Some(key) => submission_keys::once(tx, key, |tx| submit_held(tx, &prepared)),
            })
            .await
    }
}

fn submit_held(tx: &Tx<'_>, prepared: &Prepared) -> Result<Submitted, StoreError> {
    let first = prepared.recipe.stages.get(..1).unwrap_or_default();
    let answer =
        submit::submit_if(tx, prepared, |tx| flow_limits::admit_to(tx, &prepared.recipe, first))?;
    let Some(stage) = first.first().map(|rule| rule.stage) else { return Ok(answer) };
    let full = flow_limits::full(tx.db)?;
    let is_later_full = full.keys().any(|queue| queue != flow::queue(stage));
    if answer.outcome == SubmitOutcome::Created && is_later_full {
        hold(tx, answer.pipeline, stage)?;
    }
    Ok(answer)
}

/// Moves the first jobs of a pipeline to the class of those that wait for room.
fn hold(tx: &Tx<'_>, id: PipelineId, stage: Stage) -> Result<(), StoreError> {
    let pipeline = advance::pipeline(tx.db, id)?;
    let mut needs = needs::of(&pipeline.recipe, stage, pipeline.kind);
    needs.terms.waits_for_room = true;
    let class = lanes::class_code(tx, &needs)?;
    tx.db
        .prepare_cached("UPDATE job SET class = ?1 WHERE pipeline = ?2 AND state = 'queued'")?
        .execute(params![class, id])?;
    Ok(())
}
