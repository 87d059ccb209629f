//! All routes with their document, and what surrounds every call.

use super::auth::TokenHash;
use super::problem::Refusal;
use super::state::Shared;
use super::{
    artifacts, audit, auth, batches, controls, dead_letters, events, farm, jobs, logs, pipelines,
    sessions, watch,
};
use crate::model::Reason;
use crate::protocol::event::{Event, Pulse};
use crate::protocol::problem::{Problem, ProblemCode};
use crate::protocol::submit::IfFull;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tracing::Instrument;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Calls answered at once; long polls count, open event streams do not.
const CALLS: usize = 1_024;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Sawah",
        description = "The coordinator of a render farm: what workers and clients say to it."
    ),
    components(schemas(Problem, ProblemCode, Reason, Event, Pulse, IfFull)),
    security(("token" = [])),
    modifiers(&BearerToken),
)]
struct Document;

struct BearerToken;

impl Modify for BearerToken {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        let components = document.components.get_or_insert_default();
        components.security_schemes.insert("token".to_owned(), scheme.into());
    }
}

/// Every route and the document that describes exactly these.
pub(super) fn routes() -> (Router<Shared>, utoipa::openapi::OpenApi) {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(sessions::open))
        .routes(routes!(sessions::goodbye))
        .routes(routes!(sessions::heartbeat))
        .routes(routes!(sessions::claim))
        .routes(routes!(batches::report))
        .routes(routes!(jobs::list))
        .routes(routes!(jobs::show))
        .routes(routes!(jobs::start))
        .routes(routes!(jobs::complete))
        .routes(routes!(jobs::fail))
        .routes(routes!(jobs::release))
        .routes(routes!(jobs::keep))
        .routes(routes!(logs::append, logs::read))
        .routes(routes!(artifacts::put, artifacts::head, artifacts::get))
        .routes(routes!(pipelines::submit, pipelines::list))
        .routes(routes!(batches::submit))
        .routes(routes!(pipelines::show))
        .routes(routes!(pipelines::cancel))
        .routes(routes!(dead_letters::list))
        .routes(routes!(dead_letters::replay_many))
        .routes(routes!(dead_letters::dismiss_many))
        .routes(routes!(dead_letters::show))
        .routes(routes!(dead_letters::replay))
        .routes(routes!(dead_letters::dismiss))
        .routes(routes!(controls::list, controls::set))
        .routes(routes!(controls::limits, controls::set_limit))
        .routes(routes!(controls::why))
        .routes(routes!(farm::workers))
        .routes(routes!(farm::forgive))
        .routes(routes!(farm::snapshot))
        .routes(routes!(farm::status))
        .routes(routes!(audit::page))
        .routes(routes!(watch::list, watch::add))
        .routes(routes!(watch::show, watch::change, watch::remove))
        .routes(routes!(watch::order))
        .routes(routes!(watch::files))
        .routes(routes!(watch::file))
        .routes(routes!(farm::recipes))
        .routes(routes!(farm::openapi))
        .routes(routes!(events::follow))
        .split_for_parts()
}

/// The routes with what surrounds every call: span, token, bound on calls at once.
pub(super) fn serve(router: Router<Shared>, farm: &Shared) -> Router {
    surround(router, farm.token, Arc::new(Semaphore::new(CALLS))).with_state(farm.clone())
}

fn surround<S>(router: Router<S>, token: TokenHash, calls: Arc<Semaphore>) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    router
        .fallback(unknown_route)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(calls, bound_calls))
        .layer(from_fn_with_state(token, auth::require_token))
        .layer(from_fn(trace_call))
}

async fn unknown_route(uri: Uri) -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        ProblemCode::NotFound,
        format!("nothing answers at {}", uri.path()),
        "See /v1/openapi.json for what there is.",
    )
}

async fn wrong_method(method: Method, uri: Uri) -> Refusal {
    Refusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        ProblemCode::Invalid,
        format!("{} does not answer to {method}", uri.path()),
        "See /v1/openapi.json for the methods there are.",
    )
}

