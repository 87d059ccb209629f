//! What becomes of a job: its worker's reports, and looks at it.

use super::extract::{At, JsonBody, PageParams, Params, cut};
use super::problem::{Conflicts, Refusal, Refusals};
use super::state::{Farm, Shared, blocking};
use crate::artifacts::{Artifacts, names};
use crate::model::{JobId, JobState, Reason, limits};
use crate::protocol::view::{JobDetail, JobView};
use crate::protocol::work::{
    CompleteRequest, Completion, FailRequest, FenceRequest, KeepRequest, OutputFile,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use std::collections::BTreeSet;

/// Which jobs a listing shows.
#[derive(Debug, Deserialize)]
pub(super) struct JobFilter {
    state: Option<String>,
    before: Option<i64>,
    limit: Option<u32>,
}

/// Newest jobs first.
#[utoipa::path(get, path = "/v1/jobs", tag = "jobs",
    params(("state" = Option<JobState>, Query), ("before" = Option<i64>, Query),
        ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Vec<JobView>), Refusals))]
pub(super) async fn list(
    State(farm): State<Shared>,
    Params(filter): Params<JobFilter>,
) -> Result<Json<Vec<JobView>>, Refusal> {
    let state = filter.state.as_deref().map(parse_state).transpose()?;
    let page = PageParams { before: filter.before, limit: filter.limit };
    let mut jobs = farm.store.jobs(state, page.into()).await?;
    farm.fill_progress(&mut jobs);
    Ok(Json(jobs))
}

fn parse_state(text: &str) -> Result<JobState, Refusal> {
    JobState::parse(text).ok_or_else(|| {
        let names: Vec<_> = JobState::ALL.iter().map(|state| state.as_str()).collect();
        Refusal::invalid("no job state has this name", format!("Use {}.", names.join(", ")))
    })
}

/// One job in full.
#[utoipa::path(get, path = "/v1/jobs/{job}", tag = "jobs", params(("job" = i64, Path)),
    responses((status = 200, body = JobDetail), Refusals))]
pub(super) async fn show(
    State(farm): State<Shared>,
    At(job): At<JobId>,
) -> Result<Json<JobDetail>, Refusal> {
    let mut detail = farm.store.job(job).await?;
    farm.fill_progress([&mut detail.job]);
    Ok(Json(detail))
}

/// The work begins.
#[utoipa::path(post, path = "/v1/jobs/{job}/start", tag = "workers", params(("job" = i64, Path)),
    request_body = FenceRequest, responses((status = 204), Refusals, Conflicts))]
pub(super) async fn start(
    State(farm): State<Shared>,
    At(job): At<JobId>,
    JsonBody(request): JsonBody<FenceRequest>,
) -> Result<StatusCode, Refusal> {
    farm.store.start(job, &request.fence).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The result, whose bytes are in the content store already.
#[utoipa::path(post, path = "/v1/jobs/{job}/complete", tag = "workers",
    params(("job" = i64, Path)), request_body = CompleteRequest,
    responses((status = 200, body = JobView), Refusals, Conflicts))]
pub(super) async fn complete(
    State(farm): State<Shared>,
    At(job): At<JobId>,
    JsonBody(request): JsonBody<CompleteRequest>,
) -> Result<Json<JobView>, Refusal> {
    let CompleteRequest { fence, completion } = request;
    let completion = with_outputs_checked(&farm, completion).await?;
    farm.store.complete(job, &fence, completion).await?;
    view(&farm, job).await
}

/// Looks for the bytes on the disk; a result without files needs no look.
async fn with_outputs_checked(farm: &Farm, completion: Completion) -> Result<Completion, Refusal> {
    let artifacts = farm.artifacts.clone();
    if completion.outputs.is_empty() {
        check_outputs(&artifacts, &completion)?;
        return Ok(completion);
    }
    blocking(move || {
        check_outputs(&artifacts, &completion)?;
        Ok::<_, Refusal>(completion)
    })
    .await
}

/// Whether a result keeps the bounds and its bytes are stored.
pub(super) fn check_outputs(artifacts: &Artifacts, completion: &Completion) -> Result<(), Refusal> {
    if completion.outputs.len() > limits::OUTPUTS_PER_JOB
        || completion.report.warnings.len() > limits::WARNINGS_PER_JOB
    {
        let message = format!(
            "a job makes at most {} files and {} warnings",
            limits::OUTPUTS_PER_JOB,
            limits::WARNINGS_PER_JOB
        );
        return Err(Refusal::invalid(message, "Make less in one job."));
    }
    let mut seen = BTreeSet::new();
    for output in &completion.outputs {
        names::check(&output.name)
            .map_err(|error| Refusal::invalid(error.to_string(), "Rename the output."))?;
        if !seen.insert(output.name.as_str()) {
            let message = format!("two outputs are called '{}'", output.name);
            return Err(Refusal::invalid(message, "Give each output its own name."));
        }
        check_stored(artifacts, output)?;
    }
    Ok(())
}

