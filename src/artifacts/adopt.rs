//! Takes a file of this machine into the store: copied and hashed in one go, and only when nothing
//! of it changed meanwhile.

use super::copying::{self, Broken, Source};
use super::incoming::Put;
use super::sight::sight_of;
use super::temporary::Temporary;
use super::{ArtifactError, Artifacts};
use crate::model::Sight;
use crate::model::{Checksum, Reason};
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// What is done about a symbolic link in the place of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Links {
    /// It is refused. Links among the folders above are followed all the same.
    #[default]
    Refuse,
    /// The file it leads to is taken.
    Follow,
}

/// How a file is taken in.
#[derive(Clone, Copy)]
pub struct AdoptOptions<'a> {
    /// Largest file, in bytes.
    pub max_bytes: u64,
    /// Links.
    pub links: Links,
    /// Asked every few MiB, from the calling thread; true ends the copy.
    pub is_cancelled: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for AdoptOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("AdoptOptions");
        shown.field("max_bytes", &self.max_bytes).field("links", &self.links);
        shown.finish_non_exhaustive()
    }
}

/// A file that the store has now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adopted {
    /// Its content.
    pub checksum: Checksum,
    /// Its size, in bytes.
    pub size_bytes: u64,
    /// Whether its content is new to the store.
    pub put: Put,
    /// The state of the file whose bytes these are.
    pub sight: Sight,
    /// How its bytes came.
    pub way: Way,
}

/// How bytes come into the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Written once more.
    Copied,
    /// The file system lets both files share them until one is written to.
    Cloned,
}

/// Why a file was not taken in. Nothing of it stays in the store.
#[derive(Debug, thiserror::Error)]
pub enum AdoptError {
    /// It is a symbolic link.
    #[error("this is a link, and links are not followed: put the file itself there. {path}")]
    Link {
        /// Where.
        path: PathBuf,
    },
    /// It is a folder, a pipe, a device.
    #[error("this is no regular file: {path}")]
    NotAFile {
        /// Where.
        path: PathBuf,
    },
    /// It is too large.
    #[error("the file has {size_bytes} bytes, but at most {max_bytes} are taken: {path}")]
    TooLarge {
        /// Its size, in bytes.
        size_bytes: u64,
        /// The bound, in bytes.
        max_bytes: u64,
        /// Where.
        path: PathBuf,
    },
    /// It changed, was replaced or went away while it was read.
    #[error("the file changed while it was read: wait until what writes it is done. {path}")]
    Changed {
        /// Where.
        path: PathBuf,
    },
    /// The system refused to read it.
    #[error("the file cannot be read: {source}. Check that it is there, and the rights on {path}")]
    Unreadable {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The copy was told to end.
    #[error("the copy was stopped before its end: take the file again. {path}")]
    Cancelled {
        /// Where.
        path: PathBuf,
    },
    /// The disk of the farm's folder is full.
    #[error("the disk is full: free space, then try again. Writing {path}")]
    Full {
        /// What was being written.
        path: PathBuf,
    },
    /// The store could not do its part.
    #[error(transparent)]
    Store(ArtifactError),
}

impl AdoptError {
    /// The stable code; none where nothing is wrong with the file or the disk.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Link { .. } | Self::NotAFile { .. } => Some(Reason::InputNotAFile),
            Self::TooLarge { .. } => Some(Reason::InputTooLarge),
            Self::Changed { .. } => Some(Reason::InputChanged),
            Self::Unreadable { .. } => Some(Reason::InputUnreadable),
            Self::Full { .. } => Some(Reason::StorageFull),
            Self::Cancelled { .. } => None,
            Self::Store(_) => Some(Reason::Unexpected),
        }
    }
}

impl From<ArtifactError> for AdoptError {
    fn from(error: ArtifactError) -> Self {
        match error {
            ArtifactError::DiskFull { path } => Self::Full { path },
            other => Self::Store(other),
        }
    }
}

impl Artifacts {
    /// Takes in the file at `path`. Its bytes are on disk under their checksum after this, or
    /// nothing of them is in the store: also where the file is not the same before and after,
    /// looked at by its handle and by its path. Blocks for as long as the copy takes.
    pub fn adopt(&self, path: &Path, options: &AdoptOptions) -> Result<Adopted, AdoptError> {
        self.adopt_with(path, options, &mut || {})
    }

