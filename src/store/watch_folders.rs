//! Watch folders and what operators order about them. The watcher itself lives in `watch`.

use super::columns::{from_json, to_json};
use super::operate::named;
use super::writer::Tx;
use super::{Store, StoreError, audit};
use crate::model::{WatchFileId, WatchFolderId, limits};
use crate::protocol::event::Change;
use crate::protocol::watch::{
    NewWatchFolder, NewWatchOrder, WatchChange, WatchCounts, WatchFileState, WatchFolderView,
    WatchHealth, WatchOrder, WatchRules, WatchVerb,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

/// An order that the watcher has not carried out yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingWatchOrder {
    /// Its number.
    pub id: i64,
    /// What.
    pub order: WatchOrder,
    /// The file it is about, below the folder; none where it was forgotten.
    pub path: Option<Vec<u8>>,
    /// Who asked.
    pub actor: String,
}

/// Orders carried out in one go.
const ORDERS_PER_CALL: u32 = 1_000;

const FOLDER: &str =
    "SELECT id, path, rules, paused, health, added_ms FROM watch_folder WHERE removed_ms IS NULL";

impl Store {
    /// Watches a folder from now on. One that was removed before comes back with its ledger, so
    /// that nothing is taken twice.
    pub async fn add_watch_folder(
        &self,
        new: NewWatchFolder,
    ) -> Result<WatchFolderView, StoreError> {
        self.writer.run(move |tx| add(tx, &new)).await
    }

    /// Changes rules, pauses or resumes.
    pub async fn change_watch_folder(
        &self,
        folder: WatchFolderId,
        change: WatchChange,
    ) -> Result<WatchFolderView, StoreError> {
        self.writer.run(move |tx| alter(tx, folder, &change)).await
    }

    /// Watches a folder no more; the ledger stays.
    pub async fn remove_watch_folder(
        &self,
        folder: WatchFolderId,
        actor: &str,
        reason: &str,
    ) -> Result<(), StoreError> {
        let (actor, reason) = (actor.to_owned(), reason.to_owned());
        self.writer.run(move |tx| remove(tx, folder, &actor, &reason)).await
    }

    /// All watch folders, oldest first.
    pub async fn watch_folders(&self) -> Result<Vec<WatchFolderView>, StoreError> {
        self.readers.run(all).await
    }

    /// One of them.
    pub async fn watch_folder(&self, folder: WatchFolderId) -> Result<WatchFolderView, StoreError> {
        self.readers.run(move |db| one(db, folder)).await
    }

    /// How the watching of a folder goes, as its watcher sees it.
    pub async fn note_watch_health(
        &self,
        folder: WatchFolderId,
        health: WatchHealth,
    ) -> Result<(), StoreError> {
        self.writer
            .run(move |tx| {
                tx.db
                    .prepare_cached("UPDATE watch_folder SET health = ?1 WHERE id = ?2")?
                    .execute(params![to_json(&health)?, folder])?;
                Ok(())
            })
            .await
    }

    /// Leaves an order for the watcher.
    pub async fn order_watch(
        &self,
        folder: WatchFolderId,
        new: NewWatchOrder,
    ) -> Result<(), StoreError> {
        self.writer.run(move |tx| order(tx, folder, &new)).await
    }

    /// Orders that wait, oldest first.
    pub async fn watch_orders(
        &self,
        folder: WatchFolderId,
    ) -> Result<Vec<PendingWatchOrder>, StoreError> {
        self.readers.run(move |db| orders(db, folder)).await
    }

    /// The order was carried out.
    pub async fn watch_order_done(&self, id: i64) -> Result<(), StoreError> {
        self.writer
            .run(move |tx| {
                tx.db.prepare_cached("DELETE FROM watch_order WHERE id = ?1")?.execute([id])?;
                Ok(())
            })
            .await
    }
}

