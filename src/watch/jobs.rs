//! What takes long and is done beside the one who watches: looking into a file, reading its bytes
//! into the content store, delivering results.

use super::deliver::{self, Delivery};
use super::looker::Looker;
use crate::artifacts::{AdoptError, AdoptOptions, Artifacts, Links, names};
use crate::clock::Clock;
use crate::intake::{Plan, Refusal};
use crate::model::{AssetName, Checksum, Name, Reason, Sight, WatchFolderId, limits};
use crate::protocol::submit::{SourceFile, Submission};
use crate::protocol::watch::WatchFileState;
use crate::recipes::Recipe;
use crate::store::{FileNote, NewDrop, Store, StoreError, Taken};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::runtime::Handle;

/// One piece of work for one unit.
#[derive(Debug)]
pub(super) enum Job {
    /// Look at what a file names.
    Look {
        /// The unit.
        key: PathBuf,
        /// Where it lies.
        path: PathBuf,
        /// What the rules say of scenes.
        settings: BTreeMap<String, String>,
    },
    /// Read the files and hand them in.
    Take(Box<Take>),
    /// Copy results, and deal with the source.
    Deliver(Box<Delivery>),
}

/// An asset to read and hand in.
#[derive(Debug)]
pub(super) struct Take {
    /// The unit.
    pub(super) key: PathBuf,
    /// Its folder.
    pub(super) folder: WatchFolderId,
    /// The main file or the series, for people.
    pub(super) shown: String,
    /// What it consists of.
    pub(super) plan: Plan,
    /// Each file of the plan that lies in the watch folder: below it, for people, as it looked.
    pub(super) files: BTreeMap<PathBuf, (PathBuf, String, Sight)>,
    /// Side files that are named and not there, below the folder, as bytes.
    pub(super) missing: Vec<Vec<u8>>,
    /// Names that the asset may have.
    pub(super) names: Vec<AssetName>,
    /// The recipe with its settings.
    pub(super) recipe: Recipe,
    /// Changed settings, for the record.
    pub(super) settings: BTreeMap<String, String>,
    /// Whose share of the farm it uses.
    pub(super) project: Option<Name>,
    /// Its priority.
    pub(super) priority: Option<u8>,
    /// Whether links are followed.
    pub(super) follow_links: bool,
}

/// What became of a job.
#[derive(Debug)]
pub(super) enum Done {
    /// Of a look.
    Looked(PathBuf, Result<Plan, Refusal>),
    /// Of a take.
    Took(PathBuf, Took),
    /// Of a delivery.
    Delivered(deliver::Delivered),
}

/// What became of a take.
#[derive(Debug)]
pub(super) enum Took {
    /// It is handed in; these files with their sights.
    In(Taken, Vec<(PathBuf, Sight)>),
    /// A file changed while it was read.
    Changed(PathBuf),
    /// A file cannot be taken.
    Refused(Refusal),
    /// The farm cannot take anything now; for people.
    Held(String),
    /// The watcher ends.
    Stopped,
}

/// What jobs are done with.
#[derive(Clone)]
pub(super) struct Tools {
    pub(super) store: Store,
    pub(super) artifacts: Artifacts,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) handle: Handle,
    pub(super) stopping: Arc<AtomicBool>,
    pub(super) looker: Arc<Looker>,
    /// The farm's folder.
    pub(super) farm: PathBuf,
    /// Bytes that stay free on the farm's disk.
    pub(super) free_floor_bytes: u64,
}

impl Tools {
    /// Runs a job to its end. Blocks.
    pub(super) fn run(&self, job: Job) -> Done {
        match job {
            Job::Look { key, path, settings } => {
                let plan = self.looker.look(&path, &settings);
                Done::Looked(key, plan)
            }
            Job::Take(take) => {
                let key = take.key.clone();
                Done::Took(key, self.take(*take))
            }
            Job::Deliver(delivery) => Done::Delivered(deliver::deliver(self, *delivery)),
        }
    }

    fn take(&self, take: Take) -> Took {
        let size_bytes = take.files.values().map(|(_, _, sight)| sight.size_bytes).sum();
        if let Some(why) = self.lacks_room(size_bytes) {
            return Took::Held(why);
        }
        let mut read = Vec::with_capacity(take.plan.files.len());
        for file in &take.plan.files {
            match self.read(&take, &file.name, &file.path) {
                Ok(one) => read.push(one),
                Err(took) => return took,
            }
        }
        self.hand_in(take, read)
    }

    /// Why nothing can be taken now: the farm's disk must keep some room.
    fn lacks_room(&self, size_bytes: u64) -> Option<String> {
        let free_bytes = free_bytes(&self.farm)?;
        let needed = self.free_floor_bytes.saturating_add(size_bytes);
        (free_bytes < needed).then(|| {
            format!(
                "the farm's disk has {} MiB free, and {} are needed: free some space on it",
                free_bytes >> 20,
                needed.div_ceil(1 << 20)
            )
        })
    }

