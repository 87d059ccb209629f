//! Walks a watch folder: says what lies in it, whatever that is, and never stops at one bad entry.

use crate::artifacts::sight_of;
use crate::model::Sight;

use super::ignore::IgnoreList;
use std::collections::HashSet;
use std::fs::{self, FileType, Metadata, ReadDir};
use std::io;
use std::path::{Path, PathBuf};

/// Deepest folder that is entered; the watch folder itself is 0.
pub const DEPTH: usize = 128;
/// Most entries that one walk reports.
pub const ENTRIES: u64 = 1_000_000;

/// How to walk.
#[derive(Debug, Clone)]
pub struct ScanOptions<'a> {
    /// Enter subfolders.
    pub subfolders: bool,
    /// Follow symbolic links to what lies inside the watch folder.
    pub follow_links: bool,
    /// Names to leave alone.
    pub ignore: &'a IgnoreList,
    /// Deepest folder that is entered; see [`DEPTH`].
    pub depth: usize,
    /// Most entries that are reported; see [`ENTRIES`].
    pub entries: u64,
}

impl<'a> ScanOptions<'a> {
    /// One folder, no links, the usual bounds.
    pub fn new(ignore: &'a IgnoreList) -> Self {
        Self { subfolders: false, follow_links: false, ignore, depth: DEPTH, entries: ENTRIES }
    }
}

/// One thing in a watch folder. Every path is relative to the watch folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file. That its bytes can be read is not tried.
    File {
        /// Where it lies.
        path: PathBuf,
        /// Its state.
        sight: Sight,
    },
    /// A folder; it is entered where subfolders are wanted.
    Folder {
        /// Where it lies.
        path: PathBuf,
    },
    /// A file or folder whose name is on the list; a folder is not entered.
    Ignored {
        /// Where it lies.
        path: PathBuf,
        /// The rule.
        rule: String,
    },
    /// A symbolic link that is not followed.
    Link {
        /// Where it lies.
        path: PathBuf,
        /// Why not.
        why: LinkWhy,
    },
    /// Something that is neither file nor folder nor link.
    Special {
        /// Where it lies.
        path: PathBuf,
        /// What it is.
        kind: Special,
    },
    /// A folder that cannot be listed, or an entry that cannot be looked at.
    Unreadable {
        /// Where it lies.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// A folder that lies deeper than the bound; it is not entered.
    TooDeep {
        /// Where it lies.
        path: PathBuf,
    },
}

/// Why a link is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkWhy {
    /// Links are not followed in this folder.
    NotWanted,
    /// It leads out of the watch folder.
    Outside,
    /// It leads to nothing.
    Broken,
    /// It leads to itself, or to a folder that is looked at anyway.
    Again,
}

/// What is neither file nor folder nor link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// A pipe with a name.
    Pipe,
    /// A socket.
    Socket,
    /// A device.
    Device,
    /// Something that the system does not name.
    Other,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scanned {
    /// How many entries were reported.
    pub entries: u64,
    /// Why it saw less than there is.
    pub stop: Option<Stop>,
}

/// Why a walk saw less than there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// As many entries as are allowed were reported.
    Entries,
    /// The subfolder to begin with is no more there.
    SubfolderGone,
}

/// Why a watch folder cannot be walked.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// It is not there, or went away during the walk: then what was reported is only a part.
    #[error("the watch folder is not there ({why}). Bring it back, or mount its disk or share again: {}", path.display())]
    Gone {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// It is there, but may not be read.
    #[error("the watch folder cannot be read ({source}). Give Sawah's user the right to read it: {}", path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There is something else of this name.
    #[error("the watch folder is not a folder. Choose a folder: {}", path.display())]
    NotAFolder {
        /// What was named.
        path: PathBuf,
    },
}

/// Reports everything in the watch folder `root` to `seen`, in no certain order.
///
/// What vanishes between being listed and being looked at is left out. Other mounts are entered.
/// Holds one folder open at a time.
pub fn scan(
    root: &Path,
    options: &ScanOptions<'_>,
    seen: &mut dyn FnMut(Entry),
) -> Result<Scanned, ScanError> {
    scan_below(root, Path::new(""), options, seen)
}

