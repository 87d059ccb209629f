//! Files that are right though their job is not done: a frame, verified while others are drawn.
//! The next attempt, or the replay, need not make them again.

use super::columns::size_column;
use super::transition::{JobRow, fenced};
use super::writer::Tx;
use super::{Store, StoreError, advance, report, sessions, views};
use crate::model::{JobId, limits};
use crate::policy::flow;
use crate::protocol::work::{Fence, OutputFile};
use rusqlite::{Connection, params};

impl Store {
    /// Keeps files of a running job. Their bytes are in the content store already. Repeated, it
    /// changes nothing.
    pub async fn keep(
        &self,
        job: JobId,
        fence: &Fence,
        files: Vec<OutputFile>,
    ) -> Result<(), StoreError> {
        let fence = fence.clone();
        self.writer
            .run(move |tx| {
                let row = fenced(tx, job, &fence)?;
                report::check_outputs(&files)?;
                keep(tx, row.id, &files)?;
                show(tx, &row, &files)
            })
            .await
    }

    /// The files that are kept of a job which has not succeeded yet.
    pub async fn kept(&self, job: JobId) -> Result<Vec<OutputFile>, StoreError> {
        self.readers.run(move |db| of(db, job)).await
    }
}

fn keep(tx: &Tx<'_>, job: JobId, files: &[OutputFile]) -> Result<(), StoreError> {
    let mut insert = tx.db.prepare_cached(
        "INSERT OR REPLACE INTO kept_output (job, name, checksum, size_bytes, media_type)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for file in files {
        let size = size_column(file.size_bytes);
        insert.execute(params![job, file.name, file.checksum, size, file.media_type])?;
    }
    let most = i64::try_from(limits::OUTPUTS_PER_JOB).unwrap_or(i64::MAX);
    let count: i64 = tx
        .db
        .prepare_cached("SELECT count(*) FROM kept_output WHERE job = ?1")?
        .query_row([job], |row| row.get(0))?;
    if count > most {
        return Err(StoreError::Invalid(format!("a job may make at most {most} files")));
    }
    Ok(())
}

/// The newest frame stands for the pipeline while it is drawn.
fn show(tx: &Tx<'_>, row: &JobRow, files: &[OutputFile]) -> Result<(), StoreError> {
    let is_small = |file: &&OutputFile| file.name.starts_with(flow::THUMBNAIL_FOLDER);
    let Some(newest) = files.iter().rfind(is_small) else { return Ok(()) };
    let mut pipeline = advance::pipeline(tx.db, row.pipeline)?;
    pipeline.still = Some(newest.checksum);
    tx.db
        .prepare_cached("UPDATE pipeline SET still = ?1 WHERE id = ?2")?
        .execute(params![pipeline.still, pipeline.id])?;
    let actor = sessions::actor(row.worker.as_deref().unwrap_or("unknown"));
    advance::set_pipeline(tx, &pipeline, pipeline.status, &actor)
}

/// What is kept of a job, by name.
pub(super) fn of(db: &Connection, job: JobId) -> Result<Vec<OutputFile>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT name, checksum, size_bytes, media_type FROM kept_output WHERE job = ?1
         ORDER BY name",
    )?;
    let rows = query.query_map([job], views::output_file)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The job has its result: nothing needs to be kept of it.
pub(super) fn forget(tx: &Tx<'_>, job: JobId) -> Result<(), StoreError> {
    tx.db.prepare_cached("DELETE FROM kept_output WHERE job = ?1")?.execute([job])?;
    Ok(())
}

/// A replay goes on where the dead job stood.
pub(super) fn hand_on(tx: &Tx<'_>, dead: JobId, replay: JobId) -> Result<(), StoreError> {
    tx.db
        .prepare_cached(
            "INSERT INTO kept_output (job, name, checksum, size_bytes, media_type)
             SELECT ?2, name, checksum, size_bytes, media_type FROM kept_output WHERE job = ?1",
        )?
        .execute(params![dead, replay])?;
    Ok(())
}
