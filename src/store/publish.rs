//! Publishing: the pointers of an asset move by compare-and-set, in the transaction that completes
//! the publish job. The export folder follows through the outbox and is the stage's last part.

use super::columns::size_column;
use super::transition::count;
use super::writer::Tx;
use super::{PendingExport, Store, StoreError, advance, audit, claim, webhooks};
use crate::model::{PipelineId, Stage};
use crate::policy::flow;
use crate::policy::keys::{self, ExportTurn};
use crate::protocol::event::Change;
use crate::protocol::view::PublishedFile;
use crate::protocol::webhook::News;
use crate::protocol::work::Completion;
use rusqlite::{Connection, OptionalExtension, params};

/// Waits between tries of an export, in milliseconds; the last one repeats.
const EXPORT_WAITS_MS: [i64; 5] = [1_000, 5_000, 30_000, 120_000, 600_000];

impl Store {
    /// Exports that wait and are due, oldest first, at most `limit`.
    pub async fn pending_exports(&self, limit: u32) -> Result<Vec<PendingExport>, StoreError> {
        let now_ms = self.clock.now().wall_ms;
        self.readers.run(move |db| pending(db, now_ms, limit)).await
    }

    /// The export folder is complete: the publish stage moves on. Repeated, it changes nothing.
    pub async fn export_done(&self, id: i64, folder: &str) -> Result<(), StoreError> {
        let folder = folder.to_owned();
        self.writer.run(move |tx| done(tx, id, &folder)).await
    }

    /// The export failed; it is tried again later.
    pub async fn export_failed(&self, id: i64, why: &str) -> Result<(), StoreError> {
        let why = why.to_owned();
        self.writer
            .run(move |tx| {
                let tries: i64 = tx.db.query_row(
                    "UPDATE outbox SET tries = tries + 1, trouble = ?1 WHERE id = ?2
                     RETURNING tries",
                    params![why, id],
                    |row| row.get(0),
                )?;
                let step = usize::try_from(tries - 1).unwrap_or(0).min(EXPORT_WAITS_MS.len() - 1);
                let wait_ms = EXPORT_WAITS_MS.get(step).copied().unwrap_or(600_000);
                tx.db.execute(
                    "UPDATE outbox SET next_ms = ?1 WHERE id = ?2",
                    params![tx.now.wall_ms.saturating_add(wait_ms), id],
                )?;
                Ok(())
            })
            .await
    }
}

