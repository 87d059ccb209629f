//! The tab of watch folders: the folders on the left, the files of one on the right.

use super::{empty, watch_file};
use crate::client::live::{Connection, FILES_SHOWN, WatchWish};
use crate::desktop::action::{Action, Actions};
use crate::desktop::carry_out_watch::WatchAction;
use crate::desktop::frame::FrameContext;
use crate::desktop::screen::Dialog;
use crate::desktop::theme::{GAP, ROUND, ROW, Tokens, Tone};
use crate::desktop::widgets::table::{Head, Table, finish_row, head, rest, selected_mark};
use crate::desktop::widgets::{chip, text};
use crate::desktop::words;
use crate::protocol::watch::{
    DropOutcome, WatchCounts, WatchFileState, WatchFileView, WatchFolderView, WatchWord,
};
use eframe::egui::{
    Align, Frame, Label, Layout, Margin, Panel, RichText, Role, ScrollArea, Sense, Ui, UiBuilder,
    WidgetInfo, vec2,
};
use egui_extras::TableRow;

const FOLDERS_WIDTH: f32 = 250.0;
const HEADS: [Head; 6] = [
    head("", 4.0),
    head("File", 220.0),
    head("State", 104.0),
    rest("What became of it"),
    head("Size", 72.0),
    head("Since", 60.0),
];

/// Draws the tab.
pub fn show(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    let watching = &frame.screen.watching;
    let Some(folders) = watching.folders.value.as_deref() else {
        return unknown_ui(frame, ui, actions);
    };
    let Some(chosen) = watching.folder() else {
        return empty::show(frame, ui, actions);
    };
    let side = Frame::new().fill(Tokens::of(ui).raised).inner_margin(Margin::same(8));
    Panel::left("watch folders")
        .frame(side)
        .default_size(FOLDERS_WIDTH)
        .size_range(180.0..=460.0)
        .resizable(true)
        .show(ui, |ui| folders_ui(ui, folders, chosen, actions));
    let head = Frame::new().inner_margin(Margin::symmetric(12, 8));
    Panel::top("watch folder").frame(head).show_separator_line(false).show(ui, |ui| {
        head_ui(ui, chosen, actions);
        chips_ui(frame, ui, chosen, actions);
    });
    watch_file::show(frame, ui, actions);
    files_ui(frame, ui, chosen, actions);
}

fn unknown_ui(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    match &frame.screen.watching.folders.failed {
        Some(why) if *frame.connection != Connection::Connecting => {
            ui.add_space(16.0);
            ui.vertical_centered(|ui| {
                text::explanation(ui, format!("The watch folders cannot be shown: {why}"));
            });
        }
        _ => empty::show(frame, ui, actions),
    }
}

fn folders_ui(
    ui: &mut Ui,
    folders: &[WatchFolderView],
    chosen: &WatchFolderView,
    actions: &mut Actions,
) {
    let width = ui.available_width();
    let add = text::primary_button(ui, "Add a folder…");
    if ui.add_sized(vec2(width, 30.0), add).clicked() {
        actions.push(Action::Watch(WatchAction::New));
    }
    ui.add_space(6.0);
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 4.0;
        for folder in folders {
            folder_ui(ui, folder, folder.id == chosen.id, actions);
        }
    });
}

/// One folder as a card that can be chosen.
fn folder_ui(ui: &mut Ui, folder: &WatchFolderView, is_chosen: bool, actions: &mut Actions) {
    let tokens = Tokens::of(ui);
    let (word, tone) = health(folder);
    let name = format!("Watch folder {}, {word}", folder.path);
    let builder = UiBuilder::new().id_salt(folder.id).sense(Sense::click());
    let response = ui
        .scope_builder(builder, |ui| {
            let response = ui.response();
            let fill = match (is_chosen, response.hovered() || response.has_focus()) {
                (true, _) => tokens.selected,
                (false, true) => tokens.hover,
                (false, false) => tokens.raised,
            };
            ui.style_mut().interaction.selectable_labels = false;
            let card = Frame::new().fill(fill).corner_radius(ROUND).inner_margin(Margin::same(8));
            card.show(ui, |ui| {
                ui.set_min_width(ui.available_width());
                ui.spacing_mut().item_spacing.y = 1.0;
                text::plain(ui, RichText::new(short(&folder.path)).strong());
                ui.horizontal(|ui| _ = text::status(ui, tone, word));
                text::small(ui, summary(&folder.counts));
            });
        })
        .response;
    response.widget_info(|| WidgetInfo::selected(Role::Row, true, is_chosen, &name));
    let about = folder
        .health
        .why
        .as_deref()
        .map_or_else(|| folder.path.clone(), |why| format!("{}\n{why}", folder.path));
    if response.on_hover_text(about).clicked() {
        actions.push(Action::Watch(WatchAction::Folder(folder.id)));
    }
}

