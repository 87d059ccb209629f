//! Folders that Sawah writes to: there, writable, with room.

use super::super::context::Context;
use super::super::words;
use super::Check;
use std::path::{Path, PathBuf};

/// Below this much free space a disk soon fills.
const SPACE_WARN_BYTES: u64 = 5 << 30;
/// Below this much free space nothing can be counted on.
const SPACE_FAIL_BYTES: u64 = 500 << 20;

pub(super) fn check(context: &Context) -> Vec<Check> {
    let settings = &context.settings;
    let mut checks = Vec::new();
    for (name, path) in [
        ("farm", &settings.farm.value),
        ("work", &settings.worker_work_dir.value),
        ("config", &context.folders.config),
    ] {
        checks.push(folder(name, path, &free_bytes));
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

fn folder(name: &str, path: &Path, free_bytes: &dyn Fn(&Path) -> Option<u64>) -> Check {
    let (there, is_new) = nearest(path);
    let free = free_bytes(&there);
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

/// Asked of the folder itself: lists of disks lack small and odd mounts.
#[cfg(unix)]
fn free_bytes(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Of the mount point nearest above.
#[cfg(not(unix))]
fn free_bytes(path: &Path) -> Option<u64> {
    let path = path.canonicalize().ok()?;
    let disks = sysinfo::Disks::new_with_refreshed_list().ok()?;
    disks
        .iter()
        .filter(|disk| path.starts_with(disk.mount_point()))
        .max_by_key(|disk| disk.mount_point().components().count())
        .map(sysinfo::Disk::available_space)
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn folders_are_tried_and_their_disk_is_looked_at() {
        let root = tempfile::tempdir().expect("folder");
        let disk = |free: u64| move |_: &Path| Some(free);
        assert!(free_bytes(root.path()).is_some_and(|free| free > 0));
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
