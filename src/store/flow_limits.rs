//! Semaphores, rates, projects and the lengths of queues: set, listed, and asked at submission.

use super::audit;
use super::columns::{size_column, size_value};
use super::operate::named;
use super::writer::Tx;
use super::{Store, StoreError, lanes};
use crate::model::{Name, ProjectId, limits};
use crate::policy::bucket::{self, Bucket, Rate};
use crate::policy::flow;
use crate::policy::gate::Room;
use crate::protocol::control::{
    Holder, Limit, Limits, ProjectView, QueueView, RateView, SemaphoreView,
};
use crate::protocol::event::Change;
use crate::recipes::{Recipe, StageRule};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::BTreeMap;

impl Store {
    /// Sets or removes a limit. What runs already goes on; a limit that is lowered is reached
    /// again as jobs end.
    pub async fn set_limit(
        &self,
        limit: Limit,
        actor: &str,
        reason: &str,
    ) -> Result<(), StoreError> {
        let (actor, reason) = (named(actor, ""), reason.to_owned());
        self.writer
            .run(move |tx| {
                set(tx, &limit)?;
                audit::record(tx, &actor, &Change::LimitChanged { limit, reason })
            })
            .await
    }

    /// All limits, and how full they are.
    pub async fn limits(&self) -> Result<Limits, StoreError> {
        let now_ms = self.clock.now().wall_ms;
        self.readers
            .run(move |db| {
                Ok(Limits {
                    semaphores: semaphores(db)?,
                    rates: rates(db, now_ms)?,
                    projects: projects(db)?,
                    queues: queues(db, now_ms)?,
                })
            })
            .await
    }
}

fn set(tx: &Tx<'_>, limit: &Limit) -> Result<(), StoreError> {
    match limit {
        Limit::Semaphore { name, capacity } => set_semaphore(tx, name, *capacity),
        Limit::Rate { name, per_minute, burst } => set_rate(tx, name, *per_minute, *burst),
        Limit::Project { name, weight, quota } => set_project(tx, name, *weight, *quota),
        Limit::Queue { queue, max_queued } => set_queue(tx, queue, *max_queued),
    }
}

fn set_semaphore(tx: &Tx<'_>, name: &Name, capacity: Option<u32>) -> Result<(), StoreError> {
    let Some(capacity) = capacity else {
        tx.db.prepare_cached("DELETE FROM semaphore WHERE name = ?1")?.execute([name])?;
        return Ok(());
    };
    tx.db
        .prepare_cached(
            "INSERT INTO semaphore (name, capacity) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET capacity = ?2",
        )?
        .execute(params![name, capacity])?;
    bounded(tx, "SELECT count(*) FROM semaphore", limits::SEMAPHORES, "semaphores")
}

/// A new rate begins with a full bucket, a changed one keeps what is in it.
fn set_rate(
    tx: &Tx<'_>,
    name: &Name,
    per_minute: Option<u32>,
    burst: u32,
) -> Result<(), StoreError> {
    let Some(per_minute) = per_minute else {
        tx.db.prepare_cached("DELETE FROM rate_limit WHERE name = ?1")?.execute([name])?;
        return Ok(());
    };
    if burst == 0 {
        return Err(StoreError::Invalid("the burst of a rate is 1 or more".to_owned()));
    }
    let new = Rate { per_minute, burst };
    let now_ms = tx.now.wall_ms;
    let bucket = match lanes::rate(tx.db, name)? {
        // First what came at the old rate, then no more than the new one holds.
        Some((old, bucket)) => bucket::refilled(new, bucket::refilled(old, bucket, now_ms), now_ms),
        None => new.full(now_ms),
    };
    tx.db
        .prepare_cached(
            "INSERT INTO rate_limit (name, per_minute, burst, level, at_ms)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (name) DO UPDATE SET per_minute = ?2, burst = ?3, level = ?4, at_ms = ?5",
        )?
        .execute(params![name, per_minute, burst, size_column(bucket.level), bucket.at_ms])?;
    bounded(tx, "SELECT count(*) FROM rate_limit", limits::RATES, "rates")
}

