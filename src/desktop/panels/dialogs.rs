//! What lies over the window, one at a time: submit, help, notices, and "really cancel?".

use super::{submit, watch_dialogs, watch_form};
use crate::desktop::action::{Action, Actions};
use crate::desktop::command::Command;
use crate::desktop::frame::FrameContext;
use crate::desktop::screen::Dialog;
use crate::desktop::theme::{Tokens, Tone};
use crate::desktop::widgets::text;
use crate::desktop::words;
use crate::model::PipelineId;
use eframe::egui::{
    Align, Context, Frame, Grid, Id, Label, Layout, Margin, Modal, RichText, ScrollArea, Theme, Ui,
};

/// Draws the dialog that is open.
pub fn show(frame: &FrameContext<'_>, ctx: &Context, recipes: &[String], actions: &mut Actions) {
    let Some(dialog) = frame.screen.dialog else { return };
    let veil = Tokens::of_theme(ctx.theme_of_window()).veil;
    let sheet = Frame::window(&ctx.global_style()).inner_margin(Margin::same(18));
    let modal = Modal::new(Id::unique(name_of(dialog))).frame(sheet).backdrop_color(veil);
    let modal = modal.show(ctx, |ui| match dialog {
        Dialog::Submit => submit::show(frame, ui, recipes, actions),
        Dialog::Help => help_ui(ui, actions),
        Dialog::History => history_ui(frame, ui, actions),
        Dialog::ConfirmCancel(pipeline) => confirm_ui(frame, ui, pipeline, actions),
        Dialog::WatchFolder => watch_form::show(frame, ui, recipes, actions),
        Dialog::ConfirmUnwatch(folder) => watch_dialogs::unwatch_ui(frame, ui, folder, actions),
        Dialog::ConfirmWithdraw(file) => watch_dialogs::withdraw_ui(frame, ui, file, actions),
        Dialog::RetakeAll(folder) => {
            watch_dialogs::retake_all_ui(frame, ui, folder, recipes, actions);
        }
    });
    if modal.should_close() {
        actions.push(Action::CloseDialog);
    }
}

/// Each dialog has its own identity, so that none keeps the size of another.
fn name_of(dialog: Dialog) -> &'static str {
    match dialog {
        Dialog::Submit => "submit dialog",
        Dialog::Help => "help dialog",
        Dialog::History => "history dialog",
        Dialog::ConfirmCancel(_) => "cancel dialog",
        Dialog::WatchFolder => "watch folder dialog",
        Dialog::ConfirmUnwatch(_) => "unwatch dialog",
        Dialog::ConfirmWithdraw(_) => "withdraw dialog",
        Dialog::RetakeAll(_) => "retake dialog",
    }
}

trait WindowTheme {
    fn theme_of_window(&self) -> Theme;
}

impl WindowTheme for Context {
    fn theme_of_window(&self) -> Theme {
        if self.global_style().visuals.dark_mode { Theme::Dark } else { Theme::Light }
    }
}

fn help_ui(ui: &mut Ui, actions: &mut Actions) {
    ui.set_width(420.0);
    ui.label(RichText::new("Keys").heading());
    ui.add_space(4.0);
    ScrollArea::vertical().max_height(room(ui)).auto_shrink([false, true]).show(ui, |ui| {
        let keys = Grid::new("keys").num_columns(2).spacing([24.0, 5.0]);
        keys.min_row_height(20.0).show(ui, |ui| {
            for command in Command::ALL {
                let tokens = Tokens::of(ui);
                let key = RichText::new(format!(" {} ", command.key_text())).monospace();
                ui.label(key.color(tokens.text).background_color(tokens.sunken));
                ui.label(command.text());
                ui.end_row();
            }
        });
    });
    close_row(ui, actions);
}

/// How high the list of a dialog may become.
fn room(ui: &Ui) -> f32 {
    (ui.ctx().content_rect().height() - 160.0).max(120.0)
}

fn history_ui(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    ui.set_width(520.0);
    ui.label(RichText::new("Notices").heading());
    let history = frame.screen.toasts.history();
    if history.len() == 0 {
        text::explanation(ui, "Nothing yet. What becomes of submissions and orders is told here");
    }
    ScrollArea::vertical().max_height(room(ui)).auto_shrink([false, true]).show(ui, |ui| {
        for toast in history {
            ui.horizontal_top(|ui| {
                let tone = if toast.is_error { Tone::Dead } else { Tone::Good };
                text::status(ui, tone, if toast.is_error { "Error" } else { "Done" });
                text::small(ui, words::moment(toast.at_ms));
                if toast.times > 1 {
                    text::small(ui, format!("{} times", toast.times));
                }
                if let Some(pipeline) = toast.pipeline
                    && ui.add(text::small_button("Show pipeline")).clicked()
                {
                    actions.push(Action::GoTo(pipeline));
                }
            });
            ui.add(Label::new(toast.text.as_str()).wrap());
            ui.add_space(4.0);
        }
    });
    close_row(ui, actions);
}

fn confirm_ui(frame: &FrameContext<'_>, ui: &mut Ui, pipeline: PipelineId, actions: &mut Actions) {
    ui.set_width(380.0);
    let asset = frame
        .model
        .pipelines
        .get(&pipeline)
        .map_or_else(|| format!("pipeline {pipeline}"), |row| words::asset(row));
    let jobs = frame.index.jobs_of(pipeline).iter().filter_map(|id| frame.model.jobs.get(id));
    let live = jobs.filter(|job| !job.state.is_terminal()).count();
    ui.label(RichText::new(format!("Cancel {asset}?")).heading());
    let live = words::plural(live, "live job stops", "live jobs stop");
    text::explanation(
        ui,
        format!(
            "{live}. This cannot be undone, but the asset can be submitted again. What was published before stays"
        ),
    );
    ui.add_space(8.0);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        if ui.add(text::danger_button(ui, "Cancel pipeline")).clicked() {
            actions.push(Action::Cancel(pipeline));
        }
        if ui.button("Keep running").clicked() {
            actions.push(Action::CloseDialog);
        }
    });
}

fn close_row(ui: &mut Ui, actions: &mut Actions) {
    ui.add_space(8.0);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        if ui.button("Close").clicked() {
            actions.push(Action::CloseDialog);
        }
    });
}