    /// `meanwhile` runs once the bytes are read, before the second look: tests change the file
    /// there.
    pub(super) fn adopt_with(
        &self,
        path: &Path,
        options: &AdoptOptions,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Adopted, AdoptError> {
        let (file, sight) = open(path, options)?;
        let temporary = Temporary::new(self, "adopt")?;
        let way = if clone(temporary.file(), &file) { Way::Cloned } else { Way::Copied };
        let source = |file| Source {
            file,
            size_bytes: sight.size_bytes,
            is_cancelled: options.is_cancelled,
        };
        let hashed = match way {
            // The clone is what is kept, and no longer follows the file.
            Way::Cloned => copying::hash(&source(temporary.file())),
            Way::Copied => copying::copy(&source(&file), temporary.file()),
        };
        let is_there = || is_as(&sight, look(path, options.links));
        let hashed = hashed.map_err(|broken| match broken {
            // Shares answer so where somebody removed the file.
            Broken::Read(_) if !is_there() => AdoptError::Changed { path: path.to_owned() },
            Broken::Read(source) => AdoptError::Unreadable { path: path.to_owned(), source },
            Broken::Write(error) => ArtifactError::write(temporary.path(), error).into(),
            Broken::Cancelled => AdoptError::Cancelled { path: path.to_owned() },
        })?;
        meanwhile();
        let is_same =
            hashed.size_bytes == sight.size_bytes && is_as(&sight, file.metadata()) && is_there();
        if !is_same {
            return Err(AdoptError::Changed { path: path.to_owned() });
        }
        let put = if self.contains(&hashed.checksum)? {
            Put::Known
        } else {
            temporary.keep(self, &hashed.checksum)?
        };
        let (checksum, size_bytes) = (hashed.checksum, hashed.size_bytes);
        Ok(Adopted { checksum, size_bytes, put, sight, way })
    }
}

fn is_as(sight: &Sight, looked: io::Result<Metadata>) -> bool {
    looked.is_ok_and(|metadata| sight_of(&metadata) == *sight)
}

fn look(path: &Path, links: Links) -> io::Result<Metadata> {
    match links {
        Links::Refuse => std::fs::symlink_metadata(path),
        Links::Follow => std::fs::metadata(path),
    }
}

/// Opens a regular file that is not too large.
fn open(path: &Path, options: &AdoptOptions) -> Result<(File, Sight), AdoptError> {
    let unreadable = |source| AdoptError::Unreadable { path: path.to_owned(), source };
    let check = |metadata: &Metadata| {
        let path = path.to_owned();
        if metadata.is_symlink() {
            Err(AdoptError::Link { path })
        } else if !metadata.is_file() {
            Err(AdoptError::NotAFile { path })
        } else if metadata.len() > options.max_bytes {
            let (size_bytes, max_bytes) = (metadata.len(), options.max_bytes);
            Err(AdoptError::TooLarge { size_bytes, max_bytes, path })
        } else {
            Ok(sight_of(metadata))
        }
    };
    // Looked at before it is opened, since opening a pipe or a device can do something.
    check(&look(path, options.links).map_err(unreadable)?)?;
    let file = open_options(options.links).open(path).map_err(|error| {
        // A link came between the look and the opening.
        if is_link(&error) { AdoptError::Link { path: path.to_owned() } } else { unreadable(error) }
    })?;
    let sight = check(&file.metadata().map_err(unreadable)?)?;
    Ok((file, sight))
}

#[cfg(unix)]
fn open_options(links: Links) -> std::fs::OpenOptions {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt as _;
    // A pipe that came between must not make anybody wait for its writer.
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    if links == Links::Refuse {
        flags |= OFlags::NOFOLLOW;
    }
    let mut options = File::options();
    options.read(true).custom_flags(flags.bits().cast_signed());
    options
}

#[cfg(not(unix))]
fn open_options(_: Links) -> std::fs::OpenOptions {
    let mut options = File::options();
    options.read(true);
    options
}

#[cfg(unix)]
fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_link(_: &io::Error) -> bool {
    false
}

/// Lets `to` share the bytes of `from` as they are now; false where the file system cannot.
#[cfg(target_os = "linux")]
fn clone(to: &File, from: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn clone(_: &File, _: &File) -> bool {
    false
}

#[cfg(test)]
#[path = "adopt_tests.rs"]
mod tests;
