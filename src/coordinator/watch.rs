//! Watch folders: set up, looked at, ordered about. The watcher is started beside the coordinator
//! from [`WatchParts`]; here is only what people say to it, by way of the store.

use super::dead_letters::check_order;
use super::extract::{At, JsonBody, Params};
use super::pipelines::check_text;
use super::problem::{Conflicts, Refusal, Refusals};
use super::state::{Shared, blocking};
use super::watch_rules::{self, Place};
use crate::artifacts::Artifacts;
use crate::clock::Clock;
use crate::model::{WatchFileId, WatchFolderId, limits};
use crate::protocol::submit::Order;
use crate::protocol::watch::{
    NewWatchFolder, NewWatchOrder, WatchChange, WatchFileState, WatchFileView, WatchFolderView,
    WatchOrder,
};
use crate::recipes::Library;
use crate::store::Store;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Notify;

/// Files of a listing when the call does not say.
const DEFAULT_FILES: u32 = 100;

/// What a watcher of the farm's folders is started from.
pub struct WatchParts {
    /// The ledger.
    pub store: Store,
    /// Where bytes go.
    pub artifacts: Artifacts,
    /// The recipes that rules may name.
    pub library: Library,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// The farm's folder.
    pub folder: PathBuf,
    /// Told when an operator changed a folder or left an order.
    pub changed: Arc<Notify>,
}

/// All watch folders.
#[utoipa::path(get, path = "/v1/watch", tag = "watch folders",
    responses((status = 200, body = Vec<WatchFolderView>), Refusals))]
pub(super) async fn list(
    State(farm): State<Shared>,
) -> Result<Json<Vec<WatchFolderView>>, Refusal> {
    Ok(Json(farm.store.watch_folders().await?))
}

/// Watches a folder of the coordinator's machine.
#[utoipa::path(post, path = "/v1/watch", tag = "watch folders", request_body = NewWatchFolder,
    responses((status = 201, body = WatchFolderView), Refusals, Conflicts))]
pub(super) async fn add(
    State(farm): State<Shared>,
    JsonBody(new): JsonBody<NewWatchFolder>,
) -> Result<(StatusCode, Json<WatchFolderView>), Refusal> {
    check_text("actor", &new.actor)?;
    let place = places(&farm).await?;
    let library = farm.library.clone();
    let new = blocking(move || -> Result<NewWatchFolder, Refusal> {
        let path = watch_rules::checked_path(&new.path, &place)?;
        let rules = watch_rules::checked(new.rules, &library, &place, &path)?;
        Ok(NewWatchFolder { path, rules, ..new })
    })
    .await?;
    let view = farm.store.add_watch_folder(new).await?;
    tracing::info!(folder = %view.id, path = view.path, "a folder is watched");
    farm.watch_changed.notify_one();
    Ok((StatusCode::CREATED, Json(view)))
}

/// One watch folder.
#[utoipa::path(get, path = "/v1/watch/{folder}", tag = "watch folders",
    params(("folder" = i64, Path)), responses((status = 200, body = WatchFolderView), Refusals))]
pub(super) async fn show(
    State(farm): State<Shared>,
    At(folder): At<WatchFolderId>,
) -> Result<Json<WatchFolderView>, Refusal> {
    Ok(Json(farm.store.watch_folder(folder).await?))
}

/// Changes the rules of a watch folder, pauses or resumes it.
#[utoipa::path(put, path = "/v1/watch/{folder}", tag = "watch folders",
    params(("folder" = i64, Path)), request_body = WatchChange,
    responses((status = 200, body = WatchFolderView), Refusals, Conflicts))]
pub(super) async fn change(
    State(farm): State<Shared>,
    At(folder): At<WatchFolderId>,
    JsonBody(mut change): JsonBody<WatchChange>,
) -> Result<Json<WatchFolderView>, Refusal> {
    check_text("actor", &change.actor)?;
    check_text("reason", &change.reason)?;
    let own = farm.store.watch_folder(folder).await?.path;
    if let Some(rules) = change.rules.take() {
        let place = places(&farm).await?;
        let library = farm.library.clone();
        let checked = blocking(move || watch_rules::checked(rules, &library, &place, &own)).await?;
        change.rules = Some(checked);
    }
    let view = farm.store.change_watch_folder(folder, change).await?;
    tracing::info!(%folder, path = view.path, paused = view.paused, "watch folder changed");
    farm.watch_changed.notify_one();
    Ok(Json(view))
}

