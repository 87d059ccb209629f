//! Carries out what is wished for about watch folders.

use super::app::App;
use super::carry_out::moved;
use super::picker::Pick;
use super::screen::{Dialog, Selection};
use super::watching::{WatchForm, Watching};
use crate::client::live::{Notice, Order, WatchWish};
use crate::model::{WatchFileId, WatchFolderId};
use crate::protocol::watch::{WatchFileState, WatchOrder};
use std::path::Path;

/// One wish about watch folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchAction {
    /// Show a folder.
    Folder(WatchFolderId),
    /// Show files of one state; again to show all.
    State(WatchFileState),
    /// Select a file, or none.
    File(Option<WatchFileId>),
    /// Open the dialog for a new folder, with what was typed before.
    New,
    /// Open the dialog for a folder's rules.
    Edit(WatchFolderId),
    /// The dialog changed.
    Form(Box<WatchForm>),
    /// Let the system's dialog choose the folder.
    Pick,
    /// Send the dialog.
    Save,
    /// The recipe with which all files are taken again.
    Again(Option<String>),
    /// Take the selected file again.
    RetakeSelected,
    /// Send an order; asked before where it needs that.
    Send(Box<WatchWish>),
}

impl App {
    pub(super) fn carry_out_watch(&mut self, action: WatchAction) {
        let watching = &mut self.screen.watching;
        match action {
            WatchAction::Folder(folder) => {
                watching.chosen = Some(folder);
                self.select_file(None);
            }
            WatchAction::State(state) => {
                watching.state = (watching.state != Some(state)).then_some(state);
                self.select_file(None);
            }
            WatchAction::File(file) => self.select_file(file),
            WatchAction::New => {
                if watching.form.folder.is_some() {
                    watching.form = WatchForm::default();
                }
                self.open_form();
            }
            WatchAction::Edit(id) => {
                let folders = watching.folders.value.as_deref();
                let folder = folders.into_iter().flatten().find(|folder| folder.id == id);
                if let Some(folder) = folder {
                    watching.form = WatchForm::of(folder);
                    self.open_form();
                }
            }
            WatchAction::Form(form) => watching.form = *form,
            WatchAction::Pick => self.pick(Pick::WatchFolder),
            WatchAction::Save => self.save_form(),
            WatchAction::Again(recipe) => watching.again = recipe,
            WatchAction::RetakeSelected => self.retake_selected(),
            WatchAction::Send(wish) => {
                self.screen.dialog = None;
                self.parts.farm.order(Order::Watch(*wish));
            }
        }
    }

    /// The system's dialog gave a folder; nobody wants it where the form is gone.
    pub(super) fn watch_folder_picked(&mut self, path: &Path) {
        let form = &mut self.screen.watching.form;
        if self.screen.dialog == Some(Dialog::WatchFolder) && form.folder.is_none() {
            form.path = path.display().to_string();
        }
    }

    fn open_form(&mut self) {
        self.screen.watching.form.problem = None;
        self.screen.dialog = Some(Dialog::WatchFolder);
        self.screen.once.focus_dialog = true;
    }

    fn save_form(&mut self) {
        let form = &mut self.screen.watching.form;
        if form.is_sent {
            return;
        }
        match form.rules() {
            Err(why) => form.problem = Some(why),
            Ok(rules) => {
                form.problem = None;
                form.is_sent = true;
                let wish = match form.folder {
                    Some(folder) => WatchWish::Change { folder, rules },
                    None => WatchWish::Add { path: form.path.trim().to_owned(), rules },
                };
                self.parts.farm.order(Order::Watch(wish));
            }
        }
    }

    /// What came of watch folders since the last time.
    pub(super) fn take_watched(&mut self) {
        if let Some(saved) = self.parts.farm.take_watch_saved() {
            self.saved(saved);
        }
        if self.parts.farm.orders_pending() == 0 {
            // An order that found no room was never answered but by a notice.
            self.screen.watching.form.is_sent = false;
        }
        let watching = &mut self.screen.watching;
        super::app::keep(&mut watching.folders, self.parts.farm.watch_folders());
        let list = watching.list();
        if watching.files.key != list {
            watching.files = super::screen::Kept { key: list, ..super::screen::Kept::default() };
        }
        let before = watching.files.value.clone();
        if let Some(list) = list {
            super::app::keep(&mut watching.files, self.parts.farm.watch_files(list));
        }
        let is_same = match (&before, &watching.files.value) {
            (Some(before), Some(now)) => std::sync::Arc::ptr_eq(before, now),
            (before, now) => before.is_none() && now.is_none(),
        };
        if !is_same {
            watching.places = places(watching);
            self.relist(self.is_held());
            self.follow_file();
        }
    }

    fn saved(&mut self, saved: Result<WatchFolderId, String>) {
        let form = &mut self.screen.watching.form;
        // Else the form that was sent has been put away, and this is another one.
        let is_its_answer = std::mem::take(&mut form.is_sent);
        match saved {
            Ok(folder) => {
                self.screen.watching.chosen = Some(folder);
                if is_its_answer {
                    self.screen.watching.form = WatchForm::default();
                    self.screen.dialog.take_if(|open| *open == Dialog::WatchFolder);
                }
            }
            Err(why) if is_its_answer => form.problem = Some(why),
            Err(text) => {
                let notice = Notice { is_error: true, text, pipeline: None };
                self.screen.toasts.add(notice, self.now_ms);
            }
        }
    }

    /// The inspector shows the pipeline of the selected file as soon as it has one.
    fn follow_file(&mut self) {
        if self.screen.tab == super::screen::Tab::Watch
            && let Some(pipeline) = self.screen.watching.pipeline()
            && self.screen.selection.pipeline != Some(pipeline)
        {
            self.screen.selection = Selection::pipeline(pipeline);
        }
    }

    pub(super) fn select_file(&mut self, file: Option<WatchFileId>) {
        self.screen.watching.selected = file;
        let pipeline = self.screen.watching.pipeline();
        self.select(pipeline.map_or(Selection::NONE, Selection::pipeline));
        self.screen.watching.selected = file;
        if file.is_none() {
            self.relist(false);
        }
    }

    /// The next file from the selected one.
    pub(super) fn step_files(&mut self, rows: i32) {
        let list = &self.lists.watched;
        let at = self.screen.watching.selected.and_then(|id| list.position(id));
        if let Some(next) = moved(&list.shown, at, rows) {
            let closed = self.screen.inspector_closed;
            self.select_file(Some(next));
            self.screen.inspector_closed = closed;
            self.screen.once.scroll_to_selection = true;
        }
    }

    /// Takes the selected file again.
    fn retake_selected(&mut self) {
        let watching = &self.screen.watching;
        let file = watching.selected.and_then(|id| watching.file(id));
        if let Some(file) = file.filter(|file| file.state != WatchFileState::Ignored) {
            let order = WatchOrder::Retake { file: file.id, recipe: None };
            let wish = WatchWish::Files { folder: file.folder, order };
            self.parts.farm.order(Order::Watch(wish));
        }
    }
}

fn places(watching: &Watching) -> std::collections::HashMap<WatchFileId, usize> {
    let files = watching.files.value.as_deref().into_iter().flatten();
    files.enumerate().map(|(place, file)| (file.id, place)).collect()
}
