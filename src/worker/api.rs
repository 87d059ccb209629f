//! The worker's side of the coordinator's HTTP API: one method a call, typed refusals.

use super::bounds;
use super::config::WorkerError;
use crate::model::{JobId, SessionId};
use crate::protocol::batch::{Report, ReportOutcome, Reports, ReportsReply};
use crate::protocol::problem::{Problem, ProblemCode};
use crate::protocol::work::{
    ClaimReply, ClaimRequest, Fence, FenceRequest, Heartbeat, HeartbeatReply, KeepRequest,
    LogAppend, OpenSession, SessionOpened,
};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Method, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// Why a call brought no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// The session has ended: stop everything, open a new one.
    #[error("the session is not known any more")]
    UnknownSession,
    /// A later claim holds the job: stop it, report nothing more.
    #[error("a later claim holds the job")]
    Superseded,
    /// The job was cancelled: stop it, report nothing more.
    #[error("the job was cancelled")]
    Cancelled,
    /// The job has ended: report nothing more.
    #[error("the job has ended")]
    Finished,
    /// Any other refusal.
    #[error("{}: {}", .0.message, .0.remedy)]
    Refused(Problem),
    /// No answer, or one that is not the coordinator's.
    #[error("the coordinator cannot be reached: {0}")]
    Unreachable(String),
}

impl From<Problem> for ApiError {
    fn from(problem: Problem) -> Self {
        match problem.code {
            ProblemCode::UnknownSession => Self::UnknownSession,
            ProblemCode::Superseded => Self::Superseded,
            ProblemCode::Cancelled => Self::Cancelled,
            ProblemCode::Finished => Self::Finished,
            _ => Self::Refused(problem),
        }
    }
}

impl ApiError {
    /// Whether the same call may succeed a little later.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Refused(problem) => {
                matches!(problem.code, ProblemCode::Busy | ProblemCode::Internal)
            }
            _ => false,
        }
    }
}

impl ApiError {
    /// Whether the coordinator itself failed on the call, as it may on every repetition.
    pub fn is_fault(&self) -> bool {
        matches!(self, Self::Refused(problem) if problem.code == ProblemCode::Internal)
    }
}

/// A client of one coordinator. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    http: reqwest::Client,
    base: String,
}

