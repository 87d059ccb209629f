//! What watch folders hand in: asset version, pipeline and ledger in one transaction, so that a
//! crash at any moment neither forgets a file nor takes one twice.

use super::columns::{from_json, to_json};
use super::submit::{self, Prepared};
use super::watch_files::{self, FileNote};
use super::writer::Tx;
use super::{Store, StoreError, operate, publish};
use crate::model::{
    AssetName, Checksum, PipelineId, PipelineStatus, Reason, WatchFileId, WatchFolderId,
};
use crate::protocol::submit::{Submission, SubmitOutcome};
use crate::protocol::view::PublishedFile;
use crate::protocol::watch::{DropOutcome, DropView, WatchFileState};
use crate::recipes::Recipe;
use rusqlite::{Connection, OptionalExtension, params};

/// Ended drops told in one call.
const ENDED_PER_CALL: u32 = 256;

/// One asset to hand in from a watch folder.
#[derive(Debug, Clone)]
pub struct NewDrop {
    /// The folder.
    pub folder: WatchFolderId,
    /// The main file or the series, below the folder, as bytes: what makes it the same asset.
    pub main: Vec<u8>,
    /// The same for people.
    pub main_shown: String,
    /// Names that the asset may have, the best first; the first that no other file has is taken.
    pub names: Vec<AssetName>,
    /// What its bytes are, whatever the names of the main file or of frames.
    pub content: Checksum,
    /// The files, each as it looked when its bytes were read.
    pub files: Vec<FileNote>,
    /// Which of them is the main file.
    pub main_file: usize,
    /// Side files that it names and that are not there, below the folder.
    pub missing: Vec<Vec<u8>>,
    /// What is to be said of it, such as gaps in a series.
    pub notes: Vec<String>,
    /// What to hand in; its asset's name is chosen from `names`.
    pub submission: Submission,
}

/// What became of a [`NewDrop`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The row of the ledger.
    pub id: i64,
    /// The pipeline that does it.
    pub pipeline: PipelineId,
    /// Whether there is new work.
    pub outcome: TakenAs,
}

/// Whether a drop made new work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakenAs {
    /// A new version is on its way.
    New,
    /// The very content was taken from the same place before.
    Unchanged,
    /// The content is that of another file, which is named.
    Duplicate {
        /// Which, for people.
        of: String,
    },
}

/// A drop as the watcher remembers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDrop {
    /// Its row.
    pub id: i64,
    /// The main file or the series.
    pub main: Vec<u8>,
    /// Side files that it names and that were not there.
    pub missing: Vec<Vec<u8>>,
}

/// A drop whose work has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedDrop {
    /// Its row.
    pub id: i64,
    /// The main file or the series.
    pub main: Vec<u8>,
    /// The asset.
    pub asset: AssetName,
    /// Its version.
    pub asset_version: u32,
    /// The recipe's name.
    pub recipe: String,
    /// The pipeline.
    pub pipeline: PipelineId,
    /// How it ended.
    pub status: PipelineStatus,
    /// Why, where a job of it was given up.
    pub failure: Option<(Reason, String)>,
    /// What it published.
    pub published: Vec<PublishedFile>,
    /// All files of the asset, below the folder.
    pub files: Vec<Vec<u8>>,
}

impl Store {
    /// Hands in what a watch folder holds, and notes its files, in one transaction.
    pub async fn take_drop(
        &self,
        drop: NewDrop,
        recipe: Recipe,
        trace: [u8; 16],
    ) -> Result<Taken, StoreError> {
        let NewDrop { submission, .. } = &drop;
        let mut prepared = Prepared::new(submission.clone(), recipe, trace)?;
        self.writer.run(move |tx| take(tx, &drop, &mut prepared)).await
    }

    /// What a folder has handed in, each main file once.
    pub async fn known_drops(&self, folder: WatchFolderId) -> Result<Vec<KnownDrop>, StoreError> {
        self.readers.run(move |db| known(db, folder)).await
    }

    /// Drops whose work has ended since it was looked at last, oldest first.
    pub async fn ended_drops(&self, folder: WatchFolderId) -> Result<Vec<EndedDrop>, StoreError> {
        self.readers.run(move |db| ended(db, folder)).await
    }

    /// Notes how a drop ended, and where its results were copied to.
    pub async fn settle_drop(
        &self,
        id: i64,
        outcome: DropOutcome,
        results: Option<String>,
    ) -> Result<(), StoreError> {
        self.writer.run(move |tx| settle(tx, id, outcome, results.as_deref())).await
    }

    /// Takes back what a file was handed in with: its pipeline is cancelled, unless another file's
    /// results come from it too. Crosses the order out. Gives the paths of the asset's files.
    pub async fn withdraw(
        &self,
        file: WatchFileId,
        order: i64,
        actor: &str,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let actor = actor.to_owned();
        self.writer.run(move |tx| withdraw(tx, file, order, &actor)).await
    }

