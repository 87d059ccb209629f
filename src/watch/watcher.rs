//! The threads: one for each watch folder, two that read files, and a task that follows what
//! operators change.

use super::engine::Engine;
use super::jobs::{Job, Tools};
use super::looker::Looker;
use super::mail::{Inbox, Letters, Mail, post};
use super::mounts::{self, Storage};
use crate::artifacts::Artifacts;
use crate::clock::Clock;
use crate::model::{WatchFolderId, limits};
use crate::protocol::watch::{Seeing, WatchFolderView, WatchRules};
use crate::recipes::Library;
use crate::renderers;
use crate::store::{Store, StoreError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Threads that read files: one can read while another waits for the disk.
const READERS: usize = 2;
/// Wait after the ledger could not be used.
const TROUBLE_MS: u64 = 1_000;
/// Commits within this time are looked at together.
const NEWS_PAUSE: Duration = Duration::from_millis(200);
/// Folders are looked for again after this time, whatever was told.
const FOLDERS_AGAIN: Duration = Duration::from_secs(30);
/// Longest wait of a folder's thread for anything at all.
const LONGEST_WAIT_MS: u64 = 60_000;

/// What a watcher works with.
pub struct Parts {
    /// The ledger.
    pub store: Store,
    /// Where bytes go.
    pub artifacts: Artifacts,
    /// The recipes that rules may name.
    pub recipes: Library,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// The farm's folder.
    pub farm: PathBuf,
    /// Told when an operator changed a folder or left an order.
    pub changed: Arc<Notify>,
    /// This program, which reads foreign files as a child.
    pub program: PathBuf,
    /// The user's own renderer profiles.
    pub profiles_dir: PathBuf,
    /// Bytes that stay free on the farm's disk.
    pub free_floor_bytes: u64,
}

/// Watches all folders of a farm until it is stopped.
pub struct Watcher {
    stop: CancellationToken,
    stopping: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<()>,
}

impl Watcher {
    /// Begins to watch. Call it inside a runtime.
    pub fn start(parts: Parts) -> Self {
        let (stop, stopping) = (CancellationToken::new(), Arc::new(AtomicBool::new(false)));
        let supervisor = Supervisor::new(parts, Arc::clone(&stopping));
        let task = tokio::spawn(supervisor.run(stop.clone()));
        Self { stop, stopping, task }
    }

    /// Stops all threads; what was being read is read anew after the next start.
    pub async fn shutdown(self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::warn!(%error, "the watcher ended early");
        }
    }
}

struct Supervisor {
    store: Store,
    changed: Arc<Notify>,
    crew: Crew,
    folders: BTreeMap<WatchFolderId, Watched>,
    readers: Vec<JoinHandle<()>>,
    tools: Tools,
}

/// What every folder's thread needs.
#[derive(Clone)]
struct Crew {
    tools: Tools,
    recipes: Library,
    renderers: Arc<renderers::Library>,
    jobs: SyncSender<(Job, Letters)>,
}

struct Watched {
    rules: WatchRules,
    paused: bool,
    is_ending: bool,
    letters: Letters,
    thread: JoinHandle<()>,
}

impl Supervisor {
    fn new(parts: Parts, stopping: Arc<AtomicBool>) -> Self {
        let renderers = renderers::Library::load(Some(&parts.profiles_dir)).unwrap_or_default();
        let looker = Looker::child(parts.program, parts.profiles_dir);
        let tools = Tools {
            store: parts.store.clone(),
            artifacts: parts.artifacts,
            clock: parts.clock,
            handle: Handle::current(),
            stopping,
            looker: Arc::new(looker),
            farm: parts.farm,
            free_floor_bytes: parts.free_floor_bytes,
        };
        let most = limits::WATCH_FOLDERS as usize * super::engine::JOBS_AT_ONCE;
        let (jobs, waiting) = sync_channel::<(Job, Letters)>(most);
        let readers = start_readers(&tools, waiting);
        let crew = Crew {
            tools: tools.clone(),
            recipes: parts.recipes,
            renderers: Arc::new(renderers),
            jobs,
        };
        Self {
            store: parts.store,
            changed: parts.changed,
            crew,
            folders: BTreeMap::new(),
            readers,
            tools,
        }
    }

