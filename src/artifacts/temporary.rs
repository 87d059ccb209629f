//! A file in `incoming/` that has no right name yet.

use super::incoming::Put;
use super::{ArtifactError, Artifacts, durable};
use crate::model::Checksum;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Dropped before [`Temporary::keep`], it leaves nothing behind.
#[derive(Debug)]
pub(super) struct Temporary {
    path: PathBuf,
    file: File,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename nothing has this name any more. A failed removal waits for the sweep.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Temporary {
    /// A new empty file, its name begins with `stem`. It can be written and read.
    pub(super) fn new(artifacts: &Artifacts, stem: &str) -> Result<Self, ArtifactError> {
        let name = format!("{stem}.{}", durable::random_suffix()?);
        let path = artifacts.folders.incoming.join(name);
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|error| ArtifactError::write(path.clone(), error))?;
        Ok(Self { path, file })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the bytes the name of their checksum; they are on disk after this. Blocks.
    pub(super) fn keep(
        self,
        artifacts: &Artifacts,
        checksum: &Checksum,
    ) -> Result<Put, ArtifactError> {
        let path = artifacts.path(checksum);
        self.file.sync_all().map_err(|error| ArtifactError::write(self.path.clone(), error))?;
        // Equal bytes may have come by another way meanwhile; replacing them changes nothing.
        std::fs::rename(&self.path, &path)
            .map_err(|error| ArtifactError::write(path.clone(), error))?;
        if let Some(folder) = path.parent() {
            durable::sync_folder(folder)?;
        }
        Ok(Put::New)
    }
}