/// As [`scan`], for the folder `below`, a path relative to `root`. A folder that lies in an
/// ignored one is reported as that and not entered.
pub fn scan_below(
    root: &Path,
    below: &Path,
    options: &ScanOptions<'_>,
    seen: &mut dyn FnMut(Entry),
) -> Result<Scanned, ScanError> {
    let identity = root_identity(root)?;
    let real_root = fs::canonicalize(root).map_err(|error| root_error(root, error))?;
    let mut walk = Walk {
        root,
        real_root,
        options,
        seen,
        entries: 0,
        folders: Vec::new(),
        linked: Vec::new(),
        entered: HashSet::new(),
    };
    let mut stop = walk.all(below)?;
    if root_identity(root)? != identity {
        let why = "another folder took its place".to_owned();
        return Err(ScanError::Gone { path: root.to_owned(), why });
    }
    if stop.is_none() && walk.is_full() {
        stop = Some(Stop::Entries);
    }
    Ok(Scanned { entries: walk.entries, stop })
}

/// What tells one folder from another: device and inode, elsewhere the path without links.
#[cfg(unix)]
pub(super) type Identity = (u64, u64);
#[cfg(not(unix))]
pub(super) type Identity = PathBuf;

#[cfg(unix)]
pub(super) fn identity(folder: &Path) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(folder).map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
pub(super) fn identity(folder: &Path) -> io::Result<Identity> {
    fs::canonicalize(folder)
}

fn root_identity(root: &Path) -> Result<Identity, ScanError> {
    let metadata = fs::metadata(root).map_err(|error| root_error(root, error))?;
    if !metadata.is_dir() {
        return Err(ScanError::NotAFolder { path: root.to_owned() });
    }
    identity(root).map_err(|error| root_error(root, error))
}

fn root_error(root: &Path, error: io::Error) -> ScanError {
    let path = root.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::StaleNetworkFileHandle
        | io::ErrorKind::NotConnected
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::NetworkDown
        | io::ErrorKind::TimedOut => ScanError::Gone { path, why: error.to_string() },
        io::ErrorKind::NotADirectory => ScanError::NotAFolder { path },
        _ => ScanError::Unreadable { path, source: error },
    }
}

/// A folder to enter.
struct Pending {
    path: PathBuf,
    depth: usize,
    /// It lies behind a link that is followed: it is entered only if nothing else led there.
    linked: bool,
}

struct Walk<'a> {
    root: &'a Path,
    real_root: PathBuf,
    options: &'a ScanOptions<'a>,
    seen: &'a mut dyn FnMut(Entry),
    entries: u64,
    folders: Vec<Pending>,
    /// Entered last, so that each folder is reported under its own path where it has one.
    linked: Vec<Pending>,
    /// Filled only where links are followed.
    entered: HashSet<Identity>,
}

