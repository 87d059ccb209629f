//! The dialog in which a watch folder is added, or its rules are changed.

use super::submit::{field, recipe_combo};
use crate::desktop::action::{Action, Actions};
use crate::desktop::carry_out_watch::WatchAction;
use crate::desktop::frame::FrameContext;
use crate::desktop::theme::{Tokens, Tone};
use crate::desktop::watching::{ResultsTo, WatchForm};
use crate::desktop::widgets::text;
use crate::model::AssetKind;
use crate::protocol::watch::{AfterSuccess, Existing, Seeing};
use eframe::egui::{
    Align, Button, ComboBox, Grid, Key, Label, Layout, RichText, Role, ScrollArea, TextEdit, Ui,
    WidgetInfo, vec2,
};

const WIDTH: f32 = 520.0;
/// Longest path that is typed.
const PATH_CHARS: usize = 4_096;
/// Room for the name of a kind.
const KIND_WIDTH: f32 = 70.0;
/// Room for the button beside the path.
const CHOOSE_WIDTH: f32 = 104.0;

/// Draws it.
pub fn show(frame: &FrameContext<'_>, ui: &mut Ui, recipes: &[String], actions: &mut Actions) {
    ui.set_width(WIDTH);
    let before = &frame.screen.watching.form;
    let mut form = before.clone();
    let is_new = form.folder.is_none();
    let title = if is_new { "Add a watch folder" } else { "Rules of a watch folder" };
    ui.label(RichText::new(title).heading());
    if is_new {
        text::explanation(
            ui,
            "Files dropped there are taken once they are complete, with their textures and side files. Results come back, or a note beside the file says why not",
        );
    }
    // Not in what scrolls: the field with the cursor would be scrolled to.
    path_ui(frame, ui, &mut form, actions);
    ui.add_space(4.0);
    let room = (ui.ctx().content_rect().height() - 260.0).max(160.0);
    ScrollArea::vertical().max_height(room).auto_shrink([false, true]).show(ui, |ui| {
        let grid = Grid::new("watch rules").num_columns(2).spacing([14.0, 8.0]);
        grid.show(ui, |ui| {
            recipes_ui(ui, &mut form, recipes);
            share_ui(ui, &mut form);
            results_ui(ui, &mut form);
            after_ui(ui, &mut form);
            seeing_ui(ui, &mut form);
        });
        ui.add_space(4.0);
        switches_ui(ui, &mut form, is_new);
    });
    if let Some(problem) = &form.problem {
        let color = Tokens::of(ui).tone(Tone::Dead);
        ui.add(Label::new(RichText::new(problem).color(color)).wrap());
    }
    ui.add_space(8.0);
    // What was typed in this frame comes before the order to send it.
    if form != *before {
        actions.push(Action::Watch(WatchAction::Form(Box::new(form.clone()))));
    }
    buttons_ui(ui, &form, actions);
}

fn path_ui(frame: &FrameContext<'_>, ui: &mut Ui, form: &mut WatchForm, actions: &mut Actions) {
    if form.folder.is_some() {
        ui.add(Label::new(RichText::new(&form.path).strong()).truncate());
        return;
    }
    let label = text::muted(ui, "Folder, as the coordinator's machine sees it");
    ui.horizontal(|ui| {
        let line = TextEdit::singleline(&mut form.path)
            .desired_width(ui.available_width() - CHOOSE_WIDTH)
            .char_limit(PATH_CHARS)
            .hint_text(RichText::new("/projects/terrace/drop").color(Tokens::of(ui).muted));
        let response = ui.add(line).labelled_by(label.id);
        if frame.screen.once.focus_dialog {
            response.request_focus();
        }
        let choose = Button::new("Choose…").min_size(vec2(CHOOSE_WIDTH - 24.0, 0.0));
        let choose = ui.add_enabled(!frame.screen.picking, choose);
        choose.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Choose the watch folder"));
        if choose.clicked() {
            actions.push(Action::Watch(WatchAction::Pick));
        }
    });
}

/// The name of a row, never cut.
fn row_name(ui: &mut Ui, name: &str) {
    let color = Tokens::of(ui).muted;
    ui.add(Label::new(RichText::new(name).color(color)).extend());
}

fn recipes_ui(ui: &mut Ui, form: &mut WatchForm, recipes: &[String]) {
    row_name(ui, "Recipe");
    recipe_combo(ui, "Recipe", "Default", &mut form.rules.recipe, recipes);
    ui.end_row();
    row_name(ui, "But for");
    ui.vertical(|ui| {
        for kinds in AssetKind::ALL.chunks(2) {
            ui.horizontal(|ui| {
                for kind in kinds {
                    kind_ui(ui, form, *kind, recipes);
                }
            });
        }
    });
    ui.end_row();
}

