//! Bytes of artifacts: up in one stream, down with resume; both verified.

use super::api::{Api, ApiError, answered, chain};
use super::bounds;
use crate::model::{Checksum, Reason};
use crate::protocol::problem::ProblemCode;
use crate::protocol::work::Failure;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, RANGE};
use reqwest::{Body, Method, Response, StatusCode};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::io::ReaderStream;

/// Why bytes could not be moved.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The coordinator refused or did not answer.
    #[error("{0}")]
    Api(#[from] ApiError),
    /// The coordinator has lost the bytes.
    #[error("the coordinator does not have the bytes of {0}")]
    Missing(Checksum),
    /// What came is not what the checksum says.
    #[error("the bytes that arrived differ from their checksum {0}")]
    Mismatch(Checksum),
    /// This machine's disk failed.
    #[error("{error}: {}", path.display())]
    Disk {
        /// Why.
        error: std::io::Error,
        /// Where.
        path: PathBuf,
    },
}

impl TransferError {
    /// As the reason of a failed attempt; `what` says which file.
    pub fn into_failure(self, what: &str) -> Failure {
        let reason = match &self {
            Self::Missing(_) => Reason::ArtifactMissing,
            Self::Mismatch(_) => Reason::ArtifactMismatch,
            Self::Disk { error, .. } => disk_reason(error),
            Self::Api(ApiError::Refused(problem)) => match problem.code {
                ProblemCode::StorageFull => Reason::StorageFull,
                _ => problem.reason.unwrap_or(Reason::NetworkError),
            },
            Self::Api(_) => Reason::NetworkError,
        };
        Failure::new(reason, format!("{what}: {self}"))
    }
}

/// Full, or otherwise in trouble.
pub fn disk_reason(error: &std::io::Error) -> Reason {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Reason::DiskFull,
        _ => Reason::DiskError,
    }
}

/// Sends a file to the content store, unless it is there.
pub async fn upload(
    api: &Api,
    path: &Path,
    checksum: Checksum,
    size_bytes: u64,
) -> Result<(), TransferError> {
    let mut failures = 0;
    loop {
        match upload_once(api, path, checksum, size_bytes).await {
            Err(TransferError::Api(error)) if error.may_pass() => {
                failures += 1;
                if failures >= bounds::TRANSFER_TRIES {
                    return Err(error.into());
                }
                tracing::debug!(%checksum, %error, "upload broke, trying again");
                pause(failures).await;
            }
            result => return result,
        }
    }
}

async fn upload_once(
    api: &Api,
    path: &Path,
    checksum: Checksum,
    size_bytes: u64,
) -> Result<(), TransferError> {
    let address = format!("/artifacts/{checksum}");
    let call = Duration::from_millis(bounds::CALL_MS);
    let head = api.request(Method::HEAD, &address).timeout(call).send().await;
    let head = head.map_err(|error| ApiError::Unreachable(chain(&error)))?;
    // An answer to HEAD has no body: what is wrong, the PUT will tell.
    if head.status() == StatusCode::OK {
        return Ok(());
    }
    let file = File::open(path)
        .await
        .map_err(|error| TransferError::Disk { error, path: path.to_owned() })?;
    let seconds = size_bytes / bounds::SLOWEST_UPLOAD_BYTES_S;
    let timeout = Duration::from_millis(bounds::TRANSFER_SILENCE_MS) + Duration::from_secs(seconds);
    let request = api
        .request(Method::PUT, &address)
        .header(CONTENT_LENGTH, size_bytes)
        .timeout(timeout)
        .body(Body::wrap_stream(ReaderStream::with_capacity(file, 256 << 10)));
    match answered(request.send().await).await {
        Ok(_) => Ok(()),
        Err(ApiError::Refused(problem)) if problem.reason == Some(Reason::ArtifactMismatch) => {
            Err(TransferError::Mismatch(checksum))
        }
        Err(error) => Err(error.into()),
    }
}

/// Brings an artifact into `part`, going on from what is there. At the end the file has exactly
/// the right bytes and is on the disk; otherwise what came is kept for the next call, unless it is
/// wrong.
pub async fn download(
    api: &Api,
    checksum: Checksum,
    size_bytes: u64,
    part: &Path,
) -> Result<(), TransferError> {
    let mut failures = 0;
    let mut mismatches = 0;
    loop {
        let before = length(part).await;
        match download_once(api, checksum, size_bytes, part).await {
            Ok(()) => return Ok(()),
            Err(TransferError::Mismatch(checksum)) => {
                remove(part).await?;
                mismatches += 1;
                if mismatches >= 2 {
                    return Err(TransferError::Mismatch(checksum));
                }
                tracing::warn!(%checksum, "wrong bytes arrived, trying once more");
            }
            Err(TransferError::Api(error)) if error.may_pass() => {
                failures = if length(part).await > before { 1 } else { failures + 1 };
                if failures >= bounds::TRANSFER_TRIES {
                    return Err(error.into());
                }
                tracing::debug!(%checksum, %error, "download broke, going on");
                pause(failures).await;
            }
            Err(error) => return Err(error),
        }
    }
}