/// The last two parts of a path, by which people know it: many folders are called `drop`.
fn short(path: &str) -> String {
    let mut parts = path.rsplit(['/', '\\']).filter(|part| !part.is_empty());
    match (parts.next(), parts.next()) {
        (Some(last), Some(above)) => format!("{above}/{last}"),
        (Some(last), None) => last.to_owned(),
        (None, _) => path.to_owned(),
    }
}

/// What needs somebody first, else how much was taken.
fn summary(counts: &WatchCounts) -> String {
    let coming = counts.settling.saturating_add(counts.waiting);
    let parts = [(counts.refused, "refused"), (coming, "on their way"), (counts.accepted, "taken")];
    let parts: Vec<_> = parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{} {word}", words::count(u64::from(*number))))
        .collect();
    if parts.is_empty() { "no files yet".to_owned() } else { parts.join(" · ") }
}

/// How the watching goes, in a few words.
fn health(folder: &WatchFolderView) -> (&'static str, Tone) {
    match folder.health.word {
        _ if folder.paused => ("paused", Tone::Wait),
        WatchWord::Starting => ("looking for the first time", Tone::Calm),
        WatchWord::Watching if folder.health.events => ("watching", Tone::Good),
        WatchWord::Watching => ("looking every few seconds", Tone::Good),
        WatchWord::Paused => ("paused", Tone::Wait),
        WatchWord::Held => ("held: no room", Tone::Wait),
        WatchWord::Gone => ("gone: looking for it", Tone::Dead),
        WatchWord::Trouble => ("needs somebody", Tone::Wait),
    }
}

fn head_ui(ui: &mut Ui, folder: &WatchFolderView, actions: &mut Actions) {
    let (word, tone) = health(folder);
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            orders_ui(ui, folder, actions);
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.add(Label::new(RichText::new(&folder.path).strong()).truncate());
            });
        });
    });
    ui.horizontal(|ui| {
        text::tag(ui, tone, word);
        ui.add_space(4.0);
        text::small(ui, rules(folder));
    });
    if let Some(why) = &folder.health.why {
        ui.add(Label::new(RichText::new(why).color(Tokens::of(ui).tone(tone))).wrap());
    }
}

fn orders_ui(ui: &mut Ui, folder: &WatchFolderView, actions: &mut Actions) {
    let id = folder.id;
    if ui.button("Remove…").on_hover_text("Watch this folder no more; its files stay").clicked() {
        actions.push(Action::Ask(Dialog::ConfirmUnwatch(id)));
    }
    let again = ui.button("Take all again…");
    if again.on_hover_text("As if all files had just come, perhaps with another recipe").clicked() {
        actions.push(Action::Ask(Dialog::RetakeAll(id)));
    }
    if ui.button("Rules…").on_hover_text("Recipes, waits, where results go").clicked() {
        actions.push(Action::Watch(WatchAction::Edit(id)));
    }
    let (title, hint) = if folder.paused {
        ("Resume", "Take files again")
    } else {
        ("Pause", "Take nothing more for now; files are still seen")
    };
    if ui.button(title).on_hover_text(hint).clicked() {
        let wish = WatchWish::Pause { folder: id, paused: !folder.paused };
        actions.push(Action::Watch(WatchAction::Send(Box::new(wish))));
    }
}

