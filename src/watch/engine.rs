//! One watch folder, step by step: look around, see what is still, hand in what is complete, note
//! what became of everything. Knows no thread and reads no clock, so that tests run a day in a
//! moment: [`Engine::step`] is given the time, and jobs that take long are given back by it.

use super::book::Book;
use super::claims::Claims;
use super::hints::Hints;
use super::ignore::IgnoreList;
use super::jobs::{Job, Tools};
use super::names::NameKey;
use super::queue::Queue;
use super::settle::SettleRules;
use super::tracked::{Noted, Stage, Tracked};
use super::units::Unit;
use crate::intake::kind_of;
use crate::model::{Now, WatchFolderId, limits};
use crate::protocol::watch::{WatchFileState, WatchFolderView, WatchHealth, WatchRules, WatchWord};
use crate::recipes::Library;
use crate::renderers;
use crate::store::StoreError;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Jobs of one folder that are done or wait to be done at once: folders take turns.
pub(super) const JOBS_AT_ONCE: usize = 4;
/// Between two looks at the ends of pipelines.
const ENDS_PAUSE_MS: u64 = 500;
/// The ledger is told so often that a folder was looked through again.
const LOOKED_PAUSE_MS: i64 = 60_000;

/// One watch folder.
pub(super) struct Engine {
    pub(super) tools: Tools,
    pub(super) recipes: Library,
    pub(super) renderers: Arc<renderers::Library>,
    pub(super) id: WatchFolderId,
    pub(super) root: PathBuf,
    pub(super) rules: WatchRules,
    pub(super) ignore: IgnoreList,
    pub(super) settle: SettleRules,
    pub(super) paused: bool,
    /// Every file by folder and name, below the root.
    pub(super) files: Files,
    /// Names that other systems do not tell apart.
    pub(super) keys: BTreeMap<NameKey, BTreeSet<PathBuf>>,
    /// When to look at what settles.
    pub(super) due: BTreeSet<(u64, PathBuf)>,
    /// Folders whose units are to be found anew.
    pub(super) replan: BTreeSet<PathBuf>,
    pub(super) units: BTreeMap<PathBuf, Unit>,
    /// Which of them is next.
    pub(super) queue: Queue,
    /// Units that are read now.
    pub(super) taking: BTreeSet<PathBuf>,
    /// Files that go along with a unit.
    pub(super) claims: Claims,
    /// Files that went along with what was handed in.
    pub(super) parts: BTreeMap<PathBuf, PathBuf>,
    /// Files that are named and were not there, with those that name them.
    pub(super) wanted: BTreeMap<NameKey, BTreeSet<PathBuf>>,
    /// Orders that a unit is taken for, with another recipe.
    pub(super) orders: BTreeMap<PathBuf, Ordered>,
    /// Drops whose results are delivered now, or not before this time.
    pub(super) delivering: BTreeMap<i64, Option<u64>>,
    /// Jobs that were given out and have not come back.
    pub(super) running: usize,
    pub(super) book: Book,
    pub(super) around: Around,
    /// Why nothing is taken for now, and until when.
    pub(super) held: Option<(String, u64)>,
    pub(super) health: WatchHealth,
    /// The health that the ledger has.
    noted: WatchHealth,
    /// Something was committed since the ends of pipelines were looked at.
    pub(super) has_news: bool,
    next_ends_ms: u64,
}

/// Files by folder and name.
pub(super) type Files = BTreeMap<PathBuf, BTreeMap<OsString, Tracked>>;

/// An order in work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ordered {
    /// Its numbers.
    pub(super) ids: Vec<i64>,
    /// Another recipe than the rules say.
    pub(super) recipe: Option<String>,
}

/// How the folder is looked at.
pub(super) struct Around {
    /// Events, where they are used.
    pub(super) hints: Option<Hints>,
    /// Why they are not, where they should be.
    pub(super) blind: Option<String>,
    /// What could not be looked at.
    pub(super) trouble: Option<String>,
    /// When the whole folder is looked through again.
    pub(super) whole_at_ms: u64,
    /// Whether events came that were not taken yet.
    pub(super) is_told: bool,
    /// Not before this time, by hints.
    pub(super) hints_at_ms: u64,
    /// When events are asked for again.
    pub(super) hints_again_ms: u64,
    /// Whether the folder was ever looked through.
    pub(super) is_first: bool,
    /// The file system of the root when it was last looked through.
    pub(super) device: Option<u64>,
}

