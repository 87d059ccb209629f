//! Handing in an asset: version, pipeline and first job in one transaction, or the same work found.

use super::audit;
use super::columns::{size_column, to_json};
use super::transition::count;
use super::writer::Tx;
use super::{Store, StoreError, advance, flow_limits, views};
use crate::model::limits::{DEFAULT_PRIORITY, HIGHEST_PRIORITY};
use crate::model::{AssetKind, PipelineId, PipelineStatus, ProjectId, Stage, TraceId};
use crate::policy::keys;
use crate::protocol::event::Change;
use crate::protocol::submit::{Submission, SubmitOutcome, Submitted};
use crate::recipes::Recipe;
use rusqlite::{OptionalExtension, params};

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
        self.writer
            .run(move |tx| submit(tx, &submission, &recipe, &TraceId::from_random(trace)))
            .await
    }
}

struct VersionRow {
    id: i64,
    version: u32,
}

/// Creates or finds the work.
pub(super) fn submit(
    tx: &Tx<'_>,
    submission: &Submission,
    recipe: &Recipe,
    trace: &TraceId,
) -> Result<Submitted, StoreError> {
    submit_if(tx, submission, recipe, trace, |tx| flow_limits::admit(tx, recipe))
}

/// Creates the work where `admit` lets it in, or finds it.
pub(super) fn submit_if(
    tx: &Tx<'_>,
    submission: &Submission,
    recipe: &Recipe,
    trace: &TraceId,
    admit: impl FnOnce(&Tx<'_>) -> Result<(), StoreError>,
) -> Result<Submitted, StoreError> {
    let first = recipe
        .stages
        .first()
        .ok_or_else(|| StoreError::Invalid(format!("recipe {} has no stages", recipe.name)))?
        .stage;
    let version = asset_version(tx, submission)?;
    let profile = recipe.profile();
    let found = |pipeline, outcome| Submitted {
        pipeline,
        asset: submission.asset.clone(),
        asset_version: version.version,
        outcome,
    };
    if let Some((pipeline, outcome)) = same_work(tx, version.id, &profile)? {
        return Ok(found(pipeline, outcome));
    }
    let actor = format!("operator {}", submission.actor);
    admit(tx)?;
    let project = flow_limits::project(tx, submission.project.as_ref(), &actor)?;
    let pipeline = create_pipeline(tx, submission, recipe, &profile, version.id, trace, project)?;
    let change = Change::PipelineCreated { pipeline: views::pipeline_view(tx.db, pipeline)? };
    audit::record(tx, &actor, &change)?;
    advance::begin(tx, &advance::pipeline(tx.db, pipeline)?, first, &actor)?;
    Ok(found(pipeline, SubmitOutcome::Created))
}

fn asset_version(tx: &Tx<'_>, submission: &Submission) -> Result<VersionRow, StoreError> {
    let checksum = keys::file_set_checksum(&submission.main_file, &submission.files);
    let asset: i64 = tx
        .db
        .prepare_cached(
            "INSERT INTO asset (name) VALUES (?1) ON CONFLICT (name) DO UPDATE SET name = name
             RETURNING id",
        )?
        .query_row([&submission.asset], |row| row.get(0))?;
    let known = tx
        .db
        .prepare_cached("SELECT id, version FROM asset_version WHERE asset = ?1 AND checksum = ?2")?
        .query_row(params![asset, checksum], |row| {
            Ok(VersionRow { id: row.get(0)?, version: row.get(1)? })
        })
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
        .query_row(params![asset, checksum, submission.main_file, tx.now.wall_ms], |row| {
            Ok(VersionRow { id: row.get(0)?, version: row.get(1)? })
        })?;
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
    submission: &Submission,
    recipe: &Recipe,
    profile: &str,
    version: i64,
    trace: &TraceId,
    project: ProjectId,
) -> Result<PipelineId, StoreError> {
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
            version,
            recipe.name,
            to_json(recipe)?,
            profile,
            trace,
            submission.source_ref,
            tx.now.wall_ms,
            submission.sequence.then_some(AssetKind::Sequence),
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
    Ok(pipeline)
}
