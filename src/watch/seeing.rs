//! Looks around in the folder: events say where, and a look at everything from time to time says
//! what events did not.

use super::engine::{Engine, too_many};
use super::hints::{HintError, Hints, Taken};
use super::names;
use super::scan::{self, Entry, LinkWhy, ScanError, ScanOptions, Stop};
use super::settle::Settling;
use super::tracked::{Noted, Stage, Tracked};
use crate::clock::Stopwatch;
use crate::intake::kind_of;
use crate::model::{Now, Reason, Sight, limits};
use crate::protocol::watch::{Existing, WatchFileState, WatchWord};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Between two looks at everything where events tell of changes.
const WHOLE_AGAIN_MS: u64 = 600_000;
/// Between two looks for a folder that is gone.
const GONE_AGAIN_MS: u64 = 2_000;
/// A look at everything takes at most this part of the time, one in so many.
const LOOK_SHARE: u64 = 50;
/// Changes that events tell within this time are looked at together.
const HINTS_PAUSE_MS: u64 = 40;
/// Looking where events say takes at most this part of the time, one in so many.
const HINTS_SHARE: u64 = 10;
/// Between two tries to get events.
const EVENTS_AGAIN_MS: u64 = 60_000;

/// A file that stands for something without a size, a date or a number.
const NOTHING: Sight = Sight { device: 0, inode: 0, size_bytes: 0, modified_ns: 0, changed_ns: 0 };

impl Engine {
    /// Asks the system for events, where that is wanted.
    pub(super) fn ask_for_events(&mut self, now_ms: u64, wake: impl Fn() + Send + Sync + 'static) {
        match Hints::watch(&self.root, self.rules.subfolders, wake) {
            Ok(hints) => {
                self.around.hints = Some(hints);
                self.around.blind = None;
            }
            Err(HintError::Gone { .. }) => {}
            Err(error) => {
                self.around.blind = Some(format!(
                    "{error}. Until then the folder is looked through every {} s",
                    self.rules.poll_ms.div_ceil(1_000)
                ));
            }
        }
        self.around.hints_again_ms = now_ms.saturating_add(EVENTS_AGAIN_MS);
        self.around.whole_at_ms = now_ms;
    }

    /// Whether events should be asked for again.
    pub(super) fn lacks_events(&self, now_ms: u64) -> bool {
        self.around.hints.is_none() && now_ms >= self.around.hints_again_ms
    }

    /// Looks at everything when that is due, else where events say.
    pub(super) fn look_around(&mut self, now: Now) {
        let now_ms = now.mono_ms;
        let mut taken = Taken::default();
        if let Some(hints) = &self.around.hints
            && now_ms >= self.around.hints_at_ms
        {
            self.around.is_told = false;
            taken = hints.take();
        }
        if let Some(trouble) = &taken.trouble {
            self.around.blind = Some(trouble.clone());
        }
        if taken.root_gone {
            // A folder of the same name that comes later is another one, and has no events yet.
            self.around.hints = None;
            self.around.hints_again_ms = now_ms;
        }
        if taken.everything || taken.root_gone || now_ms >= self.around.whole_at_ms {
            return self.look_at_everything(now);
        }
        let watch = Stopwatch::start();
        let (mut flat, mut deep) = (BTreeSet::new(), BTreeSet::new());
        for (folders, into) in [(&taken.dirty, &mut flat), (&taken.dirty_trees, &mut deep)] {
            for folder in folders {
                match folder.strip_prefix(&self.root) {
                    Ok(below) => into.insert(below.to_owned()),
                    Err(_) => continue,
                };
            }
        }
        let looked = flat.iter().map(|it| (it, false)).chain(deep.iter().map(|it| (it, true)));
        for (folder, is_deep) in looked {
            if let Err(error) = self.look_below(folder, is_deep, now) {
                self.lost_sight(&error, now);
                return;
            }
        }
        if !flat.is_empty() || !deep.is_empty() {
            let pause_ms = elapsed_ms(&watch).saturating_mul(HINTS_SHARE).max(HINTS_PAUSE_MS);
            self.around.hints_at_ms = now_ms.saturating_add(pause_ms);
        }
    }

