//! A live view of a farm for a window: a read model that follows the events, and orders that
//! return as notices. Knows no window; it calls a waker when something changed.

use super::read_model::ReadModel;
use crate::model::{Checksum, JobId, PipelineId};
use crate::protocol::view::PipelineDetail;
use std::path::PathBuf;
use std::sync::Arc;

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
    /// Hand in these files and folders.
    Submit {
        /// Files and folders as dropped.
        paths: Vec<PathBuf>,
        /// The recipe; none means the default.
        recipe: Option<String>,
    },
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
#[derive(Debug, Clone)]
pub enum Fetched<T> {
    /// On its way.
    Pending,
    /// Here.
    Ready(Arc<T>),
    /// Could not be had.
    Failed(String),
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

/// The live view. Cheap to clone.
#[derive(Clone)]
pub struct LiveFarm {}

#[expect(clippy::todo, unused_variables, reason = "signatures first")]
impl LiveFarm {
    /// The farm now; the same `Arc` until something changes.
    pub fn model(&self) -> Arc<ReadModel> {
        todo!()
    }

    /// How the connection is.
    pub fn connection(&self) -> Connection {
        todo!()
    }

    /// The wall clock in Unix milliseconds, for ages and countdowns.
    pub fn now_ms(&self) -> i64 {
        todo!()
    }

    /// Where the coordinator is, for the status line.
    pub fn address(&self) -> String {
        todo!()
    }

    /// Sends an order; never blocks. A full queue is answered by a notice.
    pub fn order(&self, order: Order) {
        todo!()
    }

    /// Orders sent whose notice has not come yet.
    pub fn orders_pending(&self) -> usize {
        todo!()
    }

    /// Notices that came since the last call.
    pub fn take_notices(&self) -> Vec<Notice> {
        todo!()
    }

    /// A picture from the content store; fetched once, kept while it fits the cache.
    pub fn picture(&self, checksum: Checksum) -> Fetched<Pixels> {
        todo!()
    }

    /// A pipeline in full; fetched again when the pipeline has changed since.
    pub fn pipeline(&self, pipeline: PipelineId) -> Fetched<PipelineDetail> {
        todo!()
    }

    /// The log of a job's last attempt, its end only (64 KiB); fetched again while the job runs.
    pub fn log_tail(&self, job: JobId) -> Fetched<String> {
        todo!()
    }
}
