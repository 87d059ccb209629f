//! What a worker reports of its jobs: start, complete, fail, release.

use super::columns::{size_column, to_json};
use super::failures::{Ending, end_attempt};
use super::transition::{self, JobRow, With, apply, fenced};
use super::writer::Tx;
use super::{Store, StoreError, advance, flights, kept, publish, quarantine, sessions};
use crate::model::{Checksum, JobId, JobState, Stage, Verb, limits};
use crate::policy::flow;
use crate::protocol::view::AttemptOutcome;
use crate::protocol::work::{Completion, Failure, Fence, OutputFile};
use rusqlite::{OptionalExtension, params};

impl Store {
    /// The work begins. Repeated, it changes nothing.
    pub async fn start(&self, job: JobId, fence: &Fence) -> Result<(), StoreError> {
        let fence = fence.clone();
        self.writer
            .run(move |tx| {
                let row = fenced(tx, job, &fence)?;
                if row.state == JobState::Claimed {
                    apply(tx, &row, Verb::Start, &actor(&row), With::default())?;
                }
                Ok(())
            })
            .await
    }

    /// Commits the result: job, outputs, stage, next stage's jobs or the end of the pipeline, and
    /// for publish the pointers (compare-and-set) and the export in the outbox.
    /// The same call repeated after it succeeded gets the same answer.
    pub async fn complete(
        &self,
        job: JobId,
        fence: &Fence,
        completion: Completion,
    ) -> Result<JobState, StoreError> {
        let fence = fence.clone();
        self.writer
            .run(move |tx| {
                if settled(tx, job, &fence, AttemptOutcome::Succeeded)? {
                    return Ok(JobState::Succeeded);
                }
                let row = fenced(tx, job, &fence)?;
                complete(tx, &row, &completion)
            })
            .await
    }

    /// The attempt failed: retry or dead letter, by policy.
    pub async fn fail(
        &self,
        job: JobId,
        fence: &Fence,
        failure: Failure,
    ) -> Result<JobState, StoreError> {
        let fence = fence.clone();
        self.writer
            .run(move |tx| {
                if settled(tx, job, &fence, AttemptOutcome::Failed)? {
                    return Ok(transition::job(tx, job)?.state);
                }
                let row = fenced(tx, job, &fence)?;
                end_attempt(tx, &row, &failure, Ending::Reported, &actor(&row))
            })
            .await
    }

    /// The worker gives the job back; no attempt is used.
    pub async fn release(&self, job: JobId, fence: &Fence) -> Result<(), StoreError> {
        let fence = fence.clone();
        self.writer
            .run(move |tx| {
                let row = fenced(tx, job, &fence)?;
                let verb =
                    if row.state == JobState::Claimed { Verb::Release } else { Verb::Interrupt };
                apply(tx, &row, verb, &actor(&row), With::default())?;
                Ok(())
            })
            .await
    }
}

fn actor(row: &JobRow) -> String {
    sessions::actor(row.worker.as_deref().unwrap_or("unknown"))
}

