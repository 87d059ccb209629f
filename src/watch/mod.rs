//! Watch folders: drop a file, get a result or a reason.
//!
//! [`watcher`] runs one thread for each folder and an [`engine`](self) in it, which goes step by
//! step: `seeing` looks around, `settling` waits until a file is complete, `planning` finds which
//! files are one asset, `jobs` reads their bytes into the content store and hands them in,
//! `outcomes` and `deliver` see to what follows. `settle`, `ending`, `scan`, `names`, `mounts`,
//! `writers`, `hints` and `notes` know files only, neither store nor coordinator.

pub mod dry_run;
pub mod ending;
pub mod hints;
pub mod ignore;
pub mod looker;
mod mail;
pub mod mounts;
pub mod names;
pub mod notes;
pub mod scan;
pub mod settle;
pub mod watcher;
pub mod writers;
mod book;
mod claims;
mod deliver;
mod engine;
mod jobs;
mod orders;
mod outcomes;
mod planning;
mod queue;
mod recipe;
mod seeing;
mod settling;
mod tracked;
mod units;

#[cfg(test)]
mod tests;

pub use watcher::{Parts, Watcher};

use crate::protocol::watch::WatchRules;
use ignore::{BadPattern, IgnoreList};
use std::path::{Path, PathBuf};

/// The names that a folder leaves alone.
pub fn ignore_list(rules: &WatchRules) -> Result<IgnoreList, BadPattern> {
    match &rules.ignore {
        Some(patterns) => IgnoreList::new(patterns),
        None => IgnoreList::new(&IgnoreList::default_patterns()),
    }
}

/// A path as the ledger keeps it: the system's own bytes.
#[cfg(unix)]
fn bytes(path: &Path) -> Vec<u8> {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).to_vec()
}

/// A path of the ledger.
#[cfg(unix)]
fn path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes))
}

/// A path as the ledger keeps it. Elsewhere names are Unicode, but for broken ones.
#[cfg(not(unix))]
fn bytes(path: &Path) -> Vec<u8> {
    path.to_string_lossy().replace('\\', "/").into_bytes()
}

/// A path of the ledger.
#[cfg(not(unix))]
fn path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}
