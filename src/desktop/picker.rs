//! The system's file dialog, away from the window's thread, since a portal may take its time.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

/// What to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// One or more files.
    Files,
    /// One folder.
    Folder,
    /// One folder to watch.
    WatchFolder,
}

impl Pick {
    const fn title(self) -> &'static str {
        match self {
            Self::Files | Self::Folder => "Submit to Sawah",
            Self::WatchFolder => "Watch a folder",
        }
    }
}

/// Called once with what was chosen; empty where nothing was.
pub type Chosen = Box<dyn FnOnce(Vec<PathBuf>) + Send>;

/// Chooses files. Tests have their own.
pub trait FilePicker: Send {
    /// Opens a dialog and returns at once. Dropping `chosen` means that no dialog could be shown.
    fn pick(&self, what: Pick, chosen: Chosen);
    /// Shows a folder of this machine in the system's file manager; else why not, for people.
    fn reveal(&self, path: &str) -> Result<(), String>;
}

/// The dialogs of the system.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemPicker;

impl FilePicker for SystemPicker {
    #[cfg(not(target_os = "macos"))]
    fn pick(&self, what: Pick, chosen: Chosen) {
        let ask = move || {
            let dialog = rfd::FileDialog::new().set_title(what.title());
            let paths = match what {
                Pick::Files => dialog.pick_files(),
                Pick::Folder | Pick::WatchFolder => dialog.pick_folder().map(|folder| vec![folder]),
            };
            chosen(paths.unwrap_or_default());
        };
        if let Err(error) = std::thread::Builder::new().name("file-dialog".to_owned()).spawn(ask) {
            tracing::error!(%error, "the file dialog's thread could not be started");
        }
    }

    /// macOS shows dialogs on the main thread only.
    #[cfg(target_os = "macos")]
    fn pick(&self, what: Pick, chosen: Chosen) {
        let dialog = rfd::FileDialog::new().set_title(what.title());
        let paths = match what {
            Pick::Files => dialog.pick_files(),
            Pick::Folder | Pick::WatchFolder => dialog.pick_folder().map(|folder| vec![folder]),
        };
        chosen(paths.unwrap_or_default());
    }

    fn reveal(&self, path: &str) -> Result<(), String> {
        open::that_detached(path).map_err(|error| format!("{error}. Copy its path instead"))
    }
}

/// A dialog that is open.
#[derive(Debug)]
pub(super) struct OpenPick {
    what: Pick,
    answer: Receiver<Vec<PathBuf>>,
}

impl OpenPick {
    /// Opens one; `wake` is called when it has an answer.
    pub(super) fn open(
        picker: &dyn FilePicker,
        what: Pick,
        wake: impl FnOnce() + Send + 'static,
    ) -> Self {
        let (sender, answer): (SyncSender<_>, _) = sync_channel(1);
        picker.pick(
            what,
            Box::new(move |paths| {
                // The window may be gone; then nobody wants the answer.
                let _ = sender.try_send(paths);
                wake();
            }),
        );
        Self { what, answer }
    }

    /// What was asked and the answer, once there is one; nothing chosen where the dialog could not
    /// be shown.
    pub(super) fn answer(&self) -> Option<(Pick, Vec<PathBuf>)> {
        match self.answer.try_recv() {
            Ok(paths) => Some((self.what, paths)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some((self.what, Vec::new())),
        }
    }
}

/// Paths as people paste them: one a line, perhaps quoted, perhaps as `file://` addresses.
pub(super) fn parse_paths(text: &str) -> Vec<PathBuf> {
    text.lines()
        .map(|line| line.trim().trim_matches(['"', '\'']))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| match line.strip_prefix("file://") {
            Some(address) => {
                let decoded = percent_encoding::percent_decode_str(address).decode_utf8_lossy();
                PathBuf::from(decoded.as_ref())
            }
            None => PathBuf::from(line),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_paths_are_read_in_every_form() {
        let text = "  /a/dragon.glb\n\"/b/two words.obj\"\nfile:///c/gr%C3%BCn.exr\n\n# note\n";
        let want = ["/a/dragon.glb", "/b/two words.obj", "/c/grün.exr"].map(PathBuf::from);
        assert_eq!(parse_paths(text), want);
    }
}
