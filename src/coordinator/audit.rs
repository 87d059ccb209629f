//! The audit, page by page.

use super::extract::Params;
use super::problem::{Refusal, Refusals};
use super::state::Shared;
use crate::model::{JobId, PipelineId, limits};
use crate::protocol::audit::AuditPage;
use crate::store::AuditFilter;
use axum::Json;
use axum::extract::State;
use serde::Deserialize;

/// Which rows are asked for.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    after: Option<u64>,
    limit: Option<u32>,
    pipeline: Option<i64>,
    job: Option<i64>,
}

/// Every change, oldest first: ask again with the answer's `after` until it is its `last`.
#[utoipa::path(get, path = "/v1/audit", tag = "farm",
    params(("after" = Option<u64>, Query), ("limit" = Option<u32>, Query),
        ("pipeline" = Option<i64>, Query), ("job" = Option<i64>, Query)),
    responses((status = 200, body = AuditPage), Refusals))]
pub(super) async fn page(
    State(farm): State<Shared>,
    Params(asked): Params<Asked>,
) -> Result<Json<AuditPage>, Refusal> {
    if asked.pipeline.is_some() && asked.job.is_some() {
        let message = "a page is of one pipeline or of one job, not of both";
        return Err(Refusal::invalid(message, "Name the job alone."));
    }
    let filter = AuditFilter {
        after: asked.after.unwrap_or_default(),
        limit: asked.limit.unwrap_or(limits::ROWS_PER_PAGE),
        pipeline: asked.pipeline.map(PipelineId),
        job: asked.job.map(JobId),
    };
    Ok(Json(farm.store.audit_page(filter).await?))
}
