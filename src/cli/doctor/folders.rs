//! Folders that Sawah writes to: there, writable, with room.

use super::super::context::Context;
use super::super::words;
use super::Check;
use std::path::{Path, PathBuf};
use sysinfo::Disks;

/// Below this much free space a disk soon fills.
const SPACE_WARN_BYTES: u64 = 5 << 30;
/// Below this much free space nothing can be counted on.
const SPACE_FAIL_BYTES: u64 = 500 << 20;

pub(super) fn check(context: &Context) -> Vec<Check> {
    let disks = disks();
    let settings = &context.settings;
    let mut checks = Vec::new();
    for (name, path) in [
        ("farm", &settings.farm.value),
        ("work", &settings.worker_work_dir.value),
        ("config", &context.folders.config),
    ] {
        checks.push(folder(name, path, &disks));
    }
    let recipes = context.folders.recipes();
    let place = recipes.display().to_string();
    checks.push(match context.library() {
        Ok(library) => {
            let names: Vec<&str> = library.names().collect();
            Check::ok("folders", "recipes", format!("{place} ({})", names.join(", ")))
        }
        Err(error) => Check::ok("folders", "recipes", place).fail(error.message()),
    });
    checks
}

/// Mount points with their free bytes; none where the system does not tell.
fn disks() -> Vec<(PathBuf, u64)> {
    let Ok(disks) = Disks::new_with_refreshed_list() else { return Vec::new() };
    let space = |disk: &sysinfo::Disk| (disk.mount_point().to_owned(), disk.available_space());
    disks.iter().map(space).collect()
}

fn folder(name: &str, path: &Path, disks: &[(PathBuf, u64)]) -> Check {
    let (there, is_new) = nearest(path);
    let free = free_bytes(&there, disks);
    let room = free.map_or_else(String::new, |bytes| format!(", {} free", words::size(bytes)));
    let state = if is_new { "will be made" } else { "there" };
    let check = Check::ok("folders", name, format!("{} ({state}{room})", path.display()));
    if !there.is_dir() {
        return check.fail(format!("this is no folder: {}", there.display()));
    }
    // Only trying tells: rights, read-only mounts and quotas all have their say.
    if let Err(error) = tempfile::Builder::new().prefix(".sawah-doctor-").tempfile_in(&there) {
        return check.fail(format!("cannot write ({error}): change its rights or name another"));
    }
    match free {
        Some(bytes) if bytes < SPACE_FAIL_BYTES => check.fail("free space on this disk"),
        Some(bytes) if bytes < SPACE_WARN_BYTES => check.warn("free space on this disk soon"),
        _ => check,
    }
}

/// The folder itself or the nearest one above it that exists, and whether it must be made.
fn nearest(path: &Path) -> (PathBuf, bool) {
    let there = path.ancestors().find(|one| one.exists()).unwrap_or(Path::new("."));
    (there.to_owned(), there != path)
}

fn free_bytes(path: &Path, disks: &[(PathBuf, u64)]) -> Option<u64> {
    let path = path.canonicalize().ok()?;
    disks
        .iter()
        .filter(|(mount, _)| path.starts_with(mount))
        .max_by_key(|(mount, _)| mount.components().count())
        .map(|(_, free)| *free)
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn folders_are_tried_and_their_disk_is_looked_at() {
        let root = tempfile::tempdir().expect("folder");
        let disk = |free: u64| vec![(PathBuf::from("/"), 0), (root.path().to_owned(), free)];
        let full = root.path().canonicalize().expect("path");
        let disk = |free: u64| [disk(free), vec![(full.clone(), free)]].concat();
        let new = root.path().join("a/b");
        let check = folder("farm", &new, &disk(u64::MAX));
        assert_eq!(check.verdict, Verdict::Ok, "{check:?}");
        assert!(check.found.contains("will be made"));
        assert_eq!(folder("farm", root.path(), &disk(1 << 30)).verdict, Verdict::Warn);
        assert_eq!(folder("farm", root.path(), &disk(1)).verdict, Verdict::Fail);
        let file = root.path().join("file");
        std::fs::write(&file, b"x").expect("write");
        assert_eq!(folder("farm", &file, &disk(u64::MAX)).verdict, Verdict::Fail);
        assert_eq!(std::fs::read_dir(root.path()).expect("list").count(), 1, "nothing is left");
    }
}