fn kind_ui(ui: &mut Ui, form: &mut WatchForm, kind: AssetKind, recipes: &[String]) {
    let word = match kind {
        AssetKind::Mesh => "meshes",
        AssetKind::Image => "pictures",
        AssetKind::Sequence => "sequences",
        AssetKind::Scene => "scenes",
    };
    let size = vec2(KIND_WIDTH, ui.spacing().interact_size.y);
    ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), |ui| {
        ui.set_min_width(KIND_WIDTH);
        ui.label(word);
    });
    let mut chosen = form.rules.recipes.remove(&kind);
    recipe_combo(ui, &format!("Recipe for {word}"), "As above", &mut chosen, recipes);
    if let Some(recipe) = chosen {
        form.rules.recipes.insert(kind, recipe);
    }
}

fn share_ui(ui: &mut Ui, form: &mut WatchForm) {
    row_name(ui, "Share");
    ui.horizontal(|ui| {
        if let Some(typed) = field(ui, "Project", &form.project, "default", 120.0) {
            form.project = typed;
        }
        if let Some(typed) = field(ui, "Priority", &form.priority, "5", 32.0) {
            form.priority = typed;
        }
        if let Some(typed) = field(ui, "Settle time, s", &form.settle, "auto", 48.0) {
            form.settle = typed;
        }
    });
    ui.end_row();
}

fn results_ui(ui: &mut Ui, form: &mut WatchForm) {
    row_name(ui, "Results go");
    ui.vertical(|ui| {
        let choices = [
            (ResultsTo::Farm, "into the farm's folder alone"),
            (ResultsTo::Beside, "beside the file, into _results"),
            (ResultsTo::Folder, "into one folder"),
            (ResultsTo::Project, "into one folder, by project"),
        ];
        choice_ui(ui, "Results", &mut form.results, &choices);
        let needs_path = matches!(form.results, ResultsTo::Folder | ResultsTo::Project);
        let hint = "/projects/terrace/results";
        if needs_path
            && let Some(typed) = field(ui, "Results folder", &form.results_path, hint, 240.0)
        {
            form.results_path = typed;
        }
    });
    ui.end_row();
}

fn after_ui(ui: &mut Ui, form: &mut WatchForm) {
    row_name(ui, "After a success");
    let choices = [
        (AfterSuccess::Stay, "the file stays"),
        (AfterSuccess::Move, "the file moves to _done"),
        (AfterSuccess::Delete, "the file is deleted"),
    ];
    choice_ui(ui, "After a success", &mut form.rules.after, &choices);
    ui.end_row();
}

fn seeing_ui(ui: &mut Ui, form: &mut WatchForm) {
    row_name(ui, "Seeing");
    let choices = [
        (Seeing::Auto, "as the disk allows"),
        (Seeing::Events, "told by the system"),
        (Seeing::Polling, "looked through again and again"),
    ];
    choice_ui(ui, "Seeing", &mut form.rules.seeing, &choices);
    ui.end_row();
}

fn choice_ui<T: Copy + PartialEq>(ui: &mut Ui, name: &str, now: &mut T, choices: &[(T, &str)]) {
    let shown = choices.iter().find(|(one, _)| one == now).map_or("", |(_, text)| *text);
    let combo = ComboBox::from_id_salt(name).selected_text(shown).width(250.0);
    let combo = combo.show_ui(ui, |ui| {
        for (one, text) in choices {
            ui.selectable_value(now, *one, *text);
        }
    });
    combo.response.widget_info(|| WidgetInfo::labeled(Role::ComboBox, true, name));
}

fn switches_ui(ui: &mut Ui, form: &mut WatchForm, is_new: bool) {
    ui.spacing_mut().item_spacing.y = 0.0;
    let rules = &mut form.rules;
    ui.checkbox(&mut rules.subfolders, "Files in folders below too");
    ui.checkbox(&mut rules.notes, "Lay a note beside a refused file");
    ui.checkbox(&mut rules.separate, "Numbered pictures stay single assets");
    if is_new {
        let mut leaves = rules.existing == Existing::Leave;
        ui.checkbox(&mut leaves, "Leave alone what lies there already");
        rules.existing = if leaves { Existing::Leave } else { Existing::Take };
    }
}

fn buttons_ui(ui: &mut Ui, form: &WatchForm, actions: &mut Actions) {
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let title = match (form.is_sent, form.folder) {
            (true, _) => "Asking…",
            (false, None) => "Watch this folder",
            (false, Some(_)) => "Save",
        };
        let go = ui.add_enabled(!form.is_sent, text::primary_button(ui, title));
        let by_key = ui.input(|input| input.modifiers.command && input.key_pressed(Key::Enter));
        if go.clicked() || by_key {
            actions.push(Action::Watch(WatchAction::Save));
        }
        if ui.button("Close").clicked() {
            actions.push(Action::CloseDialog);
        }
    });
}
