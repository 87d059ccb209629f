//! Reading stored bytes, whole or in part.

use super::{ArtifactError, Artifacts};
use crate::model::Checksum;
use std::io::SeekFrom;
use tokio::io::{AsyncReadExt, AsyncSeekExt, Take};
use tokio_util::io::ReaderStream;

/// Bytes read from disk at once.
const PIECE_BYTES: usize = 64 << 10;

/// Part of a file: `first` and `last` are both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    /// Offset of the first byte.
    pub first: u64,
    /// Offset of the last byte, not before the first.
    pub last: u64,
}

impl ByteRange {
    /// How many bytes.
    pub fn size_bytes(self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }
}

impl Artifacts {
    /// A stream of the stored bytes, or of a part of them.
    pub async fn read(
        &self,
        checksum: &Checksum,
        range: Option<ByteRange>,
    ) -> Result<ReaderStream<Take<tokio::fs::File>>, ArtifactError> {
        let path = self.path(checksum);
        let mut file = tokio::fs::File::open(&path).await.map_err(|error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                ArtifactError::Missing(*checksum)
            } else {
                ArtifactError::read(path.clone(), error)
            }
        })?;
        let size_bytes = match range {
            Some(range) => {
                file.seek(SeekFrom::Start(range.first))
                    .await
                    .map_err(|error| ArtifactError::read(path, error))?;
                range.size_bytes()
            }
            None => u64::MAX,
        };
        Ok(ReaderStream::with_capacity(file.take(size_bytes), PIECE_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::TryStreamExt;

    async fn collect(
        artifacts: &Artifacts,
        checksum: Checksum,
        range: Option<ByteRange>,
    ) -> Vec<u8> {
        let pieces: Vec<_> =
            artifacts.read(&checksum, range).await.unwrap().try_collect().await.unwrap();
        pieces.concat()
    }

    #[tokio::test]
    async fn whole_and_parts_are_read_and_missing_bytes_are_named() {
        let farm = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::open(farm.path()).unwrap();
        let bytes: Vec<u8> = (0..200_000_u32).map(|at| (at % 251) as u8).collect();
        let checksum = Checksum::of(&bytes);
        artifacts.put_bytes(checksum, &bytes).unwrap();

        assert_eq!(collect(&artifacts, checksum, None).await, bytes);
        let part = Some(ByteRange { first: 65_000, last: 130_999 });
        assert_eq!(collect(&artifacts, checksum, part).await, bytes[65_000..131_000]);
        let missing = artifacts.read(&Checksum::of(b"?"), None).await;
        assert!(matches!(missing, Err(ArtifactError::Missing(_))));
    }
}
