//! Handing retries out: they wait in classes of their own, so that the claim of fresh jobs never
//! passes over them, another worker is preferred, and only so many run at once.

use super::StoreError;
use super::transition::JobRow;
use super::writer::Tx;
use crate::model::{JobId, limits};
use crate::policy::matching::{self, ResourceClass};
use crate::protocol::work::Capabilities;
use rusqlite::{OptionalExtension, params};

/// Heads of the retries of one queue and class. A constant so that a test can ask for its plan.
pub(super) const READY_RETRIES: &str = "SELECT id, priority, ready_ms, failed_on FROM job
     WHERE state = 'queued' AND queue = ?1 AND class = ?2 AND ready_ms <= ?3
     ORDER BY priority DESC, ready_ms, id LIMIT ?4";

/// The class of a job's retries in the store: beside every class of fresh jobs.
pub(super) const fn class_code(class: ResourceClass) -> i64 {
    -1 - class.code()
}

/// Who asks, and who else is there.
pub(super) struct Asking<'a> {
    pub(super) worker: &'a str,
    /// Live workers beside it that are given work.
    pub(super) others: u32,
    /// Jobs that all live workers run at once.
    pub(super) slots: u32,
}

impl<'a> Asking<'a> {
    pub(super) fn new(worker: &'a str, live: &[Capabilities], barred_others: u32) -> Self {
        let others = u32::try_from(live.len()).unwrap_or(u32::MAX).saturating_sub(1);
        let slots = live.iter().fold(0, |sum: u32, one| sum.saturating_add(one.slots));
        Self { worker, others: others.saturating_sub(barred_others), slots }
    }
}

/// A retry that may be handed out: its priority, since when it is ready, its id.
pub(super) type Head = (i64, i64, JobId);

/// The first retries of a queue and class that this worker may take; at most `wanted`.
pub(super) fn heads(
    tx: &Tx<'_>,
    asking: &Asking<'_>,
    queue: &str,
    class: ResourceClass,
    until_ms: i64,
    wanted: u32,
) -> Result<Vec<Head>, StoreError> {
    if wanted == 0 {
        return Ok(Vec::new());
    }
    let mut query = tx.db.prepare_cached(READY_RETRIES)?;
    // Those left to another worker are passed over, but not without a bound.
    let looked_at = wanted.saturating_add(limits::RETRY_HEADS_PASSED_OVER);
    let rows = query.query_map(params![queue, class_code(class), until_ms, looked_at], |row| {
        Ok(((row.get(1)?, row.get(2)?, row.get(0)?), row.get::<_, Option<String>>(3)?))
    })?;
    let mut heads = Vec::new();
    for row in rows {
        let (head, failed_on): (Head, _) = row?;
        let failed_here = failed_on.as_deref() == Some(asking.worker);
        if matching::left_to_another(failed_here, asking.others, head.1, tx.now.wall_ms) {
            continue;
        }
        heads.push(head);
        if heads.len() >= usize::try_from(wanted).unwrap_or(usize::MAX) {
            break;
        }
    }
    Ok(heads)
}

/// Retries of a queue that may still be handed out now.
pub(super) fn room(tx: &Tx<'_>, queue: &str, slots: u32) -> Result<u32, StoreError> {
    let running: Option<u32> = tx
        .db
        .prepare_cached("SELECT n FROM counter WHERE name = ?1")?
        .query_row([counter(queue)], |row| row.get(0))
        .optional()?;
    Ok(matching::retries_at_once(slots).saturating_sub(running.unwrap_or(0)))
}

/// The counter of a queue's retries that sessions hold.
pub(super) fn counter(queue: &str) -> String {
    format!("retries in {queue}")
}

/// Whether the job failed before: what it runs next is a retry.
pub(super) fn is_retry(row: &JobRow) -> bool {
    row.failed_on.is_some()
}
