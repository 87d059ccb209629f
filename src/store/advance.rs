//! How a pipeline moves on: parts of a stage are counted, the next stage's jobs are created in
//! the transaction in which the stage before ends.

use super::audit;
use super::columns::{from_json, to_json};
use super::transition::{self, JobRow, count, count_queued};
use super::writer::Tx;
use super::{StoreError, flights, kept, lanes, measured, replays};
use crate::model::{
    AssetKind, AssetName, Checksum, Chunk, JobId, PipelineId, PipelineStatus, ProjectId, Stage,
    StageStatus, TraceId,
};
use crate::policy::needs::{self, Needs};
use crate::policy::retry::Policy;
use crate::policy::{flow, keys};
use crate::protocol::dead::Edit;
use crate::protocol::event::Change;
use crate::recipes::Recipe;
use rusqlite::{Connection, OptionalExtension, params};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Recipes that a thread keeps as it read them.
const KNOWN_RECIPES: usize = 64;

/// Settings that say how a stage is cut into jobs: a single job cannot change them.
const FAN_OUT: [&str; 4] = ["turntable_frames", "chunk_frames", "chunk_seconds", "frames"];

/// What moving on needs to know of a pipeline.
#[derive(Debug, Clone)]
pub(super) struct PipelineRow {
    pub(super) id: PipelineId,
    pub(super) asset: AssetName,
    pub(super) asset_id: i64,
    pub(super) version_id: i64,
    pub(super) asset_version: u32,
    pub(super) generation: u64,
    pub(super) published_version: u32,
    pub(super) checksum: Checksum,
    pub(super) main_file: String,
    pub(super) recipe: Arc<Recipe>,
    pub(super) profile: String,
    pub(super) kind: Option<AssetKind>,
    pub(super) frame_count: Option<u32>,
    pub(super) status: PipelineStatus,
    pub(super) still: Option<Checksum>,
    pub(super) trace_id: TraceId,
    pub(super) source_ref: String,
    pub(super) project: ProjectId,
    pub(super) priority: u8,
}

/// Reads one pipeline.
pub(super) fn pipeline(db: &Connection, id: PipelineId) -> Result<PipelineRow, StoreError> {
    let found = db
        .prepare_cached(
            "SELECT a.name, a.id, v.id, v.version, a.generation, a.published_version, v.checksum,
                v.main_file, p.recipe, p.profile, p.kind, p.frame_count, p.status, p.still,
                p.trace_id, p.source_ref, p.project, p.priority
             FROM pipeline p JOIN asset_version v ON v.id = p.asset_version
                JOIN asset a ON a.id = v.asset
             WHERE p.id = ?1",
        )?
        .query_row([id], |row| {
            let recipe = match known_recipe(row.get_ref(8)?.as_str()?) {
                Ok(recipe) => recipe,
                Err(error) => return Ok(Err(error)),
            };
            Ok(Ok(PipelineRow {
                id,
                asset: row.get(0)?,
                asset_id: row.get(1)?,
                version_id: row.get(2)?,
                asset_version: row.get(3)?,
                generation: row.get::<_, i64>(4)?.unsigned_abs(),
                published_version: row.get(5)?,
                checksum: row.get(6)?,
                main_file: row.get(7)?,
                recipe,
                profile: row.get(9)?,
                kind: row.get(10)?,
                frame_count: row.get(11)?,
                status: row.get(12)?,
                still: row.get(13)?,
                trace_id: row.get(14)?,
                source_ref: row.get(15)?,
                project: row.get(16)?,
                priority: row.get(17)?,
            }))
        })
        .optional()?;
    found.ok_or_else(|| StoreError::NotFound(format!("pipeline {id}")))?
}

/// A farm has few recipes and every verb needs one: each thread reads a text once.
pub(super) fn known_recipe(text: &str) -> Result<Arc<Recipe>, StoreError> {
    thread_local! {
        static KNOWN: RefCell<HashMap<String, Arc<Recipe>>> = RefCell::default();
    }
    KNOWN.with_borrow_mut(|known| {
        if let Some(recipe) = known.get(text) {
            return Ok(Arc::clone(recipe));
        }
        let recipe: Arc<Recipe> = Arc::new(from_json(text)?);
        if known.len() >= KNOWN_RECIPES {
            known.clear();
        }
        known.insert(text.to_owned(), Arc::clone(&recipe));
        Ok(recipe)
    })
}

/// How far a stage is, as its row says.
#[derive(Debug, Clone, Copy)]
struct StageRow {
    status: StageStatus,
    parts_total: u32,
    parts_done: u32,
}

