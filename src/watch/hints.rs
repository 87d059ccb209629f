//! What the system tells about changes below a watch folder. Hints, not the truth: they say where
//! to look and when, and whatever they leave out is found by the next walk.
//!
//! What is known to get lost: everything once the queue of the system is full (then
//! [`Taken::everything`] is set), changes by other machines on a share, and writes through a
//! mapping of memory.

use super::scan::{Identity, identity};
use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RenameMode};
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most folders that are remembered as changed; beyond it, everything counts as changed.
pub const DIRTY_FOLDERS: usize = 4_096;
/// How often the start is tried again when folders vanish meanwhile.
const STARTS: usize = 3;

/// Why changes of a folder cannot be heard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HintError {
    /// The system lets this user watch no more.
    #[error("the system tells no changes of this folder, as it has {limit}. {}", limit.remedy())]
    LimitReached {
        /// Which bound it is.
        limit: WatchLimit,
    },
    /// The folder is not there.
    #[error("the watch folder is not there. Bring it back: {}", path.display())]
    Gone {
        /// The folder.
        path: PathBuf,
    },
    /// Anything else.
    #[error(
        "the system tells no changes of this folder ({why}). It is looked at again and again instead"
    )]
    Failed {
        /// What the system says.
        why: String,
    },
}

/// A bound of the system on what is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchLimit {
    /// Folders that are watched, of all programs of this user.
    Folders,
    /// Programs that watch, of this user.
    Programs,
    /// Open files of this machine.
    OpenFiles,
}

impl WatchLimit {
    /// What to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Folders => {
                "Raise fs.inotify.max_user_watches, for example: sudo sysctl fs.inotify.max_user_watches=1048576"
            }
            Self::Programs => {
                "Raise fs.inotify.max_user_instances, for example: sudo sysctl fs.inotify.max_user_instances=1024; or the open files of this program: ulimit -n"
            }
            Self::OpenFiles => "Raise fs.file-max, or end programs that hold many files open",
        }
    }
}

impl std::fmt::Display for WatchLimit {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Folders => "no more watches for this user's folders",
            Self::Programs => "no more watchers for this user or program",
            Self::OpenFiles => "no more open files",
        })
    }
}

/// What was heard since the last call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// Folders in which something changed, below the path that was given to [`Hints::watch`].
    pub dirty: BTreeSet<PathBuf>,
    /// Folders that are new here, or may have become readable: look at them with all below.
    pub dirty_trees: BTreeSet<PathBuf>,
    /// So much changed, or so much was lost, that only a whole walk helps.
    pub everything: bool,
    /// The watch folder was removed, moved, unmounted or replaced; these hints are of no more use.
    pub root_gone: bool,
    /// Hints are missing from now on, and why: look again and again, and try to watch anew.
    pub trouble: Option<String>,
}

impl Taken {
    /// Nothing was heard.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Hears changes until it is dropped.
pub struct Hints {
    shared: Arc<Shared>,
    watcher: Mutex<Option<RecommendedWatcher>>,
    identity: Option<Identity>,
}

impl std::fmt::Debug for Hints {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Hints").field("root", &self.shared.root).finish_non_exhaustive()
    }
}