/// Moves the asset's pointers to what the pipeline made and puts the export into the outbox.
///
/// An older version that ends after a newer one is exported too, but leaves the pointers alone.
pub(super) fn commit(
    tx: &Tx<'_>,
    pipeline: &advance::PipelineRow,
    completion: &Completion,
    actor: &str,
) -> Result<(), StoreError> {
    let files = published_files(tx.db, pipeline.id)?;
    if pipeline.asset_version >= pipeline.published_version {
        let expected = i64::try_from(completion.pointer_generation).unwrap_or(-1);
        let moved = tx
            .db
            .prepare_cached(
                "UPDATE asset SET generation = generation + 1, published_version = ?1
                 WHERE id = ?2 AND generation = ?3",
            )?
            .execute(params![pipeline.asset_version, pipeline.asset_id, expected])?;
        if moved == 0 {
            return Err(StoreError::Conflict(format!(
                "the pointers of {} moved meanwhile: publish again on their new generation",
                pipeline.asset
            )));
        }
        move_pointers(tx, pipeline, &files)?;
        let change = Change::Published {
            pipeline: pipeline.id,
            generation: pipeline.generation + 1,
            outputs: u32::try_from(files.len()).unwrap_or(u32::MAX),
        };
        audit::record(tx, actor, &change)?;
    }
    let new = tx
        .db
        .prepare_cached(
            "INSERT INTO outbox (topic, pipeline, next_ms) VALUES ('export', ?1, ?2)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![pipeline.id, tx.now.wall_ms])?;
    // What was delivered is not delivered again, whatever is replayed.
    if new == 0 { Ok(()) } else { count(tx, "exports_waiting", 1) }
}

fn move_pointers(
    tx: &Tx<'_>,
    pipeline: &advance::PipelineRow,
    files: &[PublishedFile],
) -> Result<(), StoreError> {
    tx.db.prepare_cached("DELETE FROM pointer WHERE asset = ?1")?.execute([pipeline.asset_id])?;
    let mut insert = tx.db.prepare_cached(
        "INSERT INTO pointer (asset, output, checksum, size_bytes, asset_version, pipeline)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for file in files {
        insert.execute(params![
            pipeline.asset_id,
            file.output,
            file.checksum,
            size_column(file.size_bytes),
            pipeline.version_id,
            pipeline.id
        ])?;
    }
    Ok(())
}

/// What people get of a pipeline: once its publish job has succeeded.
pub(super) fn published_files(
    db: &Connection,
    pipeline: PipelineId,
) -> Result<Vec<PublishedFile>, StoreError> {
    let mut files = Vec::new();
    if claim::stage_outputs(db, pipeline, Stage::Publish)?.is_empty() {
        return Ok(files);
    }
    for stage in Stage::ALL {
        for output in claim::stage_outputs(db, pipeline, stage)? {
            if flow::is_published(stage, &output.name) {
                files.push(PublishedFile {
                    output: output.name,
                    checksum: output.checksum,
                    size_bytes: output.size_bytes,
                    path: None,
                });
            }
        }
    }
    files.sort_by(|a, b| a.output.cmp(&b.output));
    Ok(files)
}

fn pending(db: &Connection, now_ms: i64, limit: u32) -> Result<Vec<PendingExport>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT o.id, o.pipeline, o.tries,
            (SELECT count(*) FROM pipeline ep CROSS JOIN outbox e ON e.pipeline = ep.id
                WHERE e.id < o.id AND ep.asset_version = p.asset_version),
            (SELECT count(*) FROM pipeline ep CROSS JOIN outbox e ON e.pipeline = ep.id
                WHERE e.id < o.id AND ep.asset_version = p.asset_version
                    AND ep.profile = p.profile)
         FROM outbox o JOIN pipeline p ON p.id = o.pipeline
         WHERE o.done_ms IS NULL AND o.next_ms <= ?1 ORDER BY o.next_ms, o.id LIMIT ?2",
    )?;
    let rows = query.query_map(params![now_ms, limit], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, u32>(3)?, row.get::<_, u32>(4)?))
    })?;
    rows.map(|row| {
        let (id, pipeline, tries, of_version, of_profile) = row?;
        let turn = match (of_version, of_profile) {
            (0, _) => ExportTurn::First,
            (_, 0) => ExportTurn::FirstOfProfile,
            _ => ExportTurn::Again(pipeline),
        };
        let row = advance::pipeline(db, pipeline)?;
        let files = published_files(db, pipeline)?;
        let folder = keys::export_folder(row.asset_version, &row.profile, turn);
        Ok(PendingExport { id, pipeline, asset: row.asset, folder, files, tries })
    })
    .collect()
}

fn done(tx: &Tx<'_>, id: i64, folder: &str) -> Result<(), StoreError> {
    let open: Option<PipelineId> = tx
        .db
        .prepare_cached(
            "UPDATE outbox SET done_ms = ?1, trouble = NULL WHERE id = ?2 AND done_ms IS NULL
             RETURNING pipeline",
        )?
        .query_row(params![tx.now.wall_ms, id], |row| row.get(0))
        .optional()?;
    let Some(pipeline) = open else { return Ok(()) };
    count(tx, "exports_waiting", -1)?;
    tx.db
        .prepare_cached("UPDATE pipeline SET export_folder = ?1 WHERE id = ?2")?
        .execute(params![folder, pipeline])?;
    let actor = "coordinator";
    let change = Change::Exported { pipeline, folder: folder.to_owned() };
    audit::record(tx, actor, &change)?;
    let row = advance::pipeline(tx.db, pipeline)?;
    let news = News::Published {
        pipeline,
        asset: row.asset.clone(),
        asset_version: row.asset_version,
        folder: folder.to_owned(),
    };
    webhooks::tell(tx, pipeline, None, &news)?;
    // A pipeline cancelled after its pointers moved keeps its export, but goes no further.
    if row.status == crate::model::PipelineStatus::Running {
        advance::part_done(tx, &row, Stage::Publish, actor)?;
    }
    Ok(())
}

/// Why the oldest export in trouble waits.
pub(super) fn trouble(db: &Connection) -> Result<Option<String>, StoreError> {
    Ok(db
        .prepare_cached(
            "SELECT trouble FROM outbox WHERE done_ms IS NULL AND trouble IS NOT NULL
             ORDER BY id LIMIT 1",
        )?
        .query_row([], |row| row.get(0))
        .optional()?)
}
