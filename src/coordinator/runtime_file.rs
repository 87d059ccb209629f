//! `runtime.json`: tells this machine's clients where the coordinator of a farm listens.

use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// The file in the farm's folder.
pub const RUNTIME_FILE: &str = "runtime.json";

/// What the file says. It may be stale after a crash: check that the address answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// Where the coordinator listens: `http://127.0.0.1:7420`.
    pub url: String,
    /// Its process.
    pub pid: u32,
    /// Since when, Unix milliseconds.
    pub started_at_ms: i64,
}

/// The file while the coordinator runs.
#[derive(Debug)]
pub(super) struct RuntimeFile {
    path: PathBuf,
}

impl RuntimeFile {
    /// Writes the file beside and renames it, so that nobody reads half of it.
    pub(super) fn write(farm: &Path, runtime: &Runtime) -> io::Result<Self> {
        let path = farm.join(RUNTIME_FILE);
        let temporary = farm.join(".runtime.json.new");
        std::fs::write(&temporary, serde_json::to_vec(runtime)?)?;
        std::fs::rename(&temporary, &path)?;
        Ok(Self { path })
    }

    /// The coordinator ends orderly.
    pub(super) fn remove(self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "a stale file stays behind");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_there_while_the_coordinator_runs() {
        let farm = tempfile::tempdir().unwrap();
        let runtime = Runtime { url: "http://127.0.0.1:1".into(), pid: 7, started_at_ms: 9 };
        let file = RuntimeFile::write(farm.path(), &runtime).unwrap();
        let text = std::fs::read(farm.path().join(RUNTIME_FILE)).unwrap();
        assert_eq!(serde_json::from_slice::<Runtime>(&text).unwrap(), runtime);
        file.remove();
        assert_eq!(std::fs::read_dir(farm.path()).unwrap().count(), 0);
    }
}