    fn look_at_everything(&mut self, now: Now) {
        let now_ms = now.mono_ms;
        let watch = Stopwatch::start();
        if let Err(error) = self.look_below(Path::new(""), true, now) {
            return self.lost_sight(&error, now);
        }
        let pause_ms = match self.around.hints {
            Some(_) => WHOLE_AGAIN_MS,
            None => self.rules.poll_ms,
        };
        let pause_ms = pause_ms.max(elapsed_ms(&watch).saturating_mul(LOOK_SHARE));
        self.around.whole_at_ms = now_ms.saturating_add(pause_ms);
        self.around.is_first = false;
        self.health.looked_at_ms = Some(now.wall_ms);
        if self.health.word == WatchWord::Gone {
            (self.health.word, self.health.why) = (WatchWord::Watching, None);
        }
    }

    /// The folder cannot be looked at: what is known of it stays, and it is looked for again.
    fn lost_sight(&mut self, error: &ScanError, now: Now) {
        (self.health.word, self.health.why) = (WatchWord::Gone, Some(error.to_string()));
        self.around.whole_at_ms = now.mono_ms.saturating_add(GONE_AGAIN_MS);
        self.around.hints = None;
        self.around.hints_again_ms = now.mono_ms.saturating_add(GONE_AGAIN_MS);
    }

    /// Looks at one folder, with those below it where `is_deep`.
    fn look_below(&mut self, below: &Path, is_deep: bool, now: Now) -> Result<(), ScanError> {
        let is_deep = is_deep && self.rules.subfolders;
        let mut found = Vec::new();
        let options = ScanOptions {
            subfolders: is_deep,
            follow_links: self.rules.follow_links,
            entries: limits::WATCH_FILES as u64,
            ..ScanOptions::new(&self.ignore)
        };
        let ended = scan::scan_below(&self.root, below, &options, &mut |entry| found.push(entry))?;
        if below.as_os_str().is_empty() && is_deep {
            self.check_device(&found)?;
            self.around.trouble = None;
        }
        let mut seen = Seen::default();
        for entry in found {
            self.fold(entry, &mut seen, now);
        }
        match ended.stop {
            // What was not seen may be there all the same.
            Some(Stop::Entries) => self.around.trouble = Some(too_many()),
            Some(Stop::SubfolderGone) => self.forget_below(below, now.mono_ms),
            None => self.forget_unseen(below, is_deep, &seen, now.mono_ms),
        }
        Ok(())
    }

    /// An empty folder of another file system in the place of one with files is a share that is
    /// not mounted, and not a folder from which everything was deleted.
    fn check_device(&mut self, found: &[Entry]) -> Result<(), ScanError> {
        let device =
            std::fs::metadata(&self.root).ok().map(|it| crate::artifacts::sight_of(&it).device);
        let is_other = self.around.device.is_some() && self.around.device != device;
        if is_other && found.is_empty() && self.count() > 0 {
            let why = "its place is empty; its disk or share seems not to be mounted".to_owned();
            return Err(ScanError::Gone { path: self.root.clone(), why });
        }
        self.around.device = device;
        Ok(())
    }

    fn fold(&mut self, entry: Entry, seen: &mut Seen, now: Now) {
        match entry {
            Entry::Folder { path } => {
                seen.folders.insert(path);
            }
            Entry::File { path, sight } => {
                // A mark that was there before its file was taken for a file: it is forgotten as one.
                if !is_ours(&path) && !self.is_mark(&path) {
                    self.saw(&path, sight, now);
                    seen.file(path);
                }
            }
            Entry::Ignored { .. }
            | Entry::Link { .. }
            | Entry::Special { .. }
            | Entry::TooDeep { .. } => {
                let path = path_of(&entry).to_owned();
                if !is_ours(&path) {
                    self.leave(&path, &left_alone(&entry));
                    seen.file(path);
                }
            }
            Entry::Unreadable { path, why } => {
                let text = format!("{} cannot be read ({why})", names::shown_path(&path));
                self.around.trouble = Some(text);
                self.remember(&path, NOTHING, Stage::Ended(WatchFileState::Refused));
                let why = Some(format!("it cannot be read ({why})"));
                let (state, reason) =
                    (Some(WatchFileState::Refused), Some(Reason::InputUnreadable));
                self.note(&path, Noted { state, why, reason });
                seen.unreadable.insert(path.clone());
                seen.file(path);
            }
        }
    }

