//! Jobs that were given up: buried with their evidence, listed, shown in full.

use super::columns::{from_json, size_value, to_json};
use super::transition::{JobRow, count};
use super::writer::Tx;
use super::{Page, Store, StoreError, advance, claim, views, webhooks};
use crate::model::{Epoch, JobId, PipelineStatus, Reason, Stage, StageStatus, limits};
use crate::policy::fingerprint::fingerprint;
use crate::protocol::dead::DeadLetterDetail;
use crate::protocol::view::DeadLetterView;
use crate::protocol::webhook::News;
use crate::protocol::work::Failure;
use rusqlite::{Connection, OptionalExtension, Row, params};

const DEAD: &str = "SELECT d.job, j.pipeline, a.name, v.version, j.stage, j.chunk, d.reason,
        d.class, d.message, d.attempts, d.worker, d.at_ms, d.replayed_as, d.dismissed,
        d.fingerprint
     FROM dead_letter d JOIN job j ON j.id = d.job JOIN pipeline p ON p.id = j.pipeline
        JOIN asset_version v ON v.id = p.asset_version JOIN asset a ON a.id = v.asset";

impl Store {
    /// Dead letters, newest first; `all` includes the settled ones.
    pub async fn dead_letters(
        &self,
        all: bool,
        page: Page,
    ) -> Result<Vec<DeadLetterView>, StoreError> {
        self.readers.run(move |db| list(db, all, page)).await
    }

    /// One dead letter with all that is known of it.
    pub async fn dead_letter(&self, job: JobId) -> Result<DeadLetterDetail, StoreError> {
        self.readers.run(move |db| detail(db, job)).await
    }

    /// Letters whose log was not looked at yet, with the epochs of their last attempts.
    pub async fn letters_without_log(&self, limit: u32) -> Result<Vec<(JobId, Epoch)>, StoreError> {
        self.readers
            .run(move |db| {
                let mut query = db.prepare_cached(
                    "SELECT d.job, j.epoch FROM dead_letter d JOIN job j ON j.id = d.job
                     WHERE d.log_tail IS NULL ORDER BY d.job LIMIT ?1",
                )?;
                let rows = query.query_map([limit], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
    }

    /// Attaches the last lines of the log. A log that is there already stays.
    pub async fn attach_log(&self, job: JobId, lines: Vec<String>) -> Result<(), StoreError> {
        self.writer.run(move |tx| attach(tx, job, &lines)).await
    }
}

/// The letter of a job that was just given up; `row` is the job as it ran.
pub(super) fn bury(
    tx: &Tx<'_>,
    row: &JobRow,
    failure: &Failure,
    actor: &str,
) -> Result<(), StoreError> {
    let mut payload = claim::assignment(tx, row)?;
    let dependencies = i64::try_from(payload.dependencies.len()).unwrap_or(i64::MAX);
    payload.dependencies.truncate(limits::DEAD_DEPENDENCIES);
    tx.db
        .prepare_cached(
            "INSERT INTO dead_letter (job, reason, class, message, worker, attempts, at_ms,
                fingerprint, payload, dependencies)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            row.id,
            failure.reason,
            failure.class,
            failure.message,
            row.worker,
            row.attempt,
            tx.now.wall_ms,
            fingerprint(failure.reason, row.stage, &failure.message),
            to_json(&payload)?,
            dependencies
        ])?;
    count(tx, "dead_letters", 1)?;
    advance::set_stage(tx, row.pipeline, row.stage, StageStatus::DeadLettered, actor)?;
    let pipeline = advance::pipeline(tx.db, row.pipeline)?;
    let news = News::DeadLetter {
        pipeline: row.pipeline,
        asset: pipeline.asset.clone(),
        job: row.id,
        stage: row.stage,
        reason: failure.reason,
        message: failure.message.clone(),
    };
    webhooks::tell(tx, row.pipeline, Some(row.id), &news)?;
    advance::set_pipeline(tx, &pipeline, PipelineStatus::DeadLettered, actor)
}

fn attach(tx: &Tx<'_>, job: JobId, lines: &[String]) -> Result<(), StoreError> {
    let found: Option<(Reason, String, Stage)> = tx
        .db
        .prepare_cached(
            "SELECT d.reason, d.message, j.stage FROM dead_letter d JOIN job j ON j.id = d.job
             WHERE d.job = ?1",
        )?
        .query_row([job], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let (reason, message, stage) =
        found.ok_or_else(|| StoreError::NotFound(format!("dead letter {job}")))?;
    // A letter of an older version has no fingerprint yet.
    tx.db
        .prepare_cached(
            "UPDATE dead_letter SET log_tail = ?1,
                fingerprint = iif(fingerprint = '', ?2, fingerprint)
             WHERE job = ?3 AND log_tail IS NULL",
        )?
        .execute(params![to_json(&lines)?, fingerprint(reason, stage, &message), job])?;
    Ok(())
}

/// Dead letters, newest first.
pub(super) fn list(
    db: &Connection,
    all: bool,
    page: Page,
) -> Result<Vec<DeadLetterView>, StoreError> {
    let open = if all { "" } else { "AND d.replayed_as IS NULL AND d.dismissed = 0" };
    let sql = format!("{DEAD} WHERE d.job < ?1 {open} ORDER BY d.job DESC LIMIT ?2");
    let mut query = db.prepare_cached(&sql)?;
    let rows = query.query_map(params![page.before_id(), page.rows()], view)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn view(row: &Row<'_>) -> rusqlite::Result<DeadLetterView> {
    let reason: Reason = row.get(6)?;
    Ok(DeadLetterView {
        job: row.get(0)?,
        pipeline: row.get(1)?,
        asset: row.get(2)?,
        asset_version: row.get(3)?,
        stage: row.get(4)?,
        chunk: row.get(5)?,
        reason,
        class: row.get(7)?,
        message: row.get(8)?,
        remedy: reason.remedy().to_owned(),
        attempts: row.get(9)?,
        worker: row.get(10)?,
        at_ms: row.get(11)?,
        replayed_as: row.get(12)?,
        dismissed: row.get(13)?,
        fingerprint: row.get(14)?,
    })
}

fn detail(db: &Connection, job: JobId) -> Result<DeadLetterDetail, StoreError> {
    let missing = || StoreError::NotFound(format!("dead letter {job}"));
    let letter = db
        .prepare_cached(&format!("{DEAD} WHERE d.job = ?1"))?
        .query_row([job], view)
        .optional()?
        .ok_or_else(missing)?;
    let (log, payload, dependencies, note, edit) = db
        .prepare_cached(
            "SELECT d.log_tail, d.payload, d.dependencies, d.note, j.edit
             FROM dead_letter d JOIN job j ON j.id = d.job WHERE d.job = ?1",
        )?
        .query_row([job], |row| {
            Ok((
                row.get::<_, Option<String>>(0)?,
                row.get::<_, Option<String>>(1)?,
                size_value(row.get(2)?),
                row.get::<_, Option<String>>(3)?,
                row.get::<_, Option<String>>(4)?,
            ))
        })?;
    Ok(DeadLetterDetail {
        letter,
        attempts: views::attempts(db, job)?,
        log: log.map(|text| from_json(&text)).transpose()?.unwrap_or_default(),
        // What an older version wrote must not hide the rest.
        payload: payload.and_then(|text| from_json(&text).ok()),
        dependencies,
        edit: edit.map(|text| from_json(&text)).transpose()?,
        note,
    })
}