/// Watches a folder no more. Its files and its ledger stay.
#[utoipa::path(delete, path = "/v1/watch/{folder}", tag = "watch folders",
    params(("folder" = i64, Path)), request_body = Order,
    responses((status = 204), Refusals, Conflicts))]
pub(super) async fn remove(
    State(farm): State<Shared>,
    At(folder): At<WatchFolderId>,
    JsonBody(order): JsonBody<Order>,
) -> Result<StatusCode, Refusal> {
    check_order(&order)?;
    farm.store.remove_watch_folder(folder, &order.actor, &order.reason).await?;
    tracing::info!(%folder, "a folder is watched no more");
    farm.watch_changed.notify_one();
    Ok(StatusCode::NO_CONTENT)
}

/// Takes files anew, or takes them back. The watcher carries it out; the files' states tell.
#[utoipa::path(post, path = "/v1/watch/{folder}/orders", tag = "watch folders",
    params(("folder" = i64, Path)), request_body = NewWatchOrder,
    responses((status = 202), Refusals, Conflicts))]
pub(super) async fn order(
    State(farm): State<Shared>,
    At(folder): At<WatchFolderId>,
    JsonBody(new): JsonBody<NewWatchOrder>,
) -> Result<StatusCode, Refusal> {
    check_text("actor", &new.actor)?;
    if let WatchOrder::Retake { recipe: Some(recipe), .. }
    | WatchOrder::RetakeAll { recipe: Some(recipe) } = &new.order
    {
        watch_rules::known_recipe(recipe, &farm.library)?;
    }
    tracing::info!(%folder, order = ?new.order, actor = new.actor, "watched files ordered");
    farm.store.order_watch(folder, new).await?;
    farm.watch_changed.notify_one();
    Ok(StatusCode::ACCEPTED)
}

/// Which files a listing shows.
#[derive(Debug, Deserialize)]
pub(super) struct Filter {
    state: Option<WatchFileState>,
    before_ms: Option<i64>,
    before_id: Option<i64>,
    limit: Option<u32>,
}

/// Files of a watch folder, newest changes first; the last row of a page begins the next one.
#[utoipa::path(get, path = "/v1/watch/{folder}/files", tag = "watch folders",
    params(("folder" = i64, Path), ("state" = Option<WatchFileState>, Query),
        ("before_ms" = Option<i64>, Query), ("before_id" = Option<i64>, Query),
        ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Vec<WatchFileView>), Refusals))]
pub(super) async fn files(
    State(farm): State<Shared>,
    At(folder): At<WatchFolderId>,
    Params(filter): Params<Filter>,
) -> Result<Json<Vec<WatchFileView>>, Refusal> {
    farm.store.watch_folder(folder).await?;
    let before = filter.before_ms.zip(filter.before_id);
    let limit = filter.limit.unwrap_or(DEFAULT_FILES).clamp(1, limits::ROWS_PER_PAGE);
    Ok(Json(farm.store.watch_files(folder, filter.state, before, limit).await?))
}

/// One file of a watch folder.
#[utoipa::path(get, path = "/v1/watch/{folder}/files/{file}", tag = "watch folders",
    params(("folder" = i64, Path), ("file" = i64, Path)),
    responses((status = 200, body = WatchFileView), Refusals))]
pub(super) async fn file(
    State(farm): State<Shared>,
    At((folder, file)): At<(WatchFolderId, WatchFileId)>,
) -> Result<Json<WatchFileView>, Refusal> {
    let view = farm.store.watch_file(file).await?;
    if view.folder == folder {
        Ok(Json(view))
    } else {
        Err(crate::store::StoreError::NotFound(format!("file {file} of watch folder {folder}"))
            .into())
    }
}

async fn places(farm: &Shared) -> Result<Place, Refusal> {
    let watched = farm.store.watch_folders().await?.into_iter().map(|view| view.path.into());
    Ok(Place { farm: farm.folder.clone(), watched: watched.collect() })
}
