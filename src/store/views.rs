//! What clients see: short reads, each on one snapshot.

use super::columns::{from_json, size_value};
use super::{Page, Store, StoreError, advance, audit, claim, dead_letters, publish, sessions};
use crate::model::{ErrorClass, JobId, JobState, PipelineId, Reason, limits};
use crate::protocol::event::Event;
use crate::protocol::scaling::FarmLoad;
use crate::protocol::view::{
    AttemptView, FarmStatus, JobDetail, JobView, PipelineDetail, PipelineView, Snapshot, StageView,
    WorkerView,
};
use crate::protocol::work::{Failure, OutputFile};
use rusqlite::{Connection, OptionalExtension, Row, params};

const PIPELINE: &str = "SELECT p.id, a.name, v.version, p.kind, p.recipe_name, p.status,
        p.created_ms, p.finished_ms, p.source_ref, p.still
     FROM pipeline p JOIN asset_version v ON v.id = p.asset_version JOIN asset a ON a.id = v.asset";

const JOB: &str = "SELECT j.id, j.pipeline, j.stage, j.chunk, j.queue, j.state, j.attempt, j.epoch,
        s.worker, j.session, j.run_at_ms, j.replay_of, j.created_ms, j.updated_ms,
        f.reason, f.class, f.message, j.max_attempts,
        CASE WHEN j.queue = 'render.final'
            THEN (SELECT p.recipe FROM pipeline p WHERE p.id = j.pipeline) END
     FROM job j LEFT JOIN session s ON s.id = j.session
        LEFT JOIN attempt f ON f.job = j.id AND f.epoch = (
            SELECT max(epoch) FROM attempt WHERE job = j.id AND reason IS NOT NULL)";

impl Store {
    /// Events after `seq`, oldest first.
    pub async fn events_after(&self, seq: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let limit = limit.min(limits::EVENTS_PER_PAGE);
        self.readers.run(move |db| audit::after(db, seq, limit)).await
    }

    /// The number of the last event, also of one that is not announced yet.
    pub async fn last_event(&self) -> Result<u64, StoreError> {
        self.readers.run(audit::last_seq).await
    }

    /// What a live client starts from. Progress and lease times are filled in by the coordinator.
    pub async fn snapshot(&self, pipelines: u32) -> Result<Snapshot, StoreError> {
        let at_ms = self.clock.now().wall_ms;
        self.readers.run(move |db| snapshot(db, pipelines, at_ms)).await
    }

    /// Newest pipelines first.
    pub async fn pipelines(&self, page: Page) -> Result<Vec<PipelineView>, StoreError> {
        self.readers.run(move |db| pipelines(db, page)).await
    }

    /// One pipeline in full.
    pub async fn pipeline(&self, pipeline: PipelineId) -> Result<PipelineDetail, StoreError> {
        self.readers.run(move |db| pipeline_detail(db, pipeline)).await
    }

    /// Newest jobs first, of one state or all.
    pub async fn jobs(
        &self,
        state: Option<JobState>,
        page: Page,
    ) -> Result<Vec<JobView>, StoreError> {
        self.readers
            .run(move |db| {
                let sql = match state {
                    Some(_) => format!(
                        "{JOB} WHERE j.state = ?3 AND j.id < ?1 ORDER BY j.id DESC LIMIT ?2"
                    ),
                    None => {
                        format!("{JOB} WHERE ?3 IS NULL AND j.id < ?1 ORDER BY j.id DESC LIMIT ?2")
                    }
                };
                let mut query = db.prepare_cached(&sql)?;
                let rows =
                    query.query_map(params![page.before_id(), page.rows(), state], job_view)?;
                Ok(rows.collect::<Result<_, _>>()?)
            })
            .await
    }

    /// One job in full.
    pub async fn job(&self, job: JobId) -> Result<JobDetail, StoreError> {
        self.readers.run(move |db| job_detail(db, job)).await
    }

