//! How a file looked from outside: what tells whether its bytes may have changed.

use serde::{Deserialize, Serialize};

/// What the file system says of a file. Times are nanoseconds since 1970, as it keeps them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sight {
    /// The file system it lies on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its size.
    pub size_bytes: u64,
    /// When its bytes were last written, as programs may set it.
    pub modified_ns: i64,
    /// When anything of it last changed; programs cannot set it.
    pub changed_ns: i64,
}

impl Sight {
    /// Whether the bytes are surely those of `before`, also over a restart: a share mounted anew
    /// has another device number.
    pub fn is_still(&self, before: &Self) -> bool {
        Self { device: 0, ..*self } == Self { device: 0, ..*before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_device_may_differ() {
        let one = Sight { device: 1, inode: 2, size_bytes: 3, modified_ns: 4, changed_ns: 5 };
        assert!(Sight { device: 9, ..one }.is_still(&one));
        for other in [
            Sight { inode: 9, ..one },
            Sight { size_bytes: 9, ..one },
            Sight { modified_ns: 9, ..one },
            Sight { changed_ns: 9, ..one },
        ] {
            assert!(!other.is_still(&one), "{other:?}");
        }
    }
}