impl Walk<'_> {
    fn all(&mut self, below: &Path) -> Result<Option<Stop>, ScanError> {
        let mut depth = 0;
        let mut path = PathBuf::new();
        for part in below.components() {
            path.push(part);
            depth += 1;
            if let Some(rule) = self.options.ignore.matches(part.as_os_str()) {
                let rule = rule.to_owned();
                self.report(Entry::Ignored { path, rule });
                return Ok(None);
            }
        }
        let start = match fs::read_dir(self.root.join(below)) {
            Ok(start) => start,
            Err(error) if below.as_os_str().is_empty() => return Err(root_error(self.root, error)),
            Err(error) if is_gone(&error) => return Ok(Some(Stop::SubfolderGone)),
            Err(error) => {
                self.report(Entry::Unreadable { path, why: error.to_string() });
                return Ok(None);
            }
        };
        self.enter(start, &Pending { path, depth, linked: false });
        while let Some(folder) = self.folders.pop().or_else(|| self.linked.pop()) {
            if self.is_full() {
                return Ok(Some(Stop::Entries));
            }
            if folder.linked && self.was_entered(&folder.path) {
                self.report(Entry::Link { path: folder.path, why: LinkWhy::Again });
                continue;
            }
            match fs::read_dir(self.root.join(&folder.path)) {
                Ok(list) => self.enter(list, &folder),
                Err(error) if is_gone(&error) => {}
                Err(error) => {
                    self.report(Entry::Unreadable { path: folder.path, why: error.to_string() });
                }
            }
        }
        Ok(None)
    }

    fn is_full(&self) -> bool {
        self.entries >= self.options.entries
    }

    fn report(&mut self, entry: Entry) {
        if !self.is_full() {
            self.entries += 1;
            (self.seen)(entry);
        }
    }

    fn was_entered(&self, folder: &Path) -> bool {
        identity(&self.root.join(folder)).is_ok_and(|identity| self.entered.contains(&identity))
    }

    fn enter(&mut self, list: ReadDir, folder: &Pending) {
        if self.options.follow_links {
            self.entered.extend(identity(&self.root.join(&folder.path)));
        }
        for entry in list {
            if self.is_full() {
                return;
            }
            match entry {
                Ok(entry) => self.one(&entry, folder),
                Err(error) => {
                    // The list is broken; asking on could go on for ever.
                    let path = folder.path.clone();
                    self.report(Entry::Unreadable { path, why: error.to_string() });
                    return;
                }
            }
        }
    }

    fn one(&mut self, entry: &fs::DirEntry, folder: &Pending) {
        let name = entry.file_name();
        let path = folder.path.join(&name);
        if let Some(rule) = self.options.ignore.matches(&name) {
            let rule = rule.to_owned();
            return self.report(Entry::Ignored { path, rule });
        }
        match entry.file_type() {
            Ok(kind) if kind.is_symlink() => self.link(path, folder),
            Ok(kind) if kind.is_dir() => self.folder(path, folder, folder.linked),
            Ok(kind) if kind.is_file() => self.file(path, entry.metadata()),
            Ok(kind) => self.report(Entry::Special { path, kind: special(kind) }),
            Err(error) => self.failed(path, &error),
        }
    }

    fn failed(&mut self, path: PathBuf, error: &io::Error) {
        if !is_gone(error) {
            self.report(Entry::Unreadable { path, why: error.to_string() });
        }
    }

    fn file(&mut self, path: PathBuf, metadata: io::Result<Metadata>) {
        match metadata {
            Ok(metadata) if metadata.is_file() => {
                self.report(Entry::File { path, sight: sight_of(&metadata) });
            }
            // Something else took its place since it was listed; the next walk sees that.
            Ok(_) => {}
            Err(error) => self.failed(path, &error),
        }
    }

    fn folder(&mut self, path: PathBuf, parent: &Pending, linked: bool) {
        let depth = parent.depth + 1;
        if self.options.subfolders && depth > self.options.depth {
            return self.report(Entry::TooDeep { path });
        }
        if !linked {
            self.report(Entry::Folder { path: path.clone() });
        }
        if self.options.subfolders {
            let list = if linked { &mut self.linked } else { &mut self.folders };
            list.push(Pending { path, depth, linked });
        }
    }

    fn link(&mut self, path: PathBuf, parent: &Pending) {
        if !self.options.follow_links {
            return self.report(Entry::Link { path, why: LinkWhy::NotWanted });
        }
        let full = self.root.join(&path);
        let target = match fs::canonicalize(&full) {
            Ok(target) => target,
            Err(error) if is_endless(&error) => {
                return self.report(Entry::Link { path, why: LinkWhy::Again });
            }
            Err(error) if is_gone(&error) => {
                return self.report(Entry::Link { path, why: LinkWhy::Broken });
            }
            Err(error) => return self.failed(path, &error),
        };
        if !target.starts_with(&self.real_root) {
            return self.report(Entry::Link { path, why: LinkWhy::Outside });
        }
        match fs::metadata(&target) {
            Ok(metadata) if metadata.is_dir() => self.folder(path, parent, true),
            Ok(metadata) if metadata.is_file() => {
                self.report(Entry::File { path, sight: sight_of(&metadata) });
            }
            Ok(metadata) => {
                self.report(Entry::Special { path, kind: special(metadata.file_type()) });
            }
            Err(error) => self.failed(path, &error),
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The system gave up after many links.
#[cfg(unix)]
fn is_endless(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_endless(_error: &io::Error) -> bool {
    false
}

#[cfg(unix)]
fn special(kind: FileType) -> Special {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() {
        Special::Pipe
    } else if kind.is_socket() {
        Special::Socket
    } else if kind.is_block_device() || kind.is_char_device() {
        Special::Device
    } else {
        Special::Other
    }
}

#[cfg(not(unix))]
fn special(_kind: FileType) -> Special {
    Special::Other
}

#[cfg(test)]
#[cfg(unix)]
#[path = "scan_tests.rs"]
mod tests;