/// What a step asks for.
pub(super) struct Step {
    /// What takes long.
    pub(super) jobs: Vec<Job>,
    /// When to step again if nothing happens, on the monotonic clock.
    pub(super) wake_at_ms: u64,
}

impl Engine {
    /// Reads the ledger of a folder. Blocks.
    pub(super) fn open(
        tools: Tools,
        recipes: Library,
        renderers: Arc<renderers::Library>,
        folder: WatchFolderView,
        settle_ms: u64,
    ) -> Result<Self, StoreError> {
        let WatchFolderView { id, path, rules, paused, health, .. } = folder;
        let ignore =
            super::ignore_list(&rules).map_err(|bad| StoreError::Invalid(bad.to_string()))?;
        let is_first = health.looked_at_ms.is_none();
        let mut engine = Self {
            settle: SettleRules { settle_ms, give_up_ms: rules.give_up_ms },
            book: Book::new(tools.store.clone(), tools.handle.clone(), id),
            tools,
            recipes,
            renderers,
            id,
            root: PathBuf::from(path),
            rules,
            ignore,
            paused,
            files: Files::new(),
            keys: BTreeMap::new(),
            due: BTreeSet::new(),
            replan: BTreeSet::new(),
            units: BTreeMap::new(),
            taking: BTreeSet::new(),
            claims: Claims::default(),
            queue: Queue::default(),
            parts: BTreeMap::new(),
            wanted: BTreeMap::new(),
            orders: BTreeMap::new(),
            delivering: BTreeMap::new(),
            running: 0,
            around: Around {
                hints: None,
                blind: None,
                trouble: None,
                whole_at_ms: 0,
                is_told: false,
                hints_at_ms: 0,
                hints_again_ms: 0,
                is_first,
                device: None,
            },
            held: None,
            noted: health.clone(),
            health,
            has_news: true,
            next_ends_ms: 0,
        };
        engine.read_ledger()?;
        Ok(engine)
    }

    fn read_ledger(&mut self) -> Result<(), StoreError> {
        let (handle, store, id) = (self.tools.handle.clone(), self.tools.store.clone(), self.id);
        let drops = handle.block_on(store.known_drops(id))?;
        let files = handle.block_on(store.watched_files(id))?;
        let mut mains = BTreeMap::new();
        for drop in drops {
            let main = super::path(drop.main);
            for missing in drop.missing {
                let key = NameKey::of(&super::path(missing));
                self.wanted.entry(key).or_default().insert(main.clone());
            }
            mains.insert(drop.id, main);
        }
        for file in files {
            let path = super::path(file.path);
            if let Some(main) = file.part_of.and_then(|id| mains.get(&id))
                && *main != path
            {
                self.parts.insert(path.clone(), main.clone());
            }
            let stage = match file.state {
                WatchFileState::Settling | WatchFileState::Waiting => Stage::Settling {
                    settling: Box::new(super::settle::Settling::new(file.sight, 0)),
                    look_at_ms: 0,
                },
                ended => Stage::Ended(ended),
            };
            if matches!(stage, Stage::Settling { .. }) {
                self.due.insert((0, path.clone()));
            }
            let kind = path.file_name().and_then(|name| kind_of(name, &self.renderers));
            let noted = Noted { state: Some(file.state), ..Noted::default() };
            self.insert(path, Tracked { sight: file.sight, kind, stage, noted });
        }
        Ok(())
    }

    /// Does what is due. Blocks on the folder's disk and on the ledger.
    pub(super) fn step(&mut self, now: Now) -> Result<Step, StoreError> {
        let now_ms = now.mono_ms;
        let is_told = self.has_news && now_ms >= self.next_ends_ms;
        if is_told {
            self.carry_out_orders(now_ms)?;
        }
        self.look_around(now);
        self.look_at_due(now_ms);
        self.line_up(now_ms);
        let mut jobs = self.take_ready(now_ms);
        if is_told || self.deliver_again_ms().is_some_and(|at_ms| now_ms >= at_ms) {
            self.has_news = false;
            self.next_ends_ms = now_ms.saturating_add(ENDS_PAUSE_MS);
            jobs.extend(self.deliver_ended(now)?);
        }
        self.book.write()?;
        self.note_health(now)?;
        Ok(Step { jobs, wake_at_ms: self.wake_at(now_ms) })
    }