fn stage_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<StageRow> {
    Ok(StageRow { status: row.get(0)?, parts_total: row.get(1)?, parts_done: row.get(2)? })
}

/// Begins `stage` or the first one after it that has something to do; without one the pipeline
/// has succeeded.
pub(super) fn begin(
    tx: &Tx<'_>,
    pipeline: &PipelineRow,
    stage: Stage,
    actor: &str,
) -> Result<(), StoreError> {
    for stage in Stage::ALL.into_iter().filter(|other| *other >= stage) {
        if pipeline.recipe.rule(stage).is_none() {
            continue;
        }
        let measured = match stage {
            Stage::Render => measured::with_chunks(tx, pipeline)?,
            _ => None,
        };
        let pipeline = measured.as_ref().unwrap_or(pipeline);
        let chunks = flow::fan_out(&pipeline.recipe, stage, pipeline.kind, pipeline.frame_count);
        if chunks.is_empty() {
            set_stage(tx, pipeline.id, stage, StageStatus::Skipped, actor)?;
            continue;
        }
        // The export folder is a part of publish beside its job.
        let exports = u32::from(stage == Stage::Publish);
        let jobs = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
        tx.db
            .prepare_cached("UPDATE stage SET parts_total = ?1 WHERE pipeline = ?2 AND stage = ?3")?
            .execute(params![jobs.saturating_add(exports), pipeline.id, stage])?;
        set_stage(tx, pipeline.id, stage, StageStatus::Running, actor)?;
        let inputs = flights::inputs(tx, pipeline, stage)?;
        let jobs = chunks
            .into_iter()
            .map(|chunk| create_job(tx, pipeline, (stage, chunk), inputs, None, actor))
            .collect::<Result<Vec<_>, _>>()?;
        for job in jobs {
            flights::board(tx, &transition::job(tx, job)?)?;
        }
        return Ok(());
    }
    set_pipeline(tx, pipeline, PipelineStatus::Succeeded, actor)
}

/// Creates one job in its queue.
pub(super) fn create_job(
    tx: &Tx<'_>,
    pipeline: &PipelineRow,
    (stage, chunk): (Stage, Chunk),
    inputs: Option<Checksum>,
    replay: Option<(JobId, &Edit)>,
    actor: &str,
) -> Result<JobId, StoreError> {
    let mut key = keys::idempotency_key(
        stage,
        &pipeline.asset,
        pipeline.asset_version,
        &pipeline.profile,
        chunk,
        pipeline.checksum,
    );
    let queue = flow::queue_of(stage, &pipeline.recipe.settings);
    let replay_of = replay.map(|(job, _)| job);
    let edit = replay.map(|(_, edit)| edit).filter(|edit| !edit.is_empty());
    let mut settings = Cow::Borrowed(&pipeline.recipe.settings);
    if let Some(edit) = edit {
        key = keys::edited_key(key, &edit.settings);
        let changed = settings.with_changes(&edit.settings);
        settings = Cow::Owned(changed.map_err(|error| StoreError::Invalid(error.to_string()))?);
    }
    let flight = flights::key(pipeline, (stage, chunk), &settings, inputs);
    let class = lanes::class_code(tx, &needs_of(pipeline, stage, edit))?;
    let edit = edit.map(to_json).transpose()?;
    let max_attempts = Policy::of(pipeline.recipe.rule(stage)).most_attempts();
    tx.db
        .prepare_cached(
            "INSERT INTO job (pipeline, stage, chunk, queue, class, state, ready_ms,
                idempotency_key, replay_of, created_ms, updated_ms, project, priority,
                max_attempts, edit, flight)
             VALUES (?1, ?2, ?3, ?4, ?5, 'queued', ?6, ?7, ?8, ?6, ?6, ?9, ?10, ?11, ?12, ?13)",
        )?
        .execute(params![
            pipeline.id,
            stage,
            chunk,
            queue,
            class,
            tx.now.wall_ms,
            key,
            replay_of,
            pipeline.project,
            pipeline.priority,
            max_attempts,
            edit,
            flight,
        ])?;
    let job = JobId(tx.db.last_insert_rowid());
    count(tx, "queued", 1)?;
    count_queued(tx, queue, 1)?;
    audit::record(
        tx,
        actor,
        &Change::JobCreated {
            job,
            pipeline: pipeline.id,
            stage,
            chunk,
            frames: pipeline.recipe.settings.frames_of(stage, chunk),
            queue: queue.to_owned(),
            max_attempts,
            replay_of,
        },
    )?;
    Ok(job)
}

