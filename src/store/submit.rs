//! Handing in an asset: version, pipeline and first job in one transaction, or the same work found.

use super::advance::PipelineRow;
use super::audit;
use super::columns::{size_column, to_json};
use super::transition::count;
use super::writer::Tx;
use super::{Store, StoreError, advance, flow_limits};
use crate::model::limits::{DEFAULT_PRIORITY, HIGHEST_PRIORITY};
use crate::model::{
    AssetKind, AssetName, Checksum, PipelineId, PipelineStatus, ProjectId, Stage, StageStatus,
    TraceId,
};
use crate::policy::keys;
use crate::protocol::event::Change;
use crate::protocol::submit::{Submission, SubmitOutcome, Submitted};
use crate::protocol::view::{PipelineView, StageView};
use crate::recipes::Recipe;
use rusqlite::{OptionalExtension, Row, params};
use std::sync::Arc;

impl Store {
    /// Creates asset version, pipeline and first job, or finds the same work done before.
    /// The caller has checked that the bytes of all files are in the content store and gives the
    /// recipe with its settings changed. `trace` is 16 random bytes.
    pub async fn submit(
        &self,
        submission: Submission,
        recipe: Recipe,
        trace: [u8; 16],
    ) -> Result<Submitted, StoreError> {
        let prepared = Prepared::new(submission, recipe, trace)?;
        self.writer.run(move |tx| submit(tx, &prepared)).await
    }
}

/// A submission with all that follows from it alone.
pub(super) struct Prepared {
    submission: Submission,
    pub(super) recipe: Arc<Recipe>,
    recipe_json: String,
    profile: String,
    checksum: Checksum,
    trace_id: TraceId,
}

impl Prepared {
    /// Made where callers run side by side, and not by the one writer.
    pub(super) fn new(
        submission: Submission,
        recipe: Recipe,
        trace: [u8; 16],
    ) -> Result<Self, StoreError> {
        Ok(Self {
            checksum: keys::file_set_checksum(&submission.main_file, &submission.files),
            profile: recipe.profile(),
            recipe_json: to_json(&recipe)?,
            recipe: Arc::new(recipe),
            trace_id: TraceId::from_random(trace),
            submission,
        })
    }

    /// The recipe with its settings, as one text.
    pub(super) fn profile(&self) -> &str {
        &self.profile
    }

    /// Gives the asset another name; its content stays.
    pub(super) fn rename(&mut self, asset: AssetName) {
        self.submission.asset = asset;
    }
}

struct VersionRow {
    id: i64,
    version: u32,
    asset_id: i64,
    generation: i64,
    published_version: u32,
}

/// Creates or finds the work.
pub(super) fn submit(tx: &Tx<'_>, prepared: &Prepared) -> Result<Submitted, StoreError> {
    submit_if(tx, prepared, |tx| flow_limits::admit(tx, &prepared.recipe))
}

