//! A disk of a few MiB that a test can fill.
//!
//! Only root may mount one. A test of another user runs itself once more as root of a user
//! namespace of its own, where the system allows that.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set in the run inside the namespace, so that it does not start another one.
const INSIDE: &str = "SAWAH_TEST_OWN_MOUNTS";

/// What the test still has to do.
pub(crate) enum Mounts {
    /// Everything: it may mount.
    Allowed,
    /// Nothing: it has passed in a namespace of its own.
    PassedInside,
}

/// Looks whether this process may mount; `test` is the test's full name.
pub(crate) fn mounts(test: &str) -> Mounts {
    let probe = tempfile::tempdir().expect("a temporary folder can be made");
    if try_mount(probe.path(), "64k").is_ok() {
        unmount(probe.path());
        return Mounts::Allowed;
    }
    let what_to_do = "this test fills a small disk that it mounts: run it as root, or allow user \
        namespaces (sysctl kernel.unprivileged_userns_clone=1, and on Ubuntu \
        kernel.apparmor_restrict_unprivileged_userns=0)";
    assert!(std::env::var_os(INSIDE).is_none(), "{what_to_do}");
    let program = std::env::current_exe().expect("the test knows its own program");
    let mut inside = Command::new("unshare");
    inside.args(["--map-root-user", "--mount"]).arg(program);
    inside.args(["--exact", test, "--nocapture"]).env(INSIDE, "1");
    let output = inside.output().unwrap_or_else(|why| panic!("{what_to_do}. unshare: {why}"));
    let said = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && said.contains("1 passed");
    assert!(passed, "{what_to_do}. {said}{}", String::from_utf8_lossy(&output.stderr));
    Mounts::PassedInside
}

fn try_mount(at: &Path, size: &str) -> Result<(), String> {
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "sawah-test"]).arg(at);
    let output = mount.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(said) }
}

fn unmount(at: &Path) {
    let mut umount = Command::new("umount");
    // Lazily, since a killed process may not be quite gone.
    if !umount.arg("--lazy").arg(at).status().is_ok_and(|status| status.success()) {
        eprintln!("{} is still mounted", at.display());
    }
}

/// A file system of a fixed size, unmounted at the end.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// A disk of `size` at an empty folder.
    pub(crate) fn mount(at: PathBuf, size: &str) -> Self {
        try_mount(&at, size).unwrap_or_else(|why| panic!("{}: {why}", at.display()));
        Self(at)
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// Makes it larger.
    pub(crate) fn grow(&self, size: &str) {
        let mut mount = Command::new("mount");
        // With its name, so that nothing of the mount table is added: not all of it may be set in
        // a user namespace.
        mount.args(["-t", "tmpfs", "-o", &format!("remount,size={size}"), "sawah-test"]);
        mount.arg(&self.0);
        assert!(mount.status().is_ok_and(|status| status.success()), "it can be made larger");
    }

    /// Takes all the room that is left; removing the file gives it back.
    pub(crate) fn fill(&self) -> PathBuf {
        let path = self.0.join("ballast");
        let mut file = fs::File::create(&path).expect("a file can be made");
        let block = vec![0x5a; 4_096];
        let full = loop {
            if let Err(error) = file.write_all(&block) {
                break error;
            }
        };
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull, "{full}");
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}
