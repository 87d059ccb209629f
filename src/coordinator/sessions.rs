//! Workers' sessions: open, beat, claim, goodbye.

use super::claim::{Patience, until_some};
use super::extract::{At, JsonBody, cut};
use super::keeping::{self, Answer};
use super::problem::{Conflicts, Refusal, Refusals};
use super::state::Shared;
use crate::model::{SessionId, limits};
use crate::protocol::PROTOCOL_VERSION;
use crate::protocol::event::{JobProgress, Pulse};
use crate::protocol::work::{
    ClaimReply, ClaimRequest, Heartbeat, HeartbeatReply, OpenSession, Progress, SessionOpened,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use std::time::Duration;

/// Longest name of a worker, in bytes.
const WORKER_NAME_BYTES: usize = 128;
/// Longest name of a worker's own folder, in bytes.
const INSTANCE_BYTES: usize = 256;
/// Most jobs that one heartbeat names.
const JOBS_PER_BEAT: usize = 1_024;
/// Longest progress message kept, in bytes.
const PROGRESS_BYTES: usize = 256;
/// Least time between two tries of one waiting claim.
const CLAIM_SPACING: Duration = Duration::from_millis(50);
/// A waiting claim tries again after this long even without a commit.
const CLAIM_POLL: Duration = Duration::from_secs(5);

/// A worker begins its life.
#[utoipa::path(post, path = "/v1/sessions", tag = "workers", request_body = OpenSession,
    responses((status = 201, body = SessionOpened), Refusals, Conflicts))]
pub(super) async fn open(
    State(farm): State<Shared>,
    JsonBody(request): JsonBody<OpenSession>,
) -> Result<(StatusCode, Json<SessionOpened>), Refusal> {
    check_worker(&request)?;
    let session = SessionId::from_random(super::random_bytes()?);
    let record = farm
        .store
        .open_session(session, request.worker, request.instance, request.capabilities)
        .await?;
    tracing::info!(worker = record.worker, session = %record.id, "worker joined");
    let (session, now_ms) = (record.id.clone(), farm.mono_ms());
    let mut leases = farm.leases();
    leases.open(record.id, record.worker, record.capabilities, now_ms);
    let opened =
        SessionOpened { session, lease_ms: leases.lease_ms(), heartbeat_ms: farm.heartbeat_ms };
    Ok((StatusCode::CREATED, Json(opened)))
}

fn check_worker(request: &OpenSession) -> Result<(), Refusal> {
    if request.protocol != PROTOCOL_VERSION {
        return Err(Refusal::invalid(
            format!(
                "the worker speaks protocol {}, the coordinator {PROTOCOL_VERSION}",
                request.protocol
            ),
            "Install the same version of Sawah on both.",
        ));
    }
    let name = &request.worker;
    if name.trim().is_empty() || name.len() > WORKER_NAME_BYTES || name.contains(char::is_control) {
        return Err(Refusal::invalid(
            format!("a worker's name has 1 to {WORKER_NAME_BYTES} bytes and no control characters"),
            "Start the worker with --name NAME.",
        ));
    }
    if request.instance.is_empty() || request.instance.len() > INSTANCE_BYTES {
        return Err(Refusal::invalid(
            format!("a worker's instance has 1 to {INSTANCE_BYTES} bytes"),
            "Install the same version of Sawah on both.",
        ));
    }
    Ok(())
}

/// A worker ends orderly: its jobs go back, no attempt is used.
#[utoipa::path(delete, path = "/v1/sessions/{session}", tag = "workers",
    params(("session" = String, Path)), responses((status = 204), Refusals, Conflicts))]
pub(super) async fn goodbye(
    State(farm): State<Shared>,
    At(session): At<String>,
) -> Result<StatusCode, Refusal> {
    let session = known(&session)?;
    let jobs = farm.store.close_session(&session, false).await?;
    farm.leases().close(&session);
    tracing::info!(%session, jobs, "worker left");
    Ok(StatusCode::NO_CONTENT)
}

/// A worker lives, and says how far its jobs are.
#[utoipa::path(post, path = "/v1/sessions/{session}/heartbeat", tag = "workers",
    params(("session" = String, Path)), request_body = Heartbeat,
    responses((status = 200, body = HeartbeatReply), Refusals, Conflicts))]
pub(super) async fn heartbeat(
    State(farm): State<Shared>,
    At(session): At<String>,
    JsonBody(mut heartbeat): JsonBody<Heartbeat>,
) -> Result<Json<HeartbeatReply>, Refusal> {
    // The time of receipt counts, not that of the store's answer.
    let now_ms = farm.mono_ms();
    let session = known(&session)?;
    if heartbeat.running.len() > JOBS_PER_BEAT {
        let message = format!("a heartbeat names at most {JOBS_PER_BEAT} jobs");
        return Err(Refusal::invalid(message, "Lower the worker's slots."));
    }
    for run in &mut heartbeat.running {
        run.progress = tidy(std::mem::take(&mut run.progress));
    }
    let Answer { stop, drain } =
        keeping::beat(&farm.store, farm.lease_book(), &session, &heartbeat.running, now_ms).await?;
    let lease_ms = farm.leases().lease_ms();
    let running = heartbeat
        .running
        .into_iter()
        .filter(|run| !stop.contains(&run.job))
        .map(|run| JobProgress { job: run.job, progress: run.progress })
        .collect();
    // Nobody listening is fine.
    let _ = farm.pulses.send(Pulse::Beat { session, lease_left_ms: lease_ms, running });
    Ok(Json(HeartbeatReply { stop, lease_ms, drain }))
}

/// Asks for work and waits for it.
#[utoipa::path(post, path = "/v1/sessions/{session}/claim", tag = "workers",
    params(("session" = String, Path)), request_body = ClaimRequest,
    responses((status = 200, body = ClaimReply), Refusals, Conflicts))]
pub(super) async fn claim(
    State(farm): State<Shared>,
    At(session): At<String>,
    JsonBody(request): JsonBody<ClaimRequest>,
) -> Result<Json<ClaimReply>, Refusal> {
    let session = known(&session)?;
    let max_jobs = request.max_jobs.clamp(1, limits::JOBS_PER_CLAIM);
    let patience = Patience {
        wait: Duration::from_millis(request.wait_ms.min(limits::CLAIM_WAIT_MS)),
        spacing: CLAIM_SPACING,
        poll: CLAIM_POLL,
    };
    let jobs = until_some(farm.store.committed(), patience, &farm.stopping, || async {
        let live = {
            let mut leases = farm.leases();
            if !leases.is_live(&session) {
                return Err(Refusal::unknown_session());
            }
            leases.live()
        };
        Ok(farm.store.claim(&session, max_jobs, live).await?)
    })
    .await?;
    Ok(Json(ClaimReply { jobs }))
}

/// The session that a path names.
pub(super) fn known(session: &str) -> Result<SessionId, Refusal> {
    SessionId::parse(session).ok_or_else(Refusal::unknown_session)
}

fn tidy(progress: Progress) -> Progress {
    let percent =
        if progress.percent.is_finite() { progress.percent.clamp(0.0, 100.0) } else { 0.0 };
    Progress {
        percent,
        message: cut(progress.message, PROGRESS_BYTES),
        frame: progress.frame,
        line: cut(progress.line, limits::PROGRESS_LINE_BYTES),
        // Only the coordinator's own clock says how long it has been quiet.
        quiet_ms: None,
    }
}