    /// One job as listings show it.
    pub async fn job_view(&self, job: JobId) -> Result<JobView, StoreError> {
        self.readers.run(move |db| one_job(db, job)).await
    }

    /// Counts for [`FarmStatus`]: version, farm, uptime and load are filled in by the coordinator.
    pub async fn status(&self) -> Result<FarmStatus, StoreError> {
        self.readers.run(status).await
    }

    /// Those of the given checksums that a source or an output refers to.
    pub async fn known_artifacts(
        &self,
        checksums: Vec<crate::model::Checksum>,
    ) -> Result<Vec<crate::model::Checksum>, StoreError> {
        self.readers
            .run(move |db| {
                let mut query = db.prepare_cached(
                    "SELECT EXISTS (SELECT 1 FROM source_file WHERE checksum = ?1)
                        OR EXISTS (SELECT 1 FROM output WHERE checksum = ?1)",
                )?;
                let mut known = Vec::new();
                for checksum in checksums {
                    if query.query_row([checksum], |row| row.get(0))? {
                        known.push(checksum);
                    }
                }
                Ok(known)
            })
            .await
    }
}

impl Page {
    pub(super) fn before_id(self) -> i64 {
        self.before.unwrap_or(i64::MAX)
    }

    pub(super) fn rows(self) -> u32 {
        self.limit.clamp(1, limits::ROWS_PER_PAGE)
    }
}

/// One pipeline as listings show it.
pub(super) fn pipeline_view(db: &Connection, id: PipelineId) -> Result<PipelineView, StoreError> {
    let row = db
        .prepare_cached(&format!("{PIPELINE} WHERE p.id = ?1"))?
        .query_row([id], pipeline_row)
        .optional()?
        .ok_or_else(|| StoreError::NotFound(format!("pipeline {id}")))?;
    let mut views = [row];
    fill_stages(db, &mut views)?;
    let [view] = views;
    Ok(view)
}

fn pipelines(db: &Connection, page: Page) -> Result<Vec<PipelineView>, StoreError> {
    let mut query =
        db.prepare_cached(&format!("{PIPELINE} WHERE p.id < ?1 ORDER BY p.id DESC LIMIT ?2"))?;
    let rows = query.query_map(params![page.before_id(), page.rows()], pipeline_row)?;
    let mut views = rows.collect::<Result<Vec<PipelineView>, _>>()?;
    fill_stages(db, &mut views)?;
    Ok(views)
}

fn pipeline_row(row: &Row<'_>) -> rusqlite::Result<PipelineView> {
    Ok(PipelineView {
        id: row.get(0)?,
        asset: row.get(1)?,
        asset_version: row.get(2)?,
        kind: row.get(3)?,
        recipe: row.get(4)?,
        status: row.get(5)?,
        created_at_ms: row.get(6)?,
        finished_at_ms: row.get(7)?,
        source_ref: row.get(8)?,
        stages: Vec::new(),
        still: row.get(9)?,
    })
}

/// The stages of pipelines that follow each other, newest first, in one query.
fn fill_stages(db: &Connection, views: &mut [PipelineView]) -> Result<(), StoreError> {
    let (Some(newest), Some(oldest)) = (views.first(), views.last()) else { return Ok(()) };
    let mut query = db.prepare_cached(
        "SELECT pipeline, stage, status, parts_total, parts_done FROM stage
         WHERE pipeline BETWEEN ?1 AND ?2 ORDER BY pipeline DESC, ordinal",
    )?;
    let mut rows = query.query(params![oldest.id, newest.id])?;
    let mut views = views.iter_mut().peekable();
    while let Some(row) = rows.next()? {
        let pipeline: PipelineId = row.get(0)?;
        while views.next_if(|view| view.id > pipeline).is_some() {}
        if let Some(view) = views.peek_mut().filter(|view| view.id == pipeline) {
            view.stages.push(StageView {
                stage: row.get(1)?,
                status: row.get(2)?,
                parts_total: row.get(3)?,
                parts_done: row.get(4)?,
            });
        }
    }
    Ok(())
}

