//! What follows a success: results where people want them, the source where it belongs. Each step
//! can be repeated after a crash.

use super::jobs::Tools;
use crate::artifacts::ExportFile;
use crate::model::Sight;
use crate::protocol::watch::AfterSuccess;
use crate::store::EndedDrop;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The folder of sources that are done with, below the watch folder.
pub(super) const DONE_FOLDER: &str = "_done";
/// The folder of results, beside a source.
pub(super) const RESULTS_FOLDER: &str = "_results";
/// Names tried for a source whose place in the folder of done ones is taken.
const NAMES_TRIED: u32 = 1_000;

/// A drop whose work succeeded.
#[derive(Debug)]
pub(super) struct Delivery {
    /// Which.
    pub(super) drop: EndedDrop,
    /// The watch folder.
    pub(super) root: PathBuf,
    /// Where its results go, as a folder of its own.
    pub(super) results: Option<PathBuf>,
    /// What happens to the source.
    pub(super) after: AfterSuccess,
    /// The files of the source, below the watch folder, as they looked when they were read.
    pub(super) files: Vec<(PathBuf, Sight)>,
    /// `2026-11-30`.
    pub(super) date: String,
}

/// What became of a delivery.
#[derive(Debug)]
pub(super) struct Delivered {
    /// The drop.
    pub(super) drop: EndedDrop,
    /// Where the results are, or why they are not there yet.
    pub(super) results: Result<Option<PathBuf>, String>,
    /// Files that are not where they were: moved there, or deleted.
    pub(super) gone: Vec<(PathBuf, Option<PathBuf>)>,
    /// Why a file of the source stays.
    pub(super) stays: Option<String>,
}

/// Delivers. Blocks.
pub(super) fn deliver(tools: &Tools, delivery: Delivery) -> Delivered {
    let results = copy_results(tools, &delivery);
    let mut delivered = Delivered { drop: delivery.drop, results, gone: Vec::new(), stays: None };
    // The source goes last: as long as it is there, people see what is not done.
    if delivered.results.is_err() {
        return delivered;
    }
    for (relative, sight) in &delivery.files {
        let path = delivery.root.join(relative);
        let result = match delivery.after {
            AfterSuccess::Stay => return delivered,
            _ if !looks_like(&path, sight) => continue,
            AfterSuccess::Move => {
                let folder = delivery.root.join(DONE_FOLDER).join(&delivery.date);
                move_to(&path, &folder.join(relative)).map(Some)
            }
            AfterSuccess::Delete => std::fs::remove_file(&path).map(|()| None),
        };
        match result {
            Ok(to) => delivered.gone.push((relative.clone(), to)),
            Err(error) => {
                delivered.stays = Some(format!("it stays where it is ({error})"));
            }
        }
    }
    delivered
}

fn copy_results(tools: &Tools, delivery: &Delivery) -> Result<Option<PathBuf>, String> {
    let Some(into) = &delivery.results else { return Ok(None) };
    let files: Vec<ExportFile> = delivery
        .drop
        .published
        .iter()
        .map(|file| ExportFile { name: file.output.clone(), checksum: file.checksum })
        .collect();
    tools
        .artifacts
        .export(&files, into)
        .map(|()| Some(into.clone()))
        .map_err(|error| format!("the results cannot be copied: {error}"))
}

fn looks_like(path: &Path, sight: &Sight) -> bool {
    std::fs::symlink_metadata(path)
        .is_ok_and(|found| crate::artifacts::sight_of(&found).is_still(sight))
}

/// Moves a file and never over another one; where its place is taken it gets a number.
fn move_to(from: &Path, to: &Path) -> io::Result<PathBuf> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut target = to.to_owned();
    for number in 2..NAMES_TRIED {
        match rename_new(from, &target) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let mut name = to.file_stem().unwrap_or_default().to_owned();
                name.push(format!("-{number}"));
                if let Some(suffix) = to.extension() {
                    name.push(".");
                    name.push(suffix);
                }
                target = to.with_file_name(name);
            }
            result => return result.map(|()| target),
        }
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "too many files of that name are done"))
}

#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems do not know the flag.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => rename_checked(from, to),
        result => Ok(result?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    rename_checked(from, to)
}

fn rename_checked(from: &Path, to: &Path) -> io::Result<()> {
    if std::fs::symlink_metadata(to).is_ok() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    std::fs::rename(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_moves_beside_what_is_there_and_never_over_it() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("a.png");
        let to = folder.path().join("_done/day/a.png");
        for (number, name) in [(1, "a.png"), (2, "a-2.png"), (3, "a-3.png")] {
            std::fs::write(&from, [number]).unwrap();
            let moved = move_to(&from, &to).unwrap();
            assert_eq!(moved, to.with_file_name(name));
            assert_eq!(std::fs::read(moved).unwrap(), [number]);
        }
        assert_eq!(std::fs::read(&to).unwrap(), [1], "the first is as it was");
        assert!(!from.exists());
    }
}