/// Whether this very report was processed before: the attempt is the ledger.
fn settled(
    tx: &Tx<'_>,
    job: JobId,
    fence: &Fence,
    outcome: AttemptOutcome,
) -> Result<bool, StoreError> {
    let found: Option<(AttemptOutcome, bool)> = tx
        .db
        .prepare_cached(
            "SELECT outcome, reason IS NOT NULL FROM attempt
             WHERE job = ?1 AND epoch = ?2 AND session = ?3",
        )?
        .query_row(params![job, fence.epoch, fence.session], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(match found {
        // A failure that used no attempt up.
        Some((AttemptOutcome::Returned, true)) => outcome == AttemptOutcome::Failed,
        Some((found, _)) => found == outcome,
        None => false,
    })
}

fn complete(tx: &Tx<'_>, row: &JobRow, completion: &Completion) -> Result<JobState, StoreError> {
    check_outputs(&completion.outputs)?;
    quarantine::succeeded(tx, row)?;
    let state = accept(tx, row, Verb::Complete, completion, &actor(row))?;
    flights::share(tx, row, completion)?;
    Ok(state)
}

/// The job succeeds with the result of the alike job `from`, and with no attempt.
pub(super) fn reuse(
    tx: &Tx<'_>,
    row: &JobRow,
    completion: &Completion,
    from: JobId,
) -> Result<(), StoreError> {
    let actor = format!("coordinator: job {from} made the same");
    accept(tx, row, Verb::Reuse, completion, &actor)?;
    Ok(())
}

/// Commits a result and moves the pipeline on.
fn accept(
    tx: &Tx<'_>,
    row: &JobRow,
    verb: Verb,
    completion: &Completion,
    actor: &str,
) -> Result<JobState, StoreError> {
    let after = apply(tx, row, verb, actor, With::default())?;
    write_result(tx, row.id, completion)?;
    // Only a program's frames are kept before their time.
    if row.stage == Stage::Render {
        kept::forget(tx, row.id)?;
    }
    let before = advance::pipeline(tx.db, row.pipeline)?;
    let mut pipeline = before.clone();
    pipeline.kind = completion.report.kind.or(pipeline.kind);
    pipeline.frame_count = completion.report.frame_count.or(pipeline.frame_count);
    pipeline.still = still(row.stage, &completion.outputs).or(pipeline.still);
    if (pipeline.kind, pipeline.still) != (before.kind, before.still)
        || pipeline.frame_count != before.frame_count
    {
        tx.db
            .prepare_cached(
                "UPDATE pipeline SET kind = ?1, frame_count = ?2, still = ?3 WHERE id = ?4",
            )?
            .execute(params![pipeline.kind, pipeline.frame_count, pipeline.still, pipeline.id])?;
        advance::set_pipeline(tx, &pipeline, pipeline.status, actor)?;
    }
    if row.stage == Stage::Publish {
        publish::commit(tx, &pipeline, completion, actor)?;
    }
    advance::part_done(tx, &pipeline, row.stage, actor)?;
    Ok(after.state)
}

fn still(stage: Stage, outputs: &[OutputFile]) -> Option<Checksum> {
    let picture = outputs.iter().find(|output| output.name == flow::STILL)?;
    // A mesh or a picture has it from render, a scene from assemble, and until then from inspect.
    matches!(stage, Stage::Inspect | Stage::Render | Stage::Assemble).then_some(picture.checksum)
}

/// Names must stay inside the folder that they will be written to.
pub(super) fn check_outputs(outputs: &[OutputFile]) -> Result<(), StoreError> {
    if outputs.len() > limits::OUTPUTS_PER_JOB {
        return Err(StoreError::Invalid(format!(
            "a job may make at most {} files",
            limits::OUTPUTS_PER_JOB
        )));
    }
    match outputs.iter().find(|output| !is_confined(&output.name)) {
        Some(output) => Err(StoreError::Invalid(format!(
            "an output's name must be relative and stay in its folder: {}",
            output.name
        ))),
        None => Ok(()),
    }
}

fn is_confined(name: &str) -> bool {
    let parts_ok = name
        .split('/')
        .all(|part| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0', ':']));
    parts_ok && name.len() <= limits::FILE_NAME_BYTES
}

fn write_result(tx: &Tx<'_>, job: JobId, completion: &Completion) -> Result<(), StoreError> {
    let mut insert = tx.db.prepare_cached(
        "INSERT INTO output (job, name, checksum, size_bytes, media_type)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for output in &completion.outputs {
        insert.execute(params![
            job,
            output.name,
            output.checksum,
            size_column(output.size_bytes),
            output.media_type
        ])?;
    }
    let warnings = completion.report.warnings.get(..limits::WARNINGS_PER_JOB);
    let warnings = to_json(&warnings.unwrap_or(&completion.report.warnings))?;
    tx.db
        .prepare_cached("INSERT INTO result (job, warnings, drawn_by) VALUES (?1, ?2, ?3)")?
        .execute(params![job, warnings, completion.report.drawn_by])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        for name in ["still.png", "turntable/0001.png", "ä/龍.png"] {
            assert!(is_confined(name), "{name}");
        }
        for name in ["", "/etc/x", "../x", "a/../b", "a//b", "./a", "a\\b", "c:x", "a\0"] {
            assert!(!is_confined(name), "{name:?}");
        }
    }
}