fn job_view(row: &Row<'_>) -> rusqlite::Result<JobView> {
    let class: Option<ErrorClass> = row.get(15)?;
    let reason: Option<Reason> = row.get(14)?;
    let message: Option<String> = row.get(16)?;
    let last_failure = match (reason, class, message) {
        (Some(reason), Some(class), Some(message)) => Some(Failure { reason, class, message }),
        _ => None,
    };
    let (stage, chunk) = (row.get(2)?, row.get(3)?);
    let recipe = row.get_ref(18)?.as_str_or_null()?.map(advance::known_recipe);
    // A recipe that cannot be read shows when its pipeline is.
    let recipe = recipe.and_then(Result::ok);
    Ok(JobView {
        id: row.get(0)?,
        pipeline: row.get(1)?,
        stage,
        chunk,
        frames: recipe.and_then(|recipe| recipe.settings.frames_of(stage, chunk)),
        queue: row.get(4)?,
        state: row.get(5)?,
        attempt: row.get(6)?,
        max_attempts: row.get(17)?,
        epoch: row.get(7)?,
        worker: row.get(8)?,
        session: row.get(9)?,
        run_at_ms: row.get(10)?,
        progress: None,
        last_failure,
        replay_of: row.get(11)?,
        created_at_ms: row.get(12)?,
        updated_at_ms: row.get(13)?,
    })
}

