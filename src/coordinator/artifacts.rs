//! Bytes in and out of the content store.

use super::extract::At;
use super::problem::{Conflicts, Refusal, Refusals};
use super::range::{self, Requested};
use super::state::{Shared, blocking};
use crate::artifacts::{ArtifactError, ByteRange, Put};
use crate::model::{Checksum, limits};
use crate::protocol::problem::ProblemCode;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use std::time::Duration;

/// An upload that sends nothing for this long is given up.
const UPLOAD_STALL: Duration = Duration::from_mins(1);
/// What is read of a refused upload at most, and for how long.
const DISCARDED_BYTES: usize = 256 << 20;
const DISCARDING: Duration = Duration::from_secs(10);
/// What has a checksum for its name never changes.
const FOR_EVER: HeaderValue = HeaderValue::from_static("private, max-age=31536000, immutable");

/// Stores bytes under their checksum.
#[utoipa::path(put, path = "/v1/artifacts/{checksum}", tag = "artifacts",
    params(("checksum" = Checksum, Path)),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 201, description = "Stored"),
        (status = 200, description = "Was there already"), Refusals, Conflicts))]
pub(super) async fn put(
    State(farm): State<Shared>,
    At(checksum): At<Checksum>,
    request: Request,
) -> Result<StatusCode, Refusal> {
    let announced = content_length(request.headers());
    if announced.is_some_and(|size_bytes| size_bytes > limits::SOURCE_FILE_BYTES) {
        return Err(ArtifactError::TooLarge { max_bytes: limits::SOURCE_FILE_BYTES }.into());
    }
    let mut pieces = std::pin::pin!(without_stall(request.into_body(), UPLOAD_STALL).fuse());
    let stored =
        farm.artifacts.put_stream(checksum, limits::SOURCE_FILE_BYTES, pieces.as_mut()).await;
    if stored.is_err() {
        discard(pieces).await;
    }
    match stored? {
        Put::New => Ok(StatusCode::CREATED),
        Put::Known => Ok(StatusCode::OK),
    }
}

/// Reads on for a while: a sender that still writes when the connection closes never sees why it
/// was refused.
async fn discard(mut rest: impl Stream<Item = Result<Bytes, String>> + Unpin) {
    let reading = async {
        let mut read_bytes = 0_usize;
        while let Some(Ok(piece)) = rest.next().await {
            read_bytes = read_bytes.saturating_add(piece.len());
            if read_bytes > DISCARDED_BYTES {
                break;
            }
        }
    };
    let _in_time = tokio::time::timeout(DISCARDING, reading).await;
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn without_stall(body: Body, stall: Duration) -> impl Stream<Item = Result<Bytes, String>> {
    stream::unfold(Some(body.into_data_stream()), move |body| async move {
        let mut body = body?;
        match tokio::time::timeout(stall, body.next()).await {
            Ok(Some(Ok(piece))) => Some((Ok(piece), Some(body))),
            Ok(Some(Err(error))) => Some((Err(error.to_string()), None)),
            Ok(None) => None,
            Err(_) => Some((Err(format!("nothing came for {} s", stall.as_secs())), None)),
        }
    })
}

/// Whether the store has the bytes, and how many they are.
#[utoipa::path(head, path = "/v1/artifacts/{checksum}", tag = "artifacts",
    params(("checksum" = Checksum, Path)),
    responses((status = 200, description = "Its size is in content-length"), Refusals))]
pub(super) async fn head(
    State(farm): State<Shared>,
    At(checksum): At<Checksum>,
) -> Result<Response, Refusal> {
    let size_bytes = size(&farm, checksum).await?;
    Ok(answer(StatusCode::OK, checksum, size_bytes, Body::empty()))
}

/// The bytes, or the part that a `Range` header names.
#[utoipa::path(get, path = "/v1/artifacts/{checksum}", tag = "artifacts",
    params(("checksum" = Checksum, Path), ("range" = Option<String>, Header)),
    responses((status = 200, body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 206, body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 416, body = crate::protocol::problem::Problem), Refusals))]
pub(super) async fn get(
    State(farm): State<Shared>,
    At(checksum): At<Checksum>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let size_bytes = size(&farm, checksum).await?;
    let wanted = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
    match range::parse(wanted, size_bytes) {
        Requested::Whole => {
            let body = Body::from_stream(farm.artifacts.read(&checksum, None).await?);
            Ok(answer(StatusCode::OK, checksum, size_bytes, body))
        }
        Requested::Part(part) => {
            let body = Body::from_stream(farm.artifacts.read(&checksum, Some(part)).await?);
            let mut response =
                answer(StatusCode::PARTIAL_CONTENT, checksum, part.size_bytes(), body);
            place(&mut response, Some(part), size_bytes);
            Ok(response)
        }
        Requested::Outside => {
            let mut response = Refusal::new(
                StatusCode::RANGE_NOT_SATISFIABLE,
                ProblemCode::Invalid,
                format!("the file has {size_bytes} bytes and nothing in the range"),
                "Ask for a range inside the file.",
            )
            .into_response();
            place(&mut response, None, size_bytes);
            Ok(response)
        }
    }
}

async fn size(farm: &Shared, checksum: Checksum) -> Result<u64, Refusal> {
    let artifacts = farm.artifacts.clone();
    blocking(move || artifacts.size(&checksum)?.ok_or(ArtifactError::Missing(checksum))).await
}

fn answer(status: StatusCode, checksum: Checksum, size_bytes: u64, body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_LENGTH, HeaderValue::from(size_bytes)),
        (header::ACCEPT_RANGES, HeaderValue::from_static("bytes")),
        (header::CACHE_CONTROL, FOR_EVER),
    ];
    let mut response = (status, headers, body).into_response();
    // A checksum is plain hexadecimal, so this is a header.
    if let Ok(tag) = HeaderValue::try_from(format!("\"{checksum}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

fn place(response: &mut Response, part: Option<ByteRange>, size_bytes: u64) {
    let text = match part {
        Some(ByteRange { first, last }) => format!("bytes {first}-{last}/{size_bytes}"),
        None => format!("bytes */{size_bytes}"),
    };
    if let Ok(value) = HeaderValue::try_from(text) {
        response.headers_mut().insert(header::CONTENT_RANGE, value);
    }
}
