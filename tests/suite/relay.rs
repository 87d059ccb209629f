//! Stands between the farm's parts and reads what they say: holds a message back, or delivers it
//! twice, as a network may.

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use std::sync::Arc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_util::task::AbortOnDropHandle;

/// The largest message that goes through.
const MESSAGE_BYTES: usize = 64 << 20;

/// Messages that wait for the test to look at them.
const MESSAGES: usize = 4_096;

/// What becomes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// It is delivered.
    Pass,
    /// It is delivered twice; the second answer goes back.
    Twice,
    /// It is never delivered, and nobody is told.
    Hold,
}

/// A message that was held back or delivered twice.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Bytes,
    /// What the coordinator said each time.
    pub(crate) answers: Vec<(StatusCode, Bytes)>,
}

struct Post {
    http: reqwest::Client,
    target: String,
    choose: Box<dyn Fn(&Message) -> Way + Send + Sync>,
    told: Sender<Message>,
}

impl Post {
    fn tell(&self, message: Message) {
        // A test that has ended wants to hear nothing more.
        if let Err(TrySendError::Full(message)) = self.told.try_send(message) {
            panic!("{MESSAGES} messages wait already: {message:?}");
        }
    }
}

/// The relay; gone when dropped.
pub(crate) struct Relay {
    url: String,
    _serving: AbortOnDropHandle<()>,
}

impl Relay {
    /// A relay to the coordinator at `target`, and what it holds back or doubles.
    pub(crate) async fn to(
        target: &str,
        choose: impl Fn(&Message) -> Way + Send + Sync + 'static,
    ) -> (Self, Receiver<Message>) {
        let (told, messages) = channel(MESSAGES);
        let http = reqwest::Client::new();
        let post = Post { http, target: target.to_owned(), choose: Box::new(choose), told };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let router = axum::Router::new().fallback(relay).with_state(Arc::new(post));
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("the relay serves");
        });
        (
            Self { url: format!("http://{address}"), _serving: AbortOnDropHandle::new(serving) },
            messages,
        )
    }

    /// Its address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

async fn relay(State(post): State<Arc<Post>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, MESSAGE_BYTES).await.unwrap_or_default();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let mut message = Message { method: parts.method, path, body, answers: Vec::new() };
    let way = (post.choose)(&message);
    if way == Way::Hold {
        post.tell(message);
        return std::future::pending().await;
    }
    let mut headers = HeaderMap::new();
    for _ in 0..if way == Way::Twice { 2 } else { 1 } {
        let Some((answer, said)) = deliver(&post, &message, &parts.headers).await else {
            return plain(StatusCode::BAD_GATEWAY, HeaderMap::new(), Bytes::new());
        };
        message.answers.push(answer);
        headers = said;
    }
    let (status, body) = message.answers.last().cloned().expect("it was delivered");
    if way == Way::Twice {
        post.tell(message);
    }
    plain(status, headers, body)
}

async fn deliver(
    post: &Post,
    message: &Message,
    headers: &HeaderMap,
) -> Option<((StatusCode, Bytes), HeaderMap)> {
    let mut headers = headers.clone();
    for own in [header::HOST, header::CONTENT_LENGTH, header::TRANSFER_ENCODING] {
        headers.remove(own);
    }
    let url = format!("{}{}", post.target, message.path);
    let request = post.http.request(message.method.clone(), url).headers(headers);
    let response = request.body(message.body.clone()).send().await.ok()?;
    let (status, said) = (response.status(), response.headers().clone());
    Some(((status, response.bytes().await.ok()?), said))
}

fn plain(status: StatusCode, headers: HeaderMap, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response.headers_mut().remove(header::TRANSFER_ENCODING);
    response.headers_mut().remove(header::CONNECTION);
    response
}