fn set_project(
    tx: &Tx<'_>,
    name: &Name,
    weight: u32,
    quota: Option<u32>,
) -> Result<(), StoreError> {
    if !(1..=limits::PROJECT_WEIGHT).contains(&weight) {
        return Err(StoreError::Invalid(format!(
            "the weight of a project is 1 to {}, not {weight}",
            limits::PROJECT_WEIGHT
        )));
    }
    tx.db
        .prepare_cached(
            "INSERT INTO project (name, weight, quota) VALUES (?1, ?2, ?3)
             ON CONFLICT (name) DO UPDATE SET weight = ?2, quota = ?3",
        )?
        .execute(params![name, weight, quota])?;
    bounded(tx, "SELECT count(*) FROM project", limits::PROJECTS, "projects")
}

fn set_queue(tx: &Tx<'_>, queue: &str, max_queued: Option<u64>) -> Result<(), StoreError> {
    if !flow::is_queue(queue) {
        return Err(StoreError::NotFound(format!("queue {queue}")));
    }
    match max_queued {
        Some(most) => tx
            .db
            .prepare_cached(
                "INSERT INTO queue_limit (queue, max_queued) VALUES (?1, ?2)
                 ON CONFLICT (queue) DO UPDATE SET max_queued = ?2",
            )?
            .execute(params![queue, size_column(most)])?,
        None => {
            tx.db.prepare_cached("DELETE FROM queue_limit WHERE queue = ?1")?.execute([queue])?
        }
    };
    Ok(())
}

fn bounded(tx: &Tx<'_>, count: &str, most: u32, what: &str) -> Result<(), StoreError> {
    let rows: u32 = tx.db.prepare_cached(count)?.query_row([], |row| row.get(0))?;
    if rows <= most {
        return Ok(());
    }
    Err(StoreError::Invalid(format!("a farm keeps at most {most} {what}")))
}

/// The project of a submission; one that is named for the first time begins with weight 1.
pub(super) fn project(
    tx: &Tx<'_>,
    name: Option<&Name>,
    actor: &str,
) -> Result<ProjectId, StoreError> {
    let name = name.cloned().unwrap_or_else(Name::default_project);
    let find = || {
        tx.db
            .prepare_cached("SELECT id FROM project WHERE name = ?1")?
            .query_row([&name], |row| row.get(0))
            .optional()
    };
    if let Some(id) = find()? {
        return Ok(id);
    }
    set_project(tx, &name, 1, None)?;
    let limit = Limit::Project { name: name.clone(), weight: 1, quota: None };
    let reason = "first submission".to_owned();
    audit::record(tx, actor, &Change::LimitChanged { limit, reason })?;
    find()?.ok_or_else(|| StoreError::NotFound(format!("project {name}")))
}

/// Refuses new work while one of the queues that it will pass is full.
pub(super) fn admit(tx: &Tx<'_>, recipe: &Recipe) -> Result<(), StoreError> {
    admit_to(tx, recipe, &recipe.stages)
}

/// Refuses new work while one of the queues of these stages is full.
pub(super) fn admit_to(
    tx: &Tx<'_>,
    recipe: &Recipe,
    stages: &[StageRule],
) -> Result<(), StoreError> {
    for rule in stages {
        let queue = flow::queue_of(rule.stage, &recipe.settings);
        let (queued, max_queued) = (queued(tx.db, queue)?, max_queued(tx.db, queue)?);
        if queued >= max_queued {
            return Err(StoreError::QueueFull { queue: queue.to_owned(), queued, max_queued });
        }
    }
    Ok(())
}

/// Queues that are at their limit.
pub(super) fn full(db: &Connection) -> Result<BTreeMap<String, Room>, StoreError> {
    let mut full = BTreeMap::new();
    for queue in flow::QUEUES {
        let room = Room { queued: queued(db, queue)?, max_queued: max_queued(db, queue)? };
        if room.queued >= room.max_queued {
            full.insert(queue.to_owned(), room);
        }
    }
    Ok(full)
}

