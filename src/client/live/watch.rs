//! Watch folders for a window: what is fetched of them, and what may be ordered.

use super::shared::{Shared, lock};
use super::{Fetched, Notice, fetch};
use crate::client::error::ClientError;
use crate::client::watch::WatchedFiles;
use crate::model::{WatchFolderId, limits};
use crate::protocol::submit;
use crate::protocol::watch::{
    NewWatchFolder, NewWatchOrder, WatchChange, WatchFileState, WatchFileView, WatchFolderView,
    WatchOrder, WatchRules,
};
use std::sync::Arc;

/// Files of one list that are fetched, the newest changes first; a filter finds older ones.
pub const FILES_SHOWN: usize = 5_000;

/// What may be asked for of watch folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchWish {
    /// Watch a folder, with an absolute path on the coordinator's machine.
    Add {
        /// Which.
        path: String,
        /// What happens with its files.
        rules: WatchRules,
    },
    /// Other rules.
    Change {
        /// Of which folder.
        folder: WatchFolderId,
        /// All of them.
        rules: WatchRules,
    },
    /// Take nothing more for now, or go on.
    Pause {
        /// Which folder.
        folder: WatchFolderId,
        /// Whether it is to rest.
        paused: bool,
    },
    /// Watch a folder no more.
    Remove {
        /// Which.
        folder: WatchFolderId,
    },
    /// Something with files of a folder.
    Files {
        /// Which folder.
        folder: WatchFolderId,
        /// What.
        order: WatchOrder,
    },
}

/// Which files of which folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WatchList {
    /// The folder.
    pub folder: WatchFolderId,
    /// Only those in this state.
    pub state: Option<WatchFileState>,
}

pub(super) fn folders(shared: &Arc<Shared>) -> Fetched<Vec<WatchFolderView>> {
    // How the watching goes is told by no event.
    fetch::look(shared, |shared| &shared.watch_folders, (), true, fetch_folders)
}

pub(super) fn files(shared: &Arc<Shared>, list: WatchList) -> Fetched<Vec<WatchFileView>> {
    // How far a file is that settles is told by no event: there would be too many.
    let folders = lock(&shared.watch_folders).peek(&());
    let folder = folders.iter().flat_map(|all| all.iter()).find(|it| it.id == list.folder);
    let moving = folder.is_some_and(|it| it.counts.settling > 0 || it.counts.waiting > 0);
    fetch::look(shared, |shared| &shared.watch_files, list, moving, fetch_files)
}

async fn fetch_folders(shared: Arc<Shared>, (): ()) -> fetch::Weighed<Vec<WatchFolderView>> {
    let folders = shared.client.watch_folders().await.map_err(|error| error.to_string())?;
    let counts = |all: &[WatchFolderView]| -> Vec<_> {
        all.iter().map(|folder| (folder.id, folder.counts)).collect()
    };
    let before = lock(&shared.watch_folders).peek(&());
    if before.is_some_and(|before| counts(&before) != counts(&folders)) {
        lock(&shared.watch_files).mark_all_stale();
    }
    Ok((folders, 1))
}

async fn fetch_files(shared: Arc<Shared>, list: WatchList) -> fetch::Weighed<Vec<WatchFileView>> {
    let mut all: Vec<WatchFileView> = Vec::new();
    while all.len() < FILES_SHOWN {
        let wanted = WatchedFiles {
            state: list.state,
            before: all.last().map(|last| (last.since_ms, last.id)),
            limit: Some(limits::ROWS_PER_PAGE),
        };
        let page = shared.client.watch_files(list.folder, wanted).await;
        let page = page.map_err(|error| error.to_string())?;
        let is_last = page.len() < limits::ROWS_PER_PAGE as usize;
        all.extend(page);
        if is_last {
            break;
        }
    }
    all.truncate(FILES_SHOWN);
    Ok((all, 1))
}

pub(super) async fn carry_out(shared: &Shared, wish: WatchWish) -> Vec<Notice> {
    let (client, actor) = (&shared.client, shared.actor.clone());
    let change = |rules, paused| WatchChange {
        rules,
        paused,
        actor: actor.clone(),
        reason: "in the window".to_owned(),
    };
    let result = match wish {
        WatchWish::Add { path, rules } => {
            let new = NewWatchFolder { path, rules, actor };
            let added = client.add_watch_folder(&new).await;
            return saved(shared, added, "is watched from now on");
        }
        WatchWish::Change { folder, rules } => {
            let changed = client.change_watch_folder(folder, &change(Some(rules), None)).await;
            return saved(shared, changed, "has new rules");
        }
        WatchWish::Pause { folder, paused } => {
            let changed = client.change_watch_folder(folder, &change(None, Some(paused))).await;
            let what = if paused { "rests: nothing is taken from it" } else { "goes on" };
            changed.map(|view| format!("{} {what}", view.path))
        }
        WatchWish::Remove { folder } => {
            let order = submit::Order { actor, reason: "removed in the window".to_owned() };
            let removed = client.remove_watch_folder(folder, &order).await;
            removed.map(|()| "The folder is not watched any more; its files stay".to_owned())
        }
        WatchWish::Files { folder, order } => {
            let text = match &order {
                WatchOrder::Withdraw { .. } => "The drop is withdrawn",
                WatchOrder::Retake { .. } => "The file is taken again",
                WatchOrder::RetakeAll { .. } => "All files of the folder are taken again",
            };
            let told = client.order_watch(folder, &NewWatchOrder { order, actor }).await;
            told.map(|()| text.to_owned())
        }
    };
    lock(&shared.watch_folders).mark_all_stale();
    vec![match result {
        Ok(text) => Notice { is_error: false, text, pipeline: None },
        Err(error) => Notice { is_error: true, text: error.to_string(), pipeline: None },
    }]
}

/// What became of a dialog: a refusal is said there and nowhere else.
fn saved(shared: &Shared, result: Result<WatchFolderView, ClientError>, what: &str) -> Vec<Notice> {
    lock(&shared.watch_folders).mark_all_stale();
    match result {
        Ok(view) => {
            *lock(&shared.watch_saved) = Some(Ok(view.id));
            let text = format!("{} {what}", view.path);
            vec![Notice { is_error: false, text, pipeline: None }]
        }
        Err(error) => {
            *lock(&shared.watch_saved) = Some(Err(error.to_string()));
            Vec::new()
        }
    }
}