    /// How a drop stands.
    pub async fn drop_view(&self, id: i64) -> Result<DropView, StoreError> {
        self.readers.run(move |db| view(db, id)).await
    }
}

fn take(tx: &Tx<'_>, drop: &NewDrop, prepared: &mut Prepared) -> Result<Taken, StoreError> {
    if let Some(taken) = unchanged(tx, drop, prepared.profile())? {
        note(tx, drop, taken.id, state_of(tx, taken.id)?)?;
        return Ok(taken);
    }
    if let Some((of, shown, pipeline)) = twin(tx.db, drop, prepared.profile())? {
        let like = view(tx.db, of)?;
        let row = Row {
            asset: &like.asset,
            asset_version: like.asset_version,
            pipeline,
            duplicate_of: Some(of),
        };
        let id = upsert(tx, drop, prepared.profile(), &row)?;
        note(tx, drop, id, (WatchFileState::Duplicate, Some(format!("the same as {shown}"))))?;
        let (state, why) = (WatchFileState::Duplicate, Some(format!("the same as {shown}")));
        watch_files::record(tx, drop.folder, &drop.main_shown, state, Some(pipeline), why)?;
        return Ok(Taken { id, pipeline, outcome: TakenAs::Duplicate { of: shown } });
    }
    prepared.rename(free_name(tx.db, drop)?);
    let submitted = submit::submit(tx, prepared)?;
    let row = Row {
        asset: &submitted.asset,
        asset_version: submitted.asset_version,
        pipeline: submitted.pipeline,
        duplicate_of: None,
    };
    let id = upsert(tx, drop, prepared.profile(), &row)?;
    let how = match submitted.outcome {
        SubmitOutcome::Created => None,
        SubmitOutcome::AlreadyRunning => Some("in work already".to_owned()),
        SubmitOutcome::AlreadyThere => Some("made before, its results are there".to_owned()),
    };
    let notes: Vec<String> = how.into_iter().chain(drop.notes.iter().cloned()).collect();
    let why = (!notes.is_empty()).then(|| notes.join("; "));
    note(tx, drop, id, (WatchFileState::Accepted, why.clone()))?;
    let pipeline = submitted.pipeline;
    let state = WatchFileState::Accepted;
    watch_files::record(tx, drop.folder, &drop.main_shown, state, Some(pipeline), why)?;
    Ok(Taken { id, pipeline, outcome: TakenAs::New })
}

/// The drop of the same place, where it has the same content and its work is good or goes on.
fn unchanged(tx: &Tx<'_>, drop: &NewDrop, profile: &str) -> Result<Option<Taken>, StoreError> {
    Ok(tx
        .db
        .prepare_cached(
            "SELECT d.id, d.pipeline FROM watch_drop d JOIN pipeline p ON p.id = d.pipeline
             WHERE d.folder = ?1 AND d.main = ?2 AND d.content = ?3 AND d.profile = ?4
                AND d.missing = ?5 AND d.outcome <> 'withdrawn'
                AND p.status IN ('running', 'succeeded')",
        )?
        .query_row(
            params![drop.folder, drop.main, drop.content, profile, to_json(&drop.missing)?],
            |row| {
                let (id, pipeline) = (row.get(0)?, row.get(1)?);
                Ok(Taken { id, pipeline, outcome: TakenAs::Unchanged })
            },
        )
        .optional()?)
}

/// Another place with the same content, whose work is good or goes on.
fn twin(
    db: &Connection,
    drop: &NewDrop,
    profile: &str,
) -> Result<Option<(i64, String, PipelineId)>, StoreError> {
    if !drop.missing.is_empty() {
        return Ok(None);
    }
    Ok(db
        .prepare_cached(
            "SELECT d.id, d.main_shown, d.pipeline
             FROM watch_drop d JOIN pipeline p ON p.id = d.pipeline
             WHERE d.content = ?1 AND d.profile = ?2 AND d.duplicate_of IS NULL
                AND NOT (d.folder = ?3 AND d.main = ?4) AND d.missing = '[]'
                AND d.outcome <> 'withdrawn' AND p.status IN ('running', 'succeeded')
             ORDER BY d.id LIMIT 1",
        )?
        .query_row(params![drop.content, profile, drop.folder, drop.main], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?)
}

/// The name that the place has already, else the first that no other place has.
fn free_name(db: &Connection, drop: &NewDrop) -> Result<AssetName, StoreError> {
    let own: Option<AssetName> = db
        .prepare_cached(
            "SELECT asset FROM watch_drop WHERE folder = ?1 AND main = ?2
                AND duplicate_of IS NULL",
        )?
        .query_row(params![drop.folder, drop.main], |row| row.get(0))
        .optional()?;
    if let Some(own) = own {
        return Ok(own);
    }
    let mut others = db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM watch_drop WHERE asset = ?1 AND duplicate_of IS NULL
            AND NOT (folder = ?2 AND main = ?3))",
    )?;
    for name in &drop.names {
        if !others.query_row(params![name, drop.folder, drop.main], |row| row.get(0))? {
            return Ok(name.clone());
        }
    }
    Err(StoreError::Conflict(format!("no name is free for {}: rename the file", drop.main_shown)))
}