    /// A file that says that another is complete: that one is looked at now.
    fn is_mark(&mut self, path: &Path) -> bool {
        let Some(name) = path.file_name() else { return false };
        let marked: Vec<PathBuf> = names::marked_by(name)
            .into_iter()
            .map(|name| path.with_file_name(name))
            .filter(|other| self.root.join(other).is_file())
            .collect();
        !marked.is_empty()
    }

    /// A file is there and looks like this.
    fn saw(&mut self, path: &Path, sight: Sight, now: Now) {
        let now_ms = now.mono_ms;
        let Some(tracked) = self.get_mut(path) else {
            return self.saw_new(path, sight, now_ms);
        };
        match &mut tracked.stage {
            Stage::Settling { settling, .. } => {
                if *settling.sight() != sight || names::is_marked_done(&self.root.join(path)) {
                    self.look_soon(path, now_ms);
                }
            }
            // What is read now is compared when it was read.
            Stage::Taking(_) => tracked.sight = sight,
            Stage::Still { .. } if tracked.sight != sight => self.begin(path, sight, now_ms),
            Stage::Ended(_) if !sight.is_still(&tracked.sight) => self.begin(path, sight, now_ms),
            Stage::Still { .. } | Stage::Ended(_) => {}
        }
    }

    fn saw_new(&mut self, path: &Path, sight: Sight, now_ms: u64) {
        if self.around.is_first && self.rules.existing == Existing::Leave {
            self.remember(path, sight, Stage::Ended(WatchFileState::Ignored));
            let why = Some("it was there when the folder was added".to_owned());
            let state = Some(WatchFileState::Ignored);
            return self.note(path, Noted { state, why, reason: None });
        }
        let settling = Box::new(Settling::new(sight, now_ms));
        self.remember(path, sight, Stage::Settling { settling, look_at_ms: now_ms });
        self.due.insert((now_ms, path.to_owned()));
    }

    fn remember(&mut self, path: &Path, sight: Sight, stage: Stage) {
        if let Some(tracked) = self.get_mut(path) {
            tracked.stage = stage;
            tracked.sight = sight;
            return;
        }
        let kind = path.file_name().and_then(|name| kind_of(name, &self.renderers));
        self.insert(path.to_owned(), Tracked { sight, kind, stage, noted: Noted::default() });
    }

    fn leave(&mut self, path: &Path, why: &str) {
        let is_left = |it: &Tracked| it.stage == Stage::Ended(WatchFileState::Ignored);
        if self.get(path).is_some_and(is_left) {
            return;
        }
        self.remember(path, NOTHING, Stage::Ended(WatchFileState::Ignored));
        let (state, why) = (Some(WatchFileState::Ignored), Some(why.to_owned()));
        self.note(path, Noted { state, why, reason: None });
    }

    /// Files that are known and were not seen are not there any more.
    fn forget_unseen(&mut self, below: &Path, is_deep: bool, seen: &Seen, now_ms: u64) {
        let folders: Vec<PathBuf> = self
            .files
            .range(below.to_owned()..)
            .take_while(|(folder, _)| folder.starts_with(below))
            .map(|(folder, _)| folder.clone())
            .collect();
        for folder in folders {
            if folder.ancestors().any(|above| seen.unreadable.contains(above)) {
                continue;
            }
            if is_deep || folder == below {
                let gone: Vec<PathBuf> = self
                    .files
                    .get(&folder)
                    .into_iter()
                    .flat_map(|files| files.keys())
                    .filter(|name| !seen.has(&folder, name))
                    .map(|name| folder.join(name))
                    .collect();
                for path in gone {
                    self.gone(&path, now_ms);
                }
            } else if child_of(below, &folder).is_some_and(|child| !seen.folders.contains(&child)) {
                // A folder was moved away or deleted with all that it held.
                self.forget_below(&folder, now_ms);
            }
        }
    }

    fn forget_below(&mut self, below: &Path, now_ms: u64) {
        let inside = self.files.range(below.to_owned()..);
        let gone: Vec<PathBuf> = inside
            .take_while(|(folder, _)| folder.starts_with(below))
            .flat_map(|(folder, files)| files.keys().map(|name| folder.join(name)))
            .collect();
        for path in gone {
            self.gone(&path, now_ms);
        }
    }

