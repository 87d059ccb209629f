//! The calls people's surfaces make, typed. [`super::transfer`] moves files, [`super::events`]
//! follows the stream.

use super::error::ClientError;
use crate::model::{JobId, JobState, PipelineId};
use crate::protocol::audit::AuditPage;
use crate::protocol::control::{ControlView, Limits, SetControl, SetLimit};
use crate::protocol::dead::{BatchReply, DeadLetterDetail, DismissBatch, ReplayBatch, ReplayOrder};
use crate::protocol::problem::{Problem, ProblemCode};
use crate::protocol::submit::{CancelReply, Order, Replayed};
use crate::protocol::view::{
    DeadLetterView, FarmStatus, JobDetail, JobView, PipelineDetail, PipelineView, Snapshot,
    WorkerView,
};
use crate::protocol::why::Why;
use crate::recipes::Recipe;
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::time::Duration;

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long one call may take in all, transfers of files and the stream excepted.
const CALL_TIMEOUT: Duration = Duration::from_mins(1);
/// How long a transfer may stand still.
const STALL_TIMEOUT: Duration = Duration::from_mins(1);
/// Largest JSON answer.
const ANSWER_BYTES: usize = 256 << 20;
/// Largest body of a refusal.
const PROBLEM_BYTES: usize = 1 << 20;

/// The secret that opens a farm. Prints as dots.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// From text as people paste it.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The secret itself; never log it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// A coordinator as a client reaches it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    token: Token,
}

/// A piece of an attempt's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPart {
    /// The bytes from the offset that was asked for.
    pub bytes: Vec<u8>,
    /// Size of the whole log now.
    pub size_bytes: u64,
}

/// One page of a listing, newest first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Page {
    /// Only rows with a smaller id.
    pub before: Option<i64>,
    /// At most this many; none means as many as the coordinator gives.
    pub limit: Option<u32>,
}

impl Page {
    /// The newest rows.
    pub fn newest(limit: u32) -> Self {
        Self { before: None, limit: Some(limit) }
    }

    fn query(self) -> Query {
        Query::default().with("before", self.before).with("limit", self.limit)
    }
}

/// Which rows of the audit are asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditQuery {
    /// Only rows with a greater number.
    pub after: u64,
    /// At most this many rows; none means as many as the coordinator gives.
    pub limit: Option<u32>,
    /// Only rows of this pipeline.
    pub pipeline: Option<PipelineId>,
    /// Only rows of this job.
    pub job: Option<JobId>,
}

/// Parameters of a call; all are numbers or words without special letters.
#[derive(Default)]
pub(super) struct Query(pub(super) String);

impl Query {
    pub(super) fn with(mut self, key: &str, value: Option<impl fmt::Display>) -> Self {
        if let Some(value) = value {
            let mark = if self.0.is_empty() { '?' } else { '&' };
            self.0 = format!("{}{mark}{key}={value}", self.0);
        }
        self
    }
}

impl Client {
    /// For the coordinator at `url`, such as `http://render-01:7420`.
    pub fn new(url: &str, token: Token) -> Result<Self, ClientError> {
        let bad = |why: String| ClientError::BadAddress { url: url.to_owned(), why };
        let parsed = Url::parse(url).map_err(|error| bad(error.to_string()))?;
        if parsed.scheme() != "http" || parsed.host().is_none() {
            return Err(bad("only http:// is spoken".to_owned()));
        }
        // A proxy would see every file, and a redirect would carry the token elsewhere.
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(STALL_TIMEOUT)
            .user_agent(concat!("sawah/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| bad(error.to_string()))?;
        Ok(Self { http, url: url.trim_end_matches('/').to_owned(), token })
    }

    /// Where the coordinator is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The token it is called with.
    pub fn token(&self) -> &Token {
        &self.token
    }

    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}/v1{path}", self.url)).bearer_auth(self.token.reveal())
    }

    /// Sends a call; every answer that is no success becomes an error.
    pub(super) async fn send(
        &self,
        request: RequestBuilder,
        call: &str,
    ) -> Result<Response, ClientError> {
        let response =
            request.send().await.map_err(|error| ClientError::unreachable(&self.url, &error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = self.body(response, call, PROBLEM_BYTES).await?;
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) if problem.code == ProblemCode::Unauthorized => {
                Err(ClientError::Unauthorized { url: self.url.clone() })
            }
            Ok(problem) => {
                Err(ClientError::Refused { status: status.as_u16(), problem: Box::new(problem) })
            }
            Err(_) if status == StatusCode::UNAUTHORIZED => {
                Err(ClientError::Unauthorized { url: self.url.clone() })
            }
            Err(_) => Err(ClientError::bad_answer(call, &format!("status {status}"))),
        }
    }

