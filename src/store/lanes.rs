//! Lanes of ready jobs, and what the rules look at: what a claim reads before it decides.

use super::columns::{from_json, size_value, to_json};
use super::writer::Tx;
use super::{StoreError, classes, flow_limits};
use crate::model::{Mode, Name, ProjectId, limits};
use crate::policy::bucket::{Bucket, Rate};
use crate::policy::dispatch::{Head, Lane};
use crate::policy::flow;
use crate::policy::gate::{Facts, Project, Round, Semaphore};
use crate::policy::matching::ResourceClass;
use crate::policy::needs::Needs;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The oldest job of the next lane. SQLite begins such a walk at the given place itself, so that
/// place must be the end of the lane before, not its beginning: otherwise it reads the whole lane.
pub(super) const NEXT_LANE: &str =
    "SELECT class, project, priority, is_retry, ready_ms, id, failed_on, queue
     FROM job INDEXED BY job_ready WHERE state = 'queued' AND builder IS NULL
        AND (queue, class, project, priority, is_retry, ready_ms)
            > (?1, ?2, ?3, ?4, ?5, 9223372036854775807)
     ORDER BY queue, class, project, priority, is_retry, ready_ms, id LIMIT 1";

/// The oldest jobs of one lane.
pub(super) const HEADS: &str = "SELECT ready_ms, id, failed_on FROM job
     WHERE state = 'queued' AND builder IS NULL AND queue = ?1 AND class = ?2 AND project = ?3
        AND priority = ?4 AND is_retry = ?5
     ORDER BY ready_ms, id LIMIT ?6";

/// Leased jobs of a project, counted no further than a quota.
pub(super) const LEASED: &str = "SELECT count(*) FROM (SELECT 1 FROM job
     WHERE state IN ('claimed', 'processing') AND project = ?1 LIMIT ?2)";

/// Holders of a semaphore, counted no further than its capacity.
pub(super) const HELD: &str = "SELECT count(*) FROM (SELECT 1 FROM semaphore_holder
     WHERE semaphore = ?1 LIMIT ?2)";

/// A lane of a queue: class, project, priority, whether it is one of retries.
type Key = (i64, ProjectId, i64, bool);

/// All lanes of all queues, each with its oldest `heads` jobs. Jumps from lane to lane: the cost
/// is that of the lanes, however many jobs wait.
pub(super) fn all(db: &Connection, heads: u32) -> Result<Vec<Lane>, StoreError> {
    let mut known = BTreeMap::new();
    let mut lanes = Vec::new();
    let mut next = db.prepare_cached(NEXT_LANE)?;
    let mut more = db.prepare_cached(HEADS)?;
    let mut queue = String::new();
    let mut after: Key = (-1, ProjectId(-1), -1, false);
    loop {
        let found = next
            .query_row(params![queue, after.0, after.1, after.2, after.3], |row| {
                let lane: Key = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                Ok((lane, head(row, 4)?, row.get(7)?))
            })
            .optional()?;
        let Some((lane, first, its_queue)) = found else { break };
        (queue, after) = (its_queue, lane);
        // Jobs of a queue that no stage has are not this version's to hand out.
        let Some((its_queue, stage)) = flow::stage_of(&queue) else { continue };
        // Those left to another worker are passed over, but not without a bound.
        let beyond = if lane.3 { limits::RETRY_HEADS_PASSED_OVER } else { 0 };
        let heads = heads.saturating_add(beyond);
        let heads = if heads <= 1 {
            VecDeque::from([first])
        } else {
            heads_of(&mut more, &queue, lane, heads)?
        };
        lanes.push(Lane {
            queue: its_queue,
            stage,
            needs: needs(db, &mut known, lane.0)?,
            project: lane.1,
            round: if lane.3 { Round::Retry } else { Round::Fresh },
            priority: u8::try_from(lane.2).unwrap_or(limits::HIGHEST_PRIORITY),
            heads,
        });
    }
    Ok(lanes)
}

