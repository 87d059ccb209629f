//! How loaded the farm is: what the hints for scaling are made from.

use super::{Store, StoreError, flow_limits, lanes, quarantine, sessions};
use crate::model::Mode;
use crate::policy::{flow, scaling};
use crate::protocol::control::QueueView;
use crate::protocol::scaling::{FarmLoad, QueueLoad};
use rusqlite::Connection;
use std::collections::BTreeMap;

/// Leased jobs by queue: as many rows as there are slots, by a partial index.
pub(super) const RUNNING: &str = "SELECT queue, count(*) FROM job
     WHERE state IN ('claimed', 'processing') GROUP BY queue";

impl Store {
    /// The load of every queue, with what would help.
    pub async fn load(&self) -> Result<FarmLoad, StoreError> {
        let now_ms = self.clock.now().wall_ms;
        self.readers.run(move |db| load(db, now_ms)).await
    }
}

fn load(db: &Connection, now_ms: i64) -> Result<FarmLoad, StoreError> {
    let running = running(db)?;
    let busy = running.values().fold(0, |sum: u64, one| sum.saturating_add(*one));
    let slots = slots(db)?;
    let farm = lanes::facts(db, [])?.farm;
    let queues = flow_limits::queues(db, now_ms)?.into_iter().map(|view| {
        let running = running.get(&view.queue).copied().unwrap_or_default();
        queue(view, farm, (running, busy, slots))
    });
    Ok(FarmLoad {
        slots,
        busy,
        utilisation_percent: scaling::utilisation_percent(busy, slots),
        queues: queues.collect(),
    })
}

fn queue(view: QueueView, farm: Mode, (running, busy, slots): (u64, u64, u64)) -> QueueLoad {
    let mode = if farm == Mode::Running { view.mode } else { farm };
    let oldest_ms = view.oldest_ms.unwrap_or_default();
    let load = scaling::Load { mode, queued: view.queued, running, oldest_ms, slots, busy };
    QueueLoad {
        queue: view.queue,
        mode,
        queued: view.queued,
        running,
        oldest_ms: view.oldest_ms,
        hint: scaling::hint(load),
    }
}

fn running(db: &Connection) -> Result<BTreeMap<String, u64>, StoreError> {
    let mut running: BTreeMap<String, u64> =
        flow::QUEUES.into_iter().map(|queue| (queue.to_owned(), 0)).collect();
    let mut query = db.prepare_cached(RUNNING)?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))?;
    for row in rows {
        let (queue, jobs) = row?;
        running.insert(queue, jobs.unsigned_abs());
    }
    Ok(running)
}

/// Slots of the workers that are given work.
fn slots(db: &Connection) -> Result<u64, StoreError> {
    let mut slots: u64 = 0;
    for record in sessions::open_sessions(db)? {
        let works = lanes::worker_mode(db, &record.worker)? == Mode::Running
            && !quarantine::is_barred(db, &record.worker)?;
        if works {
            slots = slots.saturating_add(record.capabilities.slots.into());
        }
    }
    Ok(slots)
}
