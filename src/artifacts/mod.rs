//! The content store: immutable bytes, each file named by its checksum.
//!
//! Bytes arrive in `incoming/`, are hashed on the way, synced and renamed to `store/ab/<checksum>`,
//! so that a name in the store always holds all of its bytes. [`export`] writes the folders that
//! people look into, [`Artifacts::adopt`] takes in files of this machine.

pub mod error;
pub mod export;
pub mod names;
mod adopt;
mod copying;
mod durable;
mod incoming;
mod read;
mod sight;
mod temporary;

pub use adopt::{AdoptError, AdoptOptions, Adopted, Links, Way};
pub use error::ArtifactError;
pub use export::ExportFile;
pub use incoming::{Incoming, Put};
pub use read::ByteRange;
pub use sight::sight_of;

use crate::model::Checksum;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The content store of one farm. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Artifacts {
    folders: Arc<Folders>,
}

#[derive(Debug)]
struct Folders {
    store: PathBuf,
    incoming: PathBuf,
}

impl Artifacts {
    /// Opens or creates `store/` and `incoming/` in the farm's folder. Blocks.
    pub fn open(farm: &Path) -> Result<Self, ArtifactError> {
        let folders = Folders { store: farm.join("store"), incoming: farm.join("incoming") };
        durable::create_folder(&folders.incoming)?;
        for prefix in 0..=u8::MAX {
            durable::create_folder(&folders.store.join(format!("{prefix:02x}")))?;
        }
        durable::sync_folder(&folders.store)?;
        durable::sync_folder(farm)?;
        let artifacts = Self { folders: Arc::new(folders) };
        artifacts.sweep_incoming()?;
        Ok(artifacts)
    }

    /// Where these bytes lie, or would lie.
    pub fn path(&self, checksum: &Checksum) -> PathBuf {
        let name = checksum.to_string();
        let prefix: String = name.chars().take(2).collect();
        self.folders.store.join(prefix).join(name)
    }

    /// The size of these bytes, or none where the store lacks them. Blocks for one look.
    pub fn size(&self, checksum: &Checksum) -> Result<Option<u64>, ArtifactError> {
        let path = self.path(checksum);
        match std::fs::metadata(&path) {
            Ok(found) if found.is_file() => Ok(Some(found.len())),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ArtifactError::read(path, error)),
        }
    }

    /// Whether the store has these bytes. Blocks for one look.
    pub fn contains(&self, checksum: &Checksum) -> Result<bool, ArtifactError> {
        self.size(checksum).map(|size| size.is_some())
    }

    /// Removes what interrupted uploads left; returns how many files. Only while nothing uploads.
    pub fn sweep_incoming(&self) -> Result<usize, ArtifactError> {
        let folder = &self.folders.incoming;
        let entries = std::fs::read_dir(folder)
            .map_err(|error| ArtifactError::read(folder.clone(), error))?;
        let mut removed = 0;
        for entry in entries {
            let path = entry.map_err(|error| ArtifactError::read(folder.clone(), error))?.path();
            std::fs::remove_file(&path).map_err(|error| ArtifactError::write(path, error))?;
            removed += 1;
        }
        Ok(removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_twice_keeps_the_bytes_and_sweeps_what_was_interrupted() {
        let farm = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::open(farm.path()).unwrap();
        let checksum = Checksum::of(b"kept");
        artifacts.put_bytes(checksum, b"kept").unwrap();
        std::fs::write(farm.path().join("incoming/half"), b"ha").unwrap();

        let again = Artifacts::open(farm.path()).unwrap();

        assert_eq!(again.size(&checksum).unwrap(), Some(4));
        assert!(!again.contains(&Checksum::of(b"other")).unwrap());
        assert_eq!(std::fs::read_dir(farm.path().join("incoming")).unwrap().count(), 0);
    }
}
