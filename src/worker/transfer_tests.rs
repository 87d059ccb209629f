//! Transfers against a real server on loopback.

use super::*;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::{StreamExt, stream};
use std::sync::{Arc, Mutex};

/// A store with one artifact, and what was asked of it.
#[derive(Default)]
struct Shelf {
    bytes: Vec<u8>,
    /// The first answers break off after so many bytes.
    breaks: Mutex<Vec<usize>>,
    asked: Mutex<Vec<String>>,
    taken: Mutex<Vec<Vec<u8>>>,
    /// Refuses uploads.
    refuses: Option<(StatusCode, &'static str)>,
}

async fn give(State(shelf): State<Arc<Shelf>>, headers: HeaderMap) -> Response {
    let range = headers.get(header::RANGE).map_or("", |range| range.to_str().unwrap());
    shelf.asked.lock().unwrap().push(range.to_owned());
    if shelf.bytes.is_empty() {
        let problem = r#"{"code":"not_found","message":"no such artifact","remedy":"x"}"#;
        return (StatusCode::NOT_FOUND, problem).into_response();
    }
    let total = shelf.bytes.len();
    let from = range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap_or(0);
    let rest = shelf.bytes[from..].to_vec();
    let mut breaks = shelf.breaks.lock().unwrap();
    let body = if breaks.is_empty() {
        axum::body::Body::from(rest)
    } else {
        let part = Bytes::from(rest[..breaks.remove(0)].to_vec());
        let broken = stream::once(async { Ok(part) }).chain(stream::once(async {
            // Lets the server send what it has.
            tokio::task::yield_now().await;
            Err(std::io::Error::other("cable pulled"))
        }));
        axum::body::Body::from_stream(broken)
    };
    if from > 0 {
        let range = format!("bytes {from}-{}/{total}", total - 1);
        (StatusCode::PARTIAL_CONTENT, [(header::CONTENT_RANGE, range)], body).into_response()
    } else {
        body.into_response()
    }
}

async fn take(State(shelf): State<Arc<Shelf>>, headers: HeaderMap, body: Bytes) -> Response {
    assert_eq!(headers[header::AUTHORIZATION], "Bearer secret");
    assert_eq!(headers[header::CONTENT_LENGTH], body.len().to_string());
    if let Some((status, problem)) = shelf.refuses {
        return (status, problem).into_response();
    }
    shelf.taken.lock().unwrap().push(body.to_vec());
    StatusCode::CREATED.into_response()
}

async fn head(State(shelf): State<Arc<Shelf>>) -> StatusCode {
    let known = !shelf.bytes.is_empty();
    if known { StatusCode::OK } else { StatusCode::NOT_FOUND }
}

async fn serve(shelf: Shelf) -> (Api, Arc<Shelf>) {
    let shelf = Arc::new(shelf);
    let verbs = get(give).put(take).head(head);
    let router =
        Router::new().route("/v1/artifacts/{checksum}", verbs).with_state(Arc::clone(&shelf));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (Api::new(&format!("http://{address}/"), "secret").unwrap(), shelf)
}

fn content() -> Vec<u8> {
    (0..200_000_u32).map(|index| (index % 251) as u8).collect()
}

#[tokio::test]
async fn a_broken_download_goes_on_where_it_broke() {
    let bytes = content();
    let shelf = Shelf {
        bytes: bytes.clone(),
        breaks: Mutex::new(vec![70_000, 50_000]),
        ..Shelf::default()
    };
    let (api, shelf) = serve(shelf).await;
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("x.part");
    let size = bytes.len() as u64;
    download(&api, Checksum::of(&bytes), size, &part).await.unwrap();
    assert_eq!(std::fs::read(&part).unwrap(), bytes);
    assert_eq!(*shelf.asked.lock().unwrap(), ["", "bytes=70000-", "bytes=120000-"]);
}

#[tokio::test]
async fn wrong_bytes_are_asked_for_once_more_and_then_refused() {
    let bytes = content();
    let (api, shelf) = serve(Shelf { bytes: bytes.clone(), ..Shelf::default() }).await;
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("x.part");
    let size = bytes.len() as u64;
    let error = download(&api, Checksum::of(b"other"), size, &part).await.unwrap_err();
    assert!(matches!(error, TransferError::Mismatch(_)), "{error:?}");
    assert_eq!(error.into_failure("x").reason, Reason::ArtifactMismatch);
    assert!(!part.exists());
    assert_eq!(shelf.asked.lock().unwrap().len(), 2);
    // A half file from elsewhere is no help either.
    std::fs::write(&part, b"wrong begin").unwrap();
    download(&api, Checksum::of(&bytes), size, &part).await.unwrap();
    assert_eq!(std::fs::read(&part).unwrap(), bytes);
    // More than was announced is wrong too.
    std::fs::remove_file(&part).unwrap();
    let error = download(&api, Checksum::of(&bytes), 10, &part).await.unwrap_err();
    assert!(matches!(error, TransferError::Mismatch(_)), "{error:?}");
}

#[tokio::test]
async fn lost_bytes_are_missing() {
    let (api, _) = serve(Shelf::default()).await;
    let folder = tempfile::tempdir().unwrap();
    let part = folder.path().join("x.part");
    let error = download(&api, Checksum::of(b"x"), 1, &part).await.unwrap_err();
    assert_eq!(error.into_failure("x").reason, Reason::ArtifactMissing);
}

#[tokio::test]
async fn one_download_serves_all_who_wait_and_all_who_come_later() {
    let bytes = content();
    let (api, shelf) = serve(Shelf { bytes: bytes.clone(), ..Shelf::default() }).await;
    let work = tempfile::tempdir().unwrap();
    let cache = Arc::new(crate::worker::cache::Cache::open(work.path(), 1 << 20).unwrap());
    let (checksum, size) = (Checksum::of(&bytes), bytes.len() as u64);
    let target = |name: &str| work.path().join(name);
    let (one, two) = (target("one"), target("two"));
    let (first, second) = tokio::join!(
        cache.fetch(&api, checksum, size, &one),
        cache.fetch(&api, checksum, size, &two)
    );
    first.unwrap();
    second.unwrap();
    cache.fetch(&api, checksum, size, &target("three")).await.unwrap();
    for name in ["one", "two", "three"] {
        assert_eq!(std::fs::read(target(name)).unwrap(), bytes);
    }
    assert_eq!(shelf.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn only_unknown_bytes_are_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    std::fs::write(&path, content()).unwrap();
    let (checksum, size) = (Checksum::of(&content()), content().len() as u64);
    let (api, shelf) = serve(Shelf::default()).await;
    upload(&api, &path, checksum, size).await.unwrap();
    assert_eq!(*shelf.taken.lock().unwrap(), [content()]);
    let (api, shelf) = serve(Shelf { bytes: content(), ..Shelf::default() }).await;
    upload(&api, &path, checksum, size).await.unwrap();
    assert!(shelf.taken.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_full_store_and_bytes_changed_on_the_way_have_their_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    std::fs::write(&path, b"x").unwrap();
    let cases = [
        (
            (
                StatusCode::INSUFFICIENT_STORAGE,
                r#"{"code":"storage_full","message":"full","remedy":"free space"}"#,
            ),
            Reason::StorageFull,
        ),
        (
            (
                StatusCode::UNPROCESSABLE_ENTITY,
                r#"{"code":"invalid","message":"differs","remedy":"again","reason":"artifact.mismatch"}"#,
            ),
            Reason::ArtifactMismatch,
        ),
    ];
    for (refuses, reason) in cases {
        let (api, _) = serve(Shelf { refuses: Some(refuses), ..Shelf::default() }).await;
        let error = upload(&api, &path, Checksum::of(b"x"), 1).await.unwrap_err();
        assert_eq!(error.into_failure("x").reason, reason);
    }
}
