//! Classes are kept few: those that no job can run by any more make room for new ones.

use super::StoreError;
use super::writer::Tx;
use crate::model::limits;
use crate::policy::flow;
use rusqlite::params;

/// Whether a live job is of a class. Each state is looked for by its own index, never job by job.
const IN_USE: &str = "SELECT EXISTS (SELECT 1 FROM job WHERE state = 'queued' AND builder IS NULL
        AND queue = ?1 AND class = ?2)
     OR EXISTS (SELECT 1 FROM job INDEXED BY job_held WHERE builder IS NOT NULL AND class = ?2)
     OR EXISTS (SELECT 1 FROM job INDEXED BY job_leased
        WHERE state IN ('claimed', 'processing') AND class = ?2)
     OR EXISTS (SELECT 1 FROM job INDEXED BY job_due
        WHERE state = 'retry_scheduled' AND class = ?2)";

/// Makes room for one more class, or says that too many are in use. The first two are the
/// program's own.
pub(super) fn make_room(tx: &Tx<'_>) -> Result<(), StoreError> {
    let known: Vec<i64> = tx
        .db
        .prepare_cached("SELECT code FROM resource_class WHERE code > 1")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let most = usize::try_from(limits::RESOURCE_CLASSES).unwrap_or(usize::MAX);
    if known.len() < most {
        return Ok(());
    }
    let mut left = known.len();
    for code in known {
        if !is_in_use(tx, code)? {
            tx.db.execute("DELETE FROM class_semaphore WHERE class = ?1", [code])?;
            tx.db.execute("DELETE FROM resource_class WHERE code = ?1", [code])?;
            left = left.saturating_sub(1);
        }
    }
    if left < most {
        return Ok(());
    }
    Err(StoreError::Invalid(format!(
        "jobs that wait or run name {most} different sets of semaphores, rates, requirements and workers: use fewer, or wait until some have ended"
    )))
}

fn is_in_use(tx: &Tx<'_>, code: i64) -> Result<bool, StoreError> {
    let mut query = tx.db.prepare_cached(IN_USE)?;
    for queue in flow::QUEUES {
        if query.query_row(params![queue, code], |row| row.get(0))? {
            return Ok(true);
        }
    }
    Ok(false)
}