fn check_stored(artifacts: &Artifacts, output: &OutputFile) -> Result<(), Refusal> {
    let message = match artifacts.size(&output.checksum)? {
        Some(size_bytes) if size_bytes == output.size_bytes => return Ok(()),
        Some(size_bytes) => format!(
            "output '{}' is said to have {} bytes, but its stored bytes are {size_bytes}",
            output.name, output.size_bytes
        ),
        None => format!("the bytes of output '{}' are not in the content store", output.name),
    };
    let remedy = format!("Upload them with PUT /v1/artifacts/{} first.", output.checksum);
    Err(Refusal::invalid(message, remedy).because(Reason::ArtifactMissing))
}

/// The attempt failed.
#[utoipa::path(post, path = "/v1/jobs/{job}/fail", tag = "workers", params(("job" = i64, Path)),
    request_body = FailRequest, responses((status = 200, body = JobView), Refusals, Conflicts))]
pub(super) async fn fail(
    State(farm): State<Shared>,
    At(job): At<JobId>,
    JsonBody(request): JsonBody<FailRequest>,
) -> Result<Json<JobView>, Refusal> {
    let FailRequest { fence, mut failure } = request;
    failure.message = cut(failure.message, limits::MESSAGE_BYTES);
    tracing::info!(%job, reason = %failure.reason, "attempt failed");
    farm.store.fail(job, &fence, failure).await?;
    view(&farm, job).await
}

/// The worker gives the job back; no attempt is used.
#[utoipa::path(post, path = "/v1/jobs/{job}/release", tag = "workers",
    params(("job" = i64, Path)), request_body = FenceRequest,
    responses((status = 204), Refusals, Conflicts))]
pub(super) async fn release(
    State(farm): State<Shared>,
    At(job): At<JobId>,
    JsonBody(request): JsonBody<FenceRequest>,
) -> Result<StatusCode, Refusal> {
    farm.store.release(job, &request.fence).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Files that are right before the job is done; their bytes are in the content store already.
#[utoipa::path(post, path = "/v1/jobs/{job}/keep", tag = "workers", params(("job" = i64, Path)),
    request_body = KeepRequest, responses((status = 204), Refusals, Conflicts))]
pub(super) async fn keep(
    State(farm): State<Shared>,
    At(job): At<JobId>,
    JsonBody(request): JsonBody<KeepRequest>,
) -> Result<StatusCode, Refusal> {
    let KeepRequest { fence, files } = request;
    let files = Completion { outputs: files, ..Completion::default() };
    let files = with_outputs_checked(&farm, files).await?.outputs;
    farm.store.keep(job, &fence, files).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn view(farm: &Shared, job: JobId) -> Result<Json<JobView>, Refusal> {
    let mut view = farm.store.job_view(job).await?;
    farm.fill_progress([&mut view]);
    Ok(Json(view))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Checksum;
    use crate::protocol::work::StageReport;

    fn completion(outputs: Vec<OutputFile>) -> Completion {
        Completion { outputs, report: StageReport::default(), pointer_generation: 0 }
    }

    fn output(name: &str, bytes: &[u8], size_bytes: u64) -> OutputFile {
        let checksum = Checksum::of(bytes);
        OutputFile { name: name.into(), checksum, size_bytes, media_type: "image/png".into() }
    }

    #[test]
    fn only_stored_bytes_of_the_said_size_can_be_outputs() {
        let farm = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::open(farm.path()).unwrap();
        artifacts.put_bytes(Checksum::of(b"still"), b"still").unwrap();
        let good = output("still.png", b"still", 5);
        assert!(check_outputs(&artifacts, &completion(vec![good.clone()])).is_ok());
        for bad in [output("a.png", b"still", 6), output("a.png", b"other", 5)] {
            let refusal = check_outputs(&artifacts, &completion(vec![good.clone(), bad]));
            let problem = refusal.unwrap_err().problem;
            assert_eq!(problem.reason, Some(Reason::ArtifactMissing));
        }
        let twice = completion(vec![good.clone(), good.clone()]);
        assert!(check_outputs(&artifacts, &twice).is_err());
        let outside = completion(vec![output("../still.png", b"still", 5)]);
        assert!(check_outputs(&artifacts, &outside).is_err());
    }
}
