//! A live view of a farm for a window: a read model that follows the events, and orders that
//! return as notices. Knows no window; it calls a waker when something changed.

mod cache;
mod draft;
mod fetch;
mod orders;
mod shared;
mod watch;

use super::http::Client;
use super::intake::Preview;
use super::read_model::ReadModel;
use crate::clock::Clock;
use crate::model::{Checksum, JobId, PipelineId, WatchFolderId};
use crate::protocol::view::PipelineDetail;
use crate::protocol::watch::{WatchFileView, WatchFolderView};
pub use draft::{Draft, has_scene};
use shared::Shared;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio_util::sync::DropGuard;
pub use watch::{FILES_SHOWN, WatchList, WatchWish};

/// Called, from any thread, when a window should look again.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// How the connection is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connection {
    /// The first snapshot is on its way.
    Connecting,
    /// Events arrive.
    Live,
    /// Cut off; tries again. The model stays as it was.
    Lost {
        /// Why.
        why: String,
    },
}

/// What the window may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Hand this in.
    Submit(Draft),
    /// Replay a dead letter.
    Replay {
        /// The job.
        job: JobId,
    },
    /// Dismiss a dead letter.
    Dismiss {
        /// The job.
        job: JobId,
    },
    /// Cancel a pipeline.
    Cancel {
        /// The pipeline.
        pipeline: PipelineId,
    },
    /// Something with watch folders.
    Watch(WatchWish),
}

/// What became of an order, for a toast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Whether the order was refused or failed.
    pub is_error: bool,
    /// For people: what happened, why, what to do.
    pub text: String,
    /// The pipeline to show, if there is one.
    pub pipeline: Option<PipelineId>,
}

/// Something fetched in the background.
#[derive(Debug)]
pub enum Fetched<T> {
    /// On its way.
    Pending,
    /// Here.
    Ready(Arc<T>),
    /// Could not be had.
    Failed(String),
}

impl<T> Clone for Fetched<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Pending => Self::Pending,
            Self::Ready(value) => Self::Ready(Arc::clone(value)),
            Self::Failed(why) => Self::Failed(why.clone()),
        }
    }
}

/// A decoded picture: sRGB, straight alpha.
#[derive(Debug, Clone)]
pub struct Pixels {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// `width × height × 4` bytes.
    pub rgba: Vec<u8>,
}

/// The live view. Cheap to clone; the background tasks end with the last clone.
#[derive(Clone)]
pub struct LiveFarm {
    shared: Arc<Shared>,
    _stop: Arc<DropGuard>,
}

impl LiveFarm {
    /// Begins to follow the client's farm on `handle`'s threads. `waker` is called when something
    /// changed, at most once in 16 ms.
    pub fn connect(client: Client, waker: Waker, handle: &Handle, clock: Arc<dyn Clock>) -> Self {
        let (shared, stop) = shared::start(client, waker, handle, clock);
        Self { shared, _stop: Arc::new(stop.drop_guard()) }
    }

    /// The farm now; the same `Arc` until something changes.
    pub fn model(&self) -> Arc<ReadModel> {
        self.shared.model()
    }

    /// How the connection is.
    pub fn connection(&self) -> Connection {
        self.shared.connection()
    }

    /// The wall clock in Unix milliseconds, for ages and countdowns.
    pub fn now_ms(&self) -> i64 {
        self.shared.clock.now().wall_ms
    }

    /// Where the coordinator is, for the status line.
    pub fn address(&self) -> String {
        self.shared.client.url().to_owned()
    }

    /// Sends an order; never blocks. A full queue is answered by a notice.
    pub fn order(&self, order: Order) {
        self.shared.order(order);
    }

    /// Orders sent whose notice has not come yet.
    pub fn orders_pending(&self) -> usize {
        self.shared.orders_pending()
    }

    /// Notices that came since the last call.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.shared.take_notices()
    }

    /// What handing in `draft` would do; looked at when it has changed.
    pub fn preview(&self, draft: &Draft) -> Fetched<Vec<Preview>> {
        draft::preview(&self.shared, draft)
    }

    /// A picture from the content store; fetched once, kept while it fits the cache.
    pub fn picture(&self, checksum: Checksum) -> Fetched<Pixels> {
        fetch::picture(&self.shared, checksum)
    }

    /// A pipeline in full; fetched again when the pipeline has changed since.
    pub fn pipeline(&self, pipeline: PipelineId) -> Fetched<PipelineDetail> {
        fetch::pipeline(&self.shared, pipeline)
    }

    /// All watch folders; fetched again and again while somebody looks.
    pub fn watch_folders(&self) -> Fetched<Vec<WatchFolderView>> {
        watch::folders(&self.shared)
    }

    /// The newest [`FILES_SHOWN`] files of a watch folder; fetched again when one has changed.
    pub fn watch_files(&self, list: WatchList) -> Fetched<Vec<WatchFileView>> {
        watch::files(&self.shared, list)
    }

    /// What became of the last folder that was added or changed, once; a refusal with its reason.
    pub fn take_watch_saved(&self) -> Option<Result<WatchFolderId, String>> {
        shared::lock(&self.shared.watch_saved).take()
    }

    /// The log of a job's last attempt, its end only (64 KiB); fetched again while the job runs.
    pub fn log_tail(&self, job: JobId) -> Fetched<String> {
        fetch::log_tail(&self.shared, job)
    }
}

impl std::fmt::Debug for LiveFarm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveFarm")
            .field("address", &self.shared.client.url())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