fn needs_of(pipeline: &PipelineRow, stage: Stage, edit: Option<&Edit>) -> Needs {
    let needs = needs::of(&pipeline.recipe, stage, pipeline.kind);
    match edit {
        Some(edit) => needs.edited(edit),
        None => needs,
    }
}

/// Creates the job that replays `dead`, with what the operator changed.
pub(super) fn create_replay(
    tx: &Tx<'_>,
    pipeline: &PipelineRow,
    dead: &JobRow,
    edit: &Edit,
    actor: &str,
) -> Result<JobId, StoreError> {
    if let Some(key) = edit.settings.keys().find(|key| FAN_OUT.contains(&key.as_str())) {
        return Err(StoreError::Invalid(format!(
            "setting '{key}' says how the stage is cut into jobs: submit the asset again to change it"
        )));
    }
    replays::check_placement(edit)?;
    let live: Option<JobId> = tx
        .db
        .prepare_cached(
            "SELECT id FROM job WHERE idempotency_key = ?1
                AND state IN ('queued', 'claimed', 'processing', 'retry_scheduled')",
        )?
        .query_row([&dead.idempotency_key], |row| row.get(0))
        .optional()?;
    if let Some(live) = live {
        return Err(StoreError::Conflict(format!("job {live} does the same work now")));
    }
    let inputs = flights::inputs(tx, pipeline, dead.stage)?;
    let part = (dead.stage, dead.chunk);
    let replay = create_job(tx, pipeline, part, inputs, Some((dead.id, edit)), actor)?;
    // Other settings make other pictures.
    if edit.settings.is_empty() {
        kept::hand_on(tx, dead.id, replay)?;
    }
    Ok(replay)
}

/// What a replay changed for a job.
pub(super) fn edit_of(db: &Connection, job: JobId) -> Result<Option<Edit>, StoreError> {
    let edit: Option<String> = db
        .prepare_cached("SELECT edit FROM job WHERE id = ?1")?
        .query_row([job], |row| row.get(0))?;
    edit.map(|text| from_json(&text)).transpose()
}

/// Counts one part of a stage as done; the last one ends the stage and begins the next.
pub(super) fn part_done(
    tx: &Tx<'_>,
    pipeline: &PipelineRow,
    stage: Stage,
    actor: &str,
) -> Result<(), StoreError> {
    let row = tx
        .db
        .prepare_cached(
            "UPDATE stage SET parts_done = parts_done + 1 WHERE pipeline = ?1 AND stage = ?2
             RETURNING status, parts_total, parts_done",
        )?
        .query_row(params![pipeline.id, stage], stage_row)?;
    if row.parts_done < row.parts_total {
        return stage_changed(tx, pipeline.id, stage, row, actor);
    }
    set_stage(tx, pipeline.id, stage, StageStatus::Succeeded, actor)?;
    match Stage::ALL.into_iter().find(|next| *next > stage) {
        Some(next) => begin(tx, pipeline, next, actor),
        None => set_pipeline(tx, pipeline, PipelineStatus::Succeeded, actor),
    }
}

/// Sets the status of a stage.
pub(super) fn set_stage(
    tx: &Tx<'_>,
    pipeline: PipelineId,
    stage: Stage,
    status: StageStatus,
    actor: &str,
) -> Result<(), StoreError> {
    let row = tx
        .db
        .prepare_cached(
            "UPDATE stage SET status = ?1 WHERE pipeline = ?2 AND stage = ?3
             RETURNING status, parts_total, parts_done",
        )?
        .query_row(params![status, pipeline, stage], stage_row)?;
    stage_changed(tx, pipeline, stage, row, actor)
}

fn stage_changed(
    tx: &Tx<'_>,
    pipeline: PipelineId,
    stage: Stage,
    row: StageRow,
    actor: &str,
) -> Result<(), StoreError> {
    let StageRow { status, parts_total, parts_done } = row;
    let change = Change::StageChanged { pipeline, stage, status, parts_total, parts_done };
    audit::record(tx, actor, &change)
}

/// Sets the status of a pipeline; the audit also carries its kind and still.
pub(super) fn set_pipeline(
    tx: &Tx<'_>,
    pipeline: &PipelineRow,
    status: PipelineStatus,
    actor: &str,
) -> Result<(), StoreError> {
    let finished = (status != PipelineStatus::Running).then_some(tx.now.wall_ms);
    tx.db
        .prepare_cached("UPDATE pipeline SET status = ?1, finished_ms = ?2 WHERE id = ?3")?
        .execute(params![status, finished, pipeline.id])?;
    let change = Change::PipelineChanged {
        pipeline: pipeline.id,
        status,
        kind: pipeline.kind,
        still: pipeline.still,
    };
    audit::record(tx, actor, &change)
}