/// The rules in a line.
fn rules(folder: &WatchFolderView) -> String {
    use crate::protocol::watch::{AfterSuccess, Results};
    let rules = &folder.rules;
    let mut parts = vec![match &rules.recipe {
        Some(recipe) => format!("recipe {recipe}"),
        None => "the farm's recipes".to_owned(),
    }];
    parts.extend(rules.recipes.iter().map(|(kind, recipe)| format!("{kind}: {recipe}")));
    parts.extend(rules.project.as_ref().map(|name| format!("project {name}")));
    parts.push(match &rules.results {
        Results::Farm => "results in the farm's folder".to_owned(),
        Results::Beside => "results beside the file".to_owned(),
        Results::Folder { path } | Results::Project { path } => format!("results in {path}"),
    });
    parts.extend(match rules.after {
        AfterSuccess::Stay => None,
        AfterSuccess::Move => Some("then moved to _done".to_owned()),
        AfterSuccess::Delete => Some("then deleted".to_owned()),
    });
    parts.join(" · ")
}

fn chips_ui(
    frame: &FrameContext<'_>,
    ui: &mut Ui,
    folder: &WatchFolderView,
    actions: &mut Actions,
) {
    let filter = frame.screen.watching.state;
    let shown: Vec<_> = WatchFileState::ALL
        .into_iter()
        .map(|state| (state, count(&folder.counts, state)))
        .filter(|(state, number)| *number > 0 || filter == Some(*state))
        .collect();
    if shown.is_empty() {
        return;
    }
    ui.add_space(6.0);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = GAP * 0.5;
        for (state, number) in shown {
            let active = filter == Some(state);
            let (word, tone) = state_word(state);
            let number = words::count(u64::from(number));
            let response = chip::chip(ui, word, &number, Some(tone), active);
            let hint = if active { "Show all files" } else { "Show only these" };
            if response.on_hover_text(hint).clicked() {
                actions.push(Action::Watch(WatchAction::State(state)));
            }
        }
    });
}

const fn count(counts: &WatchCounts, state: WatchFileState) -> u32 {
    match state {
        WatchFileState::Settling => counts.settling,
        WatchFileState::Waiting => counts.waiting,
        WatchFileState::Accepted => counts.accepted,
        WatchFileState::Duplicate => counts.duplicate,
        WatchFileState::Refused => counts.refused,
        WatchFileState::Ignored => counts.ignored,
        WatchFileState::Withdrawn => counts.withdrawn,
    }
}

/// A state in a word.
pub const fn state_word(state: WatchFileState) -> (&'static str, Tone) {
    match state {
        WatchFileState::Settling => ("Settling", Tone::Wait),
        WatchFileState::Waiting => ("Waiting", Tone::Wait),
        WatchFileState::Accepted => ("Accepted", Tone::Good),
        WatchFileState::Duplicate => ("Duplicate", Tone::Calm),
        WatchFileState::Refused => ("Refused", Tone::Dead),
        WatchFileState::Ignored => ("Ignored", Tone::Calm),
        WatchFileState::Withdrawn => ("Withdrawn", Tone::Calm),
    }
}

/// A file's state in a word: of one that was taken, how its work goes.
pub fn file_word(file: &WatchFileView) -> (&'static str, Tone) {
    match (file.state, file.drop.as_ref().map(|drop| drop.outcome)) {
        (WatchFileState::Accepted, Some(DropOutcome::Open)) => ("In work", Tone::Run),
        (WatchFileState::Accepted, Some(DropOutcome::Succeeded)) => ("Done", Tone::Good),
        (WatchFileState::Accepted, Some(DropOutcome::Failed)) => ("Given up", Tone::Dead),
        (state, _) => state_word(state),
    }
}

/// What became of a file, in a line.
pub fn what(file: &WatchFileView) -> String {
    let mut parts = Vec::new();
    if let Some(drop) = &file.drop {
        parts.push(format!("{} v{}", drop.asset, drop.asset_version));
        if !file.is_main && drop.main != file.path {
            parts.push(format!("with {}", drop.main));
        }
        if !drop.missing.is_empty() {
            parts.push(format!("without {}", drop.missing.join(", ")));
        }
        if drop.outcome == DropOutcome::Failed && file.why.is_none() {
            parts.push("its pipeline says why".to_owned());
        }
    }
    parts.extend(file.why.clone());
    parts.join(" · ")
}

