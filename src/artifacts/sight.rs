//! How a file looks from outside, as the system says it.

use crate::model::Sight;
use std::fs::Metadata;

/// The sight in what the system said of a file. On Windows device and inode are 0, and the time of
/// change is the time of making.
///
/// Two writes within one tick of the system's clock (some milliseconds) can look alike: a file is
/// taken only when it has been left alone for longer.
#[cfg(unix)]
pub fn sight_of(metadata: &Metadata) -> Sight {
    use std::os::unix::fs::MetadataExt as _;
    Sight {
        device: metadata.dev(),
        inode: metadata.ino(),
        size_bytes: metadata.len(),
        modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
    }
}

/// The sight in what the system said of a file.
#[cfg(not(unix))]
pub fn sight_of(metadata: &Metadata) -> Sight {
    Sight {
        device: 0,
        inode: 0,
        size_bytes: metadata.len(),
        modified_ns: metadata.modified().map_or(0, since_1970_ns),
        changed_ns: metadata.created().map_or(0, since_1970_ns),
    }
}

#[cfg(unix)]
fn nanoseconds(seconds: i64, more_ns: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(more_ns)
}

#[cfg(not(unix))]
fn since_1970_ns(time: std::time::SystemTime) -> i64 {
    let (time, sign) = match time.duration_since(std::time::UNIX_EPOCH) {
        Ok(after) => (after, 1),
        Err(before) => (before.duration(), -1),
    };
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX).saturating_mul(sign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn a_sight_changes_with_time_size_and_file_and_travels_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"water").unwrap();
        let of = |path| sight_of(&std::fs::metadata(path).unwrap());
        let first = of(&path);
        assert_eq!((first, first.size_bytes), (of(&path), 5));
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let odd = UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_700);
        file.set_modified(odd).unwrap();
        let aged = of(&path);
        assert_eq!(aged.modified_ns, 1_000_000_000_123_456_700);
        assert_ne!(aged, first);
        std::fs::copy(&path, folder.path().join("b")).unwrap();
        assert_ne!(of(&folder.path().join("b")), aged);
        let text = serde_json::to_string(&aged).unwrap();
        assert_eq!(serde_json::from_str::<Sight>(&text).unwrap(), aged);
    }

    #[cfg(unix)]
    #[test]
    fn a_sight_is_what_the_system_says() {
        use std::os::unix::fs::MetadataExt as _;
        let folder = tempfile::tempdir().unwrap();
        let metadata = std::fs::metadata(folder.path()).unwrap();
        let sight = sight_of(&metadata);
        assert_eq!((sight.device, sight.inode), (metadata.dev(), metadata.ino()));
        assert_eq!(sight.changed_ns / 1_000_000_000, metadata.ctime());
        assert_eq!(sight.changed_ns % 1_000_000_000, metadata.ctime_nsec());
        assert!(sight.changed_ns > 0);
    }
}
