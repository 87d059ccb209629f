//! Looks at the whole farm.

use super::dead_letters::check_order;
use super::extract::{At, JsonBody, Params};
use super::problem::{Conflicts, Refusal, Refusals};
use super::state::Shared;
use crate::model::limits;
use crate::protocol::submit::Order;
use crate::protocol::view::{FarmStatus, Snapshot, WorkerView};
use crate::recipes::Recipe;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::Deserialize;

/// Pipelines of a snapshot when the call does not say.
const SNAPSHOT_PIPELINES: u32 = 200;

/// Workers that have a session now.
#[utoipa::path(get, path = "/v1/workers", tag = "farm",
    responses((status = 200, body = Vec<WorkerView>), Refusals))]
pub(super) async fn workers(State(farm): State<Shared>) -> Result<Json<Vec<WorkerView>>, Refusal> {
    let mut workers = Vec::new();
    for record in farm.store.sessions().await? {
        let jobs = farm.store.held(&record.id).await?.into_iter().map(|(job, _)| job).collect();
        let quarantine = farm.store.quarantine(&record.worker).await?;
        workers.push(WorkerView {
            name: record.worker,
            session: record.id,
            capabilities: record.capabilities,
            jobs,
            opened_at_ms: record.opened_at_ms,
            lease_left_ms: 0,
            quarantine,
        });
    }
    farm.fill_leases(&mut workers);
    Ok(Json(workers))
}

/// Gives work to a worker in quarantine again.
#[utoipa::path(post, path = "/v1/workers/{worker}/forgive", tag = "farm",
    params(("worker" = String, Path)), request_body = Order,
    responses((status = 204), Refusals, Conflicts))]
pub(super) async fn forgive(
    State(farm): State<Shared>,
    At(worker): At<String>,
    JsonBody(order): JsonBody<Order>,
) -> Result<StatusCode, Refusal> {
    check_order(&order)?;
    farm.store.forgive(&worker, &order.actor, &order.reason).await?;
    tracing::info!(worker, "worker forgiven");
    Ok(StatusCode::NO_CONTENT)
}

/// How much a snapshot shows.
#[derive(Debug, Deserialize)]
pub(super) struct SnapshotSize {
    pipelines: Option<u32>,
}

/// All that a live client starts from.
#[utoipa::path(get, path = "/v1/snapshot", tag = "farm",
    params(("pipelines" = Option<u32>, Query, description = "Newest pipelines, at most 1000")),
    responses((status = 200, body = Snapshot), Refusals))]
pub(super) async fn snapshot(
    State(farm): State<Shared>,
    Params(size): Params<SnapshotSize>,
) -> Result<Json<Snapshot>, Refusal> {
    let pipelines = size.pipelines.unwrap_or(SNAPSHOT_PIPELINES).min(limits::ROWS_PER_PAGE);
    let mut snapshot = farm.store.snapshot(pipelines).await?;
    farm.fill_progress(&mut snapshot.jobs);
    farm.fill_leases(&mut snapshot.workers);
    Ok(Json(snapshot))
}

/// One look at the farm.
#[utoipa::path(get, path = "/v1/status", tag = "farm",
    responses((status = 200, body = FarmStatus), Refusals))]
pub(super) async fn status(State(farm): State<Shared>) -> Result<Json<FarmStatus>, Refusal> {
    let mut status = farm.store.status().await?;
    status.load = farm.store.load().await?;
    env!("CARGO_PKG_VERSION").clone_into(&mut status.version);
    status.farm = farm.folder.to_string_lossy().into_owned();
    status.uptime_ms = farm.mono_ms().saturating_sub(farm.started.mono_ms);
    Ok(Json(status))
}

/// The recipes that a submission can name.
#[utoipa::path(get, path = "/v1/recipes", tag = "farm",
    responses((status = 200, body = Vec<Recipe>), Refusals))]
pub(super) async fn recipes(State(farm): State<Shared>) -> Json<Vec<Recipe>> {
    let library = &farm.library;
    Json(library.names().filter_map(|name| library.get(name)).cloned().collect())
}

/// This document.
#[utoipa::path(get, path = "/v1/openapi.json", tag = "farm",
    responses((status = 200, body = Object, content_type = "application/json"), Refusals))]
pub(super) async fn openapi(State(farm): State<Shared>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], farm.document.clone())
}
