//! The calls about watch folders.

use super::error::ClientError;
use super::http::{Client, Query};
use crate::model::{WatchFileId, WatchFolderId};
use crate::protocol::submit::Order;
use crate::protocol::watch::{
    NewWatchFolder, NewWatchOrder, WatchChange, WatchFileState, WatchFileView, WatchFolderView,
};
use reqwest::Method;

/// Which files of a watch folder to list; newest changes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct WatchedFiles {
    /// Only those in this state.
    pub state: Option<WatchFileState>,
    /// After this row, by when it changed and by its number.
    pub before: Option<(i64, WatchFileId)>,
    /// At most this many; none means as many as the coordinator gives.
    pub limit: Option<u32>,
}

impl Client {
    /// `GET /v1/watch`.
    pub async fn watch_folders(&self) -> Result<Vec<WatchFolderView>, ClientError> {
        self.get("/watch").await
    }

    /// `GET /v1/watch/{folder}`.
    pub async fn watch_folder(
        &self,
        folder: WatchFolderId,
    ) -> Result<WatchFolderView, ClientError> {
        self.get(&format!("/watch/{folder}")).await
    }

    /// `POST /v1/watch`.
    pub async fn add_watch_folder(
        &self,
        new: &NewWatchFolder,
    ) -> Result<WatchFolderView, ClientError> {
        self.post("/watch", new).await
    }

    /// `PUT /v1/watch/{folder}`.
    pub async fn change_watch_folder(
        &self,
        folder: WatchFolderId,
        change: &WatchChange,
    ) -> Result<WatchFolderView, ClientError> {
        self.put(&format!("/watch/{folder}"), change).await
    }

    /// `DELETE /v1/watch/{folder}`.
    pub async fn remove_watch_folder(
        &self,
        folder: WatchFolderId,
        order: &Order,
    ) -> Result<(), ClientError> {
        self.tell(Method::DELETE, &format!("/watch/{folder}"), order).await
    }

    /// `POST /v1/watch/{folder}/orders`.
    pub async fn order_watch(
        &self,
        folder: WatchFolderId,
        order: &NewWatchOrder,
    ) -> Result<(), ClientError> {
        self.tell(Method::POST, &format!("/watch/{folder}/orders"), order).await
    }

    /// `GET /v1/watch/{folder}/files`.
    pub async fn watch_files(
        &self,
        folder: WatchFolderId,
        wanted: WatchedFiles,
    ) -> Result<Vec<WatchFileView>, ClientError> {
        let query = Query::default()
            .with("state", wanted.state.map(WatchFileState::as_str))
            .with("before_ms", wanted.before.map(|(at_ms, _)| at_ms))
            .with("before_id", wanted.before.map(|(_, id)| id))
            .with("limit", wanted.limit);
        self.get(&format!("/watch/{folder}/files{}", query.0)).await
    }
}
