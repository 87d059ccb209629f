//! The renderer profiles as this process has read them. A host that serves many attempts reads them
//! again only where the user's own have changed.

use crate::model::{Reason, limits};
use crate::protocol::work::Failure;
use crate::renderers::{Library, Profile};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// What was read, and what the user's folder was like then.
struct Read {
    folder: Option<PathBuf>,
    files: Files,
    library: Arc<Library>,
}

/// Each own file with its size and time; none where that cannot be told.
type Files = Option<Vec<(PathBuf, u64, SystemTime)>>;

static READ: Mutex<Option<Read>> = Mutex::new(None);

/// The profile with this name, shipped or the user's own on this worker.
pub(super) fn profile(folder: Option<&Path>, name: &str) -> Result<Arc<Profile>, Failure> {
    let library = library(folder)?;
    library.get(name).ok_or_else(|| {
        let known: Vec<&str> = library.names().collect();
        let why = format!(
            "no renderer profile is called '{name}' on this worker; there are {}",
            known.join(", ")
        );
        Failure::new(Reason::SettingInvalid, why)
    })
}

fn library(folder: Option<&Path>) -> Result<Arc<Library>, Failure> {
    // Before the files are read: a change meanwhile is seen the next time.
    let files = folder.map_or(Some(Vec::new()), own_files);
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(read) = read.as_ref()
        && read.folder.as_deref() == folder
        && files.is_some()
        && read.files == files
    {
        return Ok(Arc::clone(&read.library));
    }
    let library = Library::load(folder)
        .map_err(|error| Failure::new(Reason::SettingInvalid, error.to_string()))?;
    let library = Arc::new(library);
    let folder = folder.map(Path::to_owned);
    *read = Some(Read { folder, files, library: Arc::clone(&library) });
    Ok(library)
}

fn own_files(folder: &Path) -> Files {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(Vec::new()),
        Err(_) => return None,
    };
    let mut files = Vec::new();
    for entry in entries.take(limits::PROFILES) {
        let entry = entry.ok()?;
        let found = entry.metadata().ok()?;
        files.push((entry.path(), found.len(), found.modified().ok()?));
    }
    files.sort();
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_that_changes_between_two_attempts_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let text = include_str!("../../../assets/renderers/command.toml");
        let write = |title: &str| {
            let text = text.replace("\"Command\"", &format!("\"{title}\""));
            std::fs::write(folder.path().join("command.toml"), text).unwrap();
        };
        let title = || profile(Some(folder.path()), "command").unwrap().title.clone();
        assert_eq!(title(), "Command");
        write("Own");
        assert_eq!(title(), "Own");
        write("Another");
        assert_eq!(title(), "Another");
        let (one, two) = (library(Some(folder.path())), library(Some(folder.path())));
        assert!(Arc::ptr_eq(&one.unwrap(), &two.unwrap()));
        assert!(profile(None, "nobody").is_err_and(|failure| failure.message.contains("blender")));
    }
}
