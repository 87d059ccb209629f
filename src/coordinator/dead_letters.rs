//! Jobs that were given up: look, replay, dismiss.

use super::extract::{At, JsonBody, PageParams, Params};
use super::pipelines::check_text;
use super::problem::{Conflicts, Refusal, Refusals};
use super::state::Shared;
use crate::model::JobId;
use crate::protocol::submit::{Order, Replayed};
use crate::protocol::view::DeadLetterView;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;

/// Which dead letters a listing shows.
#[derive(Debug, Deserialize)]
pub(super) struct Filter {
    #[serde(default)]
    all: bool,
    before: Option<i64>,
    limit: Option<u32>,
}

/// Newest dead letters first; `all` shows the settled ones too.
#[utoipa::path(get, path = "/v1/dead-letters", tag = "dead letters",
    params(("all" = Option<bool>, Query), ("before" = Option<i64>, Query),
        ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Vec<DeadLetterView>), Refusals))]
pub(super) async fn list(
    State(farm): State<Shared>,
    Params(filter): Params<Filter>,
) -> Result<Json<Vec<DeadLetterView>>, Refusal> {
    let page = PageParams { before: filter.before, limit: filter.limit };
    Ok(Json(farm.store.dead_letters(filter.all, page.into()).await?))
}

/// Tries the job again as a new job.
#[utoipa::path(post, path = "/v1/dead-letters/{job}/replay", tag = "dead letters",
    params(("job" = i64, Path)), request_body = Order,
    responses((status = 201, body = Replayed), Refusals, Conflicts))]
pub(super) async fn replay(
    State(farm): State<Shared>,
    At(job): At<JobId>,
    JsonBody(order): JsonBody<Order>,
) -> Result<(StatusCode, Json<Replayed>), Refusal> {
    check_order(&order)?;
    let new = farm.store.replay(job, &order.actor, &order.reason).await?;
    tracing::info!(%job, replayed_as = %new, "dead letter replayed");
    Ok((StatusCode::CREATED, Json(Replayed { job: new })))
}

/// Puts the dead letter aside for good.
#[utoipa::path(post, path = "/v1/dead-letters/{job}/dismiss", tag = "dead letters",
    params(("job" = i64, Path)), request_body = Order,
    responses((status = 204), Refusals, Conflicts))]
pub(super) async fn dismiss(
    State(farm): State<Shared>,
    At(job): At<JobId>,
    JsonBody(order): JsonBody<Order>,
) -> Result<StatusCode, Refusal> {
    check_order(&order)?;
    farm.store.dismiss(job, &order.actor, &order.reason).await?;
    tracing::info!(%job, "dead letter dismissed");
    Ok(StatusCode::NO_CONTENT)
}

fn check_order(order: &Order) -> Result<(), Refusal> {
    check_text("actor", &order.actor)?;
    check_text("reason", &order.reason)
}
