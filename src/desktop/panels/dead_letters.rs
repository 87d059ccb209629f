//! The table of dead letters: what was given up, why, and what to do.

use super::empty;
use crate::desktop::action::{Action, Actions};
use crate::desktop::frame::FrameContext;
use crate::desktop::screen::{Request, Selection};
use crate::desktop::theme::{Tokens, Tone};
use crate::desktop::widgets::table::{Head, Table, finish_row, head, rest, selected_mark};
use crate::desktop::widgets::text;
use crate::desktop::words;
use crate::model::JobId;
use crate::protocol::view::DeadLetterView;
use eframe::egui::{Align, Button, Label, Layout, RichText, Role, Ui, WidgetInfo};
use egui_extras::TableRow;

const ROW_TWO_LINES: f32 = 48.0;
const HEADS: [Head; 6] = [
    head("", 4.0),
    head("Asset", 150.0),
    head("Reason", 146.0),
    rest("What happened, what to do"),
    head("When", 60.0),
    head("", 148.0),
];

/// Draws the table.
pub fn show(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    let rows = &frame.lists.dead_letters.shown;
    if rows.is_empty() {
        empty::show(frame, ui, actions);
        return;
    }
    let selection = frame.screen.selection;
    let scroll_to = selection
        .job
        .filter(|_| frame.screen.once.scroll_to_selection)
        .and_then(|id| frame.lists.dead_letters.position(id));
    let table = Table {
        id: "dead letters",
        heads: &HEADS,
        row_height: ROW_TWO_LINES,
        rows: rows.len(),
        scroll_to,
    };
    table.show(ui, |row| {
        let found = rows.get(row.index()).and_then(|id| frame.model.dead_letters.get(id));
        if let Some(letter) = found {
            row_ui(frame, row, letter, selection.job == Some(letter.job), actions);
        }
    });
}

fn two_lines(ui: &mut Ui, first: impl FnOnce(&mut Ui), second: impl FnOnce(&mut Ui)) {
    let layout = Layout::top_down(Align::Min);
    ui.with_layout(layout, |ui| {
        ui.spacing_mut().item_spacing.y = 1.0;
        ui.add_space(6.0);
        first(ui);
        second(ui);
    });
}

fn row_ui(
    frame: &FrameContext<'_>,
    row: &mut TableRow<'_, '_>,
    letter: &DeadLetterView,
    selected: bool,
    actions: &mut Actions,
) {
    row.set_selected(selected);
    row.col(|ui| selected_mark(ui, selected));
    row.col(|ui| {
        let asset = format!("{} v{}", letter.asset, letter.asset_version);
        two_lines(
            ui,
            |ui| _ = text::plain(ui, asset),
            |ui| {
                let part = match letter.chunk {
                    crate::model::Chunk::Whole => String::new(),
                    part => format!(" {}", words::chunk(part)),
                };
                text::small(ui, format!("{}{part}", words::stage(letter.stage)));
            },
        );
    });
    row.col(|ui| {
        let attempts = words::plural(letter.attempts as usize, "attempt", "attempts");
        two_lines(
            ui,
            |ui| _ = text::toned(ui, Tone::Dead, letter.reason.code()),
            |ui| _ = text::small(ui, format!("{attempts}, {}", letter.class)),
        );
    });
    row.col(|ui| {
        two_lines(
            ui,
            |ui| _ = text::plain(ui, letter.message.as_str()),
            |ui| _ = text::small(ui, letter.remedy.as_str()),
        );
    });
    row.col(|ui| {
        text::muted(ui, words::age(frame.now_ms, letter.at_ms))
            .on_hover_text(words::moment(letter.at_ms));
    });
    row.col(|ui| decide_ui(frame, ui, letter.job, letter.asset.as_str(), actions));
    let name = format!("{} v{}, {}", letter.asset, letter.asset_version, letter.reason);
    if finish_row(row, &name, selected).clicked() {
        let next =
            if selected { Selection::NONE } else { Selection::job(letter.pipeline, letter.job) };
        actions.push(Action::Select(next));
    }
}

/// The two ways out of a dead letter.
pub fn decide_ui(
    frame: &FrameContext<'_>,
    ui: &mut Ui,
    job: JobId,
    asset: &str,
    actions: &mut Actions,
) {
    let replay = Request::Replay(job);
    let dismiss = Request::Dismiss(job);
    if frame.screen.is_requested(replay) || frame.screen.is_requested(dismiss) {
        let word = if frame.screen.is_requested(replay) { "Replay" } else { "Dismissal" };
        text::muted(ui, format!("{word} requested…"));
        return;
    }
    let response = ui.add(Button::new("Replay"));
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Replay {asset}")));
    if response.on_hover_text("Run this job again as a new job").clicked() {
        actions.push(Action::Replay(job));
    }
    let response = ui.add(Button::new("Dismiss"));
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Dismiss {asset}")));
    if response.on_hover_text("Take it off this list; the audit keeps it").clicked() {
        actions.push(Action::Dismiss(job));
    }
}

/// A dead letter as a card for the inspector.
pub fn card_ui(
    frame: &FrameContext<'_>,
    ui: &mut Ui,
    letter: &DeadLetterView,
    actions: &mut Actions,
) {
    text::card(ui, Tone::Dead).show(ui, |ui| {
        ui.set_min_width(ui.available_width());
        let tokens = Tokens::of(ui);
        ui.horizontal(|ui| {
            text::dot(ui, Tone::Dead);
            let code = RichText::new(letter.reason.code()).color(tokens.tone(Tone::Dead));
            ui.label(code);
            text::small(ui, format!("in {}", words::stage(letter.stage).to_lowercase()));
        });
        ui.add(Label::new(letter.message.as_str()).wrap());
        text::explanation(ui, letter.remedy.as_str());
        ui.horizontal(|ui| {
            decide_ui(frame, ui, letter.job, letter.asset.as_str(), actions);
        });
    });
}
