//! How long frames of an asset took, for chunks that shall take about as long as was asked.

use super::StoreError;
use super::advance::PipelineRow;
use super::columns::to_json;
use super::writer::Tx;
use crate::model::frames::chunk_size;
use crate::model::{Chunk, limits};
use rusqlite::{Connection, params};
use std::sync::Arc;

/// Attempts that are looked at, the newest.
const ATTEMPTS: u32 = 64;
/// Versions of the asset that are looked at, the newest.
const VERSIONS: u32 = 8;

/// The pipeline with chunks of the size that fits: where its scene says how long a chunk shall take,
/// and frames of the asset were measured, the recipe that it keeps says how many frames that is.
pub(super) fn with_chunks(
    tx: &Tx<'_>,
    pipeline: &PipelineRow,
) -> Result<Option<PipelineRow>, StoreError> {
    let scene = pipeline.recipe.settings.scene.as_ref();
    let Some(seconds) = scene.and_then(|scene| scene.chunk_seconds) else { return Ok(None) };
    let measured = frame_ms(tx.db, pipeline)?;
    if measured.is_empty() {
        return Ok(None);
    }
    let target_ms = u64::from(seconds) * 1_000;
    let mut recipe = (*pipeline.recipe).clone();
    recipe.settings.chunk_frames = chunk_size(target_ms, 0, &measured, limits::FRAMES);
    tx.db
        .prepare_cached("UPDATE pipeline SET recipe = ?1 WHERE id = ?2")?
        .execute(params![to_json(&recipe)?, pipeline.id])?;
    Ok(Some(PipelineRow { recipe: Arc::new(recipe), ..pipeline.clone() }))
}

/// What a frame took in each chunk that was drawn at the first attempt, a program's start included.
fn frame_ms(db: &Connection, pipeline: &PipelineRow) -> Result<Vec<u64>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT j.chunk, a.ended_ms - a.started_ms
         FROM asset_version v CROSS JOIN pipeline p ON p.asset_version = v.id
            CROSS JOIN job j INDEXED BY job_pipeline ON j.pipeline = p.id
            JOIN attempt a ON a.job = j.id
         WHERE v.asset = ?1 AND v.version > ?2 AND j.stage = 'render' AND j.state = 'succeeded'
            AND a.attempt = 1 AND a.outcome = 'succeeded' AND a.started_ms IS NOT NULL
         ORDER BY j.id DESC LIMIT ?3",
    )?;
    let oldest = pipeline.asset_version.saturating_sub(VERSIONS);
    let rows = query.query_map(params![pipeline.asset_id, oldest, ATTEMPTS], |row| {
        Ok((row.get::<_, Chunk>(0)?, row.get::<_, i64>(1)?))
    })?;
    let mut measured = Vec::new();
    for row in rows {
        if let (Chunk::Frames { first, last }, ms) = row? {
            let frames = u64::from(last.saturating_sub(first)) + 1;
            measured.push(u64::try_from(ms).unwrap_or_default().div_ceil(frames));
        }
    }
    Ok(measured)
}
