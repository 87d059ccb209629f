//! Folders for people: written beside, synced, then renamed, so that nobody sees half of one.
//!
//! Files are copied, not linked: a program that writes into a published file must not reach the
//! store's own bytes. The copy is hashed on its way, so that damage on disk is never published.

use super::{ArtifactError, Artifacts, durable, names};
use crate::model::Checksum;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes copied at once.
const PIECE_BYTES: usize = 1 << 20;

/// One file of an exported folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportFile {
    /// Relative name with `/`.
    pub name: String,
    /// Its content.
    pub checksum: Checksum,
}

impl Artifacts {
    /// Writes the folder `into` with exactly these files. One that holds them already stays as it
    /// is; one with other content is replaced as a whole. Blocks.
    pub fn export(&self, files: &[ExportFile], into: &Path) -> Result<(), ArtifactError> {
        check_names(files)?;
        let (Some(parent), Some(name)) =
            (into.parent(), into.file_name().and_then(|name| name.to_str()))
        else {
            let error = std::io::Error::new(ErrorKind::InvalidInput, "the folder has no name");
            return Err(ArtifactError::write(into, error));
        };
        durable::create_folder(parent)?;
        remove_leftovers(parent, name)?;
        if holds(files, into)? {
            return Ok(());
        }
        let suffix = durable::random_suffix()?;
        let part = parent.join(format!(".{name}.part-{suffix}"));
        let written = self.write_folder(files, &part).and_then(|()| {
            let old = parent.join(format!(".{name}.old-{suffix}"));
            swap(&part, into, &old)?;
            durable::sync_folder(parent)?;
            durable::remove_all(old)
        });
        if written.is_err() {
            // The first error matters; what cannot be removed now goes with the next export.
            let _ = durable::remove_all(part);
        }
        written
    }

    fn write_folder(&self, files: &[ExportFile], folder: &Path) -> Result<(), ArtifactError> {
        durable::create_folder(folder)?;
        let mut folders = BTreeSet::from([folder.to_owned()]);
        for file in files {
            let target = folder.join(&file.name);
            let above = target.ancestors().skip(1).take_while(|path| path.starts_with(folder));
            folders.extend(above.map(Path::to_owned));
            if let Some(parent) = target.parent() {
                durable::create_folder(parent)?;
            }
            self.copy_checked(&file.checksum, &target)?;
        }
        folders.iter().try_for_each(|folder| durable::sync_folder(folder))
    }

    fn copy_checked(&self, checksum: &Checksum, target: &Path) -> Result<(), ArtifactError> {
        let source = self.path(checksum);
        let mut from = File::open(&source).map_err(|error| match error.kind() {
            ErrorKind::NotFound => ArtifactError::Missing(*checksum),
            _ => ArtifactError::read(source.clone(), error),
        })?;
        let write_error = |error| ArtifactError::write(target, error);
        let mut to =
            File::options().write(true).create_new(true).open(target).map_err(write_error)?;
        let got =
            hash_pieces(&mut from, &source, |piece| to.write_all(piece).map_err(write_error))?;
        if got != *checksum {
            return Err(ArtifactError::Damaged { path: source });
        }
        to.sync_all().map_err(write_error)
    }
}

/// Every name stays inside, and no two meet on any system: Windows and macOS ignore case.
fn check_names(files: &[ExportFile]) -> Result<(), ArtifactError> {
    let mut seen = BTreeSet::new();
    for file in files {
        names::check(&file.name)?;
        if !seen.insert(file.name.to_lowercase()) {
            return Err(ArtifactError::SameName(file.name.clone()));
        }
    }
    Ok(())
}

fn remove_leftovers(parent: &Path, name: &str) -> Result<(), ArtifactError> {
    let prefixes = [format!(".{name}.part-"), format!(".{name}.old-")];
    let entries = std::fs::read_dir(parent).map_err(|error| ArtifactError::read(parent, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| ArtifactError::read(parent, error))?;
        let found = entry.file_name();
        if prefixes.iter().any(|prefix| found.to_string_lossy().starts_with(prefix.as_str())) {
            durable::remove_all(entry.path())?;
        }
    }
    Ok(())
}

/// Whether the folder has all of these files with their bytes, and no other file.
fn holds(files: &[ExportFile], folder: &Path) -> Result<bool, ArtifactError> {
    if !folder.is_dir() || count_files(folder)? != files.len() {
        return Ok(false);
    }
    for file in files {
        let path = folder.join(&file.name);
        let mut open = match File::open(&path) {
            Ok(open) => open,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(ArtifactError::read(path, error)),
        };
        if hash_pieces(&mut open, &path, |_| Ok(()))? != file.checksum {
            return Ok(false);
        }
    }
    Ok(true)
}

fn count_files(folder: &Path) -> Result<usize, ArtifactError> {
    let mut waiting = vec![folder.to_owned()];
    let mut count = 0;
    while let Some(folder) = waiting.pop() {
        let read_error = |error| ArtifactError::read(folder.clone(), error);
        for entry in std::fs::read_dir(&folder).map_err(read_error)? {
            let entry = entry.map_err(read_error)?;
            if entry.file_type().map_err(read_error)?.is_dir() {
                waiting.push(entry.path());
            } else {
                count += 1;
            }
        }
    }
    Ok(count)
}

