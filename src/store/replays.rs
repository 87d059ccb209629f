//! What operators do with dead letters: replay, dismiss, one or many at once.

use super::transition::{self, count};
use super::writer::Tx;
use super::{Store, StoreError, advance, audit};
use crate::model::{JobId, JobState, PipelineId, PipelineStatus, Stage, StageStatus, limits};
use crate::protocol::dead::{
    BatchItem, BatchKind, BatchReply, DeadLetterFilter, DismissBatch, Edit, ReplayBatch,
};
use crate::protocol::event::Change;
use rusqlite::{OptionalExtension, params, params_from_iter, types::Value};

/// No job of the same part has made it or is on its way to.
const MISSING: &str = " AND NOT EXISTS (SELECT 1 FROM job o WHERE o.pipeline = j.pipeline
        AND o.stage = j.stage AND o.chunk = j.chunk AND o.state IN
            ('succeeded', 'queued', 'claimed', 'processing', 'retry_scheduled'))";

/// Items that a dry run shows.
const SAMPLE: usize = 20;

/// Open letters with all that an order may ask of them.
const OPEN: &str =
    "FROM dead_letter d JOIN job j ON j.id = d.job JOIN pipeline p ON p.id = j.pipeline
        JOIN asset_version v ON v.id = p.asset_version JOIN asset a ON a.id = v.asset
     WHERE d.replayed_as IS NULL";

impl Store {
    /// Replays a dead letter as a new job.
    pub async fn replay(&self, job: JobId, actor: &str, reason: &str) -> Result<JobId, StoreError> {
        self.replay_edited(job, Edit::default(), actor, reason).await
    }

    /// Replays a dead letter as a new job that does some things differently.
    pub async fn replay_edited(
        &self,
        job: JobId,
        edit: Edit,
        actor: &str,
        reason: &str,
    ) -> Result<JobId, StoreError> {
        check_reason(reason)?;
        let (actor, note) = (format!("operator {actor}"), reason.to_owned());
        self.writer.run(move |tx| replay(tx, job, &edit, &actor, &note)).await
    }

    /// Dismisses a dead letter.
    pub async fn dismiss(&self, job: JobId, actor: &str, reason: &str) -> Result<(), StoreError> {
        check_reason(reason)?;
        let (actor, note) = (format!("operator {actor}"), reason.to_owned());
        self.writer.run(move |tx| settle(tx, job, None, &actor, &note)).await
    }

    /// Replays all letters that match, each on its own: one that is refused stops no other.
    pub async fn replay_many(&self, order: ReplayBatch) -> Result<BatchReply, StoreError> {
        let ReplayBatch { actor, reason, filter, edit, dry_run } = order;
        let batch = Batch { kind: BatchKind::Replay, actor, reason, filter, edit, dry_run };
        self.writer.run(move |tx| run(tx, &batch)).await
    }

    /// Dismisses all letters that match.
    pub async fn dismiss_many(&self, order: DismissBatch) -> Result<BatchReply, StoreError> {
        let DismissBatch { actor, reason, filter, dry_run } = order;
        let edit = Edit::default();
        let batch = Batch { kind: BatchKind::Dismiss, actor, reason, filter, edit, dry_run };
        self.writer.run(move |tx| run(tx, &batch)).await
    }
}

struct Batch {
    kind: BatchKind,
    actor: String,
    reason: String,
    filter: DeadLetterFilter,
    edit: Edit,
    dry_run: bool,
}

/// Who reads the audit later must find out why.
fn check_reason(reason: &str) -> Result<(), StoreError> {
    if reason.trim().is_empty() {
        return Err(StoreError::Invalid("an order about dead letters needs a reason".into()));
    }
    Ok(())
}

/// Whether the workers and machines that a replay names can be meant.
pub(super) fn check_placement(edit: &Edit) -> Result<(), StoreError> {
    let refuse = |why: &str| Err(StoreError::Invalid(why.to_owned()));
    for name in [&edit.only_worker, &edit.not_worker].into_iter().flatten() {
        if name.len() > limits::TARGET_BYTES || name.contains(char::is_control) {
            return refuse("a worker's name is short and has no control characters");
        }
    }
    match (&edit.only_worker, &edit.not_worker) {
        (Some(only), Some(not)) if only == not && !only.is_empty() => {
            return refuse("a job cannot be for a worker that it may not run on");
        }
        _ => {}
    }
    if edit.requires.as_ref().is_some_and(|requires| !requires.is_bounded()) {
        return refuse("a job requires at most 8 programs");
    }
    Ok(())
}