fn files_ui(
    frame: &FrameContext<'_>,
    ui: &mut Ui,
    folder: &WatchFolderView,
    actions: &mut Actions,
) {
    let rows = &frame.lists.watched.shown;
    if rows.is_empty() {
        return no_files_ui(frame, ui, folder, actions);
    }
    let fetched = frame.screen.watching.files.value.as_ref().map_or(0, |files| files.len());
    if fetched >= FILES_SHOWN {
        let line = Frame::new().inner_margin(Margin::symmetric(12, 4));
        Panel::bottom("more files").frame(line).show_separator_line(false).show(ui, |ui| {
            let number = words::count(fetched as u64);
            text::small(ui, format!("The newest {number} changes. A state above finds older ones"));
        });
    }
    let selected = frame.screen.watching.selected;
    let scroll_to = selected
        .filter(|_| frame.screen.once.scroll_to_selection)
        .and_then(|id| frame.lists.watched.position(id));
    let table =
        Table { id: "watched files", heads: &HEADS, row_height: ROW, rows: rows.len(), scroll_to };
    // The ground of a row reaches a little over its table, and shall not reach over the line.
    Frame::new().inner_margin(Margin { left: 4, ..Margin::ZERO }).show(ui, |ui| {
        table.show(ui, |row| {
            let found = rows.get(row.index()).and_then(|id| frame.screen.watching.file(*id));
            if let Some(file) = found {
                row_ui(frame, row, file, selected == Some(file.id), actions);
            }
        });
    });
}

fn no_files_ui(
    frame: &FrameContext<'_>,
    ui: &mut Ui,
    folder: &WatchFolderView,
    actions: &mut Actions,
) {
    let is_filtered =
        frame.screen.watching.state.is_some() || !frame.screen.search.trim().is_empty();
    ui.add_space((ui.available_height() * 0.25).max(12.0));
    ui.vertical_centered(|ui| {
        ui.set_max_width(420.0);
        if frame.screen.watching.files.value.is_none() {
            let why = frame.screen.watching.files.failed.as_deref();
            text::explanation(ui, why.unwrap_or("The files are on their way"));
        } else if is_filtered {
            ui.label(RichText::new("No match").heading());
            text::explanation(ui, "Files may be there, but the filter or the search hides them");
            if ui.button("Show all").clicked() {
                actions.push(Action::ShowAll);
            }
        } else {
            ui.label(RichText::new("No files yet").heading());
            text::explanation(ui, "What is dropped into this folder appears here at once");
            let open = ui.button("Open the folder").on_hover_text(&folder.path);
            if open.clicked() {
                actions.push(Action::Reveal(folder.path.clone()));
            }
        }
    });
}

fn row_ui(
    frame: &FrameContext<'_>,
    row: &mut TableRow<'_, '_>,
    file: &WatchFileView,
    selected: bool,
    actions: &mut Actions,
) {
    row.set_selected(selected);
    row.col(|ui| selected_mark(ui, selected));
    row.col(|ui| _ = text::plain(ui, file.path.as_str()).on_hover_text(&file.path));
    let (word, tone) = file_word(file);
    row.col(|ui| _ = text::status(ui, tone, word));
    row.col(|ui| {
        let what = what(file);
        text::muted(ui, &what).on_hover_text(what);
    });
    row.col(|ui| _ = text::muted(ui, words::size(file.size_bytes)));
    row.col(|ui| {
        text::muted(ui, words::age(frame.now_ms, file.since_ms))
            .on_hover_text(words::moment(file.since_ms));
    });
    let name = format!("{}, {word}", file.path);
    if finish_row(row, &name, selected).clicked() {
        let next = (!selected).then_some(file.id);
        actions.push(Action::Watch(WatchAction::File(next)));
    }
}
