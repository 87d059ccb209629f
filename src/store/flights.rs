//! Alike jobs (see [`crate::policy::flight`]) at one time: one runs, the others are kept back until
//! its lease ends in whatever way, and take its result where it made one.

use super::advance::PipelineRow;
use super::columns::from_json;
use super::transition::{self, JobRow};
use super::writer::Tx;
use super::{StoreError, claim, report, views};
use crate::model::{Checksum, Chunk, JobId, PipelineId, Stage, limits};
use crate::policy::flight::{self, Work};
use crate::policy::matching;
use crate::protocol::work::{Completion, StageReport};
use crate::recipes::Settings;
use rusqlite::{OptionalExtension, params};

/// The checksum of what jobs of a stage will read; none where results are not shared.
pub(super) fn inputs(
    tx: &Tx<'_>,
    pipeline: &PipelineRow,
    stage: Stage,
) -> Result<Option<Checksum>, StoreError> {
    if !flight::is_shared(stage) {
        return Ok(None);
    }
    let files = claim::dependencies(tx.db, pipeline.version_id, pipeline.id, stage)?;
    Ok(Some(flight::inputs(&files)))
}

/// The flight of a new job.
pub(super) fn key(
    pipeline: &PipelineRow,
    (stage, chunk): (Stage, Chunk),
    settings: &Settings,
    inputs: Option<Checksum>,
) -> Option<Checksum> {
    if stage == Stage::Publish {
        return Some(flight::publish_key(&pipeline.asset));
    }
    flight::result_key(&Work {
        stage,
        chunk,
        kind: pipeline.kind,
        frame_count: pipeline.frame_count,
        main_file: &pipeline.main_file,
        asset: (&pipeline.asset, pipeline.asset_version),
        class: matching::resource_class(stage, pipeline.kind),
        settings,
        source: pipeline.checksum,
        inputs: inputs?,
    })
}

/// Whether a queued job may be handed out. Otherwise it has just succeeded with a result that is
/// there already, or is kept back while an alike one runs.
pub(super) fn board(tx: &Tx<'_>, row: &JobRow) -> Result<bool, StoreError> {
    let Some(flight) = row.flight else { return Ok(true) };
    if row.builder.is_some() {
        return Ok(false);
    }
    if let Some(from) = cached(tx, flight)? {
        reuse(tx, row, from)?;
        return Ok(false);
    }
    let runs: Option<JobId> = tx
        .db
        .prepare_cached(
            "SELECT id FROM job WHERE flight = ?1 AND state IN ('claimed', 'processing')",
        )?
        .query_row([flight], |row| row.get(0))
        .optional()?;
    if let Some(builder) = runs {
        tx.db
            .prepare_cached("UPDATE job SET builder = ?1 WHERE id = ?2 AND state = 'queued'")?
            .execute(params![builder, row.id])?;
    }
    Ok(runs.is_none())
}

/// A job was handed out: the alike ones wait for it.
pub(super) fn hold_others(tx: &Tx<'_>, row: &JobRow) -> Result<(), StoreError> {
    if let Some(flight) = row.flight {
        tx.db
            .prepare_cached(
                "UPDATE job SET builder = ?1 WHERE flight = ?2 AND state = 'queued'
                    AND builder IS NULL",
            )?
            .execute(params![row.id, flight])?;
    }
    Ok(())
}

/// The lease of a job ended: nothing waits for it any more.
pub(super) fn release_others(tx: &Tx<'_>, row: &JobRow) -> Result<(), StoreError> {
    if row.flight.is_some() {
        tx.db
            .prepare_cached("UPDATE job SET builder = NULL WHERE builder = ?1")?
            .execute([row.id])?;
    }
    Ok(())
}

/// A result was accepted: it stands for alike work from now on. Those that waited take it; beyond
/// a bound they do so when they are claimed.
pub(super) fn share(tx: &Tx<'_>, row: &JobRow, completion: &Completion) -> Result<(), StoreError> {
    let Some(flight) = row.flight.filter(|_| flight::is_shared(row.stage)) else { return Ok(()) };
    if !flight::is_lasting(&completion.report.warnings) {
        return Ok(());
    }
    tx.db
        .prepare_cached("INSERT OR REPLACE INTO cached_result (flight, job) VALUES (?1, ?2)")?
        .execute(params![flight, row.id])?;
    let waiting: Vec<JobId> = tx
        .db
        .prepare_cached(
            "SELECT id FROM job WHERE flight = ?1 AND state = 'queued' ORDER BY id LIMIT ?2",
        )?
        .query_map(params![flight, limits::REUSED_AT_ONCE], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for job in waiting {
        reuse(tx, &transition::job(tx, job)?, row.id)?;
    }
    Ok(())
}

/// Bytes that results of this pipeline name are gone or damaged: they stand for nothing any more.
pub(super) fn forget(tx: &Tx<'_>, pipeline: PipelineId) -> Result<(), StoreError> {
    tx.db
        .prepare_cached(
            "DELETE FROM cached_result WHERE job IN
                (SELECT coalesce(reused_from, id) FROM job WHERE pipeline = ?1)",
        )?
        .execute([pipeline])?;
    Ok(())
}

fn cached(tx: &Tx<'_>, flight: Checksum) -> Result<Option<JobId>, StoreError> {
    Ok(tx
        .db
        .prepare_cached("SELECT job FROM cached_result WHERE flight = ?1")?
        .query_row([flight], |row| row.get(0))
        .optional()?)
}

/// The job succeeds with the result of an alike one.
fn reuse(tx: &Tx<'_>, row: &JobRow, from: JobId) -> Result<(), StoreError> {
    let completion = result_of(tx, from)?;
    report::reuse(tx, row, &completion, from)?;
    tx.db
        .prepare_cached("UPDATE job SET reused_from = ?1 WHERE id = ?2")?
        .execute(params![from, row.id])?;
    Ok(())
}

fn result_of(tx: &Tx<'_>, job: JobId) -> Result<Completion, StoreError> {
    let outputs = views::outputs(tx.db, job)?;
    let (warnings, drawn_by, kind, frame_count): (String, _, _, _) = tx
        .db
        .prepare_cached(
            "SELECT r.warnings, r.drawn_by, p.kind, p.frame_count
             FROM result r JOIN job j ON j.id = r.job JOIN pipeline p ON p.id = j.pipeline
             WHERE r.job = ?1",
        )?
        .query_row([job], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let warnings = from_json(&warnings)?;
    let report = StageReport { kind, frame_count, warnings, drawn_by, ..StageReport::default() };
    Ok(Completion { outputs, report, pointer_generation: 0 })
}
