//! Carries out wishes: the only place where the window's memory changes or an order is sent.

use super::action::Action;
use super::app::App;
use super::picker::{OpenPick, Pick};
use super::screen::{Dialog, Request, Selection, StateFilter, Tab};
use crate::client::live::{Notice, Order, has_scene};
use crate::model::PipelineId;
use eframe::egui::Context;
use std::path::PathBuf;

impl App {
    pub(super) fn carry_out(&mut self, ctx: &Context, action: Action) {
        tracing::trace!(?action, "wish");
        match action {
            Action::Show(tab) => self.show(tab),
            Action::Select(selection) => self.select(selection),
            Action::GoTo(pipeline) => self.go_to(pipeline),
            Action::Step(rows) => self.step(rows),
            Action::Open if self.is_held() => {
                self.screen.inspector_closed = !self.screen.inspector_closed;
            }
            Action::Open => self.step(1),
            Action::Filter(filter) => self.filter(filter),
            Action::Search(text) => {
                self.screen.search = text;
                self.relist(false);
            }
            Action::FocusSearch => self.screen.once.focus_search = true,
            Action::ShowAll => {
                self.screen.filter = None;
                self.screen.watching.state = None;
                self.screen.search.clear();
                self.relist(false);
            }
            Action::Resume => {
                self.relist(false);
                self.screen.once.scroll_to_selection = true;
            }
            Action::Back => self.back(),
            Action::Ask(dialog) => {
                self.screen.dialog = Some(dialog);
                self.screen.once.focus_dialog = true;
            }
            Action::CloseDialog => self.screen.dialog = None,
            Action::Type(text) => self.screen.typed_paths = text,
            Action::Recipe(recipe) => self.screen.recipe = recipe,
            Action::Frames(text) => self.screen.frames = text,
            Action::Chunk(text) => self.screen.chunk = text,
            Action::Settings(text) => self.screen.settings = text,
            Action::Submit(paths) => self.submit(paths),
            Action::PickFiles => self.pick(Pick::Files),
            Action::PickFolder => self.pick(Pick::Folder),
            Action::Replay(job) => self.request(Request::Replay(job), Order::Replay { job }),
            Action::Dismiss(job) => self.request(Request::Dismiss(job), Order::Dismiss { job }),
            Action::Cancel(pipeline) => {
                self.screen.dialog = None;
                self.request(Request::Cancel(pipeline), Order::Cancel { pipeline });
            }
            Action::Watch(action) => self.carry_out_watch(action),
            Action::Reveal(path) => self.reveal(&path),
            Action::Copy(text) => ctx.copy_text(text),
            Action::DropToast(id) => self.screen.toasts.dismiss(id),
            Action::Tick(after) => ctx.request_repaint_after(after),
        }
    }

    fn show(&mut self, tab: Tab) {
        self.screen.tab = tab;
        if tab == Tab::Watch {
            // What the inspector shows there is the pipeline of the selected file.
            self.select_file(self.screen.watching.selected);
        }
    }

    pub(super) fn select(&mut self, selection: Selection) {
        if selection.pipeline.is_none() {
            self.screen.watching.selected = None;
        }
        if self.screen.selection.pipeline != selection.pipeline {
            self.screen.inspector_closed = false;
        }
        self.screen.selection = selection;
        if selection.pipeline.is_none() {
            self.relist(false);
        }
    }

    fn go_to(&mut self, pipeline: PipelineId) {
        self.screen.dialog = None;
        self.screen.tab = Tab::Pipelines;
        self.screen.selection = Selection::pipeline(pipeline);
        self.screen.inspector_closed = false;
        self.screen.once.scroll_to_selection = true;
        if self.lists.pipelines.position(pipeline).is_none() {
            self.screen.filter = None;
            self.screen.search.clear();
            self.relist(false);
        }
    }

    fn filter(&mut self, filter: StateFilter) {
        let active = self.screen.filter == Some(filter);
        self.screen.filter = (!active).then_some(filter);
        self.relist(false);
    }