fn heads_of(
    query: &mut CachedStatement<'_>,
    queue: &str,
    (class, project, priority, is_retry): Key,
    heads: u32,
) -> Result<VecDeque<Head>, StoreError> {
    let rows = query
        .query_map(params![queue, class, project, priority, is_retry, heads], |row| head(row, 0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn head(row: &Row<'_>, from: usize) -> rusqlite::Result<Head> {
    Ok(Head { ready_ms: row.get(from)?, job: row.get(from + 1)?, failed_on: row.get(from + 2)? })
}

/// What jobs of a class ask for; each class is read once.
fn needs(
    db: &Connection,
    known: &mut BTreeMap<i64, Needs>,
    code: i64,
) -> Result<Needs, StoreError> {
    if let Some(needs) = known.get(&code) {
        return Ok(needs.clone());
    }
    let needs = class_needs(db, code)?;
    known.insert(code, needs.clone());
    Ok(needs)
}

/// What jobs of a class ask for.
pub(super) fn class_needs(db: &Connection, code: i64) -> Result<Needs, StoreError> {
    if let Some(class) = ResourceClass::from_code(code) {
        return Ok(Needs::only(class));
    }
    let found: Option<(i64, String, String, String)> = db
        .prepare_cached(
            "SELECT base, semaphores, rates, terms FROM resource_class WHERE code = ?1",
        )?
        .query_row([code], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    // The class of a job that has ended may be forgotten.
    let Some((base, semaphores, rates, terms)) = found else {
        return Ok(Needs::only(ResourceClass::Any));
    };
    Ok(Needs {
        terms: from_json(&terms)?,
        class: ResourceClass::from_code(base).unwrap_or(ResourceClass::Any),
        semaphores: from_json(&semaphores)?,
        rates: from_json(&rates)?,
    })
}

/// The number of the class of these needs; a new set gets a new number.
pub(super) fn class_code(tx: &Tx<'_>, needs: &Needs) -> Result<i64, StoreError> {
    let base = needs.class.code();
    if needs.is_plain() {
        return Ok(base);
    }
    let (semaphores, rates) = (to_json(&needs.semaphores)?, to_json(&needs.rates)?);
    let terms = to_json(&needs.terms)?;
    let known = tx
        .db
        .prepare_cached(
            "SELECT code FROM resource_class
             WHERE base = ?1 AND semaphores = ?2 AND rates = ?3 AND terms = ?4",
        )?
        .query_row(params![base, semaphores, rates, terms], |row| row.get(0))
        .optional()?;
    if let Some(code) = known {
        return Ok(code);
    }
    classes::make_room(tx)?;
    let code: i64 = tx
        .db
        .prepare_cached(
            "INSERT INTO resource_class (base, semaphores, rates, terms) VALUES (?1, ?2, ?3, ?4)
             RETURNING code",
        )?
        .query_row(params![base, semaphores, rates, terms], |row| row.get(0))?;
    let mut insert =
        tx.db.prepare_cached("INSERT INTO class_semaphore (class, semaphore) VALUES (?1, ?2)")?;
    for name in &needs.semaphores {
        insert.execute(params![code, name])?;
    }
    Ok(code)
}

/// What the rules look at for these needs and projects.
pub(super) fn facts<'a>(
    db: &Connection,
    asked: impl IntoIterator<Item = (&'a Needs, ProjectId)>,
) -> Result<Facts, StoreError> {
    let mut facts = Facts::default();
    let mut projects = BTreeSet::new();
    let (mut semaphores, mut rates) = (BTreeSet::new(), BTreeSet::new());
    let mut waits_for_room = false;
    for (needs, project) in asked {
        projects.insert(project);
        semaphores.extend(&needs.semaphores);
        rates.extend(&needs.rates);
        waits_for_room |= needs.terms.waits_for_room;
    }
    modes(db, &mut facts)?;
    if waits_for_room {
        facts.full = flow_limits::full(db)?;
    }
    for name in semaphores {
        facts.semaphores.extend(semaphore(db, name)?.map(|one| (name.clone(), one)));
    }
    for name in rates {
        facts.rates.extend(rate(db, name)?.map(|one| (name.clone(), one)));
    }
    for id in projects {
        facts.projects.extend(project(db, id)?.map(|one| (id, one)));
    }
    facts.farm_pass =
        db.prepare_cached("SELECT pass FROM fair_share")?.query_row([], |row| row.get(0))?;
    Ok(facts)
}

fn modes(db: &Connection, facts: &mut Facts) -> Result<(), StoreError> {
    let mut query = db
        .prepare_cached("SELECT scope, name, mode FROM control WHERE scope IN ('farm', 'queue')")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let mode: Mode = row.get(2)?;
        if row.get_ref(0)?.as_str().is_ok_and(|scope| scope == "farm") {
            facts.farm = mode;
        } else {
            facts.queues.insert(row.get(1)?, mode);
        }
    }
    Ok(())
}

fn semaphore(db: &Connection, name: &Name) -> Result<Option<Semaphore>, StoreError> {
    let capacity: Option<u32> = db
        .prepare_cached("SELECT capacity FROM semaphore WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    let Some(capacity) = capacity else { return Ok(None) };
    let held = db.prepare_cached(HELD)?.query_row(params![name, capacity], |row| row.get(0))?;
    Ok(Some(Semaphore { capacity, held }))
}

pub(super) fn rate(db: &Connection, name: &Name) -> Result<Option<(Rate, Bucket)>, StoreError> {
    Ok(db
        .prepare_cached("SELECT per_minute, burst, level, at_ms FROM rate_limit WHERE name = ?1")?
        .query_row([name], |row| {
            Ok((
                Rate { per_minute: row.get(0)?, burst: row.get(1)? },
                Bucket { level: size_value(row.get(2)?), at_ms: row.get(3)? },
            ))
        })
        .optional()?)
}

fn project(db: &Connection, id: ProjectId) -> Result<Option<Project>, StoreError> {
    let found = db
        .prepare_cached("SELECT name, weight, quota, pass FROM project WHERE id = ?1")?
        .query_row([id], |row| {
            Ok(Project {
                name: row.get(0)?,
                weight: row.get(1)?,
                quota: row.get(2)?,
                leased: 0,
                pass: row.get(3)?,
            })
        })
        .optional()?;
    let Some(mut project) = found else { return Ok(None) };
    if let Some(quota) = project.quota {
        project.leased =
            db.prepare_cached(LEASED)?.query_row(params![id, quota], |row| row.get(0))?;
    }
    Ok(Some(project))
}

/// The mode of a worker as operators set it.
pub(super) fn worker_mode(db: &Connection, worker: &str) -> Result<Mode, StoreError> {
    let mode: Option<Mode> = db
        .prepare_cached("SELECT mode FROM control WHERE scope = 'worker' AND name = ?1")?
        .query_row([worker], |row| row.get(0))
        .optional()?;
    Ok(mode.unwrap_or_default())
}
