//! Bytes on their way in: hashed while they are written, renamed only when they are right.

use super::temporary::Temporary;
use super::{ArtifactError, Artifacts};
use crate::model::Checksum;
use futures_util::{Stream, StreamExt};
use std::io::Write;
use tokio::sync::mpsc;

/// Pieces of an upload that may wait for the disk.
const PIECES_WAITING: usize = 8;

/// What became of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// The store has these bytes now.
    New,
    /// The store had them already.
    Known,
}

/// One upload. Dropped before [`Incoming::finish`], it leaves nothing behind.
#[derive(Debug)]
pub struct Incoming {
    artifacts: Artifacts,
    expected: Checksum,
    hasher: blake3::Hasher,
    size_bytes: u64,
    max_bytes: u64,
    temporary: Option<Temporary>,
}

impl Artifacts {
    /// Begins an upload of at most `max_bytes`. Bytes that the store has already are only checked.
    pub fn incoming(&self, expected: Checksum, max_bytes: u64) -> Result<Incoming, ArtifactError> {
        let temporary = if self.contains(&expected)? {
            None
        } else {
            Some(Temporary::new(self, &expected.to_string())?)
        };
        Ok(Incoming {
            artifacts: self.clone(),
            expected,
            hasher: blake3::Hasher::new(),
            size_bytes: 0,
            max_bytes,
            temporary,
        })
    }

    /// Stores bytes that are in memory. Blocks.
    pub fn put_bytes(&self, expected: Checksum, bytes: &[u8]) -> Result<Put, ArtifactError> {
        let mut incoming = self.incoming(expected, u64::MAX)?;
        incoming.write(bytes)?;
        incoming.finish()
    }

    /// Stores a stream of at most `max_bytes`; the disk work happens beside the runtime's threads.
    pub async fn put_stream<S, B, E>(
        &self,
        expected: Checksum,
        max_bytes: u64,
        stream: S,
    ) -> Result<Put, ArtifactError>
    where
        S: Stream<Item = Result<B, E>>,
        B: AsRef<[u8]> + Send + 'static,
        E: std::fmt::Display,
    {
        let (pieces, mut arriving) = mpsc::channel::<B>(PIECES_WAITING);
        let artifacts = self.clone();
        let (ended, whole) = tokio::sync::oneshot::channel::<()>();
        let writer = tokio::task::spawn_blocking(move || {
            let mut incoming = artifacts.incoming(expected, max_bytes)?;
            while let Some(piece) = arriving.blocking_recv() {
                incoming.write(piece.as_ref())?;
            }
            // Without the word that the stream came to its end, the sender went away.
            whole.blocking_recv().map_err(|_| ArtifactError::Stopped)?;
            incoming.finish()
        });
        let mut stream = std::pin::pin!(stream);
        while let Some(piece) = stream.next().await {
            let piece = piece.map_err(|error| ArtifactError::Interrupted(error.to_string()))?;
            if pieces.send(piece).await.is_err() {
                break;
            }
        }
        let _ = ended.send(());
        drop(pieces);
        writer.await.map_err(|_| ArtifactError::Stopped)?
    }
}

impl Incoming {
    /// Takes the next bytes. Blocks.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), ArtifactError> {
        let count = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.size_bytes = self.size_bytes.saturating_add(count);
        if self.size_bytes > self.max_bytes {
            return Err(ArtifactError::TooLarge { max_bytes: self.max_bytes });
        }
        self.hasher.update(bytes);
        if let Some(temporary) = &self.temporary {
            let written = temporary.file().write_all(bytes);
            written.map_err(|error| ArtifactError::write(temporary.path(), error))?;
        }
        Ok(())
    }

    /// Checks the checksum and gives the bytes their name; they are on disk after this. Blocks.
    pub fn finish(self) -> Result<Put, ArtifactError> {
        let got = Checksum::from_bytes(*self.hasher.finalize().as_bytes());
        if got != self.expected {
            return Err(ArtifactError::Mismatch { expected: self.expected, got });
        }
        let Some(temporary) = self.temporary else { return Ok(Put::Known) };
        temporary.keep(&self.artifacts, &self.expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;

    fn store() -> (tempfile::TempDir, Artifacts) {
        let farm = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::open(farm.path()).unwrap();
        (farm, artifacts)
    }

    fn waiting(farm: &tempfile::TempDir) -> usize {
        std::fs::read_dir(farm.path().join("incoming")).unwrap().count()
    }

    #[test]
    fn right_bytes_are_stored_once() {
        let (farm, artifacts) = store();
        let checksum = Checksum::of(b"water");
        assert_eq!(artifacts.put_bytes(checksum, b"water").unwrap(), Put::New);
        assert_eq!(artifacts.put_bytes(checksum, b"water").unwrap(), Put::Known);
        assert_eq!(std::fs::read(artifacts.path(&checksum)).unwrap(), b"water");
        assert_eq!(waiting(&farm), 0);
    }

    #[test]
    fn two_uploads_of_equal_bytes_at_once_both_succeed() {
        let (farm, artifacts) = store();
        let checksum = Checksum::of(b"water");
        let mut first = artifacts.incoming(checksum, 10).unwrap();
        let mut second = artifacts.incoming(checksum, 10).unwrap();
        first.write(b"water").unwrap();
        second.write(b"water").unwrap();
        first.finish().unwrap();
        second.finish().unwrap();
        assert_eq!(std::fs::read(artifacts.path(&checksum)).unwrap(), b"water");
        assert_eq!(waiting(&farm), 0);
    }

    #[test]
    fn wrong_or_too_many_bytes_leave_nothing() {
        let (farm, artifacts) = store();
        let checksum = Checksum::of(b"water");
        let wrong = artifacts.put_bytes(checksum, b"wader");
        assert!(matches!(wrong, Err(ArtifactError::Mismatch { .. })));
        let mut large = artifacts.incoming(checksum, 4).unwrap();
        assert!(matches!(large.write(b"water"), Err(ArtifactError::TooLarge { max_bytes: 4 })));
        drop(large);
        assert!(!artifacts.contains(&checksum).unwrap());
        assert_eq!(waiting(&farm), 0);
        artifacts.put_bytes(checksum, b"water").unwrap();
        assert!(artifacts.put_bytes(checksum, b"wader").is_err(), "known bytes are checked too");
    }

    #[tokio::test]
    async fn a_stream_is_stored_and_one_that_breaks_off_is_not() {
        let (farm, artifacts) = store();
        let checksum = Checksum::of(b"water");
        let broken = stream::iter([Ok(b"wa".to_vec()), Err("connection reset")]);
        let error = artifacts.put_stream(checksum, 10, broken).await;
        assert!(matches!(error, Err(ArtifactError::Interrupted(_))));
        assert!(!artifacts.contains(&checksum).unwrap());

        let large = stream::iter(vec![Ok::<_, String>(b"water".to_vec()); 50]);
        let error = artifacts.put_stream(checksum, 10, large).await;
        assert!(matches!(error, Err(ArtifactError::TooLarge { .. })), "{error:?}");

        let whole = stream::iter([Ok::<_, String>(b"wa".to_vec()), Ok(b"ter".to_vec())]);
        assert_eq!(artifacts.put_stream(checksum, 10, whole).await.unwrap(), Put::New);
        assert_eq!(std::fs::read(artifacts.path(&checksum)).unwrap(), b"water");
        drop(farm);
    }
}