    fn read(&self, take: &Take, name: &str, path: &Path) -> Result<ReadFile, Took> {
        let refused = |reason, message| Took::Refused(Refusal { reason, message });
        names::check(name).map_err(|bad| refused(Reason::InputUnreadable, bad.to_string()))?;
        let stopping = || self.stopping.load(Ordering::Relaxed);
        let options = AdoptOptions {
            max_bytes: limits::SOURCE_FILE_BYTES,
            links: if take.follow_links { Links::Follow } else { Links::Refuse },
            is_cancelled: &stopping,
        };
        let known = take.files.get(path);
        let changed =
            || Took::Changed(known.map_or_else(|| take.key.clone(), |known| known.0.clone()));
        let adopted = match self.artifacts.adopt(path, &options) {
            Ok(adopted) => adopted,
            Err(AdoptError::Changed { .. }) => return Err(changed()),
            Err(AdoptError::Cancelled { .. }) => return Err(Took::Stopped),
            Err(AdoptError::Full { .. }) => {
                return Err(Took::Held(
                    "the farm's disk is full: free some space on it".to_owned(),
                ));
            }
            Err(AdoptError::Store(error)) => return Err(Took::Held(error.to_string())),
            Err(error) => {
                let reason = error.reason().unwrap_or(Reason::Unexpected);
                return Err(refused(reason, error.to_string()));
            }
        };
        // Read whole, but it is not the file that was still: it came in its place since.
        if known.is_some_and(|(_, _, sight)| *sight != adopted.sight) {
            return Err(changed());
        }
        let source = SourceFile {
            name: name.to_owned(),
            checksum: adopted.checksum,
            size_bytes: adopted.size_bytes,
        };
        let note = known.map(|(relative, shown, sight)| FileNote {
            path: super::bytes(relative),
            shown: shown.clone(),
            sight: *sight,
            state: WatchFileState::Accepted,
            why: None,
            reason: None,
        });
        Ok(ReadFile { source, note, relative: known.map(|known| known.0.clone()) })
    }

    fn hand_in(&self, take: Take, read: Vec<ReadFile>) -> Took {
        let sources: Vec<SourceFile> = read.iter().map(|file| file.source.clone()).collect();
        let content = content(&take.plan, &sources);
        let main = read
            .iter()
            .filter(|file| file.note.is_some())
            .position(|file| file.source.name == take.plan.main_file);
        let kept: Vec<_> =
            read.into_iter().filter_map(|file| file.note.zip(file.relative)).collect();
        let sights = kept.iter().map(|(note, relative)| (relative.clone(), note.sight)).collect();
        let Some(first_name) = take.names.first() else {
            return Took::Held("the asset has no name".to_owned());
        };
        let submission = Submission {
            asset: first_name.clone(),
            source_ref: take.plan.source_ref,
            main_file: take.plan.main_file,
            sequence: take.plan.sequence,
            files: sorted(sources),
            missing: take.plan.missing,
            recipe: Some(take.recipe.name.clone()),
            settings: take.settings,
            actor: "watch".to_owned(),
            project: take.project,
            priority: take.priority,
        };
        let drop = NewDrop {
            folder: take.folder,
            main: super::bytes(&take.key),
            main_shown: take.shown,
            names: take.names,
            content,
            files: kept.into_iter().map(|(note, _)| note).collect(),
            main_file: main.unwrap_or(0),
            missing: take.missing,
            notes: take.plan.notes,
            submission,
        };
        let mut trace = [0; 16];
        if let Err(error) = getrandom::fill(&mut trace) {
            return Took::Held(format!("the system gives no random bytes: {error}"));
        }
        match self.handle.block_on(self.store.take_drop(drop, take.recipe, trace)) {
            Ok(taken) => Took::In(taken, sights),
            Err(StoreError::Invalid(message) | StoreError::Conflict(message)) => {
                Took::Refused(Refusal { reason: Reason::SettingInvalid, message })
            }
            Err(StoreError::Closed) => Took::Stopped,
            Err(error) => Took::Held(error.to_string()),
        }
    }
}

struct ReadFile {
    source: SourceFile,
    note: Option<FileNote>,
    relative: Option<PathBuf>,
}

fn sorted(mut sources: Vec<SourceFile>) -> Vec<SourceFile> {
    sources.sort_by(|a, b| a.name.cmp(&b.name));
    sources
}

/// What the bytes of an asset are, whatever its main file or its frames are called: two of the
/// same content are one work. Side files count with their names, which the main file writes.
fn content(plan: &Plan, sources: &[SourceFile]) -> Checksum {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"sawah watch content 1\n");
    hasher.update(&[u8::from(plan.sequence)]);
    let mut lines: Vec<String> = Vec::new();
    for file in sources {
        let is_main = plan.sequence || file.name == plan.main_file;
        let name = if is_main { "" } else { file.name.as_str() };
        lines.push(format!("{}\t{}\t{name}\n", u8::from(!is_main), file.checksum));
    }
    // Frames keep their order; the files of a set have none.
    if !plan.sequence {
        lines.sort();
    }
    for line in lines {
        hasher.update(line.as_bytes());
    }
    Checksum::from_bytes(*hasher.finalize().as_bytes())
}

/// Bytes free for us on the disk of a folder; none where the system does not tell.
#[cfg(unix)]
pub(super) fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Bytes free for us on the disk of a folder; none where the system does not tell.
#[cfg(not(unix))]
pub(super) fn free_bytes(folder: &Path) -> Option<u64> {
    let disks = sysinfo::Disks::new_with_refreshed_list();
    let holds = |disk: &&sysinfo::Disk| folder.starts_with(disk.mount_point());
    let disk = disks
        .list()
        .iter()
        .filter(holds)
        .max_by_key(|disk| disk.mount_point().as_os_str().len())?;
    Some(disk.available_space())
}
