//! Moves file contents to and from the content store, checked on both ends.

use super::error::ClientError;
use super::http::Client;
use crate::model::Checksum;
use futures_util::StreamExt as _;
use reqwest::Method;
use reqwest::header::CONTENT_LENGTH;
use std::path::Path;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::io::ReaderStream;

/// Bytes read at once from a file that is sent.
const PIECE_BYTES: usize = 256 << 10;

/// Whether an upload had to send bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upload {
    /// The content was new.
    Sent,
    /// The coordinator had it.
    Known,
}

impl Client {
    /// `HEAD /v1/artifacts/{checksum}`: its size, where the coordinator has it.
    pub async fn artifact_size(&self, checksum: Checksum) -> Result<Option<u64>, ClientError> {
        let path = format!("/artifacts/{checksum}");
        let response = self
            .request(Method::HEAD, &path)
            .send()
            .await
            .map_err(|error| ClientError::unreachable(self.url(), &error))?;
        let status = response.status();
        if status == reqwest::StatusCode::UNAUTHORIZED {
            return Err(ClientError::Unauthorized { url: self.url().to_owned() });
        }
        if !status.is_success() {
            return Ok(None);
        }
        // The client library hides the length of a body that does not come, so read the header.
        let length = response.headers().get(CONTENT_LENGTH);
        Ok(Some(length.and_then(|text| text.to_str().ok()?.parse().ok()).unwrap_or_default()))
    }

    /// Sends a file of `size_bytes` unless the coordinator has its content already.
    pub async fn upload(
        &self,
        path: &Path,
        checksum: Checksum,
        size_bytes: u64,
    ) -> Result<Upload, ClientError> {
        if self.artifact_size(checksum).await? == Some(size_bytes) {
            return Ok(Upload::Known);
        }
        let file = tokio::fs::File::open(path).await.map_err(|source| ClientError::File {
            doing: "read",
            path: path.to_owned(),
            source,
        })?;
        // Never more than was hashed: a file that grows meanwhile is refused by its checksum.
        let pieces = ReaderStream::with_capacity(file.take(size_bytes), PIECE_BYTES);
        let call = format!("/artifacts/{checksum}");
        let request = self
            .request(Method::PUT, &call)
            .header(CONTENT_LENGTH, size_bytes)
            .body(reqwest::Body::wrap_stream(pieces));
        self.send(request, &call).await.map(|_| Upload::Sent)
    }

    /// The content in memory, verified; at most `limit_bytes`.
    pub async fn artifact(
        &self,
        checksum: Checksum,
        limit_bytes: usize,
    ) -> Result<Vec<u8>, ClientError> {
        let call = format!("/artifacts/{checksum}");
        let response = self.send(self.request(Method::GET, &call), &call).await?;
        let bytes = self.body(response, &call, limit_bytes).await?;
        if Checksum::of(&bytes) == checksum {
            Ok(bytes)
        } else {
            Err(ClientError::Damaged(checksum))
        }
    }

    /// Writes the content to `path`, verified: beside it first, then moved, so that the path never
    /// holds half of it. Returns its size.
    pub async fn download(&self, checksum: Checksum, path: &Path) -> Result<u64, ClientError> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(".part");
        let partial = std::path::PathBuf::from(partial);
        let result = self.download_to(checksum, &partial).await;
        let result = match result {
            Ok(size) => tokio::fs::rename(&partial, path)
                .await
                .map(|()| size)
                .map_err(|source| write_error(path, source)),
            Err(error) => Err(error),
        };
        if result.is_err() {
            // Best effort: the error that matters is the one returned.
            drop(tokio::fs::remove_file(&partial).await);
        }
        result
    }

    async fn download_to(&self, checksum: Checksum, path: &Path) -> Result<u64, ClientError> {
        let call = format!("/artifacts/{checksum}");
        let response = self.send(self.request(Method::GET, &call), &call).await?;
        let mut file =
            tokio::fs::File::create(path).await.map_err(|source| write_error(path, source))?;
        let mut hasher = blake3::Hasher::new();
        let mut size = 0_u64;
        let mut pieces = response.bytes_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| ClientError::unreachable(self.url(), &error))?;
            hasher.update(&piece);
            size += piece.len() as u64;
            file.write_all(&piece).await.map_err(|source| write_error(path, source))?;
        }
        if Checksum::from_bytes(*hasher.finalize().as_bytes()) != checksum {
            return Err(ClientError::Damaged(checksum));
        }
        file.sync_all().await.map_err(|source| write_error(path, source))?;
        Ok(size)
    }
}

fn write_error(path: &Path, source: std::io::Error) -> ClientError {
    ClientError::File { doing: "write", path: path.to_owned(), source }
}
