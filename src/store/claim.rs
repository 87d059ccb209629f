//! Claiming: ready jobs become a session's, each with a new epoch.

use super::columns::size_value;
use super::transition::{self, JobRow, With, session_worker};
use super::writer::Tx;
use super::{Store, StoreError, advance, sessions};
use crate::model::{JobId, PipelineId, SessionId, Stage, Verb, limits};
use crate::policy::matching::{self, Allowed, ResourceClass};
use crate::policy::{flow, retry};
use crate::protocol::work::{Assignment, Capabilities, InputFile, JobInput, JobLimits};
use rusqlite::{Connection, params};
use std::cmp::Reverse;
use std::sync::Arc;

/// Heads of one queue and resource class. A constant so that a test can ask for its plan.
pub(super) const READY: &str = "SELECT id, priority, ready_ms FROM job
     WHERE state = 'queued' AND queue = ?1 AND class = ?2 AND ready_ms <= ?3
     ORDER BY priority DESC, ready_ms, id LIMIT ?4";

impl Store {
    /// Claims up to `max_jobs` ready jobs that the session's worker may run; may be empty.
    /// `live` are the capabilities of all live sessions, for the GPU preference.
    pub async fn claim(
        &self,
        session: &SessionId,
        max_jobs: u32,
        live: impl Into<Arc<[Capabilities]>>,
    ) -> Result<Vec<Assignment>, StoreError> {
        let (session, live) = (session.clone(), live.into());
        self.writer.run(move |tx| claim(tx, &session, max_jobs, &live)).await
    }
}

fn claim(
    tx: &Tx<'_>,
    session: &SessionId,
    max_jobs: u32,
    live: &[Capabilities],
) -> Result<Vec<Assignment>, StoreError> {
    let worker = session_worker(tx, session)?;
    let own = sessions::capabilities(tx.db, session)?;
    let wanted = max_jobs.min(limits::JOBS_PER_CLAIM);
    let actor = sessions::actor(&worker);
    let with = With { claimed_by: Some((session, &worker)), ..With::default() };
    ready(tx, &own, live, wanted)?
        .into_iter()
        .map(|job| {
            let row = transition::job(tx, job)?;
            let row = transition::apply(tx, &row, Verb::Claim, &actor, with)?;
            assignment(tx, &row)
        })
        .collect()
}

/// The best ready jobs: by priority, then later stages first so that pipelines end before new
/// ones begin, then by age.
fn ready(
    tx: &Tx<'_>,
    own: &Capabilities,
    live: &[Capabilities],
    wanted: u32,
) -> Result<Vec<JobId>, StoreError> {
    let mut heads: Vec<(Reverse<i64>, Reverse<Stage>, i64, JobId)> = Vec::new();
    let mut query = tx.db.prepare_cached(READY)?;
    for stage in Stage::ALL {
        for class in ResourceClass::ALL {
            let until = match matching::allowed(class, own, live, tx.now.wall_ms) {
                Allowed::All => i64::MAX,
                Allowed::ReadySince { wall_ms } => wall_ms,
            };
            let rows = query
                .query_map(params![flow::queue(stage), class.code(), until, wanted], |row| {
                    Ok((Reverse(row.get(1)?), Reverse(stage), row.get(2)?, row.get(0)?))
                })?;
            for row in rows {
                heads.push(row?);
            }
        }
    }
    heads.sort_unstable();
    heads.truncate(usize::try_from(wanted).unwrap_or(usize::MAX));
    Ok(heads.into_iter().map(|(_, _, _, job)| job).collect())
}

fn assignment(tx: &Tx<'_>, job: &JobRow) -> Result<Assignment, StoreError> {
    let pipeline = advance::pipeline(tx.db, job.pipeline)?;
    let enqueued_at_ms = tx
        .db
        .prepare_cached("SELECT created_ms FROM job WHERE id = ?1")?
        .query_row([job.id], |row| row.get(0))?;
    let rule = pipeline.recipe.rule(job.stage);
    let limits = JobLimits {
        timeout_ms: rule.map_or(0, |rule| rule.timeout_s.saturating_mul(1_000)),
        stall_ms: rule.map_or(0, |rule| rule.stall_s.saturating_mul(1_000)),
        memory_bytes: rule.map_or(0, |rule| rule.memory_mib.saturating_mul(1 << 20)),
    };
    Ok(Assignment {
        job_id: job.id,
        pipeline_id: job.pipeline,
        stage: job.stage,
        chunk: job.chunk,
        idempotency_key: job.idempotency_key.clone(),
        dependencies: dependencies(tx.db, pipeline.version_id, job.pipeline, job.stage)?,
        limits,
        attempt: job.attempt,
        max_attempts: retry::MOST_ATTEMPTS,
        epoch: job.epoch,
        enqueued_at_ms,
        pointer_generation: pipeline.generation,
        asset: pipeline.asset,
        asset_version: pipeline.asset_version,
        settings: pipeline.recipe.settings.clone(),
        trace_id: pipeline.trace_id,
        input: JobInput {
            source_ref: pipeline.source_ref,
            checksum: pipeline.checksum,
            options_ref: format!("recipe {}", pipeline.recipe.name),
            profile: pipeline.profile,
            kind: pipeline.kind,
            main_file: pipeline.main_file,
            frame_count: pipeline.frame_count,
        },
    })
}

fn dependencies(
    db: &Connection,
    version: i64,
    pipeline: PipelineId,
    stage: Stage,
) -> Result<Vec<InputFile>, StoreError> {
    let reads = flow::reads(stage);
    let mut files = if reads.source { sources(db, version)? } else { Vec::new() };
    for made_by in reads.stages {
        files.extend(stage_outputs(db, pipeline, *made_by)?);
    }
    Ok(files)
}

/// The source files of an asset version.
pub(super) fn sources(db: &Connection, version: i64) -> Result<Vec<InputFile>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT name, checksum, size_bytes FROM source_file WHERE asset_version = ?1 ORDER BY name",
    )?;
    let rows = query.query_map([version], |row| {
        Ok(InputFile {
            made_by: None,
            name: row.get(0)?,
            checksum: row.get(1)?,
            size_bytes: size_value(row.get(2)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// What the succeeded jobs of a stage made.
pub(super) fn stage_outputs(
    db: &Connection,
    pipeline: PipelineId,
    stage: Stage,
) -> Result<Vec<InputFile>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT o.name, o.checksum, o.size_bytes FROM job j JOIN output o ON o.job = j.id
         WHERE j.pipeline = ?1 AND j.stage = ?2 AND j.state = 'succeeded' ORDER BY o.name",
    )?;
    let rows = query.query_map(params![pipeline, stage], |row| {
        Ok(InputFile {
            made_by: Some(stage),
            name: row.get(0)?,
            checksum: row.get(1)?,
            size_bytes: size_value(row.get(2)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