/// A dry run does everything and takes it back, so that it cannot differ from the real one.
fn run(tx: &Tx<'_>, batch: &Batch) -> Result<BatchReply, StoreError> {
    check_reason(&batch.reason)?;
    if batch.filter.only_missing
        && (batch.kind == BatchKind::Dismiss || batch.filter.pipeline.is_none())
    {
        return Err(StoreError::Invalid(
            "only missing parts of one pipeline are replayed: name the pipeline".into(),
        ));
    }
    let (jobs, matched) = matching(tx, &batch.filter)?;
    tx.db.execute_batch("SAVEPOINT batch")?;
    let items = jobs.iter().map(|job| item(tx, batch, *job)).collect::<Result<Vec<_>, _>>()?;
    let refused = count_u32(items.iter().filter(|item| item.refused.is_some()).count());
    let done = count_u32(items.len()) - refused;
    let left = matched.saturating_sub(count_u32(items.len()));
    let mut reply = BatchReply { dry_run: batch.dry_run, matched, done, refused, left, items };
    if batch.dry_run {
        tx.db.execute_batch("ROLLBACK TO batch; RELEASE batch")?;
        reply.items.truncate(SAMPLE);
        // These jobs do not exist.
        reply.items.iter_mut().for_each(|item| item.replayed_as = None);
        return Ok(reply);
    }
    tx.db.execute_batch("RELEASE batch")?;
    let change = Change::DeadLettersSettled {
        kind: batch.kind,
        filter: batch.filter.clone(),
        edit: (!batch.edit.is_empty()).then(|| batch.edit.clone()),
        matched,
        done,
        refused,
        note: batch.reason.clone(),
    };
    audit::record(tx, &format!("operator {}", batch.actor), &change)?;
    Ok(reply)
}

fn count_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// One letter of a batch: what was refused is taken back and told.
fn item(tx: &Tx<'_>, batch: &Batch, job: JobId) -> Result<BatchItem, StoreError> {
    tx.db.execute_batch("SAVEPOINT item")?;
    let actor = format!("operator {}", batch.actor);
    let result = match batch.kind {
        BatchKind::Replay => replay(tx, job, &batch.edit, &actor, &batch.reason).map(Some),
        BatchKind::Dismiss => settle(tx, job, None, &actor, &batch.reason).map(|()| None),
    };
    let end = if result.is_ok() { "RELEASE item" } else { "ROLLBACK TO item; RELEASE item" };
    tx.db.execute_batch(end)?;
    match result {
        Ok(replayed_as) => Ok(BatchItem { job, replayed_as, refused: None }),
        Err(
            error @ (StoreError::Conflict(_) | StoreError::Invalid(_) | StoreError::NotFound(_)),
        ) => Ok(BatchItem { job, replayed_as: None, refused: Some(error.to_string()) }),
        Err(error) => Err(error),
    }
}