async fn bound_calls(
    State(calls): State<Arc<Semaphore>>,
    request: Request,
    next: Next,
) -> Response {
    match calls.try_acquire() {
        Ok(_held) => next.run(request).await,
        Err(_) => Refusal::busy("the coordinator answers too many calls at once").into_response(),
    }
}

/// One span for each call. It names method and path: the token and the query stay out of the log.
async fn trace_call(request: Request, next: Next) -> Response {
    let span = tracing::debug_span!(
        "call",
        method = %request.method(),
        path = request.uri().path(),
        status = tracing::field::Empty,
    );
    let within = span.clone();
    async move {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let response = next.run(request).await;
        let status = response.status();
        within.record("status", status.as_u16());
        if status.is_server_error() {
            tracing::warn!(%method, path, status = status.as_u16(), "call failed");
        } else {
            tracing::debug!(status = status.as_u16(), "call answered");
        }
        response
    }
    .instrument(span)
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// Every call of the protocol.
    const EXPECTED: &[(&str, &str)] = &[
        ("post", "/v1/sessions"),
        ("delete", "/v1/sessions/{session}"),
        ("post", "/v1/sessions/{session}/heartbeat"),
        ("post", "/v1/sessions/{session}/claim"),
        ("post", "/v1/sessions/{session}/reports"),
        ("post", "/v1/pipelines/batch"),
        ("get", "/v1/jobs"),
        ("get", "/v1/jobs/{job}"),
        ("post", "/v1/jobs/{job}/start"),
        ("post", "/v1/jobs/{job}/complete"),
        ("post", "/v1/jobs/{job}/fail"),
        ("post", "/v1/jobs/{job}/release"),
        ("post", "/v1/jobs/{job}/keep"),
        ("post", "/v1/jobs/{job}/log"),
        ("get", "/v1/jobs/{job}/log"),
        ("put", "/v1/artifacts/{checksum}"),
        ("head", "/v1/artifacts/{checksum}"),
        ("get", "/v1/artifacts/{checksum}"),
        ("post", "/v1/pipelines"),
        ("get", "/v1/pipelines"),
        ("get", "/v1/pipelines/{pipeline}"),
        ("post", "/v1/pipelines/{pipeline}/cancel"),
        ("get", "/v1/dead-letters"),
        ("get", "/v1/dead-letters/{job}"),
        ("post", "/v1/dead-letters/replay"),
        ("post", "/v1/dead-letters/dismiss"),
        ("post", "/v1/dead-letters/{job}/replay"),
        ("post", "/v1/dead-letters/{job}/dismiss"),
        ("get", "/v1/controls"),
        ("put", "/v1/controls"),
        ("get", "/v1/limits"),
        ("put", "/v1/limits"),
        ("get", "/v1/jobs/{job}/why"),
        ("get", "/v1/workers"),
        ("post", "/v1/workers/{worker}/forgive"),
        ("get", "/v1/snapshot"),
        ("get", "/v1/status"),
        ("get", "/v1/audit"),
        ("get", "/v1/watch"),
        ("post", "/v1/watch"),
        ("get", "/v1/watch/{folder}"),
        ("put", "/v1/watch/{folder}"),
        ("delete", "/v1/watch/{folder}"),
        ("post", "/v1/watch/{folder}/orders"),
        ("get", "/v1/watch/{folder}/files"),
        ("get", "/v1/watch/{folder}/files/{file}"),
        ("get", "/v1/recipes"),
        ("get", "/v1/openapi.json"),
        ("get", "/v1/events"),
    ];

    /// Serves one route on a free port and sends it one call of HTTP/1.1, as text.
    async fn call(calls: usize, head: &str) -> String {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let router = Router::new().route("/v1/one", axum::routing::get(async || "one"));
        let app = surround(router, TokenHash::of("00ff"), Arc::new(Semaphore::new(calls)));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let listener = super::super::listener::BoundedListener::new(
            listener,
            1,
            super::super::listener::FIRST_HEADER,
        );
        let server = tokio::spawn(axum::serve(listener, app).into_future());
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let head = format!("{head}\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        server.abort();
        answer
    }

    #[tokio::test]
    async fn every_refusal_is_a_problem_and_no_route_opens_without_the_token() {
        let token = "authorization: Bearer 00ff";
        for (head, status, code) in [
            ("GET /v1/one HTTP/1.1".to_owned(), "401", "unauthorized"),
            ("GET /v1/none HTTP/1.1".to_owned(), "401", "unauthorized"),
            ("PUT /v1/one HTTP/1.1\r\nauthorization: Bearer 00f".to_owned(), "401", "unauthorized"),
            (format!("GET /v1/none HTTP/1.1\r\n{token}"), "404", "not_found"),
            (format!("PUT /v1/one HTTP/1.1\r\n{token}"), "405", "invalid"),
        ] {
            let answer = call(1, &head).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{head}: {answer}");
            let body = answer.split("\r\n\r\n").nth(1).unwrap();
            let problem: Problem = serde_json::from_str(body).unwrap();
            assert_eq!(serde_json::to_value(problem.code).unwrap(), code, "{head}");
        }
        let answer = call(1, &format!("GET /v1/one HTTP/1.1\r\n{token}")).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("one"), "{answer}");
    }

    #[tokio::test]
    async fn calls_beyond_the_bound_are_told_to_come_again() {
        let answer = call(0, "GET /v1/one HTTP/1.1\r\nauthorization: Bearer 00ff").await;
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
        assert!(answer.to_lowercase().contains("retry-after: 1"), "{answer}");
    }

    fn document() -> Value {
        serde_json::to_value(routes().1).unwrap()
    }

    fn operations(document: &Value) -> Vec<(String, String, Value)> {
        let paths = document["paths"].as_object().unwrap();
        paths
            .iter()
            .flat_map(|(path, item)| {
                item.as_object()
                    .unwrap()
                    .iter()
                    .map(|(method, operation)| (method.clone(), path.clone(), operation.clone()))
            })
            .collect()
    }

    #[test]
    fn the_document_has_every_call_and_no_other() {
        let document = document();
        let mut found: Vec<_> =
            operations(&document).into_iter().map(|(method, path, _)| (method, path)).collect();
        found.sort();
        let mut expected: Vec<_> =
            EXPECTED.iter().map(|(method, path)| ((*method).into(), (*path).into())).collect();
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_call_documents_its_refusals_parameters_and_a_success() {
        for (method, path, operation) in operations(&document()) {
            let call = format!("{method} {path}");
            for status in ["401", "503"] {
                let schema =
                    &operation["responses"][status]["content"]["application/json"]["schema"];
                assert_eq!(schema["$ref"], "#/components/schemas/Problem", "{call} {status}");
            }
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.keys().any(|status| status.starts_with('2')), "{call}");
            let named: Vec<_> = operation["parameters"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|parameter| parameter["in"] == "path")
                .map(|parameter| parameter["name"].as_str().unwrap().to_owned())
                .collect();
            for name in path.split('/').filter_map(|part| part.strip_prefix('{')) {
                assert!(named.contains(&name.trim_end_matches('}').to_owned()), "{call}: {name}");
            }
        }
    }

    #[test]
    fn every_reference_in_the_document_leads_somewhere() {
        let document = document();
        let mut waiting = vec![&document];
        let mut references = 0;
        while let Some(value) = waiting.pop() {
            match value {
                Value::Object(fields) => {
                    if let Some(Value::String(reference)) = fields.get("$ref") {
                        references += 1;
                        let pointer = reference.strip_prefix('#').unwrap();
                        assert!(document.pointer(pointer).is_some(), "{reference}");
                    }
                    waiting.extend(fields.values());
                }
                Value::Array(values) => waiting.extend(values),
                _ => {}
            }
        }
        assert!(references > 50, "{references}");
    }
}
