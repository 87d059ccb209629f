//! The ledger of what was seen in watch folders: one row for each file, also over restarts.

use super::columns::size_column;
use super::writer::Tx;
use super::{Store, StoreError, audit, watch_drops};
use crate::model::{Reason, Sight, WatchFileId, WatchFolderId, limits};
use crate::protocol::event::Change;
use crate::protocol::watch::{WatchFileState, WatchFileView};
use rusqlite::{Connection, Row, params};

/// Files noted or forgotten in one transaction.
pub const WATCH_NOTES_PER_CALL: usize = 1_000;

/// A file as the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedFile {
    /// Its row.
    pub id: WatchFileId,
    /// Below the folder, as bytes.
    pub path: Vec<u8>,
    /// How it looked when it came into its state.
    pub sight: Sight,
    /// What became of it.
    pub state: WatchFileState,
    /// The asset it is a part of, by its row.
    pub part_of: Option<i64>,
    /// Whether it is that asset's main file.
    pub is_main: bool,
}

/// A file in a new state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileNote {
    /// Below the folder, as bytes.
    pub path: Vec<u8>,
    /// The same for people.
    pub shown: String,
    /// How it looks.
    pub sight: Sight,
    /// What became of it.
    pub state: WatchFileState,
    /// Why, for people.
    pub why: Option<String>,
    /// The stable code, where it is refused.
    pub reason: Option<Reason>,
}

impl Store {
    /// The whole ledger of a folder, by path.
    pub async fn watched_files(
        &self,
        folder: WatchFolderId,
    ) -> Result<Vec<WatchedFile>, StoreError> {
        self.readers.run(move |db| ledger(db, folder)).await
    }

    /// Notes files in new states; at most [`WATCH_NOTES_PER_CALL`].
    pub async fn note_files(
        &self,
        folder: WatchFolderId,
        notes: Vec<FileNote>,
    ) -> Result<(), StoreError> {
        self.writer.run(move |tx| notes.iter().try_for_each(|file| note(tx, folder, file))).await
    }

    /// Files that are not there any more; at most [`WATCH_NOTES_PER_CALL`].
    pub async fn forget_files(
        &self,
        folder: WatchFolderId,
        paths: Vec<Vec<u8>>,
    ) -> Result<(), StoreError> {
        self.writer
            .run(move |tx| {
                let mut delete = tx
                    .db
                    .prepare_cached("DELETE FROM watch_file WHERE folder = ?1 AND path = ?2")?;
                for path in &paths {
                    delete.execute(params![folder, path])?;
                }
                Ok(())
            })
            .await
    }

    /// One file for people.
    pub async fn watch_file(&self, file: WatchFileId) -> Result<WatchFileView, StoreError> {
        self.readers
            .run(move |db| {
                let condition = format!("{FILE} WHERE f.id = ?1");
                let mut found = views(db, &condition, params![file])?;
                found.pop().ok_or_else(|| StoreError::NotFound(format!("watched file {file}")))
            })
            .await
    }

    /// Files of a folder for people, newest changes first; `before` is the last row of the page
    /// before: (since, id).
    pub async fn watch_files(
        &self,
        folder: WatchFolderId,
        state: Option<WatchFileState>,
        before: Option<(i64, i64)>,
        limit: u32,
    ) -> Result<Vec<WatchFileView>, StoreError> {
        let limit = limit.min(limits::ROWS_PER_PAGE);
        let (since_ms, id) = before.unwrap_or((i64::MAX, i64::MAX));
        self.readers
            .run(move |db| match state {
                None => {
                    let query = format!(
                        "{FILE} WHERE f.folder = ?1 AND (f.since_ms, f.id) < (?2, ?3)
                         ORDER BY f.since_ms DESC, f.id DESC LIMIT ?4"
                    );
                    views(db, &query, params![folder, since_ms, id, limit])
                }
                Some(state) => {
                    let query = format!(
                        "{FILE} WHERE f.folder = ?1 AND f.state = ?5
                            AND (f.since_ms, f.id) < (?2, ?3)
                         ORDER BY f.since_ms DESC, f.id DESC LIMIT ?4"
                    );
                    views(db, &query, params![folder, since_ms, id, limit, state])
                }
            })
            .await
    }
}

