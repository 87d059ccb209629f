//! The selected file of a watch folder: what became of it, and what can be done.

use super::watch;
use crate::client::live::WatchWish;
use crate::desktop::action::{Action, Actions};
use crate::desktop::carry_out_watch::WatchAction;
use crate::desktop::frame::FrameContext;
use crate::desktop::screen::Dialog;
use crate::desktop::theme::{Tokens, Tone};
use crate::desktop::widgets::text;
use crate::desktop::words;
use crate::protocol::watch::{WatchFileState, WatchFileView, WatchOrder};
use eframe::egui::{Align, Frame, Label, Layout, Margin, Panel, RichText, Role, Ui, WidgetInfo};

/// Draws it below the table, where a file is selected.
pub fn show(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    let watching = &frame.screen.watching;
    let Some(file) = watching.selected.and_then(|id| watching.file(id)) else { return };
    let card = Frame::new().fill(Tokens::of(ui).raised).inner_margin(Margin::symmetric(14, 10));
    Panel::bottom("watched file").frame(card).show(ui, |ui| file_ui(frame, ui, file, actions));
}

fn file_ui(frame: &FrameContext<'_>, ui: &mut Ui, file: &WatchFileView, actions: &mut Actions) {
    let (word, tone) = watch::file_word(file);
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let close = ui.add(text::close_button());
            close.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Close file"));
            if close.on_hover_text("Close (Esc)").clicked() {
                actions.push(Action::Watch(WatchAction::File(None)));
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                text::tag(ui, tone, word);
                ui.add(Label::new(RichText::new(&file.path).strong()).truncate());
            });
        });
    });
    if let Some(why) = &file.why {
        let tone = if file.state == WatchFileState::Refused { tone } else { Tone::Calm };
        ui.add(Label::new(RichText::new(why).color(Tokens::of(ui).tone(tone))).wrap());
    }
    if let Some(reason) = file.reason {
        text::explanation(ui, reason.remedy());
    }
    if let Some(drop) = &file.drop {
        let mut about = vec![
            format!("{} v{}", drop.asset, drop.asset_version),
            format!("pipeline {}", drop.pipeline),
        ];
        if !file.is_main && drop.main != file.path {
            about.push(format!("goes along with {}", drop.main));
        }
        if !drop.missing.is_empty() {
            let missing = drop.missing.join(", ");
            about.push(format!("without {missing}: once it is there, a new version is made"));
        }
        text::explanation(ui, about.join(" · "));
    }
    text::small(
        ui,
        format!("{} · since {}", words::size(file.size_bytes), words::moment(file.since_ms)),
    );
    ui.add_space(2.0);
    ui.horizontal_wrapped(|ui| buttons_ui(frame, ui, file, actions));
}

fn buttons_ui(frame: &FrameContext<'_>, ui: &mut Ui, file: &WatchFileView, actions: &mut Actions) {
    let drop = file.drop.as_ref();
    if let Some(results) = drop.and_then(|drop| drop.results.as_ref()) {
        if ui.add(text::primary_button(ui, "Open results")).on_hover_text(results).clicked() {
            actions.push(Action::Reveal(results.clone()));
        }
        if ui.button("Copy path").on_hover_text(results).clicked() {
            actions.push(Action::Copy(results.clone()));
        }
    }
    if let Some(drop) = drop
        && ui.button("Show pipeline").clicked()
    {
        actions.push(Action::GoTo(drop.pipeline));
    }
    let is_known = !matches!(file.state, WatchFileState::Ignored);
    let again = ui.add_enabled(is_known, eframe::egui::Button::new("Take again"));
    if again.on_hover_text("As if it had just come (T)").clicked() {
        let order = WatchOrder::Retake { file: file.id, recipe: None };
        let wish = WatchWish::Files { folder: file.folder, order };
        actions.push(Action::Watch(WatchAction::Send(Box::new(wish))));
    }
    let is_taken = matches!(file.state, WatchFileState::Accepted | WatchFileState::Duplicate);
    if is_taken && ui.button("Withdraw…").clicked() {
        actions.push(Action::Ask(Dialog::ConfirmWithdraw(file.id)));
    }
    if let Some(folder) = frame.screen.watching.folder() {
        let path = lies_in(&folder.path, &file.path);
        if ui.button("Open folder").on_hover_text(&path).clicked() {
            actions.push(Action::Reveal(path));
        }
    }
}

/// The folder that a file lies in, where its name is written as it is; else the watch folder.
fn lies_in(folder: &str, file: &str) -> String {
    match file.rsplit_once('/') {
        Some((below, _)) if !below.contains('\\') => format!("{folder}/{below}"),
        _ => folder.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::lies_in;

    #[test]
    fn a_file_is_shown_where_it_lies_unless_its_name_cannot_be_written() {
        assert_eq!(lies_in("/drop", "a/b/c.png"), "/drop/a/b");
        assert_eq!(lies_in("/drop", "c.png"), "/drop");
        assert_eq!(lies_in("/drop", "caf\\xe9/c.png"), "/drop");
    }
}
