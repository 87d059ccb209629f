//! Many submissions or reports in one call. Each is a transaction of its own with its own outcome;
//! the writer commits them together.

use super::extract::{At, JsonBody, cut};
use super::problem::{Conflicts, Refusal, Refusals};
use super::sessions::known;
use super::state::{Farm, Shared, blocking};
use super::{jobs, pipelines};
use crate::model::{JobState, SessionId, limits};
use crate::protocol::batch::{
    BatchSubmission, BatchSubmitted, Report, ReportEvent, ReportOutcome, Reports, ReportsReply,
    SubmissionOutcome,
};
use crate::protocol::submit::{Submission, Submitted};
use crate::protocol::work::{Completion, Fence};
use crate::recipes::Recipe;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use futures_util::future::join_all;

type Checked = Result<(Submission, Recipe), Refusal>;

/// Many asset versions at once; one that is refused does not stop the others.
#[utoipa::path(post, path = "/v1/pipelines/batch", tag = "pipelines",
    request_body = BatchSubmission,
    responses((status = 200, body = BatchSubmitted), Refusals))]
pub(super) async fn submit(
    State(farm): State<Shared>,
    JsonBody(batch): JsonBody<BatchSubmission>,
) -> Result<Json<BatchSubmitted>, Refusal> {
    check_count("submissions", batch.submissions.len(), limits::SUBMISSIONS_PER_CALL)?;
    let checking = farm.clone();
    let checked = blocking(move || {
        let all = batch.submissions.into_iter();
        Ok::<_, Refusal>(all.map(|submission| check(&checking, submission)).collect::<Vec<_>>())
    })
    .await?;
    let outcomes = join_all(checked.into_iter().map(|checked| submit_one(&farm, checked))).await;
    let created = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    tracing::info!(created, refused = outcomes.len() - created, "assets submitted");
    let outcomes = outcomes.into_iter().map(|outcome| match outcome {
        Ok(submitted) => SubmissionOutcome::Submitted(submitted),
        Err(refusal) => SubmissionOutcome::Refused(refusal.problem),
    });
    Ok(Json(BatchSubmitted { outcomes: outcomes.collect() }))
}

fn check(farm: &Farm, submission: Submission) -> Checked {
    let recipe = pipelines::resolve(&farm.library, &submission)?;
    Ok((pipelines::checked(&farm.artifacts, submission)?, recipe))
}

async fn submit_one(farm: &Farm, checked: Checked) -> Result<Submitted, Refusal> {
    let (submission, recipe) = checked?;
    Ok(farm.store.submit(submission, recipe, super::random_bytes()?).await?)
}

/// Many reports of one session, done in their order.
#[utoipa::path(post, path = "/v1/sessions/{session}/reports", tag = "workers",
    params(("session" = String, Path)), request_body = Reports,
    responses((status = 200, body = ReportsReply), Refusals, Conflicts))]
pub(super) async fn report(
    State(farm): State<Shared>,
    At(session): At<String>,
    JsonBody(Reports { reports }): JsonBody<Reports>,
) -> Result<Json<ReportsReply>, Refusal> {
    let session = known(&session)?;
    check_count("reports", reports.len(), limits::REPORTS_PER_CALL)?;
    let checks = check_results(&farm, &reports).await?;
    // Every verb enters the writer's queue when it is first polled, so in the order of the list.
    let verbs = reports.into_iter().zip(checks);
    let verbs = verbs.map(|(report, check)| report_one(&farm, &session, report, check));
    let outcomes = join_all(verbs).await.into_iter().map(|outcome| match outcome {
        Ok(state) => ReportOutcome::State(state),
        Err(refusal) => ReportOutcome::Refused(refusal.problem),
    });
    Ok(Json(ReportsReply { outcomes: outcomes.collect() }))
}

/// Looks for the bytes of every result before anything is reported.
async fn check_results(
    farm: &Farm,
    reports: &[Report],
) -> Result<Vec<Result<(), Refusal>>, Refusal> {
    let results: Vec<Option<Completion>> = reports
        .iter()
        .map(|report| match &report.event {
            ReportEvent::Complete { completion } => Some(completion.clone()),
            _ => None,
        })
        .collect();
    let artifacts = farm.artifacts.clone();
    blocking(move || {
        let check = |result: &Option<Completion>| match result {
            Some(completion) => jobs::check_outputs(&artifacts, completion),
            None => Ok(()),
        };
        Ok::<_, Refusal>(results.iter().map(check).collect())
    })
    .await
}

async fn report_one(
    farm: &Farm,
    session: &SessionId,
    report: Report,
    check: Result<(), Refusal>,
) -> Result<JobState, Refusal> {
    check?;
    let Report { job, epoch, event } = report;
    let fence = Fence { session: session.clone(), epoch };
    Ok(match event {
        ReportEvent::Start => {
            farm.store.start(job, &fence).await?;
            JobState::Processing
        }
        ReportEvent::Log { text } => {
            farm.store.note_log(job, &fence, text).await?;
            JobState::Processing
        }
        ReportEvent::Complete { completion } => {
            farm.store.complete(job, &fence, completion).await?
        }
        ReportEvent::Fail { mut failure } => {
            failure.message = cut(failure.message, limits::MESSAGE_BYTES);
            tracing::info!(%job, reason = %failure.reason, "attempt failed");
            farm.store.fail(job, &fence, failure).await?
        }
        ReportEvent::Release => {
            farm.store.release(job, &fence).await?;
            JobState::Queued
        }
    })
}

fn check_count(what: &str, count: usize, most: usize) -> Result<(), Refusal> {
    if count <= most {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        crate::protocol::problem::ProblemCode::Invalid,
        format!("{count} {what} are more than one call may carry, which is {most}"),
        "Send them in several calls.",
    ))
}