const FILE: &str = "SELECT f.id, f.folder, f.shown, f.size_bytes, f.state, f.why, f.reason,
    f.since_ms, f.part_of, f.is_main FROM watch_file f";

fn views(
    db: &Connection,
    sql: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<WatchFileView>, StoreError> {
    let mut query = db.prepare_cached(sql)?;
    let rows = query.query_map(values, view)?.collect::<Result<Vec<_>, _>>()?;
    rows.into_iter()
        .map(|(mut view, part_of)| {
            view.drop = part_of.map(|id| watch_drops::view(db, id)).transpose()?;
            Ok(view)
        })
        .collect()
}

fn view(row: &Row<'_>) -> rusqlite::Result<(WatchFileView, Option<i64>)> {
    let size: i64 = row.get(3)?;
    let view = WatchFileView {
        id: row.get(0)?,
        folder: row.get(1)?,
        path: row.get(2)?,
        size_bytes: size.unsigned_abs(),
        state: row.get(4)?,
        why: row.get(5)?,
        reason: row.get(6)?,
        since_ms: row.get(7)?,
        drop: None,
        is_main: row.get(9)?,
    };
    Ok((view, row.get(8)?))
}

fn ledger(db: &Connection, folder: WatchFolderId) -> Result<Vec<WatchedFile>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT id, path, device, inode, size_bytes, modified_ns, changed_ns, state, part_of,
            is_main
         FROM watch_file WHERE folder = ?1 ORDER BY path",
    )?;
    let rows = query.query_map([folder], |row| {
        Ok(WatchedFile {
            id: row.get(0)?,
            path: row.get(1)?,
            sight: Sight {
                device: row.get::<_, i64>(2)?.cast_unsigned(),
                inode: row.get::<_, i64>(3)?.cast_unsigned(),
                size_bytes: row.get::<_, i64>(4)?.cast_unsigned(),
                modified_ns: row.get(5)?,
                changed_ns: row.get(6)?,
            },
            state: row.get(7)?,
            part_of: row.get(8)?,
            is_main: row.get(9)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn note(tx: &Tx<'_>, folder: WatchFolderId, file: &FileNote) -> Result<(), StoreError> {
    let Sight { device, inode, size_bytes, modified_ns, changed_ns } = file.sight;
    tx.db
        .prepare_cached(
            "INSERT INTO watch_file (folder, path, shown, device, inode, size_bytes, modified_ns,
                changed_ns, state, why, reason, since_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT (folder, path) DO UPDATE SET device = ?4, inode = ?5, size_bytes = ?6,
                modified_ns = ?7, changed_ns = ?8, why = ?10, reason = ?11,
                since_ms = CASE WHEN state = ?9 THEN since_ms ELSE ?12 END, state = ?9",
        )?
        .execute(params![
            folder,
            file.path,
            file.shown,
            device.cast_signed(),
            inode.cast_signed(),
            size_column(size_bytes),
            modified_ns,
            changed_ns,
            file.state,
            file.why,
            file.reason,
            tx.now.wall_ms
        ])?;
    match file.state {
        WatchFileState::Refused | WatchFileState::Withdrawn => {
            record(tx, folder, &file.shown, file.state, None, file.why.clone())
        }
        _ => Ok(()),
    }
}

/// Writes into the audit what became of a file.
pub(super) fn record(
    tx: &Tx<'_>,
    folder: WatchFolderId,
    shown: &str,
    state: WatchFileState,
    pipeline: Option<crate::model::PipelineId>,
    why: Option<String>,
) -> Result<(), StoreError> {
    let path = shown.to_owned();
    let change = Change::WatchFileChanged { folder, path, state, pipeline, why };
    audit::record(tx, "watch", &change)
}

/// Makes files parts of an asset; those that were parts of it and are none now stay as they are.
pub(super) fn join(
    tx: &Tx<'_>,
    folder: WatchFolderId,
    part_of: i64,
    files: &[FileNote],
    main: usize,
) -> Result<(), StoreError> {
    for (index, file) in files.iter().enumerate() {
        note(tx, folder, file)?;
        tx.db
            .prepare_cached(
                "UPDATE watch_file SET part_of = ?1, is_main = ?2 WHERE folder = ?3 AND path = ?4",
            )?
            .execute(params![part_of, index == main, folder, file.path])?;
    }
    Ok(())
}
