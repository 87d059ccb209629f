//! Claiming: ready jobs become a session's, each with a new epoch.

use super::advance::PipelineRow;
use super::columns::{size_column, size_value};
use super::transition::{self, JobRow, With, session_worker};
use super::writer::Tx;
use super::{Store, StoreError, advance, flights, kept, lanes, quarantine, retries, sessions};
use crate::model::{JobState, PipelineId, SessionId, Stage, Verb, limits};
use crate::policy::dispatch::{self, Lane, Pick};
use crate::policy::flow;
use crate::policy::gate::{Facts, Round, Worker};
use crate::protocol::work::{Assignment, Capabilities, InputFile, JobInput, JobLimits};
use rusqlite::{Connection, params};
use std::collections::BTreeSet;
use std::sync::Arc;

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
    let name = session_worker(tx, session)?;
    let others = u32::try_from(live.len()).unwrap_or(u32::MAX).saturating_sub(1);
    let worker = Worker {
        mode: lanes::worker_mode(tx.db, &name)?,
        capabilities: sessions::capabilities(tx.db, session)?,
        // A worker asks for no more than it has free slots.
        busy: 0,
        quarantined: quarantine::is_barred(tx.db, &name)?,
        others: others.saturating_sub(quarantine::barred_beside(tx.db, session)?),
        name,
    };
    let wanted = max_jobs.min(limits::JOBS_PER_CLAIM);
    let mut assignments = Vec::new();
    for _ in 0..limits::CLAIM_ROUNDS {
        let given = u32::try_from(assignments.len()).unwrap_or(u32::MAX);
        let round = hand_out(tx, session, &worker, live, wanted.saturating_sub(given))?;
        assignments.extend(round.assignments);
        // What was passed over is ready no more: others may be.
        if !round.passed_over {
            break;
        }
    }
    Ok(assignments)
}

/// One look at all lanes.
#[derive(Default)]
struct HandedOut {
    assignments: Vec<Assignment>,
    /// A job was not handed out because of an alike one.
    passed_over: bool,
}

fn hand_out(
    tx: &Tx<'_>,
    session: &SessionId,
    worker: &Worker,
    live: &[Capabilities],
    wanted: u32,
) -> Result<HandedOut, StoreError> {
    let mut lanes = lanes::all(tx.db, wanted)?;
    if lanes.is_empty() || wanted == 0 {
        return Ok(HandedOut::default());
    }
    let mut facts = lanes::facts(tx.db, lanes.iter().map(|lane| (&lane.needs, lane.project)))?;
    if lanes.iter().any(|lane| lane.round == Round::Retry) {
        let slots = live.iter().fold(0, |sum: u32, one| sum.saturating_add(one.slots));
        facts.retries = retries::all(tx.db, slots)?;
    }
    let picks = dispatch::pick(&mut lanes, &mut facts, worker, live, wanted, tx.now.wall_ms);
    let actor = sessions::actor(&worker.name);
    let with = With { claimed_by: Some((session, &worker.name)), ..With::default() };
    let mut handed_out = HandedOut::default();
    let mut used = Vec::new();
    for pick in picks {
        // The claim of an alike one just before may keep it back or have given it its result.
        let row = transition::job(tx, pick.job)?;
        if row.state == JobState::Queued && flights::board(tx, &row)? {
            let row = transition::apply(tx, &row, Verb::Claim, &actor, with)?;
            handed_out.assignments.push(assignment(tx, &row)?);
            used.push(pick);
        } else {
            handed_out.passed_over = true;
        }
    }
    use_up(tx, &lanes, &used, &facts)?;
    Ok(handed_out)
}

/// Writes what the picked jobs took of the rates and of their projects' turns. The semaphores
/// follow the leases by themselves.
fn use_up(tx: &Tx<'_>, lanes: &[Lane], picks: &[Pick], facts: &Facts) -> Result<(), StoreError> {
    let picked: Vec<&Lane> = picks.iter().filter_map(|pick| lanes.get(pick.lane)).collect();
    if picked.is_empty() {
        return Ok(());
    }
    let rates: BTreeSet<_> = picked.iter().flat_map(|lane| &lane.needs.rates).collect();
    for name in rates {
        if let Some((_, bucket)) = facts.rates.get(name) {
            tx.db
                .prepare_cached("UPDATE rate_limit SET level = ?1, at_ms = ?2 WHERE name = ?3")?
                .execute(params![size_column(bucket.level), bucket.at_ms, name])?;
        }
    }
    let projects: BTreeSet<_> = picked.iter().map(|lane| lane.project).collect();
    for id in projects {
        if let Some(project) = facts.projects.get(&id) {
            tx.db
                .prepare_cached("UPDATE project SET pass = ?1 WHERE id = ?2")?
                .execute(params![project.pass, id])?;
        }
    }
    tx.db.prepare_cached("UPDATE fair_share SET pass = ?1")?.execute([facts.farm_pass])?;
    Ok(())
}

pub(super) fn assignment(tx: &Tx<'_>, job: &JobRow) -> Result<Assignment, StoreError> {
    let pipeline = advance::pipeline(tx.db, job.pipeline)?;
    let enqueued_at_ms = tx
        .db
        .prepare_cached("SELECT created_ms FROM job WHERE id = ?1")?
        .query_row([job.id], |row| row.get(0))?;
    let rule = pipeline.recipe.rule(job.stage);
    let edit = advance::edit_of(tx.db, job.id)?.unwrap_or_default();
    let limits = JobLimits {
        timeout_ms: edit
            .timeout_s
            .unwrap_or_else(|| pipeline.recipe.timeout_s(job.stage))
            .saturating_mul(1_000),
        stall_ms: pipeline.recipe.stall_s(job.stage).saturating_mul(1_000),
        memory_bytes: edit
            .memory_mib
            .or(rule.map(|rule| rule.memory_mib))
            .unwrap_or(0)
            .saturating_mul(1 << 20),
    };
    let settings = pipeline
        .recipe
        .settings
        .with_changes(&edit.settings)
        .map_err(|error| StoreError::Invalid(error.to_string()))?;
    Ok(Assignment {
        job_id: job.id,
        pipeline_id: job.pipeline,
        stage: job.stage,
        chunk: job.chunk,
        idempotency_key: job.idempotency_key.clone(),
        dependencies: dependencies(tx.db, &pipeline, job.stage)?,
        kept: if job.stage == Stage::Render { kept::of(tx.db, job.id)? } else { Vec::new() },
        limits,
        attempt: job.attempt,
        max_attempts: job.max_attempts,
        epoch: job.epoch,
        enqueued_at_ms,
        pointer_generation: pipeline.generation,
        asset: pipeline.asset,
        asset_version: pipeline.asset_version,
        settings,
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

/// What a stage of a pipeline reads.
pub(super) fn dependencies(
    db: &Connection,
    pipeline: &PipelineRow,
    stage: Stage,
) -> Result<Vec<InputFile>, StoreError> {
    let reads = flow::reads(stage, pipeline.kind);
    let mut files = if reads.source { sources(db, pipeline.version_id)? } else { Vec::new() };
    for made_by in reads.stages {
        files.extend(stage_outputs(db, pipeline.id, *made_by)?);
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
