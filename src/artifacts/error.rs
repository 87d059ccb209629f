//! Why the content store could not do what it was asked.

use super::names::BadName;
use crate::model::Checksum;
use std::io;
use std::path::PathBuf;

/// What failed, why, and what to do now.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The bytes that came are not those that were announced.
    #[error(
        "the bytes hash to {got}, but were announced as {expected}: read the file again and send it again"
    )]
    Mismatch {
        /// What was announced.
        expected: Checksum,
        /// What came.
        got: Checksum,
    },
    /// More bytes came than one file may have.
    #[error("the file is larger than {max_bytes} bytes: make it smaller")]
    TooLarge {
        /// The bound, in bytes.
        max_bytes: u64,
    },
    /// The sender stopped before the end.
    #[error("the upload ended early: {0}. Send the file again")]
    Interrupted(String),
    /// The disk of the farm's folder is full.
    #[error("the disk is full: free space, then try again. Writing {path}")]
    DiskFull {
        /// What was being written.
        path: PathBuf,
    },
    /// The store lacks the bytes.
    #[error("the content store has no bytes with the checksum {0}: upload them first")]
    Missing(Checksum),
    /// A stored file no longer has the bytes its name says.
    #[error(
        "stored bytes have changed: the disk may be failing. Remove the file and submit the asset again: {path}"
    )]
    Damaged {
        /// The file in the store.
        path: PathBuf,
    },
    /// A file name leaves its folder or cannot be used on every system.
    #[error(transparent)]
    Name(#[from] BadName),
    /// Two files of one folder have one name.
    #[error("two files are called '{0}': give each its own name")]
    SameName(String),
    /// The system refused to read.
    #[error("cannot read: {source}. Check the disk and the rights on {path}")]
    Read {
        /// What was being read.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The system refused to write.
    #[error("cannot write: {source}. Check the disk and the rights on {path}")]
    Write {
        /// What was being written.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The system gave no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
    /// The thread that did the work ended before its answer.
    #[error("the work was stopped before its end: try again")]
    Stopped,
}

impl ArtifactError {
    pub(super) fn read(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Read { path: path.into(), source }
    }

    /// A failed write; a full disk is its own case.
    pub(super) fn write(path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            _ => Self::Write { path, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart() {
        let full = ArtifactError::write("x", io::ErrorKind::StorageFull.into());
        assert!(matches!(full, ArtifactError::DiskFull { .. }));
        let denied = ArtifactError::write("x", io::ErrorKind::PermissionDenied.into());
        assert!(matches!(denied, ArtifactError::Write { .. }));
    }
}
