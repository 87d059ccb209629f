//! Reads what [`crate::policy::explain`] answers from: the facts of the claim, for one job.

use super::{Store, StoreError, flow_limits, lanes, quarantine, retries, sessions};
use crate::model::{JobId, JobState, Mode, Name, PipelineId, limits};
use crate::policy::dispatch;
use crate::policy::explain::{self, Builder, Scene, Subject};
use crate::policy::gate::{Facts, Worker};
use crate::policy::matching::ResourceClass;
use crate::policy::needs::{Needs, Terms};
use crate::protocol::control::Holder;
use crate::protocol::why::Why;
use crate::protocol::work::Capabilities;
use rusqlite::{Connection, OptionalExtension, Row};
use std::collections::BTreeMap;

impl Store {
    /// Why a job is not running: every reason, by the rules of the claim.
    pub async fn explain(&self, job: JobId) -> Result<Why, StoreError> {
        let now_ms = self.clock.now().wall_ms;
        self.readers.run(move |db| why(db, job, now_ms)).await
    }
}

fn why(db: &Connection, job: JobId, now_ms: i64) -> Result<Why, StoreError> {
    let mut subject = subject(db, job)?;
    let mut facts = if subject.state == JobState::Queued {
        let mut all = lanes::all(db, limits::EXPLAIN_AHEAD)?;
        let asked = all.iter().map(|lane| (&lane.needs, lane.project));
        let own = (&subject.needs, subject.project);
        let facts = lanes::facts(db, asked.chain([own]))?;
        subject.position = position(&mut all, &facts, job, now_ms);
        facts
    } else {
        lanes::facts(db, [(&subject.needs, subject.project)])?
    };
    let workers = workers(db)?;
    let slots =
        workers.iter().fold(0, |sum: u32, worker| sum.saturating_add(worker.capabilities.slots));
    facts.retries = retries::all(db, slots)?;
    let holders = subject
        .needs
        .semaphores
        .iter()
        .map(|name| Ok((name.clone(), flow_limits::holders(db, name)?)))
        .collect::<Result<BTreeMap<Name, Vec<Holder>>, StoreError>>()?;
    let scene = Scene { facts: &facts, holders: &holders, workers: &workers, now_wall_ms: now_ms };
    Ok(explain::explain(&subject, &scene))
}

/// The place of a job in the order that claims take: those that a limit holds stand aside.
fn position(all: &mut Vec<dispatch::Lane>, facts: &Facts, job: JobId, now_ms: i64) -> Option<u32> {
    all.retain(|lane| !lane.is_held(facts, now_ms));
    let mut open = facts.without_limits();
    // The place counts jobs, whoever can run them.
    for lane in all.iter_mut() {
        lane.needs.terms = Terms::default();
    }
    let worker = any_worker();
    let picks = dispatch::pick(all, &mut open, &worker, &[], limits::EXPLAIN_AHEAD, now_ms);
    let ahead = picks.iter().position(|pick| pick.job == job)?;
    u32::try_from(ahead).ok()?.checked_add(1)
}

/// A worker that nothing is kept from.
fn any_worker() -> Worker {
    let capabilities = Capabilities {
        host: String::new(),
        os: String::new(),
        version: String::new(),
        cores: 0,
        memory_bytes: 0,
        slots: 1,
        gpus: Vec::new(),
        programs: Vec::new(),
        paths: Vec::new(),
    };
    Worker {
        name: String::new(),
        mode: Mode::Running,
        capabilities,
        busy: 0,
        quarantined: false,
        others: 0,
    }
}

fn subject(db: &Connection, job: JobId) -> Result<Subject, StoreError> {
    let found = db
        .prepare_cached(
            "SELECT j.pipeline, j.stage, j.queue, j.state, s.worker, j.run_at_ms, j.ready_ms,
                j.class, j.project, j.priority, j.failed_on, b.id, b.pipeline, bs.worker
             FROM job j LEFT JOIN session s ON s.id = j.session
                LEFT JOIN job b ON b.id = j.builder LEFT JOIN session bs ON bs.id = b.session
             WHERE j.id = ?1",
        )?
        .query_row([job], |row| {
            let subject = Subject {
                job,
                pipeline: row.get(0)?,
                stage: row.get(1)?,
                queue: row.get(2)?,
                state: row.get(3)?,
                worker: row.get(4)?,
                run_at_ms: row.get(5)?,
                ready_ms: row.get(6)?,
                failed_on: row.get(10)?,
                needs: Needs::only(ResourceClass::Any),
                project: row.get(8)?,
                priority: row.get(9)?,
                builder: builder(row)?,
                position: None,
            };
            Ok((subject, row.get(7)?))
        })
        .optional()?;
    let (subject, class) = found.ok_or_else(|| StoreError::NotFound(format!("job {job}")))?;
    Ok(Subject { needs: lanes::class_needs(db, class)?, ..subject })
}

fn builder(row: &Row<'_>) -> rusqlite::Result<Option<Builder>> {
    let (job, pipeline): (Option<JobId>, Option<PipelineId>) = (row.get(11)?, row.get(12)?);
    let worker: Option<String> = row.get(13)?;
    let found = job.zip(pipeline).zip(worker);
    Ok(found.map(|((job, pipeline), worker)| Builder { job, pipeline, worker }))
}

fn workers(db: &Connection) -> Result<Vec<Worker>, StoreError> {
    let open = sessions::open_sessions(db)?;
    let others = u32::try_from(open.len()).unwrap_or(u32::MAX).saturating_sub(1);
    open.into_iter()
        .map(|record| {
            let busy = sessions::held(db, &record.id)?.len();
            Ok(Worker {
                mode: lanes::worker_mode(db, &record.worker)?,
                quarantined: quarantine::is_barred(db, &record.worker)?,
                others: others.saturating_sub(quarantine::barred_beside(db, &record.id)?),
                name: record.worker,
                capabilities: record.capabilities,
                busy: u32::try_from(busy).unwrap_or(u32::MAX),
            })
        })
        .collect()
}
