//! What SQLite alone does with the same rows on the same disk: the measure for the verbs. No
//! queue, no checks, no savepoints; the same tables, indexes and durability.

use super::lanes::HEADS;
use super::{StoreError, connection};
use crate::model::limits::DEFAULT_PRIORITY;
use rusqlite::{Connection, params};
use std::path::Path;

/// A change as the audit keeps it, of usual length.
const CHANGE: &str = r#"{"type":"job_changed","job":1,"pipeline":1,"from":"queued","to":"claimed","verb":"claim","attempt":1,"epoch":1,"worker":"bench-1","session":"00000000000000000000000000000000","failure":null,"run_at_ms":null}"#;
const SESSION: &str = "00000000000000000000000000000000";
/// The project that every farm begins with.
const PROJECT: i64 = 1;
/// The write-ahead log is emptied after this many commits, as the writer does by size.
const COMMITS_PER_CHECKPOINT: u32 = 500;

/// A database of its own with rows like those of the verbs.
#[derive(Debug)]
pub struct Yardstick {
    db: Connection,
    next: i64,
    commits: u32,
}

impl Yardstick {
    /// Makes the database in an empty folder.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(folder)
            .map_err(|error| StoreError::Unusable(format!("no folder to measure in: {error}")))?;
        let db = connection::writer(folder)?;
        db.execute_batch(
            "INSERT INTO asset (id, name) VALUES (1, 'a');
             INSERT INTO asset_version (id, asset, version, checksum, main_file, created_ms)
                VALUES (1, 1, 1, zeroblob(32), 'a', 0);
             INSERT INTO pipeline (id, asset_version, recipe_name, recipe, profile, status,
                trace_id, source_ref, created_ms)
                VALUES (1, 1, 'r', '{}', 'p', 'running', 't', 's', 0);",
        )?;
        Ok(Self { db, next: 0, commits: 0 })
    }

    /// `rows` queued jobs, each with its audit row, in one commit.
    pub fn insert(&mut self, rows: u32) -> Result<(), StoreError> {
        let tx = self.db.transaction()?;
        {
            let mut job = tx.prepare_cached(
                "INSERT INTO job (pipeline, stage, chunk, queue, class, state, ready_ms,
                    idempotency_key, created_ms, updated_ms)
                 VALUES (1, 'render', ?1, 'render.preview', 0, 'queued', ?2, ?3, ?2, ?2)",
            )?;
            for number in self.next..self.next + i64::from(rows) {
                let chunk = format!("frames:{number}-{number}");
                job.execute(params![chunk, number, format!("render:a:v1:p:{chunk}:blake3")])?;
                audit(&tx, tx.last_insert_rowid(), None, "queued", "created")?;
            }
        }
        tx.commit()?;
        self.next += i64::from(rows);
        self.committed()
    }

    /// The whole life of `jobs` queued jobs: three commits, each with one change of state and one
    /// audit row for every job. Returns how many jobs were there.
    pub fn live(&mut self, jobs: u32) -> Result<usize, StoreError> {
        let tx = self.db.transaction()?;
        let ids: Vec<i64> = tx
            .prepare_cached(HEADS)?
            .query_map(params!["render.preview", 0, PROJECT, DEFAULT_PRIORITY, 0, jobs], |row| {
                row.get(1)
            })?
            .collect::<Result<_, _>>()?;
        let claim = "UPDATE job SET state = ?2, epoch = 1, attempt = 1, session = ?3,
            updated_ms = updated_ms + 1 WHERE id = ?1";
        each(&tx, &ids, claim, ("queued", "claimed", "claim"))?;
        tx.commit()?;
        self.committed()?;
        let tx = self.db.transaction()?;
        let start = "UPDATE job SET state = ?2, updated_ms = updated_ms + 1 WHERE id = ?1
            AND session = ?3";
        each(&tx, &ids, start, ("claimed", "processing", "start"))?;
        tx.commit()?;
        self.committed()?;
        let tx = self.db.transaction()?;
        let complete = "UPDATE job SET state = ?2, session = NULL, updated_ms = updated_ms + 1,
            finished_ms = updated_ms WHERE id = ?1 AND session = ?3";
        each(&tx, &ids, complete, ("processing", "succeeded", "complete"))?;
        tx.commit()?;
        self.committed()?;
        Ok(ids.len())
    }

    fn committed(&mut self) -> Result<(), StoreError> {
        self.commits += 1;
        if self.commits.is_multiple_of(COMMITS_PER_CHECKPOINT) {
            self.db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        }
        Ok(())
    }
}

fn each(
    db: &Connection,
    ids: &[i64],
    sql: &str,
    (from, to, cause): (&str, &str, &str),
) -> Result<(), StoreError> {
    let mut update = db.prepare_cached(sql)?;
    for id in ids {
        update.execute(params![id, to, SESSION])?;
        audit(db, *id, Some(from), to, cause)?;
    }
    Ok(())
}

fn audit(
    db: &Connection,
    job: i64,
    from: Option<&str>,
    to: &str,
    cause: &str,
) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO audit (at_ms, actor, pipeline, job, epoch, from_state, to_state, cause, change)
         VALUES (1800000000000, 'worker bench-1', 1, ?1, 1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![job, from, to, cause, CHANGE])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_made_and_live_to_their_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut yardstick = Yardstick::open(folder.path()).unwrap();
        yardstick.insert(10).unwrap();
        assert_eq!(yardstick.live(8).unwrap(), 8);
        assert_eq!(yardstick.live(8).unwrap(), 2);
        let (done, changes): (i64, i64) = yardstick
            .db
            .query_row(
                "SELECT (SELECT count(*) FROM job WHERE state = 'succeeded'), count(*) FROM audit",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        assert_eq!((done, changes), (10, 40));
    }
}
