//! What is to be written into the ledger, gathered so that many files share a commit.

use super::names;
use super::tracked::Tracked;
use crate::model::WatchFolderId;
use crate::store::{FileNote, Store, StoreError, WATCH_NOTES_PER_CALL};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tokio::runtime::Handle;

/// What waits to be written, the newest of each file.
pub(super) struct Book {
    store: Store,
    handle: Handle,
    folder: WatchFolderId,
    pages: BTreeMap<PathBuf, Page>,
}

enum Page {
    Note(Box<FileNote>),
    Forget,
}

impl Book {
    pub(super) fn new(store: Store, handle: Handle, folder: WatchFolderId) -> Self {
        Self { store, handle, folder, pages: BTreeMap::new() }
    }

    /// A file is in a new state.
    pub(super) fn note(&mut self, path: &Path, tracked: &Tracked) {
        let Some(state) = tracked.noted.state else { return };
        let note = FileNote {
            path: super::bytes(path),
            shown: shown(path),
            sight: tracked.sight,
            state,
            why: tracked.noted.why.clone(),
            reason: tracked.noted.reason,
        };
        self.pages.insert(path.to_owned(), Page::Note(Box::new(note)));
    }

    /// A file is not there any more.
    pub(super) fn forget(&mut self, path: &Path) {
        self.pages.insert(path.to_owned(), Page::Forget);
    }

    /// Writes all of it. What fails is written the next time. Blocks.
    pub(super) fn write(&mut self) -> Result<(), StoreError> {
        while !self.pages.is_empty() {
            let paths: Vec<PathBuf> =
                self.pages.keys().take(WATCH_NOTES_PER_CALL).cloned().collect();
            let (mut notes, mut forgotten) = (Vec::new(), Vec::new());
            for path in &paths {
                match self.pages.get(path) {
                    Some(Page::Note(note)) => notes.push(FileNote::clone(note)),
                    Some(Page::Forget) => forgotten.push(super::bytes(path)),
                    None => {}
                }
            }
            if !notes.is_empty() {
                self.handle.block_on(self.store.note_files(self.folder, notes))?;
            }
            if !forgotten.is_empty() {
                self.handle.block_on(self.store.forget_files(self.folder, forgotten))?;
            }
            for path in &paths {
                self.pages.remove(path);
            }
        }
        Ok(())
    }
}

/// A path below the folder for people, with `/`.
pub(super) fn shown(path: &Path) -> String {
    let parts: Vec<String> = path.iter().map(names::shown).collect();
    parts.join("/")
}