fn hash_pieces(
    from: &mut File,
    path: &Path,
    mut each: impl FnMut(&[u8]) -> Result<(), ArtifactError>,
) -> Result<Checksum, ArtifactError> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(ArtifactError::read(path, error)),
        };
        let piece = buffer.get(..count).unwrap_or_default();
        hasher.update(piece);
        each(piece)?;
    }
    Ok(Checksum::from_bytes(*hasher.finalize().as_bytes()))
}

/// Puts the new folder in place. An old one moves aside first and back if the new one cannot.
fn swap(part: &Path, into: &Path, old: &PathBuf) -> Result<(), ArtifactError> {
    let had_one = match std::fs::rename(into, old) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(ArtifactError::write(into, error)),
    };
    std::fs::rename(part, into).map_err(|error| {
        if had_one {
            let _ = std::fs::rename(old, into);
        }
        ArtifactError::write(into, error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Setup {
        farm: tempfile::TempDir,
        artifacts: Artifacts,
    }

    impl Setup {
        fn new() -> Self {
            let farm = tempfile::tempdir().unwrap();
            let artifacts = Artifacts::open(farm.path()).unwrap();
            Self { farm, artifacts }
        }

        fn file(&self, name: &str, bytes: &[u8]) -> ExportFile {
            let checksum = Checksum::of(bytes);
            self.artifacts.put_bytes(checksum, bytes).unwrap();
            ExportFile { name: name.to_owned(), checksum }
        }

        fn folder(&self) -> PathBuf {
            self.farm.path().join("published/dragon/v0001")
        }

        fn names_beside(&self) -> Vec<String> {
            let parent = self.folder().parent().unwrap().to_owned();
            std::fs::read_dir(parent)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                .collect()
        }
    }

    #[test]
    fn a_folder_is_written_and_a_second_time_changes_nothing() {
        let setup = Setup::new();
        let files = [setup.file("still.png", b"still"), setup.file("a/b/c.txt", b"deep")];
        setup.artifacts.export(&files, &setup.folder()).unwrap();
        assert_eq!(std::fs::read(setup.folder().join("still.png")).unwrap(), b"still");
        assert_eq!(std::fs::read(setup.folder().join("a/b/c.txt")).unwrap(), b"deep");
        let before = std::fs::metadata(setup.folder().join("still.png")).unwrap();
        setup.artifacts.export(&files, &setup.folder()).unwrap();
        let after = std::fs::metadata(setup.folder().join("still.png")).unwrap();
        assert_eq!(before.modified().unwrap(), after.modified().unwrap());
        assert_eq!(setup.names_beside(), ["v0001"]);
    }

    #[test]
    fn other_content_and_leftovers_are_replaced() {
        let setup = Setup::new();
        std::fs::create_dir_all(setup.folder()).unwrap();
        std::fs::write(setup.folder().join("still.png"), b"stale").unwrap();
        std::fs::write(setup.folder().join("stray"), b"x").unwrap();
        let leftover = setup.folder().with_file_name(".v0001.part-0000000000000000");
        std::fs::create_dir_all(&leftover).unwrap();
        std::fs::write(leftover.join("half"), b"x").unwrap();

        let files = [setup.file("still.png", b"still")];
        setup.artifacts.export(&files, &setup.folder()).unwrap();

        assert_eq!(std::fs::read(setup.folder().join("still.png")).unwrap(), b"still");
        assert!(!setup.folder().join("stray").exists());
        assert_eq!(setup.names_beside(), ["v0001"]);
    }

    #[test]
    fn writing_into_a_published_file_does_not_reach_the_store() {
        let setup = Setup::new();
        let file = setup.file("still.png", b"still");
        setup.artifacts.export(std::slice::from_ref(&file), &setup.folder()).unwrap();
        std::fs::write(setup.folder().join("still.png"), b"edited").unwrap();
        assert_eq!(std::fs::read(setup.artifacts.path(&file.checksum)).unwrap(), b"still");
    }

    #[test]
    fn missing_or_damaged_bytes_publish_nothing() {
        let setup = Setup::new();
        let good = setup.file("a.png", b"a");
        let missing = ExportFile { name: "b.png".into(), checksum: Checksum::of(b"b") };
        let error = setup.artifacts.export(&[good, missing], &setup.folder());
        assert!(matches!(error, Err(ArtifactError::Missing(_))));
        let damaged = setup.file("c.png", b"c");
        std::fs::write(setup.artifacts.path(&damaged.checksum), b"C").unwrap();
        let error = setup.artifacts.export(&[damaged], &setup.folder());
        assert!(matches!(error, Err(ArtifactError::Damaged { .. })));
        assert_eq!(setup.names_beside(), Vec::<String>::new());
    }

    #[test]
    fn names_that_leave_the_folder_or_meet_are_refused() {
        let setup = Setup::new();
        for bad in ["../x", "/x", "a/../../x", "a\0"] {
            let error = setup.artifacts.export(&[setup.file(bad, b"x")], &setup.folder());
            assert!(matches!(error, Err(ArtifactError::Name(_))), "{bad:?}");
        }
        let twice = [setup.file("A.png", b"x"), setup.file("a.png", b"y")];
        let error = setup.artifacts.export(&twice, &setup.folder());
        assert!(matches!(error, Err(ArtifactError::SameName(_))));
    }
}