fn settle(
    tx: &Tx<'_>,
    id: i64,
    outcome: DropOutcome,
    results: Option<&str>,
) -> Result<(), StoreError> {
    let settled: Option<(WatchFolderId, String, PipelineId, Option<i64>)> = tx
        .db
        .prepare_cached(
            "UPDATE watch_drop SET outcome = ?1, results = coalesce(?2, results) WHERE id = ?3
             RETURNING folder, main_shown, pipeline, duplicate_of",
        )?
        .query_row(params![outcome, results, id], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()?;
    let Some((folder, shown, pipeline, twin)) = settled else { return Ok(()) };
    let why = match (outcome, results) {
        (DropOutcome::Succeeded, Some(results)) => format!("its results are in {results}"),
        (DropOutcome::Succeeded, None) => "its results are published".to_owned(),
        (DropOutcome::Failed, _) => "its work was given up or cancelled".to_owned(),
        (DropOutcome::Open | DropOutcome::Withdrawn, _) => return Ok(()),
    };
    let state = if twin.is_some() { WatchFileState::Duplicate } else { WatchFileState::Accepted };
    watch_files::record(tx, folder, &shown, state, Some(pipeline), Some(why))
}

fn withdraw(
    tx: &Tx<'_>,
    file: WatchFileId,
    order: i64,
    actor: &str,
) -> Result<Vec<Vec<u8>>, StoreError> {
    tx.db.prepare_cached("DELETE FROM watch_order WHERE id = ?1")?.execute([order])?;
    let found: Option<(WatchFolderId, Vec<u8>, String, Option<i64>)> = tx
        .db
        .prepare_cached("SELECT folder, path, shown, part_of FROM watch_file WHERE id = ?1")?
        .query_row([file], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((folder, path, shown, part_of)) = found else { return Ok(Vec::new()) };
    let paths = match part_of {
        None => vec![path],
        Some(drop) => {
            cancel_drop(tx, drop, actor)?;
            files(tx.db, drop)?
        }
    };
    let state = WatchFileState::Withdrawn;
    for path in &paths {
        tx.db
            .prepare_cached(
                "UPDATE watch_file SET state = ?1, why = NULL, reason = NULL, since_ms = ?2
                 WHERE folder = ?3 AND path = ?4",
            )?
            .execute(params![state, tx.now.wall_ms, folder, path])?;
    }
    watch_files::record(tx, folder, &shown, state, None, Some(format!("by {actor}")))?;
    Ok(paths)
}

fn cancel_drop(tx: &Tx<'_>, drop: i64, actor: &str) -> Result<(), StoreError> {
    let pipeline: PipelineId = tx
        .db
        .prepare_cached(
            "UPDATE watch_drop SET outcome = 'withdrawn' WHERE id = ?1 RETURNING pipeline",
        )?
        .query_row([drop], |row| row.get(0))?;
    let others: bool = tx
        .db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM watch_drop WHERE pipeline = ?1
                AND outcome <> 'withdrawn')",
        )?
        .query_row([pipeline], |row| row.get(0))?;
    if others {
        return Ok(());
    }
    match operate::cancel(tx, pipeline, &operate::named(actor, "withdrawn from a watch folder")) {
        // What has ended cannot be cancelled: its results stay.
        Ok(_) | Err(StoreError::Conflict(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

struct Row<'a> {
    asset: &'a AssetName,
    asset_version: u32,
    pipeline: PipelineId,
    duplicate_of: Option<i64>,
}

fn upsert(tx: &Tx<'_>, drop: &NewDrop, profile: &str, row: &Row<'_>) -> Result<i64, StoreError> {
    Ok(tx
        .db
        .prepare_cached(
            "INSERT INTO watch_drop (folder, main, main_shown, asset, asset_version, content,
                profile, pipeline, duplicate_of, missing, outcome, taken_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'open', ?11)
             ON CONFLICT (folder, main) DO UPDATE SET main_shown = ?3, asset = ?4,
                asset_version = ?5, content = ?6, profile = ?7, pipeline = ?8, duplicate_of = ?9,
                missing = ?10, outcome = 'open', results = NULL, taken_ms = ?11
             RETURNING id",
        )?
        .query_row(
            params![
                drop.folder,
                drop.main,
                drop.main_shown,
                row.asset,
                row.asset_version,
                drop.content,
                profile,
                row.pipeline,
                row.duplicate_of,
                to_json(&drop.missing)?,
                tx.now.wall_ms
            ],
            |row| row.get(0),
        )?)
}

/// What the files of a drop are called that is there already.
fn state_of(tx: &Tx<'_>, id: i64) -> Result<(WatchFileState, Option<String>), StoreError> {
    let of: Option<i64> = tx
        .db
        .prepare_cached("SELECT duplicate_of FROM watch_drop WHERE id = ?1")?
        .query_row([id], |row| row.get(0))?;
    let Some(of) = of else { return Ok((WatchFileState::Accepted, None)) };
    let shown: String = tx
        .db
        .prepare_cached("SELECT main_shown FROM watch_drop WHERE id = ?1")?
        .query_row([of], |row| row.get(0))?;
    Ok((WatchFileState::Duplicate, Some(format!("the same as {shown}"))))
}

fn note(
    tx: &Tx<'_>,
    drop: &NewDrop,
    id: i64,
    (state, why): (WatchFileState, Option<String>),
) -> Result<(), StoreError> {
    let files: Vec<FileNote> = drop
        .files
        .iter()
        .map(|file| FileNote { state, why: why.clone(), reason: None, ..file.clone() })
        .collect();
    watch_files::join(tx, drop.folder, id, &files, drop.main_file)
}

fn known(db: &Connection, folder: WatchFolderId) -> Result<Vec<KnownDrop>, StoreError> {
    let mut query =
        db.prepare_cached("SELECT id, main, missing FROM watch_drop WHERE folder = ?1")?;
    let rows = query
        .query_map([folder], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?)))?;
    rows.map(|row| {
        let (id, main, missing) = row?;
        Ok(KnownDrop { id, main, missing: from_json(&missing)? })
    })
    .collect()
}

