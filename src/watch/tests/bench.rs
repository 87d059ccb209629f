//! A watch folder on a real disk with a real store, stepped by a clock that the test moves.

use crate::artifacts::Artifacts;
use crate::clock::Clock;
use crate::model::{Checksum, Now};
use crate::protocol::watch::{
    NewWatchFolder, NewWatchOrder, WatchFileState, WatchFileView, WatchFolderView, WatchOrder,
    WatchRules,
};
use crate::recipes::Library;
use crate::store::Store;
use crate::watch::engine::Engine;
use crate::watch::jobs::{Job, Tools};
use crate::watch::looker::Looker;
use crate::watch::tracked::Stage;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A test that waits longer for an event has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long files settle in these tests.
pub(super) const SETTLE_MS: u64 = 1_000;

/// A clock that stands until it is moved.
pub(super) struct StandingClock(Mutex<Now>);

impl Clock for StandingClock {
    fn now(&self) -> Now {
        *self.0.lock().unwrap()
    }
}

/// A farm with one watch folder.
pub(super) struct Bench {
    pub(super) runtime: Runtime,
    pub(super) farm: TempDir,
    pub(super) drop_in: TempDir,
    pub(super) clock: Arc<StandingClock>,
    pub(super) store: Store,
    pub(super) artifacts: Artifacts,
    pub(super) view: WatchFolderView,
    pub(super) engine: Option<Engine>,
    pub(super) renderers: Arc<crate::renderers::Library>,
    pub(super) free_floor_bytes: u64,
    /// Rings when the system told of a change; none where the folder is looked through instead.
    bell: Option<Receiver<()>>,
}

thread_local! {
    /// Whether the folders of this test are seen by the system's events.
    pub(super) static BY_EVENTS: Cell<bool> = const { Cell::new(false) };
}

impl Bench {
    /// A folder with the usual rules, but for how long files settle.
    pub(super) fn new() -> Self {
        Self::with(WatchRules::default())
    }

    /// A folder with these rules; files settle as the tests want it.
    pub(super) fn with(rules: WatchRules) -> Self {
        let (farm, drop_in) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let now = Now { wall_ms: 1_800_000_000_000, mono_ms: 1_000 };
        let clock = Arc::new(StandingClock(Mutex::new(now)));
        let store = Store::open(farm.path(), Arc::clone(&clock) as Arc<dyn Clock>).unwrap();
        let artifacts = Artifacts::open(farm.path()).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let rules = WatchRules { settle_ms: Some(SETTLE_MS), ..rules };
        let path = drop_in.path().canonicalize().unwrap().to_str().unwrap().to_owned();
        let new = NewWatchFolder { path, rules, actor: "test".to_owned() };
        let view = runtime.block_on(store.add_watch_folder(new)).unwrap();
        let renderers = Arc::new(crate::renderers::Library::load(None).unwrap());
        let mut bench = Self {
            runtime,
            farm,
            drop_in,
            clock,
            store,
            artifacts,
            view,
            engine: None,
            renderers,
            free_floor_bytes: 0,
            bell: None,
        };
        bench.open();
        bench
    }

    /// Starts the engine from what the ledger has.
    pub(super) fn open(&mut self) {
        let tools = Tools {
            store: self.store.clone(),
            artifacts: self.artifacts.clone(),
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            handle: self.runtime.handle().clone(),
            stopping: Arc::new(AtomicBool::new(false)),
            looker: Arc::new(Looker::Here(Arc::clone(&self.renderers))),
            farm: self.farm.path().to_owned(),
            free_floor_bytes: self.free_floor_bytes,
        };
        let view = self.runtime.block_on(self.store.watch_folder(self.view.id)).unwrap();
        let recipes = Library::load(None).unwrap();
        let settle_ms = view.rules.settle_ms.unwrap();
        let engine =
            Engine::open(tools, recipes, Arc::clone(&self.renderers), view, settle_ms).unwrap();
        self.engine = Some(engine);
        self.bell = None;
    }