    fn step(&mut self, rows: i32) {
        let selection = self.screen.selection;
        let next = match self.screen.tab {
            Tab::Pipelines => {
                let list = &self.lists.pipelines;
                let at = selection.pipeline.and_then(|id| list.position(id));
                moved(&list.shown, at, rows).map(Selection::pipeline)
            }
            Tab::Jobs => {
                let list = &self.lists.jobs;
                let at = selection.job.and_then(|id| list.position(id));
                let job = moved(&list.shown, at, rows).and_then(|id| self.model.jobs.get(&id));
                job.map(|job| Selection::job(job.pipeline, job.id))
            }
            Tab::DeadLetters => {
                let list = &self.lists.dead_letters;
                let at = selection.job.and_then(|id| list.position(id));
                let row =
                    moved(&list.shown, at, rows).and_then(|id| self.model.dead_letters.get(&id));
                row.map(|row| Selection::job(row.pipeline, row.job))
            }
            Tab::Workers => None,
            Tab::Watch => return self.step_files(rows),
        };
        if let Some(next) = next {
            let closed = self.screen.inspector_closed;
            self.select(next);
            // Walking through rows does not open what was put away.
            self.screen.inspector_closed = closed;
            self.screen.once.scroll_to_selection = true;
        }
    }

    fn back(&mut self) {
        if self.screen.dialog.take().is_some() {
        } else if self.is_held() {
            self.select(Selection::NONE);
        } else if !self.screen.search.is_empty() {
            self.screen.search.clear();
            self.relist(false);
        } else if self.screen.filter.take().is_some() {
            self.relist(false);
        } else if self.screen.tab == Tab::Watch && self.screen.watching.state.is_some() {
            self.screen.watching.state = None;
        }
    }

    fn submit(&mut self, paths: Vec<PathBuf>) {
        let draft = self.screen.draft(paths);
        if self.screen.dialog == Some(Dialog::Submit) {
            self.screen.dialog = None;
        }
        for typed in [
            &mut self.screen.typed_paths,
            &mut self.screen.frames,
            &mut self.screen.chunk,
            &mut self.screen.settings,
        ] {
            typed.clear();
        }
        self.parts.farm.order(Order::Submit(draft));
    }

    /// Shows a folder in the system's file manager.
    fn reveal(&mut self, path: &str) {
        if let Err(why) = self.parts.picker.reveal(path) {
            let text = format!("{path} cannot be shown: {why}");
            self.screen.toasts.add(Notice { is_error: true, text, pipeline: None }, self.now_ms);
        }
    }

    fn request(&mut self, request: Request, order: Order) {
        if self.screen.requests.insert(request, self.now_ms).is_none() {
            self.parts.farm.order(order);
        }
    }

    pub(super) fn pick(&mut self, what: Pick) {
        if self.open_pick.is_none() {
            let waker = self.parts.waker.clone();
            self.screen.picking = true;
            self.open_pick =
                Some(OpenPick::open(self.parts.picker.as_ref(), what, move || waker.wake()));
        }
    }

    /// Hands in what the system's dialog gave, or types it, by what it was opened for: our own
    /// dialog may be another one by now.
    pub(super) fn take_picked(&mut self) {
        let Some((what, paths)) = self.open_pick.as_ref().and_then(OpenPick::answer) else {
            return;
        };
        self.open_pick = None;
        self.screen.picking = false;
        if what == Pick::WatchFolder {
            if let Some(path) = paths.first() {
                self.watch_folder_picked(path);
            }
        } else if has_scene(&paths) {
            // What a program will draw is looked at before it is sent.
            let lines: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            self.screen.typed_paths = lines.join("\n");
        } else if !paths.is_empty() {
            self.submit(paths);
        }
    }
}

/// The row that lies `rows` from `at`, or the first where nothing is selected.
pub(super) fn moved<T: Copy>(shown: &[T], at: Option<usize>, rows: i32) -> Option<T> {
    let last = shown.len().checked_sub(1)?;
    let to = at.map_or(0, |at| {
        let offset = usize::try_from(rows.unsigned_abs()).unwrap_or(usize::MAX);
        if rows < 0 { at.saturating_sub(offset) } else { at.saturating_add(offset).min(last) }
    });
    shown.get(to).copied()
}

#[cfg(test)]
mod tests {
    use super::moved;

    #[test]
    fn steps_stay_inside_the_list() {
        let rows = [10, 20, 30];
        assert_eq!(moved(&rows, None, -1), Some(10));
        assert_eq!(moved(&rows, Some(2), 10), Some(30));
        assert_eq!(moved(&rows, Some(1), -10), Some(10));
        assert_eq!(moved::<i32>(&[], None, 1), None);
    }
}