fn add(tx: &Tx<'_>, new: &NewWatchFolder) -> Result<WatchFolderView, StoreError> {
    let (count, known): (u32, bool) = tx
        .db
        .prepare_cached(
            "SELECT count(*), coalesce(max(path = ?1), 0) FROM watch_folder
             WHERE removed_ms IS NULL",
        )?
        .query_row([&new.path], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if known {
        return Err(StoreError::Conflict(format!("{} is watched already", new.path)));
    }
    if count >= limits::WATCH_FOLDERS {
        return Err(StoreError::Invalid(format!(
            "a farm watches at most {} folders: remove one first",
            limits::WATCH_FOLDERS
        )));
    }
    let id: WatchFolderId = tx
        .db
        .prepare_cached(
            "INSERT INTO watch_folder (path, rules, health, added_ms) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (path) DO UPDATE SET rules = excluded.rules, health = excluded.health,
                added_ms = excluded.added_ms, paused = 0, removed_ms = NULL
             RETURNING id",
        )?
        .query_row(
            params![
                new.path,
                to_json(&new.rules)?,
                to_json(&WatchHealth::default())?,
                tx.now.wall_ms
            ],
            |row| row.get(0),
        )?;
    record(tx, id, &new.path, WatchVerb::Added, &new.actor, "")?;
    one(tx.db, id)
}

fn alter(
    tx: &Tx<'_>,
    folder: WatchFolderId,
    change: &WatchChange,
) -> Result<WatchFolderView, StoreError> {
    let before = one(tx.db, folder)?;
    if let Some(rules) = change.rules.as_ref().filter(|rules| **rules != before.rules) {
        tx.db
            .prepare_cached("UPDATE watch_folder SET rules = ?1 WHERE id = ?2")?
            .execute(params![to_json(rules)?, folder])?;
        record(tx, folder, &before.path, WatchVerb::Changed, &change.actor, &change.reason)?;
    }
    if let Some(paused) = change.paused.filter(|paused| *paused != before.paused) {
        tx.db
            .prepare_cached("UPDATE watch_folder SET paused = ?1 WHERE id = ?2")?
            .execute(params![paused, folder])?;
        let verb = if paused { WatchVerb::Paused } else { WatchVerb::Resumed };
        record(tx, folder, &before.path, verb, &change.actor, &change.reason)?;
    }
    one(tx.db, folder)
}

fn remove(tx: &Tx<'_>, folder: WatchFolderId, actor: &str, reason: &str) -> Result<(), StoreError> {
    let before = one(tx.db, folder)?;
    tx.db
        .prepare_cached("UPDATE watch_folder SET removed_ms = ?1 WHERE id = ?2")?
        .execute(params![tx.now.wall_ms, folder])?;
    tx.db.prepare_cached("DELETE FROM watch_order WHERE folder = ?1")?.execute([folder])?;
    record(tx, folder, &before.path, WatchVerb::Removed, actor, reason)
}

fn record(
    tx: &Tx<'_>,
    folder: WatchFolderId,
    path: &str,
    verb: WatchVerb,
    actor: &str,
    reason: &str,
) -> Result<(), StoreError> {
    let (path, reason) = (path.to_owned(), reason.to_owned());
    let actor = named(actor, &reason);
    audit::record(tx, &actor, &Change::WatchFolderChanged { folder, path, verb, reason })
}

fn order(tx: &Tx<'_>, folder: WatchFolderId, new: &NewWatchOrder) -> Result<(), StoreError> {
    one(tx.db, folder)?;
    if let WatchOrder::Withdraw { file } | WatchOrder::Retake { file, .. } = &new.order {
        tx.db
            .prepare_cached("SELECT 1 FROM watch_file WHERE id = ?1 AND folder = ?2")?
            .query_row(params![file, folder], |_| Ok(()))
            .optional()?
            .ok_or_else(|| StoreError::NotFound(format!("file {file} of watch folder {folder}")))?;
    }
    let mut insert = tx.db.prepare_cached(
        "INSERT INTO watch_order (folder, file, body, actor, at_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let mut leave = |file: WatchFileId, order: &WatchOrder| -> Result<(), StoreError> {
        insert.execute(params![folder, file, to_json(order)?, new.actor, tx.now.wall_ms])?;
        Ok(())
    };
    match &new.order {
        WatchOrder::Withdraw { file } | WatchOrder::Retake { file, .. } => leave(*file, &new.order),
        // One for each, so that each survives a restart until it is carried out.
        WatchOrder::RetakeAll { recipe } => {
            for file in all_assets(tx, folder)? {
                leave(file, &WatchOrder::Retake { file, recipe: recipe.clone() })?;
            }
            Ok(())
        }
    }
}

/// Every main file of a folder, and every file that belongs to no asset and could.
fn all_assets(tx: &Tx<'_>, folder: WatchFolderId) -> Result<Vec<WatchFileId>, StoreError> {
    let mut query = tx.db.prepare_cached(
        "SELECT id FROM watch_file WHERE folder = ?1 AND (is_main OR part_of IS NULL)
            AND state IN ('accepted', 'duplicate', 'refused', 'withdrawn') ORDER BY id",
    )?;
    let rows = query.query_map([folder], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn orders(db: &Connection, folder: WatchFolderId) -> Result<Vec<PendingWatchOrder>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT o.id, o.body, o.actor, f.path
         FROM watch_order o LEFT JOIN watch_file f ON f.id = o.file
         WHERE o.folder = ?1 ORDER BY o.id LIMIT ?2",
    )?;
    let rows = query.query_map(params![folder, ORDERS_PER_CALL], |row| {
        Ok((row.get(0)?, row.get::<_, String>(1)?, row.get(2)?, row.get(3)?))
    })?;
    rows.map(|row| {
        let (id, body, actor, path) = row?;
        Ok(PendingWatchOrder { id, order: from_json(&body)?, path, actor })
    })
    .collect()
}

type FolderRow = (WatchFolderId, String, String, bool, String, i64);

fn row(row: &Row<'_>) -> rusqlite::Result<FolderRow> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
}

fn view(db: &Connection, row: FolderRow) -> Result<WatchFolderView, StoreError> {
    let (id, path, rules, paused, health, added_at_ms) = row;
    let rules: WatchRules = from_json(&rules)?;
    let health = from_json(&health)?;
    let counts = counts(db, id)?;
    Ok(WatchFolderView { id, path, rules, paused, health, counts, added_at_ms })
}

fn counts(db: &Connection, folder: WatchFolderId) -> Result<WatchCounts, StoreError> {
    let mut counts = WatchCounts::default();
    let mut query = db.prepare_cached(
        "SELECT state, count(*) FROM watch_file WHERE folder = ?1 GROUP BY state",
    )?;
    let rows =
        query.query_map([folder], |row| Ok((row.get::<_, WatchFileState>(0)?, row.get(1)?)))?;
    for row in rows {
        let (state, count) = row?;
        let place = match state {
            WatchFileState::Settling => &mut counts.settling,
            WatchFileState::Waiting => &mut counts.waiting,
            WatchFileState::Accepted => &mut counts.accepted,
            WatchFileState::Duplicate => &mut counts.duplicate,
            WatchFileState::Refused => &mut counts.refused,
            WatchFileState::Ignored => &mut counts.ignored,
            WatchFileState::Withdrawn => &mut counts.withdrawn,
        };
        *place = count;
    }
    Ok(counts)
}

fn all(db: &Connection) -> Result<Vec<WatchFolderView>, StoreError> {
    let mut query = db.prepare_cached(&format!("{FOLDER} ORDER BY id"))?;
    let rows = query.query_map([], row)?.collect::<Result<Vec<_>, _>>()?;
    rows.into_iter().map(|row| view(db, row)).collect()
}

fn one(db: &Connection, folder: WatchFolderId) -> Result<WatchFolderView, StoreError> {
    let found = db
        .prepare_cached(&format!("{FOLDER} AND id = ?1"))?
        .query_row([folder], row)
        .optional()?
        .ok_or_else(|| StoreError::NotFound(format!("watch folder {folder}")))?;
    view(db, found)
}
