//! What the tasks behind a live view share, and the task that follows the farm.

use super::cache::Cache;
use super::draft::LastLook;
use super::watch::WatchList;
use super::{Connection, Notice, Order, Pixels, Waker};
use crate::client::events::{Follower, Step};
use crate::client::http::Client;
use crate::client::read_model::ReadModel;
use crate::clock::Clock;
use crate::model::{Checksum, JobId, JobState, PipelineId, WatchFolderId};
use crate::protocol::event::{Change, Event};
use crate::protocol::view::PipelineDetail;
use crate::protocol::watch::{WatchFileView, WatchFolderView};
use std::collections::VecDeque;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

/// Pipelines in the first picture; events add newer ones.
const SNAPSHOT_PIPELINES: u32 = 1_000;
/// Many changes within this time wake the window once.
const COALESCE: Duration = Duration::from_millis(16);
/// Orders that wait.
const ORDERS: usize = 64;
/// Notices that wait for the window; older ones are dropped.
const NOTICES: usize = 256;
/// Decoded pictures kept, in bytes.
const PICTURE_BYTES: usize = 256 << 20;
/// Pictures fetched and decoded at the same time.
const PICTURES_AT_ONCE: usize = 4;
/// Pipelines kept in full.
const DETAILS: usize = 32;
/// Log ends kept.
const LOGS: usize = 16;
/// Shortest time between two fetches of one pipeline.
const DETAIL_PAUSE_MS: u64 = 250;
/// Shortest time between two fetches of one log.
const LOG_PAUSE_MS: u64 = 1_000;
/// Lists of files of watch folders kept.
const WATCH_LISTS: usize = 4;
/// Shortest time between two fetches of one of them.
const WATCH_FILES_PAUSE_MS: u64 = 1_000;
/// Shortest time between two fetches of the watch folders.
const WATCH_FOLDERS_PAUSE_MS: u64 = 1_000;
/// Wait before a snapshot that an event about an unknown pipeline asks for.
const UNKNOWN_PAUSE: Duration = Duration::from_millis(500);

pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) actor: String,
    handle: Handle,
    stop: CancellationToken,
    changed: Notify,
    model: Mutex<Arc<ReadModel>>,
    connection: Mutex<Connection>,
    notices: Mutex<VecDeque<Notice>>,
    orders: mpsc::Sender<Order>,
    pending: AtomicUsize,
    pub(super) picture_slots: Semaphore,
    pub(super) pictures: Mutex<Cache<Checksum, Pixels>>,
    pub(super) details: Mutex<Cache<PipelineId, PipelineDetail>>,
    pub(super) logs: Mutex<Cache<JobId, String>>,
    pub(super) watch_folders: Mutex<Cache<(), Vec<WatchFolderView>>>,
    pub(super) watch_files: Mutex<Cache<WatchList, Vec<WatchFileView>>>,
    /// What became of the last folder that was added or changed.
    pub(super) watch_saved: Mutex<Option<Result<WatchFolderId, String>>>,
    pub(super) preview: Mutex<LastLook>,
    pub(super) preview_slot: Arc<Semaphore>,
}

/// A lock whose holder panicked still holds whole values: each change under it is one step.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn start(
    client: Client,
    waker: Waker,
    handle: &Handle,
    clock: Arc<dyn Clock>,
) -> (Arc<Shared>, CancellationToken) {
    let (sender, receiver) = mpsc::channel(ORDERS);
    let stop = CancellationToken::new();
    let shared = Arc::new(Shared {
        client,
        clock,
        actor: crate::client::actor(),
        handle: handle.clone(),
        stop: stop.clone(),
        changed: Notify::new(),
        model: Mutex::default(),
        connection: Mutex::new(Connection::Connecting),
        notices: Mutex::default(),
        orders: sender,
        pending: AtomicUsize::new(0),
        picture_slots: Semaphore::new(PICTURES_AT_ONCE),
        pictures: Mutex::new(Cache::new(PICTURE_BYTES, 0)),
        details: Mutex::new(Cache::new(DETAILS, DETAIL_PAUSE_MS)),
        logs: Mutex::new(Cache::new(LOGS, LOG_PAUSE_MS)),
        watch_folders: Mutex::new(Cache::new(1, WATCH_FOLDERS_PAUSE_MS)),
        watch_files: Mutex::new(Cache::new(WATCH_LISTS, WATCH_FILES_PAUSE_MS)),
        watch_saved: Mutex::default(),
        preview: Mutex::default(),
        preview_slot: Arc::new(Semaphore::new(1)),
    });
    shared.spawn(wake(Arc::clone(&shared), waker));
    shared.spawn(follow(Arc::clone(&shared)));
    shared.spawn(super::orders::run(Arc::clone(&shared), receiver));
    (shared, stop)
}