    async fn run(mut self, stop: CancellationToken) {
        let mut committed = self.store.committed();
        loop {
            match self.store.watch_folders().await {
                Ok(folders) => self.follow(folders),
                Err(StoreError::Closed) => break,
                Err(error) => tracing::warn!(%error, "watch folders cannot be read"),
            }
            self.tell_all();
            let is_over = loop {
                tokio::select! {
                    () = stop.cancelled() => break true,
                    () = self.changed.notified() => break false,
                    () = tokio::time::sleep(FOLDERS_AGAIN) => break false,
                    result = committed.changed() => {
                        if result.is_err() {
                            break true;
                        }
                        self.tell_all();
                        tokio::select! {
                            () = stop.cancelled() => break true,
                            () = tokio::time::sleep(NEWS_PAUSE) => {}
                        }
                    }
                }
            };
            if is_over {
                break;
            }
        }
        self.end().await;
    }

    fn tell_all(&self) {
        for folder in self.folders.values() {
            folder.letters.news();
        }
    }

    /// Starts, stops and tells threads, so that they are what the store says.
    fn follow(&mut self, views: Vec<WatchFolderView>) {
        let wanted: BTreeMap<_, _> = views.into_iter().map(|view| (view.id, view)).collect();
        self.folders.retain(|id, folder| {
            let same = |view: &WatchFolderView| view.rules == folder.rules;
            if !folder.is_ending && !wanted.get(id).is_some_and(same) {
                // One whose box is full is told the next time.
                folder.is_ending = folder.letters.order(Mail::Stop);
            }
            // A folder has one thread at most: the next begins when this one has ended.
            !folder.thread.is_finished()
        });
        for (id, view) in wanted {
            if let Some(folder) = self.folders.get_mut(&id) {
                if folder.paused != view.paused && folder.letters.order(Mail::Paused(view.paused)) {
                    folder.paused = view.paused;
                }
            } else if let Err(error) = self.start(view) {
                tracing::warn!(%error, "no thread for a watch folder");
            }
        }
    }

    fn start(&mut self, view: WatchFolderView) -> std::io::Result<()> {
        let (letters, inbox) = post();
        let crew = self.crew.clone();
        let (id, rules, paused) = (view.id, view.rules.clone(), view.paused);
        let (own, changed) = (letters.clone(), Arc::clone(&self.changed));
        let thread = std::thread::Builder::new().name(format!("watch-{id}")).spawn(move || {
            if watch(&crew, &view, &own, &inbox) == Ending::Told {
                changed.notify_one();
            }
        })?;
        self.folders.insert(id, Watched { rules, paused, is_ending: false, letters, thread });
        Ok(())
    }

    async fn end(self) {
        self.tools.stopping.store(true, Ordering::Relaxed);
        for folder in self.folders.values() {
            // One whose box is full sees the flag.
            let _ = folder.letters.order(Mail::Stop);
        }
        let threads: Vec<_> = self.folders.into_values().map(|folder| folder.thread).collect();
        // The readers end with the last one who could send them a job.
        drop(self.crew);
        let readers = self.readers;
        let joined = tokio::task::spawn_blocking(move || {
            for thread in threads.into_iter().chain(readers) {
                let _ = thread.join();
            }
        });
        let _ = joined.await;
    }
}