fn queued(db: &Connection, queue: &str) -> Result<u64, StoreError> {
    let n: Option<i64> = db
        .prepare_cached("SELECT n FROM counter WHERE name = 'queued/' || ?1")?
        .query_row([queue], |row| row.get(0))
        .optional()?;
    Ok(size_value(n.unwrap_or(0)))
}

fn max_queued(db: &Connection, queue: &str) -> Result<u64, StoreError> {
    let most: Option<i64> = db
        .prepare_cached("SELECT max_queued FROM queue_limit WHERE queue = ?1")?
        .query_row([queue], |row| row.get(0))
        .optional()?;
    Ok(most.map_or(limits::QUEUED_PER_QUEUE, size_value))
}

fn semaphores(db: &Connection) -> Result<Vec<SemaphoreView>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT n.name, s.capacity,
            (SELECT count(*) FROM semaphore_holder WHERE semaphore = n.name)
         FROM (SELECT name FROM semaphore UNION SELECT semaphore FROM semaphore_holder) n
            LEFT JOIN semaphore s ON s.name = n.name
         ORDER BY n.name",
    )?;
    let rows = query.query_map([], |row| {
        Ok(SemaphoreView {
            name: row.get(0)?,
            capacity: row.get(1)?,
            held: row.get(2)?,
            holders: Vec::new(),
        })
    })?;
    rows.map(|view| {
        let mut view = view?;
        view.holders = holders(db, &view.name)?;
        Ok(view)
    })
    .collect()
}

/// The first holders of a semaphore.
pub(super) fn holders(db: &Connection, name: &Name) -> Result<Vec<Holder>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT h.job, h.epoch, a.worker FROM semaphore_holder h
            JOIN attempt a ON a.job = h.job AND a.epoch = h.epoch
         WHERE h.semaphore = ?1 ORDER BY h.job LIMIT ?2",
    )?;
    let rows = query.query_map(params![name, limits::HOLDERS_NAMED], |row| {
        Ok(Holder { job: row.get(0)?, epoch: row.get(1)?, worker: row.get(2)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn rates(db: &Connection, now_ms: i64) -> Result<Vec<RateView>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT name, per_minute, burst, level, at_ms FROM rate_limit ORDER BY name",
    )?;
    let rows = query.query_map([], |row| {
        let rate = Rate { per_minute: row.get(1)?, burst: row.get(2)? };
        let bucket = Bucket { level: size_value(row.get(3)?), at_ms: row.get(4)? };
        let tokens = bucket::refilled(rate, bucket, now_ms).level / bucket::TOKEN;
        Ok(RateView {
            name: row.get(0)?,
            per_minute: rate.per_minute,
            burst: rate.burst,
            tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
            next_ms: bucket::next_token_ms(rate, bucket, now_ms),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn projects(db: &Connection) -> Result<Vec<ProjectView>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT p.name, p.weight, p.quota, (SELECT count(*) FROM job j
            WHERE j.state IN ('claimed', 'processing') AND j.project = p.id)
         FROM project p ORDER BY p.name",
    )?;
    let rows = query.query_map([], |row| {
        Ok(ProjectView {
            name: row.get(0)?,
            weight: row.get(1)?,
            quota: row.get(2)?,
            running: row.get(3)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Every queue, with what tells whether more workers would help.
pub(super) fn queues(db: &Connection, now_ms: i64) -> Result<Vec<QueueView>, StoreError> {
    let lanes = lanes::all(db, 1)?;
    let facts = lanes::facts(db, [])?;
    flow::QUEUES
        .into_iter()
        .map(|queue| {
            let heads = lanes.iter().filter(|lane| lane.queue == queue);
            let oldest =
                heads.filter_map(|lane| lane.heads.front()).map(|head| head.ready_ms).min();
            Ok(QueueView {
                queue: queue.to_owned(),
                mode: facts.queues.get(queue).copied().unwrap_or_default(),
                queued: queued(db, queue)?,
                max_queued: max_queued(db, queue)?,
                oldest_ms: oldest.map(|ready_ms| size_value(now_ms.saturating_sub(ready_ms))),
            })
        })
        .collect()
}
