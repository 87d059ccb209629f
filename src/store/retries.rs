//! Retries that run: only a share of all slots is theirs.

use super::StoreError;
use super::transition::JobRow;
use crate::policy::gate::Retries;
use crate::policy::{flow, matching};
use rusqlite::{Connection, OptionalExtension};
use std::collections::BTreeMap;

/// Retries of each queue, where live workers run `slots` jobs at once.
pub(super) fn all(db: &Connection, slots: u32) -> Result<BTreeMap<String, Retries>, StoreError> {
    let at_once = matching::retries_at_once(slots);
    let mut query = db.prepare_cached("SELECT n FROM counter WHERE name = ?1")?;
    let mut retries = BTreeMap::new();
    for queue in flow::QUEUES {
        let running = query.query_row([counter(queue)], |row| row.get(0)).optional()?;
        let running = running.unwrap_or_default();
        retries.insert(queue.to_owned(), Retries { at_once, running });
    }
    Ok(retries)
}

/// The counter of a queue's retries that sessions hold.
pub(super) fn counter(queue: &str) -> String {
    format!("retries in {queue}")
}

/// Whether the job failed before: what it runs next is a retry.
pub(super) fn is_retry(row: &JobRow) -> bool {
    row.failed_on.is_some()
}