    /// The whole body, bounded.
    pub(super) async fn body(
        &self,
        mut response: Response,
        call: &str,
        limit_bytes: usize,
    ) -> Result<Vec<u8>, ClientError> {
        let mut bytes = Vec::new();
        while let Some(piece) =
            response.chunk().await.map_err(|error| ClientError::unreachable(&self.url, &error))?
        {
            if bytes.len() + piece.len() > limit_bytes {
                return Err(ClientError::bad_answer(call, &format!("over {limit_bytes} bytes")));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    pub(super) async fn answer<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
        call: &str,
    ) -> Result<T, ClientError> {
        let response = self.send(request.timeout(CALL_TIMEOUT), call).await?;
        let body = self.body(response, call, ANSWER_BYTES).await?;
        serde_json::from_slice(&body).map_err(|error| ClientError::bad_answer(call, &error))
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.answer(self.request(Method::GET, path), path).await
    }

    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.answer(self.request(Method::POST, path).json(body), path).await
    }

    /// `GET /v1/pipelines`, newest first.
    pub async fn pipelines(&self, page: Page) -> Result<Vec<PipelineView>, ClientError> {
        self.get(&format!("/pipelines{}", page.query().0)).await
    }

    /// `GET /v1/pipelines/{id}`.
    pub async fn pipeline(&self, pipeline: PipelineId) -> Result<PipelineDetail, ClientError> {
        self.get(&format!("/pipelines/{pipeline}")).await
    }

    /// `POST /v1/pipelines/{id}/cancel`.
    pub async fn cancel(
        &self,
        pipeline: PipelineId,
        order: &Order,
    ) -> Result<CancelReply, ClientError> {
        self.post(&format!("/pipelines/{pipeline}/cancel"), order).await
    }

    /// `GET /v1/jobs`, newest first, of one state or all.
    pub async fn jobs(
        &self,
        state: Option<JobState>,
        page: Page,
    ) -> Result<Vec<JobView>, ClientError> {
        self.get(&format!("/jobs{}", page.query().with("state", state).0)).await
    }

    /// `GET /v1/jobs/{id}`.
    pub async fn job(&self, job: JobId) -> Result<JobDetail, ClientError> {
        self.get(&format!("/jobs/{job}")).await
    }

    /// `GET /v1/jobs/{id}/log` from `offset`; a negative one counts from the end. `epoch` names an
    /// attempt, none the last one. At most `limit_bytes` long.
    pub async fn log(
        &self,
        job: JobId,
        epoch: Option<u32>,
        offset: i64,
        limit_bytes: usize,
    ) -> Result<LogPart, ClientError> {
        let query = Query::default().with("epoch", epoch).with("offset", Some(offset));
        let path = format!("/jobs/{job}/log{}", query.0);
        let request = self.request(Method::GET, &path).timeout(CALL_TIMEOUT);
        let response = self.send(request, &path).await?;
        let size = response
            .headers()
            .get("x-log-size")
            .and_then(|value| value.to_str().ok()?.parse().ok());
        let bytes = self.body(response, &path, limit_bytes).await?;
        let size_bytes = size.unwrap_or(bytes.len() as u64);
        Ok(LogPart { bytes, size_bytes })
    }

    /// `GET /v1/dead-letters`, newest first; `all` includes the settled ones.
    pub async fn dead_letters(
        &self,
        all: bool,
        page: Page,
    ) -> Result<Vec<DeadLetterView>, ClientError> {
        let query = page.query().with("all", all.then_some(true));
        self.get(&format!("/dead-letters{}", query.0)).await
    }

    /// `POST /v1/dead-letters/{job}/replay`.
    pub async fn replay(&self, job: JobId, order: &ReplayOrder) -> Result<Replayed, ClientError> {
        self.post(&format!("/dead-letters/{job}/replay"), order).await
    }

    /// `POST /v1/dead-letters/{job}/dismiss`.
    pub async fn dismiss(&self, job: JobId, order: &Order) -> Result<(), ClientError> {
        self.tell(Method::POST, &format!("/dead-letters/{job}/dismiss"), order).await
    }

    /// A call whose answer says nothing but that it was done.
    pub(super) async fn tell(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<(), ClientError> {
        let request = self.request(method, path).json(body).timeout(CALL_TIMEOUT);
        self.send(request, path).await.map(|_| ())
    }

    pub(super) async fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.answer(self.request(Method::PUT, path).json(body), path).await
    }

    /// `GET /v1/controls`: what is paused or draining.
    pub async fn controls(&self) -> Result<Vec<ControlView>, ClientError> {
        self.get("/controls").await
    }

    /// `PUT /v1/controls`: pauses, resumes or drains.
    pub async fn set_control(&self, order: &SetControl) -> Result<ControlView, ClientError> {
        self.put("/controls", order).await
    }

    /// `GET /v1/limits`.
    pub async fn limits(&self) -> Result<Limits, ClientError> {
        self.get("/limits").await
    }

    /// `PUT /v1/limits`: sets or removes one; the answer is all of them.
    pub async fn set_limit(&self, order: &SetLimit) -> Result<Limits, ClientError> {
        self.put("/limits", order).await
    }

    /// `GET /v1/jobs/{id}/why`: what keeps a job from running.
    pub async fn why(&self, job: JobId) -> Result<Why, ClientError> {
        self.get(&format!("/jobs/{job}/why")).await
    }

    /// `GET /v1/dead-letters/{job}`.
    pub async fn dead_letter(&self, job: JobId) -> Result<DeadLetterDetail, ClientError> {
        self.get(&format!("/dead-letters/{job}")).await
    }

    /// `POST /v1/dead-letters/replay`: many at once.
    pub async fn replay_many(&self, order: &ReplayBatch) -> Result<BatchReply, ClientError> {
        self.post("/dead-letters/replay", order).await
    }

    /// `POST /v1/dead-letters/dismiss`: many at once.
    pub async fn dismiss_many(&self, order: &DismissBatch) -> Result<BatchReply, ClientError> {
        self.post("/dead-letters/dismiss", order).await
    }

    /// `GET /v1/workers`: those with a session now.
    pub async fn workers(&self) -> Result<Vec<WorkerView>, ClientError> {
        self.get("/workers").await
    }

    /// `POST /v1/workers/{worker}/forgive`.
    pub async fn forgive(&self, worker: &str, order: &Order) -> Result<(), ClientError> {
        let mut path = Url::parse("http://farm").map_err(|error| self.bad_path(&error))?;
        // The name is free text: only a URL's own segments escape it rightly.
        let mut segments = path.path_segments_mut().map_err(|()| self.bad_path("no path"))?;
        segments.clear().extend(["workers", worker, "forgive"]);
        drop(segments);
        let request = self.request(Method::POST, path.path()).json(order).timeout(CALL_TIMEOUT);
        self.send(request, path.path()).await.map(|_| ())
    }

    fn bad_path(&self, why: &(impl ToString + ?Sized)) -> ClientError {
        ClientError::BadAddress { url: self.url.clone(), why: why.to_string() }
    }

    /// `GET /v1/snapshot` with the newest `pipelines`.
    pub async fn snapshot(&self, pipelines: u32) -> Result<Snapshot, ClientError> {
        self.get(&format!("/snapshot?pipelines={pipelines}")).await
    }

    /// `GET /v1/audit`: one page, oldest first.
    pub async fn audit(&self, asked: &AuditQuery) -> Result<AuditPage, ClientError> {
        let query = Query::default().with("after", Some(asked.after)).with("limit", asked.limit);
        let query = query.with("pipeline", asked.pipeline).with("job", asked.job);
        self.get(&format!("/audit{}", query.0)).await
    }

    /// `GET /v1/status`.
    pub async fn status(&self) -> Result<FarmStatus, ClientError> {
        self.get("/status").await
    }

    /// `GET /v1/recipes`.
    pub async fn recipes(&self) -> Result<Vec<Recipe>, ClientError> {
        self.get("/recipes").await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked_and_the_token_never_prints() {
        let client = Client::new("http://127.0.0.1:7420/", Token::new(" s3cret\n")).expect("good");
        assert_eq!(client.url(), "http://127.0.0.1:7420");
        assert!(!format!("{client:?}").contains("s3cret"));
        for bad in ["https://farm", "farm:7420", "", "http://"] {
            let error = Client::new(bad, Token::new("x")).expect_err(bad);
            assert!(error.to_string().contains("http://HOST:PORT"), "{error}");
        }
    }

    #[test]
    fn parameters_are_joined() {
        let page = Page { before: Some(7), limit: Some(20) };
        assert_eq!(page.query().with("state", Some("queued")).0, "?before=7&limit=20&state=queued");
        assert_eq!(Page::default().query().0, "");
    }
}
