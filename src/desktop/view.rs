//! What the window asks of a farm. Tests answer with prepared models.

use crate::client::intake::Preview;
use crate::client::live::{Connection, Draft, Fetched, LiveFarm, Notice, Order, Pixels, WatchList};
use crate::client::read_model::ReadModel;
use crate::model::{Checksum, JobId, PipelineId, WatchFolderId};
use crate::protocol::view::PipelineDetail;
use crate::protocol::watch::{WatchFileView, WatchFolderView};
use std::sync::Arc;

/// A farm as the window sees it. No call blocks.
pub trait FarmView: Send {
    /// The farm now; the same `Arc` until something changes.
    fn model(&self) -> Arc<ReadModel>;
    /// How the connection is.
    fn connection(&self) -> Connection;
    /// The wall clock in Unix milliseconds.
    fn now_ms(&self) -> i64;
    /// Where the coordinator is.
    fn address(&self) -> String;
    /// Sends an order.
    fn order(&self, order: Order);
    /// Orders sent whose notice has not come yet.
    fn orders_pending(&self) -> usize;
    /// Notices that came since the last call.
    fn take_notices(&self) -> Vec<Notice>;
    /// What handing in a draft would do.
    fn preview(&self, draft: &Draft) -> Fetched<Vec<Preview>>;
    /// A picture from the content store.
    fn picture(&self, checksum: Checksum) -> Fetched<Pixels>;
    /// A pipeline in full.
    fn pipeline(&self, pipeline: PipelineId) -> Fetched<PipelineDetail>;
    /// The end of the log of a job's last attempt.
    fn log_tail(&self, job: JobId) -> Fetched<String>;
    /// All watch folders.
    fn watch_folders(&self) -> Fetched<Vec<WatchFolderView>>;
    /// The newest files of a watch folder.
    fn watch_files(&self, list: WatchList) -> Fetched<Vec<WatchFileView>>;
    /// What became of the last folder that was added or changed, once.
    fn take_watch_saved(&self) -> Option<Result<WatchFolderId, String>>;
}

impl FarmView for LiveFarm {
    fn model(&self) -> Arc<ReadModel> {
        self.model()
    }

    fn connection(&self) -> Connection {
        self.connection()
    }

    fn now_ms(&self) -> i64 {
        self.now_ms()
    }

    fn address(&self) -> String {
        self.address()
    }

    fn order(&self, order: Order) {
        self.order(order);
    }

    fn orders_pending(&self) -> usize {
        self.orders_pending()
    }

    fn take_notices(&self) -> Vec<Notice> {
        self.take_notices()
    }

    fn preview(&self, draft: &Draft) -> Fetched<Vec<Preview>> {
        self.preview(draft)
    }

    fn picture(&self, checksum: Checksum) -> Fetched<Pixels> {
        self.picture(checksum)
    }

    fn pipeline(&self, pipeline: PipelineId) -> Fetched<PipelineDetail> {
        self.pipeline(pipeline)
    }

    fn log_tail(&self, job: JobId) -> Fetched<String> {
        self.log_tail(job)
    }

    fn watch_folders(&self) -> Fetched<Vec<WatchFolderView>> {
        self.watch_folders()
    }

    fn watch_files(&self, list: WatchList) -> Fetched<Vec<WatchFileView>> {
        self.watch_files(list)
    }

    fn take_watch_saved(&self) -> Option<Result<WatchFolderId, String>> {
        self.take_watch_saved()
    }
}
