//! What a table says when it has no rows. "No match" is another text than "nothing here".

use crate::client::live::Connection;
use crate::desktop::action::{Action, Actions};
use crate::desktop::carry_out_watch::WatchAction;
use crate::desktop::frame::FrameContext;
use crate::desktop::screen::{Dialog, Tab};
use crate::desktop::theme::Tokens;
use crate::desktop::widgets::{logo, text};
use eframe::egui::{Align, Label, Layout, RichText, Ui, vec2};

const WIDTH: f32 = 440.0;

/// Draws it for the tab that is shown.
pub fn show(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    let hidden = match frame.screen.tab {
        Tab::Pipelines => frame.model.pipelines.len(),
        Tab::Jobs => frame.model.jobs.len(),
        Tab::Workers => frame.model.workers.len(),
        Tab::DeadLetters => frame.model.dead_letters.len(),
        // That tab shows its folders also where a folder has no files.
        Tab::Watch => 0,
    };
    let above = (ui.available_height() * 0.28).max(16.0);
    ui.add_space(above);
    ui.vertical_centered(|ui| {
        ui.set_max_width(WIDTH);
        logo::logo(ui, 44.0);
        ui.add_space(8.0);
        if hidden > 0 {
            let title = if frame.screen.filter.is_some() && frame.screen.search.is_empty() {
                "No row in this state"
            } else {
                "No match"
            };
            say(ui, title, "Rows are there, but the filter or the search hides them all");
            if ui.button("Show all").clicked() {
                actions.push(Action::ShowAll);
            }
        } else if *frame.connection == Connection::Connecting {
            say(ui, "Connecting", "The first snapshot of the farm is on its way");
        } else {
            nothing_ui(frame.screen.tab, ui, actions);
        }
    });
}

fn nothing_ui(tab: Tab, ui: &mut Ui, actions: &mut Actions) {
    match tab {
        Tab::Pipelines => {
            say(
                ui,
                "No pipelines yet",
                "Drop meshes, pictures or a folder of numbered frames here. Each becomes a pipeline that runs from ingest to publish",
            );
            let button = text::primary_button(ui, "Submit files or a folder…");
            if ui.add(button.min_size(vec2(0.0, 30.0))).clicked() {
                actions.push(Action::Ask(Dialog::Submit));
            }
        }
        Tab::Jobs => {
            say(ui, "No jobs", "A job appears here for each stage of a submitted asset");
            if ui.button("Submit files or a folder…").clicked() {
                actions.push(Action::Ask(Dialog::Submit));
            }
        }
        Tab::Workers => {
            say(
                ui,
                "No workers",
                "Nobody can do jobs now. Start one on any machine that reaches the coordinator",
            );
            command_ui(ui, "sawah worker --coordinator URL --token TOKEN", actions);
        }
        Tab::DeadLetters => {
            say(
                ui,
                "No dead letters",
                "A job that was given up waits here with its reason, until it is replayed or dismissed",
            );
        }
        Tab::Watch => {
            say(
                ui,
                "No watch folders yet",
                "Files that artists drop into a watch folder are taken once they are complete. Their results come back, or a note beside the file says why not",
            );
            let button = text::primary_button(ui, "Add a folder…");
            if ui.add(button.min_size(vec2(0.0, 30.0))).clicked() {
                actions.push(Action::Watch(WatchAction::New));
            }
        }
    }
}

fn say(ui: &mut Ui, title: &str, why: &str) {
    let tokens = Tokens::of(ui);
    ui.label(RichText::new(title).heading().color(tokens.text));
    ui.add(Label::new(RichText::new(why).color(tokens.muted)).wrap().halign(Align::Center));
    ui.add_space(8.0);
}

fn command_ui(ui: &mut Ui, command: &str, actions: &mut Actions) {
    ui.allocate_ui_with_layout(vec2(WIDTH, 30.0), Layout::top_down(Align::Center), |ui| {
        ui.label(RichText::new(command).monospace().background_color(Tokens::of(ui).sunken));
        if ui.button("Copy command").clicked() {
            actions.push(Action::Copy(command.to_owned()));
        }
    });
}