impl Api {
    /// A client that sends the token with every call.
    pub fn new(coordinator: &str, token: &str) -> Result<Self, WorkerError> {
        let mut bearer = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| WorkerError::Client("the token holds a control character".to_owned()))?;
        bearer.set_sensitive(true);
        let http = reqwest::Client::builder()
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, bearer)]))
            .connect_timeout(Duration::from_millis(bounds::CONNECT_MS))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| WorkerError::Client(chain(&error)))?;
        let base = coordinator.trim_end_matches('/').to_owned();
        let url = reqwest::Url::parse(&base).ok().filter(|url| url.scheme() == "http");
        if url.is_none_or(|url| url.host().is_none()) {
            let message = format!("'{base}' is no address like http://10.0.0.5:7420");
            return Err(WorkerError::Client(message));
        }
        Ok(Self { http, base })
    }

    /// Begins a session.
    pub async fn open_session(&self, open: &OpenSession) -> Result<SessionOpened, ApiError> {
        self.post("/sessions", open, bounds::CALL_MS).await
    }

    /// Says goodbye: the session's jobs go back, no attempt used.
    pub async fn close_session(&self, session: &SessionId) -> Result<(), ApiError> {
        let request = self.request(Method::DELETE, &format!("/sessions/{session}"));
        let timeout = Duration::from_millis(bounds::GOODBYE_MS);
        answered(request.timeout(timeout).send().await).await.map(drop)
    }

    /// Says that the session lives, within `timeout_ms`.
    pub async fn heartbeat(
        &self,
        session: &SessionId,
        beat: &Heartbeat,
        timeout_ms: u64,
    ) -> Result<HeartbeatReply, ApiError> {
        self.post(&format!("/sessions/{session}/heartbeat"), beat, timeout_ms).await
    }

    /// Asks for work and waits for it.
    pub async fn claim(
        &self,
        session: &SessionId,
        claim: &ClaimRequest,
    ) -> Result<ClaimReply, ApiError> {
        let timeout_ms = claim.wait_ms.saturating_add(bounds::CALL_MS);
        self.post(&format!("/sessions/{session}/claim"), claim, timeout_ms).await
    }

    /// Reports of the session's jobs, in their order; one outcome for each.
    pub async fn report(
        &self,
        session: &SessionId,
        reports: Vec<Report>,
    ) -> Result<Vec<ReportOutcome>, ApiError> {
        let path = format!("/sessions/{session}/reports");
        let reply: ReportsReply = self.post(&path, &Reports { reports }, bounds::CALL_MS).await?;
        Ok(reply.outcomes)
    }

    /// Gives one job back, no attempt used, without waiting for what else there is to report.
    pub async fn release(&self, job: JobId, fence: &Fence) -> Result<(), ApiError> {
        self.tell(job, "release", &FenceRequest { fence: fence.clone() }).await
    }

    /// Files that are right before the job is done.
    pub async fn keep(&self, job: JobId, files: &KeepRequest) -> Result<(), ApiError> {
        self.tell(job, "keep", files).await
    }

    /// More lines of the attempt's log.
    pub async fn log(&self, job: JobId, append: &LogAppend) -> Result<(), ApiError> {
        self.tell(job, "log", append).await
    }

    /// A request to `/v1{path}`.
    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}/v1{path}", self.base))
    }

    async fn post<Q: Serialize, A: DeserializeOwned>(
        &self,
        path: &str,
        body: &Q,
        timeout_ms: u64,
    ) -> Result<A, ApiError> {
        let request = self.request(Method::POST, path).json(body);
        let response =
            answered(request.timeout(Duration::from_millis(timeout_ms)).send().await).await?;
        let bytes = read_bounded(response, bounds::REPLY_BYTES).await?;
        serde_json::from_slice(&bytes).map_err(|error| {
            ApiError::Unreachable(format!("its answer cannot be understood: {error}"))
        })
    }

    /// A call whose answer's body does not matter.
    async fn tell<Q: Serialize>(&self, job: JobId, verb: &str, body: &Q) -> Result<(), ApiError> {
        let request = self.request(Method::POST, &format!("/jobs/{job}/{verb}")).json(body);
        let timeout = Duration::from_millis(bounds::CALL_MS);
        answered(request.timeout(timeout).send().await).await.map(drop)
    }
}

/// A success, or the problem that the coordinator described.
pub(super) async fn answered(sent: Result<Response, reqwest::Error>) -> Result<Response, ApiError> {
    let response = sent.map_err(|error| ApiError::Unreachable(chain(&error)))?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let bytes = read_bounded(response, 64 << 10).await?;
    match serde_json::from_slice::<Problem>(&bytes) {
        Ok(problem) => Err(problem.into()),
        Err(_) => Err(ApiError::Unreachable(format!("it answered {status} without a reason"))),
    }
}

async fn read_bounded(mut response: Response, max: usize) -> Result<Vec<u8>, ApiError> {
    let mut bytes = Vec::new();
    while let Some(chunk) =
        response.chunk().await.map_err(|error| ApiError::Unreachable(chain(&error)))?
    {
        if bytes.len().saturating_add(chunk.len()) > max {
            let message = format!("its answer is longer than {max} bytes");
            return Err(ApiError::Unreachable(message));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// An error with everything that caused it, in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_tokens_are_checked() {
        assert!(Api::new("http://127.0.0.1:7420/", "abc").is_ok());
        for (address, token) in [
            ("127.0.0.1:7420", "abc"),
            ("localhost:7420", "abc"),
            ("https://farm", "abc"),
            ("", "abc"),
            ("http://farm", "a\nb"),
        ] {
            assert!(Api::new(address, token).is_err(), "{address}");
        }
    }

    #[test]
    fn problems_become_typed_refusals() {
        let problem =
            |code| Problem { code, message: String::new(), remedy: String::new(), reason: None };
        assert_eq!(ApiError::from(problem(ProblemCode::Superseded)), ApiError::Superseded);
        assert_eq!(ApiError::from(problem(ProblemCode::UnknownSession)), ApiError::UnknownSession);
        assert!(ApiError::from(problem(ProblemCode::Busy)).may_pass());
        assert!(!ApiError::from(problem(ProblemCode::Conflict)).may_pass());
        assert!(!ApiError::from(problem(ProblemCode::Finished)).may_pass());
    }
}
