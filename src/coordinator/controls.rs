//! Flow control: pause, resume, drain; limits; and why a job does not run.

use super::extract::{At, JsonBody};
use super::pipelines::check_text;
use super::problem::{Conflicts, Refusal, Refusals};
use super::state::Shared;
use crate::model::JobId;
use crate::protocol::control::{ControlView, Limits, SetControl, SetLimit};
use crate::protocol::why::Why;
use axum::Json;
use axum::extract::State;

/// All that is paused or draining; what is not listed runs.
#[utoipa::path(get, path = "/v1/controls", tag = "flow control",
    responses((status = 200, body = Vec<ControlView>), Refusals))]
pub(super) async fn list(State(farm): State<Shared>) -> Result<Json<Vec<ControlView>>, Refusal> {
    Ok(Json(farm.store.controls().await?))
}

/// Pauses, drains or resumes the farm, a queue or a worker.
#[utoipa::path(put, path = "/v1/controls", tag = "flow control", request_body = SetControl,
    responses((status = 200, body = ControlView), Refusals, Conflicts))]
pub(super) async fn set(
    State(farm): State<Shared>,
    JsonBody(order): JsonBody<SetControl>,
) -> Result<Json<ControlView>, Refusal> {
    check_text("actor", &order.actor)?;
    check_text("reason", &order.reason)?;
    let (target, mode) = (order.target, order.mode);
    let view = farm.store.set_control(target, mode, &order.actor, &order.reason).await?;
    tracing::info!(target = %view.target, %mode, actor = order.actor, "flow changed");
    Ok(Json(view))
}

/// All limits, and how full they are.
#[utoipa::path(get, path = "/v1/limits", tag = "flow control",
    responses((status = 200, body = Limits), Refusals))]
pub(super) async fn limits(State(farm): State<Shared>) -> Result<Json<Limits>, Refusal> {
    Ok(Json(farm.store.limits().await?))
}

/// Sets or removes a limit, and answers with all of them.
#[utoipa::path(put, path = "/v1/limits", tag = "flow control", request_body = SetLimit,
    responses((status = 200, body = Limits), Refusals, Conflicts))]
pub(super) async fn set_limit(
    State(farm): State<Shared>,
    JsonBody(order): JsonBody<SetLimit>,
) -> Result<Json<Limits>, Refusal> {
    check_text("actor", &order.actor)?;
    check_text("reason", &order.reason)?;
    tracing::info!(limit = ?order.limit, actor = order.actor, "limit set");
    farm.store.set_limit(order.limit, &order.actor, &order.reason).await?;
    Ok(Json(farm.store.limits().await?))
}

/// Why a job does not run: every reason, by the rules that hand out work.
#[utoipa::path(get, path = "/v1/jobs/{job}/why", tag = "jobs", params(("job" = i64, Path)),
    responses((status = 200, body = Why), Refusals))]
pub(super) async fn why(
    State(farm): State<Shared>,
    At(job): At<JobId>,
) -> Result<Json<Why>, Refusal> {
    Ok(Json(farm.store.explain(job).await?))
}