impl Shared {
    /// Runs a task until it ends or the last view is dropped.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.handle.spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = task => {}
            }
        });
    }

    pub(super) fn model(&self) -> Arc<ReadModel> {
        Arc::clone(&lock(&self.model))
    }

    pub(super) fn connection(&self) -> Connection {
        lock(&self.connection).clone()
    }

    pub(super) fn now_mono_ms(&self) -> u64 {
        self.clock.now().mono_ms
    }

    pub(super) fn wake(&self) {
        self.changed.notify_one();
    }

    pub(super) fn order(&self, order: Order) {
        self.pending.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = self.orders.try_send(order) {
            let text = match error {
                mpsc::error::TrySendError::Full(_) => {
                    format!("{ORDERS} orders wait already: try again in a moment")
                }
                mpsc::error::TrySendError::Closed(_) => "the window is closing".to_owned(),
            };
            self.answer(vec![Notice { is_error: true, text, pipeline: None }]);
        }
    }

    pub(super) fn orders_pending(&self) -> usize {
        self.pending.load(Ordering::Relaxed)
    }

    pub(super) fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut *lock(&self.notices)).into()
    }

    /// The answer to one order.
    pub(super) fn answer(&self, answers: Vec<Notice>) {
        {
            let mut notices = lock(&self.notices);
            notices.extend(answers);
            while notices.len() > NOTICES {
                notices.pop_front();
            }
        }
        self.pending.fetch_sub(1, Ordering::Relaxed);
        self.wake();
    }

    fn set_connection(&self, connection: Connection) {
        *lock(&self.connection) = connection;
    }

    /// Folds an event in. False: only a new snapshot can tell what it means.
    fn fold(&self, event: &Event) -> bool {
        let pipeline = {
            let mut model = lock(&self.model);
            // Copies only while the window holds the model of its last frame.
            let model = Arc::make_mut(&mut model);
            if model.apply(event).is_err() {
                return false;
            }
            if let Change::JobChanged { job, to: JobState::FailedTerminal, .. } = &event.change
                && !model.dead_letters.contains_key(job)
            {
                return false;
            }
            model.pipeline_of(event)
        };
        if let Some(pipeline) = pipeline {
            lock(&self.details).mark_stale(pipeline);
        }
        if let Change::JobChanged { job, .. } = &event.change {
            lock(&self.logs).mark_stale(*job);
        }
        // What a drop's pipeline came to is part of its files' rows.
        if let Change::WatchFolderChanged { .. }
        | Change::WatchFileChanged { .. }
        | Change::PipelineChanged { .. } = &event.change
        {
            lock(&self.watch_files).mark_all_stale();
        }
        true
    }
}

async fn wake(shared: Arc<Shared>, waker: Waker) {
    loop {
        shared.changed.notified().await;
        waker();
        tokio::time::sleep(COALESCE).await;
    }
}

async fn follow(shared: Arc<Shared>) {
    let mut follower = Follower::new(shared.client.clone(), SNAPSHOT_PIPELINES);
    loop {
        match follower.next().await {
            Step::Snapshot(snapshot) => {
                *lock(&shared.model) = Arc::new(ReadModel::from_snapshot(*snapshot));
                lock(&shared.details).mark_all_stale();
                lock(&shared.logs).mark_all_stale();
                lock(&shared.watch_files).mark_all_stale();
                shared.set_connection(Connection::Live);
            }
            Step::Event(event) => {
                if !shared.fold(&event) {
                    tokio::time::sleep(UNKNOWN_PAUSE).await;
                    follower.start_over();
                }
            }
            Step::Pulse(pulse) => Arc::make_mut(&mut lock(&shared.model)).pulse(&pulse),
            Step::Lost(error) => {
                tracing::info!(%error, "the event stream broke");
                shared.set_connection(Connection::Lost { why: error.to_string() });
            }
        }
        shared.wake();
    }
}