fn start_readers(tools: &Tools, waiting: Receiver<(Job, Letters)>) -> Vec<JoinHandle<()>> {
    let waiting = Arc::new(Mutex::new(waiting));
    let start = |number: usize| {
        let (tools, waiting) = (tools.clone(), Arc::clone(&waiting));
        let read = move || {
            loop {
                let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
                let Ok((job, answer)) = next else { return };
                let done = tools.run(job);
                answer.done(done);
            }
        };
        std::thread::Builder::new().name(format!("watch-reader-{number}")).spawn(read)
    };
    (0..READERS).filter_map(|number| start(number).ok()).collect()
}

/// How a folder is seen: whether events are asked for, and how long its files must be still.
fn ways(root: &Path, rules: &WatchRules) -> (bool, u64) {
    let storage = mounts::storage_of(root).unwrap_or(Storage::Remote("unknown".to_owned()));
    let is_local = storage == Storage::Local;
    let events = match rules.seeing {
        Seeing::Auto => is_local,
        Seeing::Events => true,
        Seeing::Polling => false,
    };
    let usual_ms = if is_local { limits::SETTLE_LOCAL_MS } else { limits::SETTLE_REMOTE_MS };
    (events, rules.settle_ms.unwrap_or(usual_ms))
}

/// Why a folder's thread ended.
#[derive(PartialEq, Eq)]
enum Ending {
    /// It was told to: the folder is gone, or has new rules.
    Told,
    /// It cannot go on, and is started again after a while.
    Trouble,
}

/// Watches one folder until it is told to stop.
fn watch(crew: &Crew, view: &WatchFolderView, own: &Letters, inbox: &Inbox) -> Ending {
    let clock = Arc::clone(&crew.tools.clock);
    let (events, settle_ms) = ways(Path::new(&view.path), &view.rules);
    let opened = Engine::open(
        crew.tools.clone(),
        crew.recipes.clone(),
        Arc::clone(&crew.renderers),
        view.clone(),
        settle_ms,
    );
    let mut engine = match opened {
        Ok(engine) => engine,
        // The supervisor starts it again.
        Err(error) => {
            tracing::warn!(%error, path = view.path, "a folder is not watched");
            return Ending::Trouble;
        }
    };
    while !crew.tools.stopping.load(Ordering::Relaxed) {
        if events && engine.lacks_events(clock.now().mono_ms) {
            let letters = own.clone();
            engine.ask_for_events(clock.now().mono_ms, move || letters.wake());
        }
        let wake_at_ms = match engine.step(clock.now()) {
            Ok(step) => {
                for job in step.jobs {
                    if crew.jobs.send((job, own.clone())).is_err() {
                        return Ending::Trouble;
                    }
                }
                step.wake_at_ms
            }
            Err(StoreError::Closed) => return Ending::Trouble,
            Err(error) => {
                tracing::warn!(%error, path = view.path, "the ledger of a watch folder fails");
                clock.now().mono_ms.saturating_add(TROUBLE_MS)
            }
        };
        let now_ms = clock.now().mono_ms;
        let wait_ms = wake_at_ms.saturating_sub(now_ms).min(LONGEST_WAIT_MS);
        if !read_mail(&mut engine, inbox, Duration::from_millis(wait_ms), &*clock) {
            return Ending::Told;
        }
    }
    Ending::Told
}

/// Waits for mail and reads all of it; false where the thread is to end.
fn read_mail(engine: &mut Engine, inbox: &Inbox, wait: Duration, clock: &dyn Clock) -> bool {
    let mut next = inbox.next(wait);
    while let Some(mail) = next {
        match mail {
            Mail::Wake => engine.around.is_told = true,
            Mail::News => engine.has_news = true,
            Mail::Paused(paused) => engine.paused = paused,
            Mail::Stop => return false,
            Mail::Done(done) => match engine.done(*done, clock.now()) {
                Ok(()) => {}
                Err(StoreError::Closed) => return false,
                Err(error) => tracing::warn!(%error, "the ledger of a watch folder fails"),
            },
        }
        next = inbox.next(Duration::ZERO);
    }
    true
}