    /// A file is not there any more. What was handed in stays in the ledger.
    pub(super) fn gone(&mut self, path: &Path, now_ms: u64) {
        let Some(tracked) = self.get(path).cloned() else { return };
        if !tracked.is_taken() && !matches!(tracked.stage, Stage::Taking(_)) {
            self.book.forget(path);
            let _ = super::notes::remove(&self.root.join(path));
        }
        let alike: Vec<PathBuf> =
            self.keys.get(&names::NameKey::of(path)).into_iter().flatten().cloned().collect();
        self.lose(path);
        // Its name is free for one that was refused for it.
        for other in alike {
            let refused = Some(Reason::InputNameConflict);
            if let Some(sight) = self
                .get(&other)
                .filter(|it| it.noted.reason == refused || it.noted.reason.is_none())
                .filter(|it| it.stage == Stage::Ended(WatchFileState::Refused))
                .map(|it| it.sight)
            {
                self.begin(&other, sight, now_ms);
            }
        }
    }

    /// Remembers a file no more.
    pub(super) fn lose(&mut self, path: &Path) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
        let Some(files) = self.files.get_mut(folder) else { return };
        if let Some(tracked) = files.remove(name)
            && let Stage::Settling { look_at_ms, .. } = tracked.stage
        {
            self.due.remove(&(look_at_ms, path.to_owned()));
        }
        if files.is_empty() {
            self.files.remove(folder);
        }
        let key = names::NameKey::of(path);
        if let Some(alike) = self.keys.get_mut(&key) {
            alike.remove(path);
            if alike.is_empty() {
                self.keys.remove(&key);
            }
        }
        self.unplan(path);
    }
}

/// What a look found.
#[derive(Default)]
struct Seen {
    files: BTreeSet<PathBuf>,
    folders: BTreeSet<PathBuf>,
    unreadable: BTreeSet<PathBuf>,
}

impl Seen {
    fn file(&mut self, path: PathBuf) {
        self.files.insert(path);
    }

    fn has(&self, folder: &Path, name: &OsString) -> bool {
        self.files.contains(&folder.join(name))
    }
}

/// The folder right below `above` that `folder` is or lies in.
fn child_of(above: &Path, folder: &Path) -> Option<PathBuf> {
    let first = folder.strip_prefix(above).ok()?.iter().next()?;
    Some(above.join(first))
}

/// Where it lies, below the watch folder.
pub(super) fn path_of(entry: &Entry) -> &Path {
    match entry {
        Entry::File { path, .. }
        | Entry::Folder { path }
        | Entry::Ignored { path, .. }
        | Entry::Link { path, .. }
        | Entry::Special { path, .. }
        | Entry::Unreadable { path, .. }
        | Entry::TooDeep { path } => path,
    }
}

/// Why something is left alone, for people.
pub(super) fn left_alone(entry: &Entry) -> String {
    match entry {
        Entry::Ignored { rule, .. } => format!("left alone by the rule '{rule}'"),
        Entry::Link { why, .. } => match why {
            LinkWhy::NotWanted => "a link, and links are not followed",
            LinkWhy::Outside => "a link that leads out of the watch folder",
            LinkWhy::Broken => "a link that leads to nothing",
            LinkWhy::Again => "a link to what is looked at anyway",
        }
        .to_owned(),
        Entry::TooDeep { .. } => "it lies too deep: its files are not looked at".to_owned(),
        Entry::Unreadable { why, .. } => format!("it cannot be read ({why})"),
        Entry::File { .. } | Entry::Folder { .. } | Entry::Special { .. } => {
            "neither a file nor a folder".to_owned()
        }
    }
}

/// Whether a file is what Sawah itself laid there.
pub(super) fn is_ours(path: &Path) -> bool {
    let ours = [super::deliver::DONE_FOLDER, super::deliver::RESULTS_FOLDER];
    let in_ours = path.iter().any(|part| ours.iter().any(|our| part == *our));
    in_ours || path.as_os_str().as_encoded_bytes().ends_with(super::notes::SUFFIX.as_bytes())
}

fn elapsed_ms(watch: &Stopwatch) -> u64 {
    u64::try_from(watch.elapsed().as_millis()).unwrap_or(u64::MAX)
}
