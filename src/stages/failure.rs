//! Turns errors of the system into failures with the right reason.

use crate::model::Reason;
use crate::preview::PngError;
use crate::protocol::work::Failure;
use std::io;
use std::path::Path;

/// A failed read or write as a failure: `disk.full` where there is no room, else `disk.error`.
///
/// `what` says what was attempted: `the still picture could not be written`.
pub fn failure_from_io(error: &io::Error, what: &str, path: &Path) -> Failure {
    if is_disk_full(error) {
        return Failure::new(
            Reason::DiskFull,
            format!(
                "{what}: the disk is full. Free space on it, then replay the job. {}",
                path.display()
            ),
        );
    }
    Failure::new(
        Reason::DiskError,
        format!("{what}: {error}. Check the disk and the rights. {}", path.display()),
    )
}

/// A picture that could not be written or read back.
pub fn png_failure(error: &PngError) -> Failure {
    match error {
        PngError::Io { path, source } => {
            failure_from_io(source, "a picture could not be read or written", path)
        }
        PngError::Decode { .. } | PngError::Encode { .. } => {
            Failure::new(Reason::OutputInvalid, error.to_string())
        }
    }
}

/// Whether an error says that a disk or a quota has no room left.
pub fn is_disk_full(error: &io::Error) -> bool {
    const UNIX_NO_SPACE: i32 = 28;
    const WINDOWS_HANDLE_DISK_FULL: i32 = 39;
    const WINDOWS_DISK_FULL: i32 = 112;
    let by_kind = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    let by_number = error.raw_os_error().is_some_and(|number| {
        if cfg!(windows) {
            matches!(number, WINDOWS_HANDLE_DISK_FULL | WINDOWS_DISK_FULL)
        } else {
            number == UNIX_NO_SPACE
        }
    });
    by_kind || by_number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_other_errors() {
        let path = Path::new("/farm/x.png");
        let cases = [
            (io::Error::from(io::ErrorKind::StorageFull), Reason::DiskFull),
            (io::Error::from(io::ErrorKind::QuotaExceeded), Reason::DiskFull),
            (io::Error::from(io::ErrorKind::PermissionDenied), Reason::DiskError),
        ];
        for (error, reason) in cases {
            let failure = failure_from_io(&error, "the picture could not be written", path);
            assert_eq!(failure.reason, reason);
            assert!(failure.message.ends_with("/farm/x.png"), "{}", failure.message);
        }
    }
}