fn pipeline_detail(db: &Connection, id: PipelineId) -> Result<PipelineDetail, StoreError> {
    let row = advance::pipeline(db, id)?;
    let jobs: Vec<JobId> = db
        .prepare_cached("SELECT id FROM job WHERE pipeline = ?1 ORDER BY id")?
        .query_map([id], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let export_folder: Option<String> = db
        .prepare_cached("SELECT export_folder FROM pipeline WHERE id = ?1")?
        .query_row([id], |row| row.get(0))?;
    let mut published = publish::published_files(db, id)?;
    for file in &mut published {
        file.path = export_folder
            .as_ref()
            .map(|folder| std::path::Path::new(folder).join(&file.output).display().to_string());
    }
    Ok(PipelineDetail {
        pipeline: pipeline_view(db, id)?,
        trace_id: row.trace_id,
        sources: claim::sources(db, row.version_id)?,
        jobs: jobs.into_iter().map(|job| job_detail(db, job)).collect::<Result<_, _>>()?,
        published,
        export_folder,
    })
}

fn one_job(db: &Connection, id: JobId) -> Result<JobView, StoreError> {
    db.prepare_cached(&format!("{JOB} WHERE j.id = ?1"))?
        .query_row([id], job_view)
        .optional()?
        .ok_or_else(|| StoreError::NotFound(format!("job {id}")))
}

fn job_detail(db: &Connection, id: JobId) -> Result<JobDetail, StoreError> {
    let job = one_job(db, id)?;
    let (idempotency_key, reused_from) = db
        .prepare_cached("SELECT idempotency_key, reused_from FROM job WHERE id = ?1")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let result: Option<(String, Option<String>)> = db
        .prepare_cached("SELECT warnings, drawn_by FROM result WHERE job = ?1")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (warnings, drawn_by) = match result {
        Some((warnings, drawn_by)) => (from_json(&warnings)?, drawn_by),
        None => (Vec::new(), None),
    };
    Ok(JobDetail {
        job,
        idempotency_key,
        attempts: attempts(db, id)?,
        outputs: outputs(db, id)?,
        warnings,
        drawn_by,
        edit: advance::edit_of(db, id)?,
        reused_from,
    })
}

pub(super) fn attempts(db: &Connection, job: JobId) -> Result<Vec<AttemptView>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT epoch, attempt, worker, session, claimed_ms, started_ms, ended_ms, outcome, reason,
            class, message
         FROM attempt WHERE job = ?1 ORDER BY epoch",
    )?;
    let rows = query.query_map([job], |row| {
        let reason: Option<Reason> = row.get(8)?;
        let class: Option<ErrorClass> = row.get(9)?;
        let message: Option<String> = row.get(10)?;
        Ok(AttemptView {
            epoch: row.get(0)?,
            attempt: row.get(1)?,
            worker: row.get(2)?,
            session: row.get(3)?,
            claimed_at_ms: row.get(4)?,
            started_at_ms: row.get(5)?,
            ended_at_ms: row.get(6)?,
            outcome: row.get(7)?,
            failure: reason.zip(class).map(|(reason, class)| Failure {
                reason,
                class,
                message: message.unwrap_or_default(),
            }),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// What a job made.
pub(super) fn outputs(db: &Connection, job: JobId) -> Result<Vec<OutputFile>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT name, checksum, size_bytes, media_type FROM output WHERE job = ?1 ORDER BY name",
    )?;
    let rows = query.query_map([job], output_file)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// A file of a job, from its name, checksum, size and type.
pub(super) fn output_file(row: &Row<'_>) -> rusqlite::Result<OutputFile> {
    Ok(OutputFile {
        name: row.get(0)?,
        checksum: row.get(1)?,
        size_bytes: size_value(row.get(2)?),
        media_type: row.get(3)?,
    })
}

fn workers(db: &Connection) -> Result<Vec<WorkerView>, StoreError> {
    sessions::open_sessions(db)?
        .iter()
        .map(|record| {
            let jobs = sessions::held(db, &record.id)?.into_iter().map(|(job, _)| job).collect();
            sessions::worker_view(db, record, jobs)
        })
        .collect()
}

fn snapshot(db: &Connection, limit: u32, at_ms: i64) -> Result<Snapshot, StoreError> {
    let mut views = Vec::new();
    let mut before = None;
    while views.len() < usize::try_from(limit).unwrap_or(usize::MAX) {
        let left = limit.saturating_sub(u32::try_from(views.len()).unwrap_or(u32::MAX));
        let page = pipelines(db, Page { before, limit: left })?;
        let Some(last) = page.last() else { break };
        before = Some(last.id.0);
        views.extend(page);
    }
    let oldest = views.last().map_or(i64::MAX, |view| view.id.0);
    // The plus keeps SQLite from reading all jobs in order of their ids instead of by pipeline.
    let mut query = db.prepare_cached(&format!("{JOB} WHERE j.pipeline >= ?1 ORDER BY +j.id"))?;
    let jobs = query.query_map([oldest], job_view)?.collect::<Result<_, _>>()?;
    Ok(Snapshot {
        seq: audit::last_seq(db)?,
        at_ms,
        pipelines: views,
        jobs,
        workers: workers(db)?,
        dead_letters: dead_letters::list(
            db,
            false,
            Page { before: None, limit: limits::ROWS_PER_PAGE },
        )?,
        pipelines_total: counter(db, "pipelines")?,
    })
}

fn counter(db: &Connection, name: &str) -> Result<u64, StoreError> {
    let n: Option<i64> = db
        .prepare_cached("SELECT n FROM counter WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    Ok(size_value(n.unwrap_or(0)))
}

fn status(db: &Connection) -> Result<FarmStatus, StoreError> {
    let running = counter(db, "claimed")? + counter(db, "processing")?;
    Ok(FarmStatus {
        version: String::new(),
        sqlite: rusqlite::version().to_owned(),
        farm: String::new(),
        uptime_ms: 0,
        queued: counter(db, "queued")?,
        running,
        retrying: counter(db, "retry_scheduled")?,
        dead_letters: counter(db, "dead_letters")?,
        workers: sessions::open_count(db)?,
        exports_waiting: counter(db, "exports_waiting")?,
        export_trouble: publish::trouble(db)?,
        load: FarmLoad::default(),
        seq: audit::last_seq(db)?,
    })
}
