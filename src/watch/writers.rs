//! Which files a program on this machine has open for writing.

use std::collections::HashSet;

/// A file: its device and its number there.
pub type FileId = (u64, u64);

/// Most open files of other programs that one look goes through; the rest are not seen.
pub const HANDLES: usize = 500_000;

/// Those of `wanted` that some program has open for writing now.
///
/// Seen are the programs that this user may look into, in the namespaces of `/proc`. A file that
/// is only mapped into memory, and one that another machine writes over a share, are not seen: so
/// an answer "nobody" is a hint, an answer "somebody" is certain.
#[cfg(target_os = "linux")]
pub fn open_for_writing<S: std::hash::BuildHasher>(wanted: &HashSet<FileId, S>) -> HashSet<FileId> {
    linux::open_for_writing(wanted)
}

/// Those of `wanted` that some program has open for writing now: none, as this system does not
/// tell. On Windows a file that is being written mostly cannot be opened at all.
#[cfg(not(target_os = "linux"))]
pub fn open_for_writing<S: std::hash::BuildHasher>(
    _wanted: &HashSet<FileId, S>,
) -> HashSet<FileId> {
    HashSet::new()
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{FileId, HANDLES};
    use crate::watch::mounts::is_local_name;
    use std::collections::HashSet;
    use std::ffi::OsStr;
    use std::fs;
    use std::hash::BuildHasher;
    use std::io::Read;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::os::unix::fs::MetadataExt;
    use std::path::{Path, PathBuf};

    /// The bits of open(2)'s flags that say how a file is open: 1 for writing, 2 for both.
    const ACCESS_MODE: u32 = 0o3;
    /// Longest text about one open file that is read; the flags stand at its beginning.
    const ABOUT_BYTES: u64 = 1_024;
    /// Longest list of mounts that is read.
    const MOUNTS_BYTES: u64 = 4 << 20;

    pub(super) fn open_for_writing<S: BuildHasher>(wanted: &HashSet<FileId, S>) -> HashSet<FileId> {
        let mut found = HashSet::new();
        if wanted.is_empty() {
            return found;
        }
        let mounts = Mounts::read(wanted);
        let mut looked_at = 0_usize;
        for process in list(Path::new("/proc")) {
            let is_process = process.file_name().is_some_and(is_number);
            if !is_process {
                continue;
            }
            for handle in list(&process.join("fd")) {
                looked_at += 1;
                if looked_at > HANDLES || found.len() == wanted.len() {
                    return found;
                }
                if let Some(file) = wanted_file(&handle, wanted, &mounts)
                    && let Some(number) = handle.file_name()
                    && is_writing(&process.join("fdinfo").join(number))
                {
                    found.insert(file);
                }
            }
        }
        found
    }

    fn is_number(name: &OsStr) -> bool {
        name.as_bytes().iter().all(u8::is_ascii_digit)
    }

    /// What lies in a folder; nothing when it may not be read or is gone.
    fn list(folder: &Path) -> impl Iterator<Item = PathBuf> {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
    }

    /// The file behind an open handle, if it is one of the wanted.
    fn wanted_file<S: BuildHasher>(
        handle: &Path,
        wanted: &HashSet<FileId, S>,
        mounts: &Mounts,
    ) -> Option<FileId> {
        // The name costs nothing and asks no server; sockets and pipes have none.
        let target = fs::read_link(handle).ok()?;
        if !mounts.may_be_asked(target.as_os_str().as_bytes()) {
            return None;
        }
        let metadata = fs::metadata(handle).ok()?;
        let file = (metadata.dev(), metadata.ino());
        wanted.contains(&file).then_some(file)
    }

    /// Whether the flags in `fdinfo` say that it is open for writing: see `proc_pid_fdinfo(5)`.
    fn is_writing(about: &Path) -> bool {
        let mut text = String::new();
        let read =
            fs::File::open(about).and_then(|file| file.take(ABOUT_BYTES).read_to_string(&mut text));
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
        let mode = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        read.is_ok() && mode.is_some_and(|mode| mode & ACCESS_MODE != 0)
    }

    /// The mounts, and which of them may be asked about a file: a share whose server is gone
    /// would keep us waiting for ever, so only disks are, and the shares of wanted files.
    struct Mounts(Vec<(Vec<u8>, bool)>);

    impl Mounts {
        fn read<S: BuildHasher>(wanted: &HashSet<FileId, S>) -> Self {
            let devices: HashSet<u64> = wanted.iter().map(|(device, _)| *device).collect();
            let mut text = Vec::new();
            let read = fs::File::open("/proc/self/mountinfo")
                .and_then(|file| file.take(MOUNTS_BYTES).read_to_end(&mut text));
            if read.is_err() {
                return Self(Vec::new());
            }
            Self(
                text.split(|byte| *byte == b'\n')
                    .filter_map(|line| mount(line, &devices))
                    .collect(),
            )
        }

        /// Whether the file of this name lies on a mount that may be asked.
        fn may_be_asked(&self, path: &[u8]) -> bool {
            if path.first() != Some(&b'/') {
                return false;
            }
            let below = |point: &[u8]| {
                path.strip_prefix(point).is_some_and(|rest| {
                    point.ends_with(b"/") || rest.is_empty() || rest.starts_with(b"/")
                })
            };
            // Of equal mount points the last one lies on top.
            self.0
                .iter()
                .filter(|(point, _)| below(point))
                .max_by_key(|(point, _)| point.len())
                .is_some_and(|(_, may)| *may)
        }
    }

    /// One line of `proc_pid_mountinfo(5)`: where it is mounted, and whether it may be asked.
    fn mount(line: &[u8], devices: &HashSet<u64>) -> Option<(Vec<u8>, bool)> {
        let mut words = line.split(|byte| *byte == b' ');
        let device = std::str::from_utf8(words.nth(2)?).ok()?;
        let (major, minor) = device.split_once(':')?;
        let device = rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?);
        let point = unescaped(words.nth(1)?);
        let kind = words.skip_while(|word| *word != b"-").nth(1)?;
        let local = std::str::from_utf8(kind).is_ok_and(is_local_name);
        Some((point.into_vec(), local || devices.contains(&device)))
    }

    /// Blank, tab, newline and backslash are written in octal there.
    fn unescaped(text: &[u8]) -> std::ffi::OsString {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some((first, after)) = rest.split_first() {
            let octal = after.get(..3).filter(|_| *first == b'\\');
            let octal = octal.and_then(|digits| std::str::from_utf8(digits).ok());
            if let Some(byte) = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            } else {
                bytes.push(*first);
                rest = after;
            }
        }
        std::ffi::OsString::from_vec(bytes)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_share_is_asked_only_about_wanted_files() {
            let share = b"36 25 0:42 / /mnt/a\\040share rw,noatime shared:1 - nfs4 server:/a rw";
            let none = HashSet::new();
            assert_eq!(mount(share, &none), Some((b"/mnt/a share".to_vec(), false)));
            let wanted = HashSet::from([rustix::fs::makedev(0, 42)]);
            assert_eq!(mount(share, &wanted), Some((b"/mnt/a share".to_vec(), true)));
            let disk = b"25 1 8:1 / / rw - ext4 /dev/sda1 rw";
            assert_eq!(mount(disk, &none), Some((b"/".to_vec(), true)));
            assert_eq!(mount(b"broken line", &none), None);

            let mounts = Mounts(vec![(b"/".to_vec(), true), (b"/mnt/a share".to_vec(), false)]);
            assert!(mounts.may_be_asked(b"/home/x"));
            assert!(mounts.may_be_asked(b"/mnt/a shared disk"));
            assert!(!mounts.may_be_asked(b"/mnt/a share/x"));
            assert!(!mounts.may_be_asked(b"socket:[1]"));
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;
    use std::process::{Command, Stdio};

    fn id(path: &Path) -> FileId {
        let metadata = std::fs::metadata(path).unwrap();
        (metadata.dev(), metadata.ino())
    }

    #[test]
    fn a_file_is_being_written_as_long_as_somebody_may_write_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tree.png");
        let other = folder.path().join("other.png");
        std::fs::write(&path, "t").unwrap();
        let _other = File::create(&other).unwrap();
        let wanted = HashSet::from([id(&path)]);
        assert_eq!(open_for_writing(&wanted), HashSet::new(), "nobody has it open");
        let reading = File::open(&path).unwrap();
        assert_eq!(open_for_writing(&wanted), HashSet::new(), "reading is no writing");
        let appending = File::options().append(true).open(&path).unwrap();
        assert_eq!(open_for_writing(&wanted), wanted);
        drop(appending);
        let both = File::options().read(true).write(true).open(&path).unwrap();
        let wanted_both = HashSet::from([id(&path), id(&other)]);
        assert_eq!(open_for_writing(&wanted_both), wanted_both);
        drop((reading, both));
        assert_eq!(open_for_writing(&wanted), HashSet::new());
        assert_eq!(open_for_writing(&HashSet::new()), HashSet::new());
    }

    #[test]
    fn another_program_is_seen_and_so_is_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tree.png");
        let file = File::create(&path).unwrap();
        let wanted = HashSet::from([id(&path)]);
        // It has the file as its output until its input ends.
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).stdout(file).spawn().expect("cat starts");
        assert_eq!(open_for_writing(&wanted), wanted);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(open_for_writing(&wanted), HashSet::new());
    }
}
