//! Writes that survive a power cut: a file is on disk once its folder is synced too.

use super::ArtifactError;
use std::path::{Path, PathBuf};

/// Creates a folder and those above it.
pub(super) fn create_folder(path: &Path) -> Result<(), ArtifactError> {
    std::fs::create_dir_all(path).map_err(|error| ArtifactError::write(path, error))
}

/// Makes renames inside a folder durable. Windows does that by itself and cannot open folders.
pub(super) fn sync_folder(path: &Path) -> Result<(), ArtifactError> {
    if cfg!(unix) {
        std::fs::File::open(path)
            .and_then(|folder| folder.sync_all())
            .map_err(|error| ArtifactError::write(path, error))?;
    }
    Ok(())
}

/// Sixteen hexadecimal digits that nobody else has.
pub(super) fn random_suffix() -> Result<String, ArtifactError> {
    getrandom::u64().map(|number| format!("{number:016x}")).map_err(ArtifactError::Random)
}

/// Removes what lies at `path`, be it a file or a folder; nothing there is fine.
pub(super) fn remove_all(path: PathBuf) -> Result<(), ArtifactError> {
    let is_folder = match std::fs::symlink_metadata(&path) {
        Ok(found) => found.is_dir(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(ArtifactError::read(path, error)),
    };
    let removed =
        if is_folder { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
    removed.map_err(|error| ArtifactError::write(path, error))
}