/// The open letters that match, oldest first, and how many there are in all.
fn matching(tx: &Tx<'_>, filter: &DeadLetterFilter) -> Result<(Vec<JobId>, u32), StoreError> {
    let (wheres, mut values) = conditions(filter)?;
    let open = if filter.only_missing { MISSING } else { " AND d.dismissed = 0" };
    let matched = tx
        .db
        .prepare_cached(&format!("SELECT count(*) {OPEN}{open}{wheres}"))?
        .query_row(params_from_iter(&values), |row| row.get(0))?;
    let most = i64::try_from(limits::LETTERS_PER_ORDER).unwrap_or(i64::MAX);
    values.push(Value::Integer(most));
    let jobs = tx
        .db
        .prepare_cached(&format!("SELECT d.job {OPEN}{open}{wheres} ORDER BY d.job LIMIT ?"))?
        .query_map(params_from_iter(&values), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok((jobs, matched))
}

fn conditions(filter: &DeadLetterFilter) -> Result<(String, Vec<Value>), StoreError> {
    let mut wheres = String::new();
    let mut values = Vec::new();
    let mut add = |column: &str, value: Option<Value>| {
        if let Some(value) = value {
            wheres.push_str(" AND ");
            wheres.push_str(column);
            wheres.push_str(" = ?");
            values.push(value);
        }
    };
    let text = |text: &str| Value::Text(text.to_owned());
    add("a.name", filter.asset.as_ref().map(|name| text(name.as_str())));
    add("j.pipeline", filter.pipeline.map(|id| Value::Integer(id.0)));
    add("j.stage", filter.stage.map(|stage| text(stage.as_str())));
    add("d.reason", filter.reason.map(|reason| text(reason.code())));
    add("d.fingerprint", filter.fingerprint.as_deref().map(text));
    if !filter.jobs.is_empty() {
        let ids: Vec<_> = filter.jobs.iter().map(ToString::to_string).collect();
        wheres = format!("{wheres} AND d.job IN ({})", ids.join(", "));
    }
    if filter.jobs.len() > limits::LETTERS_PER_ORDER {
        let most = limits::LETTERS_PER_ORDER;
        return Err(StoreError::Invalid(format!("one order names at most {most} jobs")));
    }
    if wheres.is_empty() && !filter.all {
        return Err(StoreError::Invalid(
            "no dead letters are named: give a job or a filter, or say 'all'".into(),
        ));
    }
    Ok((wheres, values))
}

fn replay(
    tx: &Tx<'_>,
    job: JobId,
    edit: &Edit,
    actor: &str,
    note: &str,
) -> Result<JobId, StoreError> {
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
    if pipeline.status == PipelineStatus::Cancelled {
        return Err(StoreError::Conflict(format!(
            "pipeline {} was cancelled: submit the asset again",
            pipeline.id
        )));
    }
    no_twin(tx, &pipeline)?;
    let edit = advance::edit_of(tx.db, job)?.unwrap_or_default().and(edit);
    let new = advance::create_replay(tx, &pipeline, &row, &edit, actor)?;
    settle(tx, job, Some(new), actor, note)?;
    if !waiting_dead(tx, row.pipeline, Some(row.stage))? {
        advance::set_stage(tx, row.pipeline, row.stage, StageStatus::Running, actor)?;
    }
    if !waiting_dead(tx, row.pipeline, None)? {
        advance::set_pipeline(tx, &pipeline, PipelineStatus::Running, actor)?;
    }
    Ok(new)
}

/// Another pipeline of the same content and profile does or did the work, side effects included.
/// One that was given up counts as long as parts of it are live: this one would come to them.
fn no_twin(tx: &Tx<'_>, pipeline: &advance::PipelineRow) -> Result<(), StoreError> {
    let twin: Option<PipelineId> = tx
        .db
        .prepare_cached(
            "SELECT id FROM pipeline p WHERE asset_version = ?1 AND profile = ?2 AND id <> ?3
                AND (status IN ('running', 'succeeded') OR EXISTS (
                    SELECT 1 FROM job j WHERE j.pipeline = p.id AND j.state IN
                        ('queued', 'claimed', 'processing', 'retry_scheduled')))
             ORDER BY status = 'dead_lettered' LIMIT 1",
        )?
        .query_row(params![pipeline.version_id, pipeline.profile, pipeline.id], |found| {
            found.get(0)
        })
        .optional()?;
    match twin {
        None => Ok(()),
        Some(twin) => Err(StoreError::Conflict(format!(
            "pipeline {twin} does the same work: dismiss this dead letter instead"
        ))),
    }
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
    let open: Option<bool> = tx
        .db
        .prepare_cached("SELECT dismissed = 0 FROM dead_letter WHERE job = ?1")?
        .query_row([job], |row| row.get(0))
        .optional()?;
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
    // A dismissed letter that is replayed after all was counted off before.
    if open == Some(true) {
        count(tx, "dead_letters", -1)?;
    }
    audit::record(tx, actor, &Change::DeadLetterSettled { job, replayed_as, note: note.to_owned() })
}