    /// As after `kill -9`: nothing is said to the store or to the engine, which is forgotten.
    pub(super) fn restart(&mut self) {
        self.engine = None;
        self.runtime.block_on(self.store.close());
        self.store =
            Store::open(self.farm.path(), Arc::clone(&self.clock) as Arc<dyn Clock>).unwrap();
        self.artifacts = Artifacts::open(self.farm.path()).unwrap();
        self.open();
    }

    /// A path in the watch folder.
    pub(super) fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.drop_in.path().join(Path::new(name.as_ref()))
    }

    /// Writes a file with its folders.
    pub(super) fn write(&self, name: impl AsRef<OsStr>, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Lets time pass without a step.
    pub(super) fn pass_ms(&self, ms: u64) {
        let mut now = self.clock.0.lock().unwrap();
        now.mono_ms += ms;
        now.wall_ms += i64::try_from(ms).unwrap();
    }

    /// One step that has seen all that is in the folder; its jobs.
    pub(super) fn step(&mut self) -> Vec<Job> {
        if BY_EVENTS.get() { self.step_by_events() } else { self.step_by_looking() }
    }

    /// As a folder's thread does: its engine asks for events, and is told when they come.
    fn step_by_events(&mut self) -> Vec<Job> {
        let mut jobs = Vec::new();
        loop {
            let now = self.clock.now();
            let engine = self.engine.as_mut().unwrap();
            if engine.lacks_events(now.mono_ms) {
                let (ring, bell) = sync_channel(1);
                engine.ask_for_events(now.mono_ms, move || _ = ring.try_send(()));
                self.bell = Some(bell);
            }
            engine.around.hints_at_ms = 0;
            engine.has_news = true;
            jobs.extend(engine.step(now).unwrap().jobs);
            if self.has_seen_all() {
                return jobs;
            }
            let told = self.bell.as_ref().map(|bell| bell.recv_timeout(PATIENCE));
            assert_eq!(told, Some(Ok(())), "the system told of nothing: {:?}", self.states());
        }
    }

    /// Whether the engine knows what is in the folder as it is now, but for what it looks at anyway.
    fn has_seen_all(&self) -> bool {
        let engine = self.engine.as_ref().unwrap();
        if engine.around.hints.is_none() {
            // Gone, until a timer looks for it again.
            return true;
        }
        if !self.drop_in.path().is_dir() {
            return false;
        }
        let mut there = BTreeSet::new();
        walk(self.drop_in.path(), &mut there);
        let below: BTreeSet<PathBuf> = there
            .iter()
            .filter_map(|path| Some(path.strip_prefix(self.drop_in.path()).ok()?.to_owned()))
            .filter(|path| !crate::watch::seeing::is_ours(path))
            .filter(|path| engine.rules.subfolders || path.parent() == Some(Path::new("")))
            .collect();
        let is_known = |path: &PathBuf| {
            let Some(tracked) = engine.get(path) else { return false };
            let found = std::fs::symlink_metadata(self.drop_in.path().join(path));
            let same = found.is_ok_and(|it| crate::artifacts::sight_of(&it) == tracked.sight);
            let ignored = tracked.stage == Stage::Ended(WatchFileState::Ignored);
            same || ignored || matches!(tracked.stage, Stage::Settling { .. })
        };
        let is_there = |(folder, name): (&PathBuf, &std::ffi::OsString)| {
            let path = folder.join(name);
            let tracked = engine.get(&path);
            let settles = tracked.is_some_and(|it| matches!(it.stage, Stage::Settling { .. }));
            settles || std::fs::symlink_metadata(self.drop_in.path().join(path)).is_ok()
        };
        let mut names = engine
            .files
            .iter()
            .flat_map(|(folder, files)| files.keys().map(move |name| (folder, name)));
        below.iter().all(is_known) && names.all(is_there)
    }

    /// As a timer that looks at everything.
    fn step_by_looking(&mut self) -> Vec<Job> {
        let now = self.clock.now();
        let engine = self.engine.as_mut().unwrap();
        engine.around.whole_at_ms = 0;
        engine.has_news = true;
        engine.step(now).unwrap().jobs
    }

    /// Does jobs to their ends, one after the other.
    pub(super) fn work(&mut self, jobs: Vec<Job>) {
        let engine = self.engine.as_mut().unwrap();
        for job in jobs {
            let done = engine.tools.run(job);
            engine.done(done, self.clock.now()).unwrap();
        }
    }

    /// Steps until nothing is left to do at this moment.
    pub(super) fn settle_now(&mut self) {
        for _ in 0..100_000 {
            let jobs = self.step();
            if jobs.is_empty() {
                return;
            }
            self.work(jobs);
        }
        panic!("there is always something to do");
    }

    /// Lets time pass in looks of a quarter of a second.
    pub(super) fn run_ms(&mut self, ms: u64) {
        self.settle_now();
        for _ in 0..ms.div_ceil(250) {
            self.pass_ms(250);
            self.settle_now();
        }
    }

    /// All files that the ledger has, by path.
    pub(super) fn files(&self) -> Vec<WatchFileView> {
        let mut all = Vec::new();
        let mut before = None;
        loop {
            let page = self.store.watch_files(self.view.id, None, before, 1_000);
            let page = self.runtime.block_on(page).unwrap();
            let Some(last) = page.last() else { break };
            before = Some((last.since_ms, last.id.0));
            all.extend(page);
        }
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all
    }

    /// One file as the ledger has it.
    pub(super) fn file(&self, shown: &str) -> WatchFileView {
        let found = self.files().into_iter().find(|file| file.path == shown);
        found.unwrap_or_else(|| panic!("{shown} is not known: {:#?}", self.files()))
    }

    /// The state of a file.
    pub(super) fn state(&self, shown: &str) -> WatchFileState {
        self.file(shown).state
    }

    /// Paths and states of all files.
    pub(super) fn states(&self) -> Vec<(String, WatchFileState)> {
        self.files().into_iter().map(|file| (file.path, file.state)).collect()
    }

    /// The asset's name and version of a file that was handed in.
    pub(super) fn asset(&self, shown: &str) -> (String, u32) {
        let drop = self.file(shown).drop.expect("it was handed in");
        (drop.asset.as_str().to_owned(), drop.asset_version)
    }

    /// How many pipelines there are.
    pub(super) fn pipelines(&self) -> usize {
        let page = crate::store::Page { before: None, limit: 1_000 };
        self.runtime.block_on(self.store.pipelines(page)).unwrap().len()
    }

    /// Whether the content store has these bytes.
    pub(super) fn is_stored(&self, bytes: &[u8]) -> bool {
        self.artifacts.contains(&Checksum::of(bytes)).unwrap()
    }

    /// Checksums of all that the content store has.
    pub(super) fn stored(&self) -> Vec<String> {
        let mut names = Vec::new();
        for folder in std::fs::read_dir(self.farm.path().join("store")).unwrap() {
            for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
                names.push(file.unwrap().file_name().into_string().unwrap());
            }
        }
        names.sort();
        names
    }

    /// Leaves an order.
    pub(super) fn order(&self, order: WatchOrder) {
        let new = NewWatchOrder { order, actor: "ana".to_owned() };
        self.runtime.block_on(self.store.order_watch(self.view.id, new)).unwrap();
    }
}

fn walk(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), found),
            _ => _ = found.insert(entry.path()),
        }
    }
}

/// A picture that every reader takes, different for each number.
pub(super) fn png(number: u32) -> Vec<u8> {
    let colour = image::Rgb(number.to_le_bytes()[..3].try_into().unwrap());
    let picture = image::RgbImage::from_pixel(2, 2, colour);
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// A triangle whose materials are in another file.
pub(super) const OBJ: &[u8] = b"mtllib wood.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl wood\nf 1 2 3\n";
/// Materials with a texture.
pub(super) const MTL: &[u8] = b"newmtl wood\nmap_Kd wood.png\n";