fn ended(db: &Connection, folder: WatchFolderId) -> Result<Vec<EndedDrop>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT d.id, d.main, d.asset, d.asset_version, d.pipeline, p.status, p.recipe_name
         FROM watch_drop d JOIN pipeline p ON p.id = d.pipeline
         WHERE d.folder = ?1 AND d.outcome IN ('open', 'failed')
            AND (p.status = 'succeeded' OR (d.outcome = 'open' AND p.status <> 'running'))
         ORDER BY d.id LIMIT ?2",
    )?;
    let rows = query.query_map(params![folder, ENDED_PER_CALL], |row| {
        Ok(EndedDrop {
            id: row.get(0)?,
            main: row.get(1)?,
            asset: row.get(2)?,
            asset_version: row.get(3)?,
            pipeline: row.get(4)?,
            status: row.get(5)?,
            recipe: row.get(6)?,
            failure: None,
            published: Vec::new(),
            files: Vec::new(),
        })
    })?;
    let mut drops = rows.collect::<Result<Vec<_>, _>>()?;
    for drop in &mut drops {
        drop.files = files(db, drop.id)?;
        match drop.status {
            PipelineStatus::Succeeded => {
                drop.published = publish::published_files(db, drop.pipeline)?;
            }
            _ => drop.failure = failure(db, drop.pipeline)?,
        }
    }
    Ok(drops)
}

fn files(db: &Connection, id: i64) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut query =
        db.prepare_cached("SELECT path FROM watch_file WHERE part_of = ?1 ORDER BY path")?;
    let rows = query.query_map([id], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Why the last job of a pipeline was given up.
fn failure(db: &Connection, pipeline: PipelineId) -> Result<Option<(Reason, String)>, StoreError> {
    Ok(db
        .prepare_cached(
            "SELECT d.reason, d.message FROM job j CROSS JOIN dead_letter d ON d.job = j.id
             WHERE j.pipeline = ?1 ORDER BY j.id DESC LIMIT 1",
        )?
        .query_row([pipeline], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

/// A drop for people.
pub(super) fn view(db: &Connection, id: i64) -> Result<DropView, StoreError> {
    let (mut drop, missing) = db
        .prepare_cached(
            "SELECT main_shown, asset, asset_version, pipeline, outcome, missing, results
             FROM watch_drop WHERE id = ?1",
        )?
        .query_row([id], |row| {
            let drop = DropView {
                main: row.get(0)?,
                asset: row.get(1)?,
                asset_version: row.get(2)?,
                pipeline: row.get(3)?,
                outcome: row.get(4)?,
                missing: Vec::new(),
                results: row.get(6)?,
            };
            Ok((drop, row.get::<_, String>(5)?))
        })
        .optional()?
        .ok_or_else(|| StoreError::NotFound(format!("drop {id}")))?;
    let missing: Vec<Vec<u8>> = from_json(&missing)?;
    drop.missing = missing.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
    Ok(drop)
}