impl Hints {
    /// Begins to hear what changes in `root`, and below it where `subfolders` is set. Symbolic
    /// links below it are not followed.
    ///
    /// `wake` is called, from a thread of the watcher, when there is something to
    /// [`Hints::take`] after there was nothing. It must be quick and must not call `take` itself.
    pub fn watch(
        root: &Path,
        subfolders: bool,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, HintError> {
        // Some systems tell paths without links, whatever was asked for.
        let real_root = std::fs::canonicalize(root).map_err(|error| from_io(&error, root))?;
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            real_root,
            subfolders,
            heard: Mutex::new(Heard::default()),
            wake: Box::new(wake),
        });
        let identity = identity(root).map_err(|error| from_io(&error, root))?;
        let mut tries = 1;
        loop {
            match start(&shared) {
                Ok(watcher) => {
                    let watcher = Mutex::new(Some(watcher));
                    return Ok(Self { shared, watcher, identity: Some(identity) });
                }
                // A folder below went away while it was being added.
                Err(HintError::Gone { .. }) if tries < STARTS && root.is_dir() => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// What was heard since the last call. When it comes back, every new folder that it names is
    /// watched itself: whatever is not found in it by a look after this call is heard later.
    pub fn take(&self) -> Taken {
        let mut taken = self.shared.heard().take();
        if !self.is_alive() {
            taken.everything = true;
            taken.trouble.get_or_insert_with(|| "the watcher has ended".to_owned());
        }
        if identity(&self.shared.root).ok() != self.identity {
            taken.root_gone = true;
        }
        taken
    }

    /// Whether the watcher's thread answers. It answers only between two batches of events, after
    /// it has begun to watch the new folders of the batch before: so this is also a fence.
    fn is_alive(&self) -> bool {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        watcher.as_mut().is_some_and(|watcher| watcher.configure(Config::default()).is_ok())
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        if !self.is_alive() {
            // The watcher would panic when it cannot tell its thread to end.
            let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(watcher.take());
        }
    }
}

fn start(shared: &Arc<Shared>) -> Result<RecommendedWatcher, HintError> {
    let hearing = Arc::clone(shared);
    let config = Config::default().with_follow_symlinks(false);
    let failed = |error: &notify::Error| from_notify(error, &shared.root);
    let mut watcher = RecommendedWatcher::new(move |event| hearing.hear(event), config)
        .map_err(|e| failed(&e))?;
    let mode =
        if shared.subfolders { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
    watcher.watch(&shared.real_root, mode).map_err(|error| failed(&error))?;
    Ok(watcher)
}

fn from_notify(error: &notify::Error, root: &Path) -> HintError {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => HintError::LimitReached { limit: WatchLimit::Folders },
        notify::ErrorKind::PathNotFound => HintError::Gone { path: root.to_owned() },
        notify::ErrorKind::Io(io) => from_io(io, root),
        _ => HintError::Failed { why: error.to_string() },
    }
}

fn from_io(error: &io::Error, root: &Path) -> HintError {
    match limit_of(error) {
        Some(limit) => HintError::LimitReached { limit },
        None if error.kind() == io::ErrorKind::NotFound => {
            HintError::Gone { path: root.to_owned() }
        }
        None => HintError::Failed { why: error.to_string() },
    }
}

/// See the errors of `inotify_init(2)` and `inotify_add_watch(2)`.
#[cfg(unix)]
fn limit_of(error: &io::Error) -> Option<WatchLimit> {
    use rustix::io::Errno;
    match Errno::from_io_error(error)? {
        Errno::NOSPC => Some(WatchLimit::Folders),
        Errno::MFILE => Some(WatchLimit::Programs),
        Errno::NFILE => Some(WatchLimit::OpenFiles),
        _ => None,
    }
}

#[cfg(not(unix))]
fn limit_of(_error: &io::Error) -> Option<WatchLimit> {
    None
}

/// What the watcher's thread and the one who takes have in common.
struct Shared {
    root: PathBuf,
    real_root: PathBuf,
    subfolders: bool,
    heard: Mutex<Heard>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Shared {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, event: notify::Result<Event>) {
        let told = {
            let mut heard = self.heard();
            match event {
                Ok(event) => self.event(&event, &mut heard.taken),
                Err(error) => {
                    heard.taken.everything = true;
                    heard.taken.trouble = Some(from_notify(&error, &self.root).to_string());
                }
            }
            let news = !heard.taken.is_empty();
            news && !std::mem::replace(&mut heard.told, true)
        };
        // A panic would end the watcher's thread, and with it all hints.
        if told && catch_unwind(AssertUnwindSafe(|| (self.wake)())).is_err() {
            self.heard().taken.everything = true;
        }
    }

    fn event(&self, event: &Event, taken: &mut Taken) {
        if event.need_rescan() {
            taken.everything = true;
        }
        if is_reading(event.kind) {
            return;
        }
        if event.paths.is_empty() {
            taken.everything = true;
        }
        for path in &event.paths {
            self.changed(path, event.kind, taken);
        }
        if taken.dirty.len() + taken.dirty_trees.len() > DIRTY_FOLDERS {
            taken.everything = true;
        }
        if taken.everything {
            taken.dirty.clear();
            taken.dirty_trees.clear();
        }
    }

    fn changed(&self, path: &Path, kind: EventKind, taken: &mut Taken) {
        let Ok(below) = path.strip_prefix(&self.real_root) else {
            taken.everything = true;
            return;
        };
        let Some(parent) = below.parent() else {
            if is_leaving(kind) {
                taken.root_gone = true;
            }
            taken.dirty.insert(self.root.clone());
            return;
        };
        let full = |below: &Path| self.root.components().chain(below.components()).collect();
        taken.dirty.insert(full(parent));
        if self.subfolders && brings_folder(path, kind) {
            taken.dirty_trees.insert(full(below));
        }
    }
}

/// Opening, reading and closing what was read: our own reading is heard, too. Closing what was
/// written is a change.
fn is_reading(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(kind) => kind != AccessKind::Close(AccessMode::Write),
        _ => false,
    }
}

fn is_leaving(kind: EventKind) -> bool {
    matches!(kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)))
}

/// Whether a folder may hold more than was heard: it came with its content, files came into it
/// before it was watched, or its rights changed.
fn brings_folder(path: &Path, kind: EventKind) -> bool {
    match kind {
        EventKind::Create(CreateKind::Folder) => true,
        EventKind::Create(CreateKind::File)
        | EventKind::Access(_)
        | EventKind::Remove(_)
        | EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Name(RenameMode::From)) => false,
        _ => std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir()),
    }
}

#[derive(Default)]
struct Heard {
    taken: Taken,
    /// The one who takes was woken and has not taken since.
    told: bool,
}

impl Heard {
    fn take(&mut self) -> Taken {
        self.told = false;
        // A folder that is gone stays gone, and trouble stays until somebody watches anew.
        let next = Taken {
            root_gone: self.taken.root_gone,
            trouble: self.taken.trouble.clone(),
            ..Taken::default()
        };
        std::mem::replace(&mut self.taken, next)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "hints_tests.rs"]
mod tests;
