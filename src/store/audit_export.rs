//! Reads the audit page by page, by its number: no page costs more than its bound, however long
//! the audit has become.

use super::{Store, StoreError, audit};
use crate::model::{JobId, PipelineId, limits};
use crate::protocol::audit::{AuditPage, AuditRow};
use rusqlite::{Connection, Row, params};

const COLUMNS: &str = "SELECT seq, at_ms, actor, cause, pipeline, job, epoch, from_state, to_state,
    error_class, reason FROM audit";

/// Rows of one job, by the index of the jobs.
pub(super) const OF_JOB: &str = "WHERE job = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";

/// Rows of a stretch, of one pipeline or all.
pub(super) const OF_STRETCH: &str = "WHERE seq > ?1 AND seq <= ?2 AND (?3 IS NULL OR pipeline = ?3
        OR job IN (SELECT id FROM job WHERE pipeline = ?3))
     ORDER BY seq LIMIT ?4";

/// Which rows an export is about.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditFilter {
    /// Only rows with a greater number.
    pub after: u64,
    /// At most this many rows.
    pub limit: u32,
    /// Only rows of this pipeline.
    pub pipeline: Option<PipelineId>,
    /// Only rows of this job.
    pub job: Option<JobId>,
}

impl Store {
    /// One page of the audit. A page may be short before the end: it looks through so many rows
    /// and no more.
    pub async fn audit_page(&self, filter: AuditFilter) -> Result<AuditPage, StoreError> {
        self.readers.run(move |db| page(db, filter)).await
    }
}

fn page(db: &Connection, filter: AuditFilter) -> Result<AuditPage, StoreError> {
    let last = audit::last_seq(db)?;
    let limit = filter.limit.clamp(1, limits::ROWS_PER_PAGE);
    let column = |seq: u64| i64::try_from(seq).unwrap_or(i64::MAX);
    let stretch = filter.after.saturating_add(limits::AUDIT_ROWS_PER_PAGE.into()).min(last);
    let (rows, seen) = if let Some(job) = filter.job {
        let mut query = db.prepare_cached(&format!("{COLUMNS} {OF_JOB}"))?;
        let rows = query.query_map(params![job, column(filter.after), limit], row)?;
        (rows.collect::<Result<Vec<_>, _>>()?, last)
    } else {
        let mut query = db.prepare_cached(&format!("{COLUMNS} {OF_STRETCH}"))?;
        let values = params![column(filter.after), column(stretch), filter.pipeline, limit];
        let rows = query.query_map(values, row)?;
        (rows.collect::<Result<Vec<_>, _>>()?, stretch)
    };
    let is_full = rows.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    let after = rows.last().filter(|_| is_full).map_or(seen, |row| row.seq);
    Ok(AuditPage { rows, after: after.max(filter.after), last })
}

fn row(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    Ok(AuditRow {
        seq: row.get::<_, i64>(0)?.unsigned_abs(),
        at_ms: row.get(1)?,
        actor: row.get(2)?,
        cause: row.get(3)?,
        pipeline: row.get(4)?,
        job: row.get(5)?,
        epoch: row.get(6)?,
        from: row.get(7)?,
        to: row.get(8)?,
        class: row.get(9)?,
        reason: row.get(10)?,
    })
}