async fn download_once(
    api: &Api,
    checksum: Checksum,
    size_bytes: u64,
    part: &Path,
) -> Result<(), TransferError> {
    let disk = |error| TransferError::Disk { error, path: part.to_owned() };
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(part)
        .await
        .map_err(disk)?;
    let mut hasher = blake3::Hasher::new();
    let mut have = rehash(&mut file, &mut hasher).await.map_err(disk)?;
    if have > size_bytes {
        return Err(TransferError::Mismatch(checksum));
    }
    if have < size_bytes || size_bytes == 0 {
        let mut response = fetch(api, checksum, have).await?;
        if !continues(&response, have) {
            file.set_len(0).await.map_err(disk)?;
            tokio::io::AsyncSeekExt::rewind(&mut file).await.map_err(disk)?;
            hasher.reset();
            have = 0;
        }
        let received = receive(&mut response, &mut file, &mut hasher, have, size_bytes).await;
        // Also after a break: the next try must find what came.
        file.flush().await.map_err(disk)?;
        have = match received {
            Ok(have) => have,
            Err(Broken::Api(error)) => return Err(error.into()),
            Err(Broken::Disk(error)) => return Err(disk(error)),
        };
        if have > size_bytes {
            return Err(TransferError::Mismatch(checksum));
        }
        if have < size_bytes {
            let message = format!("the transfer ended at {have} of {size_bytes} bytes");
            return Err(ApiError::Unreachable(message).into());
        }
    }
    if Checksum::from_bytes(*hasher.finalize().as_bytes()) != checksum {
        return Err(TransferError::Mismatch(checksum));
    }
    file.sync_all().await.map_err(disk)
}

enum Broken {
    Api(ApiError),
    Disk(std::io::Error),
}

/// Writes what comes, up to just beyond the announced size; returns the size then.
async fn receive(
    response: &mut Response,
    file: &mut File,
    hasher: &mut blake3::Hasher,
    mut have: u64,
    size_bytes: u64,
) -> Result<u64, Broken> {
    while have <= size_bytes
        && let Some(chunk) = next_chunk(response).await.map_err(Broken::Api)?
    {
        let chunk = chunk.as_ref();
        have = have.saturating_add(chunk.len() as u64);
        if have <= size_bytes {
            hasher.update(chunk);
            file.write_all(chunk).await.map_err(Broken::Disk)?;
        }
    }
    Ok(have)
}

async fn fetch(api: &Api, checksum: Checksum, from: u64) -> Result<Response, TransferError> {
    let mut request = api.request(Method::GET, &format!("/artifacts/{checksum}"));
    if from > 0 {
        request = request.header(RANGE, format!("bytes={from}-"));
    }
    let silence = Duration::from_millis(bounds::TRANSFER_SILENCE_MS);
    let sent = tokio::time::timeout(silence, request.send()).await.map_err(|_| silent())?;
    match answered(sent).await {
        Err(ApiError::Refused(problem)) if problem.code == ProblemCode::NotFound => {
            Err(TransferError::Missing(checksum))
        }
        other => Ok(other?),
    }
}

/// Whether the answer goes on exactly at the asked byte.
fn continues(response: &Response, from: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    response.status() == StatusCode::PARTIAL_CONTENT
        && range.is_some_and(|range| range.starts_with(&format!("bytes {from}-")))
}

async fn next_chunk(response: &mut Response) -> Result<Option<impl AsRef<[u8]> + use<>>, ApiError> {
    let silence = Duration::from_millis(bounds::TRANSFER_SILENCE_MS);
    match tokio::time::timeout(silence, response.chunk()).await {
        Ok(chunk) => chunk.map_err(|error| ApiError::Unreachable(chain(&error))),
        Err(_) => Err(silent()),
    }
}

fn silent() -> ApiError {
    ApiError::Unreachable("the transfer stands still".to_owned())
}

async fn rehash(file: &mut File, hasher: &mut blake3::Hasher) -> std::io::Result<u64> {
    let mut buffer = vec![0; 256 << 10];
    let mut total = 0_u64;
    loop {
        let count = file.read(&mut buffer).await?;
        if count == 0 {
            return Ok(total);
        }
        hasher.update(buffer.get(..count).unwrap_or_default());
        total = total.saturating_add(count as u64);
    }
}

async fn length(path: &Path) -> u64 {
    tokio::fs::metadata(path).await.map_or(0, |found| found.len())
}

async fn remove(path: &Path) -> Result<(), TransferError> {
    match tokio::fs::remove_file(path).await {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(TransferError::Disk { error, path: path.to_owned() })
        }
        _ => Ok(()),
    }
}

async fn pause(failures: u32) {
    tokio::time::sleep(Duration::from_millis(bounds::backoff_ms(failures))).await;
}

#[cfg(test)]
#[path = "transfer_tests.rs"]
mod tests;