/// Creates the work where `admit` lets it in, or finds it.
pub(super) fn submit_if(
    tx: &Tx<'_>,
    prepared: &Prepared,
    admit: impl FnOnce(&Tx<'_>) -> Result<(), StoreError>,
) -> Result<Submitted, StoreError> {
    let Prepared { submission, recipe, profile, .. } = prepared;
    let first = recipe
        .stages
        .first()
        .ok_or_else(|| StoreError::Invalid(format!("recipe {} has no stages", recipe.name)))?
        .stage;
    let version = asset_version(tx, submission, prepared.checksum)?;
    let found = |pipeline, outcome| Submitted {
        pipeline,
        asset: submission.asset.clone(),
        asset_version: version.version,
        outcome,
    };
    if let Some((pipeline, outcome)) = same_work(tx, version.id, profile)? {
        return Ok(found(pipeline, outcome));
    }
    let actor = format!("operator {}", submission.actor);
    admit(tx)?;
    let project = flow_limits::project(tx, submission.project.as_ref(), &actor)?;
    let row = create_pipeline(tx, prepared, &version, project)?;
    let change = Change::PipelineCreated { pipeline: new_view(tx, &row) };
    audit::record(tx, &actor, &change)?;
    advance::begin(tx, &row, first, &actor)?;
    Ok(found(row.id, SubmitOutcome::Created))
}

/// A pipeline as clients see it at its beginning.
fn new_view(tx: &Tx<'_>, row: &PipelineRow) -> PipelineView {
    let stages = Stage::ALL.into_iter().filter(|stage| row.recipe.rule(*stage).is_some());
    PipelineView {
        id: row.id,
        asset: row.asset.clone(),
        asset_version: row.asset_version,
        kind: row.kind,
        recipe: row.recipe.name.clone(),
        status: row.status,
        created_at_ms: tx.now.wall_ms,
        finished_at_ms: None,
        source_ref: row.source_ref.clone(),
        stages: stages
            .map(|stage| StageView {
                stage,
                status: StageStatus::Pending,
                parts_total: 0,
                parts_done: 0,
            })
            .collect(),
        still: None,
    }
}

fn asset_version(
    tx: &Tx<'_>,
    submission: &Submission,
    checksum: Checksum,
) -> Result<VersionRow, StoreError> {
    let (asset, generation, published_version): (i64, i64, u32) = tx
        .db
        .prepare_cached(
            "INSERT INTO asset (name) VALUES (?1) ON CONFLICT (name) DO UPDATE SET name = name
             RETURNING id, generation, published_version",
        )?
        .query_row([&submission.asset], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let version_row = |row: &Row<'_>| {
        let (id, version) = (row.get(0)?, row.get(1)?);
        Ok(VersionRow { id, version, asset_id: asset, generation, published_version })
    };
    let known = tx
        .db
        .prepare_cached("SELECT id, version FROM asset_version WHERE asset = ?1 AND checksum = ?2")?
        .query_row(params![asset, checksum], version_row)
        .optional()?;
    if let Some(version) = known {
        return Ok(version);
    }
    let version = tx
        .db
        .prepare_cached(
            "INSERT INTO asset_version (asset, version, checksum, main_file, created_ms)
             VALUES (?1, (SELECT coalesce(max(version), 0) + 1 FROM asset_version WHERE asset = ?1),
                ?2, ?3, ?4)
             RETURNING id, version",
        )?
        .query_row(params![asset, checksum, submission.main_file, tx.now.wall_ms], version_row)?;
    let mut insert = tx.db.prepare_cached(
        "INSERT INTO source_file (asset_version, name, checksum, size_bytes) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for file in &submission.files {
        insert.execute(params![
            version.id,
            file.name,
            file.checksum,
            size_column(file.size_bytes)
        ])?;
    }
    Ok(version)
}

/// A pipeline of the same content and profile that runs, has succeeded, or still has live jobs.
fn same_work(
    tx: &Tx<'_>,
    version: i64,
    profile: &str,
) -> Result<Option<(PipelineId, SubmitOutcome)>, StoreError> {
    let found = tx
        .db
        .prepare_cached(
            "SELECT id, status FROM pipeline p WHERE asset_version = ?1 AND profile = ?2
                AND (status IN ('running', 'succeeded') OR EXISTS (
                    SELECT 1 FROM job j WHERE j.pipeline = p.id AND j.state IN
                        ('queued', 'claimed', 'processing', 'retry_scheduled')))
             ORDER BY id DESC LIMIT 1",
        )?
        .query_row(params![version, profile], |row| {
            Ok((row.get(0)?, row.get::<_, PipelineStatus>(1)?))
        })
        .optional()?;
    Ok(found.map(|(pipeline, status)| {
        let outcome = match status {
            PipelineStatus::Succeeded => SubmitOutcome::AlreadyThere,
            _ => SubmitOutcome::AlreadyRunning,
        };
        (pipeline, outcome)
    }))
}

fn create_pipeline(
    tx: &Tx<'_>,
    prepared: &Prepared,
    version: &VersionRow,
    project: ProjectId,
) -> Result<PipelineRow, StoreError> {
    let Prepared { submission, recipe, recipe_json, profile, checksum, trace_id } = prepared;
    let kind = submission.sequence.then_some(AssetKind::Sequence);
    let priority = submission.priority.unwrap_or(DEFAULT_PRIORITY);
    if priority > HIGHEST_PRIORITY {
        return Err(StoreError::Invalid(format!(
            "a priority is 0 to {HIGHEST_PRIORITY}, not {priority}"
        )));
    }
    tx.db
        .prepare_cached(
            "INSERT INTO pipeline (asset_version, recipe_name, recipe, profile, status, trace_id,
                source_ref, created_ms, kind, project, priority)
             VALUES (?1, ?2, ?3, ?4, 'running', ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            version.id,
            recipe.name,
            recipe_json,
            profile,
            trace_id,
            submission.source_ref,
            tx.now.wall_ms,
            kind,
            project,
            priority,
        ])?;
    let pipeline = PipelineId(tx.db.last_insert_rowid());
    count(tx, "pipelines", 1)?;
    let mut insert = tx.db.prepare_cached(
        "INSERT INTO stage (pipeline, ordinal, stage, status) VALUES (?1, ?2, ?3, 'pending')",
    )?;
    for (ordinal, stage) in (0_i64..).zip(Stage::ALL) {
        if recipe.rule(stage).is_some() {
            insert.execute(params![pipeline, ordinal, stage])?;
        }
    }
    Ok(PipelineRow {
        id: pipeline,
        asset: submission.asset.clone(),
        asset_id: version.asset_id,
        version_id: version.id,
        asset_version: version.version,
        generation: version.generation.unsigned_abs(),
        published_version: version.published_version,
        checksum: *checksum,
        main_file: submission.main_file.clone(),
        recipe: Arc::clone(recipe),
        profile: profile.clone(),
        kind,
        frame_count: None,
        status: PipelineStatus::Running,
        still: None,
        trace_id: trace_id.clone(),
        source_ref: submission.source_ref.clone(),
        project,
        priority,
    })
}
