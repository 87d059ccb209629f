//! Jobs that were given up: look, replay, dismiss.

use super::extract::{At, JsonBody, PageParams, Params};
use super::pipelines::check_text;
use super::problem::{Conflicts, Refusal, Refusals};
use super::state::Shared;
use crate::model::JobId;
use crate::protocol::dead::{
    BatchReply, DeadLetterDetail, DismissBatch, Edit, ReplayBatch, ReplayOrder,
};
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

/// One dead letter with its log, its payload and every attempt.
#[utoipa::path(get, path = "/v1/dead-letters/{job}", tag = "dead letters",
    params(("job" = i64, Path)), responses((status = 200, body = DeadLetterDetail), Refusals))]
pub(super) async fn show(
    State(farm): State<Shared>,
    At(job): At<JobId>,
) -> Result<Json<DeadLetterDetail>, Refusal> {
    Ok(Json(farm.store.dead_letter(job).await?))
}

/// Tries many again, each as a new job: counted, with what became of each.
#[utoipa::path(post, path = "/v1/dead-letters/replay", tag = "dead letters",
    request_body = ReplayBatch, responses((status = 200, body = BatchReply), Refusals))]
pub(super) async fn replay_many(
    State(farm): State<Shared>,
    JsonBody(order): JsonBody<ReplayBatch>,
) -> Result<Json<BatchReply>, Refusal> {
    check_text("actor", &order.actor)?;
    check_reason(&order.reason)?;
    check_edit(&order.edit)?;
    let reply = farm.store.replay_many(order).await?;
    let BatchReply { dry_run, matched, done, refused, .. } = reply;
    tracing::info!(dry_run, matched, done, refused, "dead letters replayed");
    Ok(Json(reply))
}

/// Puts many aside for good.
#[utoipa::path(post, path = "/v1/dead-letters/dismiss", tag = "dead letters",
    request_body = DismissBatch, responses((status = 200, body = BatchReply), Refusals))]
pub(super) async fn dismiss_many(
    State(farm): State<Shared>,
    JsonBody(order): JsonBody<DismissBatch>,
) -> Result<Json<BatchReply>, Refusal> {
    check_text("actor", &order.actor)?;
    check_reason(&order.reason)?;
    let reply = farm.store.dismiss_many(order).await?;
    let BatchReply { dry_run, matched, done, refused, .. } = reply;
    tracing::info!(dry_run, matched, done, refused, "dead letters dismissed");
    Ok(Json(reply))
}

/// Tries the job again as a new job.
#[utoipa::path(post, path = "/v1/dead-letters/{job}/replay", tag = "dead letters",
    params(("job" = i64, Path)), request_body = ReplayOrder,
    responses((status = 201, body = Replayed), Refusals, Conflicts))]
pub(super) async fn replay(
    State(farm): State<Shared>,
    At(job): At<JobId>,
    JsonBody(order): JsonBody<ReplayOrder>,
) -> Result<(StatusCode, Json<Replayed>), Refusal> {
    let ReplayOrder { actor, reason, edit } = order;
    check_text("actor", &actor)?;
    check_reason(&reason)?;
    check_edit(&edit)?;
    let new = farm.store.replay_edited(job, edit, &actor, &reason).await?;
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
    check_reason(&order.reason)?;
    farm.store.dismiss(job, &order.actor, &order.reason).await?;
    tracing::info!(%job, "dead letter dismissed");
    Ok(StatusCode::NO_CONTENT)
}

/// Refuses a reason that tells nothing to who reads the audit later.
fn check_reason(reason: &str) -> Result<(), Refusal> {
    check_text("reason", reason)?;
    if reason.trim().is_empty() {
        let message = "an order about dead letters needs a reason, and this one is empty";
        return Err(Refusal::invalid(message, "Say why in 'reason': it is kept in the audit."));
    }
    Ok(())
}

fn check_edit(edit: &Edit) -> Result<(), Refusal> {
    edit.settings
        .iter()
        .flat_map(|(key, value)| [key, value])
        .try_for_each(|text| check_text("settings", text))
}

pub(super) fn check_order(order: &Order) -> Result<(), Refusal> {
    check_text("actor", &order.actor)?;
    check_text("reason", &order.reason)
}
