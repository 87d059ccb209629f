//! A small coordinator in memory, spoken to over real HTTP on loopback.

use super::{Client, Token};
use crate::model::{AssetName, Checksum, PipelineId, Reason};
use crate::protocol::problem::{Problem, ProblemCode};
use crate::protocol::submit::{Submission, SubmitOutcome, Submitted};
use crate::protocol::view::Snapshot;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// What the server has been told, and what it will say.
#[derive(Default)]
pub(super) struct Farm {
    pub(super) artifacts: Mutex<BTreeMap<Checksum, Bytes>>,
    pub(super) submissions: Mutex<Vec<Submission>>,
    pub(super) puts: Mutex<u32>,
    /// One for each call of the snapshot; the last one stays.
    pub(super) snapshots: Mutex<VecDeque<Snapshot>>,
    /// One event stream for each call; then the stream stays open and silent.
    pub(super) streams: Mutex<VecDeque<String>>,
}

pub(super) const TOKEN: &str = "open-sesame";

fn problem(status: StatusCode, code: ProblemCode, reason: Option<Reason>) -> Response {
    let (message, remedy) = ("it was refused".to_owned(), "Do better.".to_owned());
    (status, Json(Problem { code, message, remedy, reason })).into_response()
}

async fn artifact(
    State(farm): State<Arc<Farm>>,
    method: axum::http::Method,
    headers: HeaderMap,
    Path(checksum): Path<String>,
    body: Bytes,
) -> Response {
    if headers.get(header::AUTHORIZATION).is_none_or(|value| value != "Bearer open-sesame") {
        return problem(StatusCode::UNAUTHORIZED, ProblemCode::Unauthorized, None);
    }
    let checksum: Checksum = checksum.parse().expect("checksum");
    let mut artifacts = farm.artifacts.lock().expect("lock");
    if method == axum::http::Method::PUT {
        *farm.puts.lock().expect("lock") += 1;
        if Checksum::of(&body) != checksum {
            let reason = Some(Reason::ArtifactMismatch);
            return problem(StatusCode::UNPROCESSABLE_ENTITY, ProblemCode::Invalid, reason);
        }
        artifacts.insert(checksum, body);
        return StatusCode::CREATED.into_response();
    }
    match artifacts.get(&checksum) {
        Some(bytes) => bytes.clone().into_response(),
        None => problem(StatusCode::NOT_FOUND, ProblemCode::NotFound, None),
    }
}

async fn submit(State(farm): State<Arc<Farm>>, Json(submission): Json<Submission>) -> Response {
    if submission.recipe.as_deref() == Some("none") {
        return problem(StatusCode::UNPROCESSABLE_ENTITY, ProblemCode::Invalid, None);
    }
    let asset: AssetName = submission.asset.clone();
    let mut submissions = farm.submissions.lock().expect("lock");
    submissions.push(submission);
    let pipeline = PipelineId(i64::try_from(submissions.len()).expect("few"));
    Json(Submitted { pipeline, asset, asset_version: 1, outcome: SubmitOutcome::Created })
        .into_response()
}

async fn snapshot(State(farm): State<Arc<Farm>>) -> Response {
    let mut snapshots = farm.snapshots.lock().expect("lock");
    let next = if snapshots.len() > 1 { snapshots.pop_front() } else { snapshots.front().cloned() };
    next.map_or_else(
        || problem(StatusCode::SERVICE_UNAVAILABLE, ProblemCode::Busy, None),
        |snapshot| Json(snapshot).into_response(),
    )
}

async fn events(State(farm): State<Arc<Farm>>) -> Response {
    let text = farm.streams.lock().expect("lock").pop_front();
    let body = match text {
        Some(text) => Body::from(text),
        None => Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>()),
    };
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

/// Serves `farm` until the test's runtime ends.
pub(super) async fn serve(farm: Arc<Farm>) -> Client {
    let app = Router::new()
        .route("/v1/artifacts/{checksum}", any(artifact))
        .route("/v1/pipelines", post(submit))
        .route("/v1/snapshot", get(snapshot))
        .route("/v1/events", get(events))
        .with_state(farm);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("free port");
    let address = listener.local_addr().expect("address");
    tokio::spawn(async move { axum::serve(listener, app).await });
    Client::new(&format!("http://{address}"), Token::new(TOKEN)).expect("address")
}
