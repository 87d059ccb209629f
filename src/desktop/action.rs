//! All that a click or a key can ask for. Panels fill a queue; the app empties it in one place.

use super::carry_out_watch::WatchAction;
use super::screen::{Dialog, Selection, StateFilter, Tab};
use crate::model::{JobId, PipelineId};
use std::path::PathBuf;
use std::time::Duration;

/// One wish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Go to a tab.
    Show(Tab),
    /// Select a row, or nothing.
    Select(Selection),
    /// Go to a pipeline wherever the window is.
    GoTo(PipelineId),
    /// Move the selection by rows.
    Step(i32),
    /// Select the first row, or open what is selected.
    Open,
    /// Show rows of one state; again to show all.
    Filter(StateFilter),
    /// Show rows with this text.
    Search(String),
    /// Put the cursor into the search field.
    FocusSearch,
    /// Show all rows.
    ShowAll,
    /// Let the held rows follow the farm again.
    Resume,
    /// Close what is open, or clear what is set, one step at a time.
    Back,
    /// Open a dialog.
    Ask(Dialog),
    /// Close the dialog.
    CloseDialog,
    /// The typed paths changed.
    Type(String),
    /// The recipe for the next submission.
    Recipe(Option<String>),
    /// The frames of scenes changed.
    Frames(String),
    /// The frames of one job changed.
    Chunk(String),
    /// The changed settings changed.
    Settings(String),
    /// Hand in files and folders.
    Submit(Vec<PathBuf>),
    /// Let the system's dialog choose files.
    PickFiles,
    /// Let the system's dialog choose a folder.
    PickFolder,
    /// Replay a dead letter.
    Replay(JobId),
    /// Dismiss a dead letter.
    Dismiss(JobId),
    /// Cancel a pipeline; asked before.
    Cancel(PipelineId),
    /// Something about watch folders.
    Watch(WatchAction),
    /// Show a folder of this machine in the system's file manager.
    Reveal(String),
    /// Put text on the clipboard.
    Copy(String),
    /// Take a toast away.
    DropToast(u64),
    /// Draw again after this time: something on the screen counts down.
    Tick(Duration),
}

/// The wishes of one frame, in order.
#[derive(Debug, Default)]
pub struct Actions(Vec<Action>);

impl Actions {
    /// Adds one.
    pub fn push(&mut self, action: Action) {
        self.0.push(action);
    }

    /// Takes all.
    pub fn take(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.0)
    }
}