    /// When something is due next.
    fn wake_at(&self, now_ms: u64) -> u64 {
        let mut at_ms = self.around.whole_at_ms;
        if let Some((due_ms, _)) = self.due.first() {
            at_ms = at_ms.min(*due_ms);
        }
        if let Some((_, until_ms)) = &self.held {
            at_ms = at_ms.min(*until_ms);
        }
        if self.around.is_told {
            at_ms = at_ms.min(self.around.hints_at_ms);
        }
        let may_take = !self.paused && self.held.is_none() && self.running < JOBS_AT_ONCE;
        if may_take && self.queue.has_ready() {
            at_ms = now_ms;
        }
        if let Some(pass_ms) = self.queue.pass_ms() {
            at_ms = at_ms.min(pass_ms);
        }
        if self.has_news {
            at_ms = at_ms.min(self.next_ends_ms);
        }
        at_ms.min(self.deliver_again_ms().unwrap_or(u64::MAX)).max(now_ms)
    }

    /// When a delivery that failed is tried again.
    fn deliver_again_ms(&self) -> Option<u64> {
        self.delivering.values().filter_map(|again_ms| *again_ms).min()
    }

    /// A file below the root.
    pub(super) fn get(&self, path: &Path) -> Option<&Tracked> {
        self.files.get(path.parent()?)?.get(path.file_name()?)
    }

    /// The same, to change it.
    pub(super) fn get_mut(&mut self, path: &Path) -> Option<&mut Tracked> {
        self.files.get_mut(path.parent()?)?.get_mut(path.file_name()?)
    }

    /// Remembers a file.
    pub(super) fn insert(&mut self, path: PathBuf, tracked: Tracked) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return };
        self.files.entry(folder.to_owned()).or_default().insert(name.to_owned(), tracked);
        self.keys.entry(NameKey::of(&path)).or_default().insert(path);
    }

    /// Files that are remembered.
    pub(super) fn count(&self) -> usize {
        self.files.values().map(BTreeMap::len).sum()
    }

    /// Puts a file into a state and notes it, where that is news.
    pub(super) fn note(&mut self, path: &Path, noted: Noted) {
        let Some(tracked) = self.get_mut(path) else { return };
        if tracked.noted == noted {
            return;
        }
        tracked.noted = noted;
        let tracked = tracked.clone();
        self.book.note(path, &tracked);
    }

    fn note_health(&mut self, now: Now) -> Result<(), StoreError> {
        let mut health = self.health.clone();
        let (word, why) = self.condition(now.mono_ms);
        (health.word, health.why) = (word, why);
        health.events = self.around.hints.is_some();
        // That it was looked through again is news once in a while only.
        let looked_ms = |health: &WatchHealth| health.looked_at_ms.unwrap_or(0);
        let is_old = looked_ms(&health) >= looked_ms(&self.noted).saturating_add(LOOKED_PAUSE_MS);
        let same_words = WatchHealth { looked_at_ms: self.noted.looked_at_ms, ..health.clone() };
        self.health = health.clone();
        if is_old || same_words != self.noted {
            self.noted = health.clone();
            let store = self.tools.store.clone();
            self.tools.handle.block_on(store.note_watch_health(self.id, health))?;
        }
        Ok(())
    }

    fn condition(&self, now_ms: u64) -> (WatchWord, Option<String>) {
        if self.health.word == WatchWord::Gone {
            return (WatchWord::Gone, self.health.why.clone());
        }
        if self.paused {
            return (WatchWord::Paused, None);
        }
        if let Some((why, _)) = self.held.as_ref().filter(|(_, until_ms)| now_ms < *until_ms) {
            return (WatchWord::Held, Some(why.clone()));
        }
        if let Some(why) = self.around.trouble.as_ref().or(self.around.blind.as_ref()) {
            return (WatchWord::Trouble, Some(why.clone()));
        }
        (WatchWord::Watching, None)
    }
}

/// Too many files are a trouble that people must see.
pub(super) fn too_many() -> String {
    format!(
        "the folder has more than {} files: the rest is not looked at. Watch smaller folders",
        limits::WATCH_FILES
    )
}
