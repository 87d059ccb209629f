//! The submit dialog: the system's chooser, or typed and pasted paths.

use crate::client::intake::Preview;
use crate::client::live::{Fetched, has_scene};
use crate::desktop::action::{Action, Actions};
use crate::desktop::frame::FrameContext;
use crate::desktop::picker::parse_paths;
use crate::desktop::theme::{Tokens, Tone};
use crate::desktop::widgets::text;
use crate::desktop::words;
use eframe::egui::{
    Align, ComboBox, Key, Label, Layout, RichText, Role, TextEdit, Ui, WidgetInfo, vec2,
};
use std::path::PathBuf;

const WIDTH: f32 = 460.0;
/// Longest text of typed paths.
const TYPED_CHARS: usize = 64 << 10;
/// Longest text of one field.
const FIELD_CHARS: usize = 4_096;
/// Scenes whose preview is shown.
const PREVIEWS: usize = 4;
const DEFAULT_RECIPE: &str = "Default";

/// Draws it.
pub fn show(frame: &FrameContext<'_>, ui: &mut Ui, recipes: &[String], actions: &mut Actions) {
    ui.set_width(WIDTH);
    ui.label(RichText::new("Submit").heading());
    text::explanation(
        ui,
        "Meshes, pictures, folders of numbered frames, or scenes of a renderer. Side files such as textures come along by themselves. You can also drop them anywhere on the window",
    );
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        ui.add_enabled_ui(!frame.screen.picking, |ui| {
            let files = text::primary_button(ui, "Choose files…").min_size(vec2(0.0, 30.0));
            if ui.add(files).clicked() {
                actions.push(Action::PickFiles);
            }
            if ui
                .add(eframe::egui::Button::new("Choose a folder…").min_size(vec2(0.0, 30.0)))
                .clicked()
            {
                actions.push(Action::PickFolder);
            }
        });
        if frame.screen.picking {
            text::muted(ui, "The system's dialog is open…");
        }
    });
    ui.add_space(6.0);
    paths_ui(frame, ui, actions);
    if !recipes.is_empty() {
        recipe_ui(frame, ui, recipes, actions);
    }
    let paths = parse_paths(&frame.screen.typed_paths);
    if has_scene(&paths) {
        scene_ui(frame, ui, actions);
        preview_ui(frame, ui, paths);
    }
    ui.add_space(8.0);
    buttons_ui(frame, ui, actions);
}

fn paths_ui(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    let label = text::muted(ui, "Or paste paths, one a line");
    let mut typed = frame.screen.typed_paths.clone();
    let field = TextEdit::multiline(&mut typed)
        .desired_rows(3)
        .desired_width(f32::INFINITY)
        .char_limit(TYPED_CHARS)
        .margin(eframe::egui::Margin::same(8))
        .hint_text(RichText::new("/projects/dragon/dragon.glb").color(Tokens::of(ui).muted));
    let response = ui.add(field).labelled_by(label.id);
    if frame.screen.once.focus_dialog {
        response.request_focus();
    }
    if response.changed() {
        actions.push(Action::Type(typed));
    }
}

fn recipe_ui(frame: &FrameContext<'_>, ui: &mut Ui, recipes: &[String], actions: &mut Actions) {
    ui.horizontal(|ui| {
        text::muted(ui, "Recipe");
        let mut recipe = frame.screen.recipe.clone();
        if recipe_combo(ui, "Recipe", DEFAULT_RECIPE, &mut recipe, recipes) {
            actions.push(Action::Recipe(recipe));
        }
    });
}

/// A choice of recipes, or `none` of them; whether it was changed.
pub(super) fn recipe_combo(
    ui: &mut Ui,
    name: &str,
    none: &str,
    now: &mut Option<String>,
    recipes: &[String],
) -> bool {
    let before = now.clone();
    let shown = before.as_deref().unwrap_or(none);
    let combo = ComboBox::from_id_salt(name).selected_text(shown).show_ui(ui, |ui| {
        ui.selectable_value(now, None, none);
        for recipe in recipes {
            ui.selectable_value(now, Some(recipe.clone()), recipe.as_str());
        }
    });
    combo.response.widget_info(|| WidgetInfo::labeled(Role::ComboBox, true, name));
    *now != before
}

/// What is said of scenes: frames, frames of one job, settings.
fn scene_ui(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    ui.add_space(6.0);
    ui.horizontal(|ui| {
        let screen = frame.screen;
        if let Some(text) = field(ui, "Frames", &screen.frames, "as the scene says", 150.0) {
            actions.push(Action::Frames(text));
        }
        if let Some(text) = field(ui, "Frames a job", &screen.chunk, "5", 48.0) {
            actions.push(Action::Chunk(text));
        }
    });
    if let Some(text) =
        field(ui, "Settings", &frame.screen.settings, "such as samples=64 width=1920", 360.0)
    {
        actions.push(Action::Settings(text));
    }
}

/// A labelled line of text; what it was changed to.
pub(super) fn field(ui: &mut Ui, name: &str, now: &str, hint: &str, width: f32) -> Option<String> {
    ui.horizontal(|ui| {
        let label = text::muted(ui, name);
        let mut typed = now.to_owned();
        let line = TextEdit::singleline(&mut typed)
            .desired_width(width)
            .char_limit(FIELD_CHARS)
            .hint_text(RichText::new(hint).color(Tokens::of(ui).muted));
        let response = ui.add(line).labelled_by(label.id);
        response.changed().then_some(typed)
    })
    .inner
}

/// What would be drawn, before anything is sent.
fn preview_ui(frame: &FrameContext<'_>, ui: &mut Ui, paths: Vec<PathBuf>) {
    ui.add_space(6.0);
    match frame.farm.preview(&frame.screen.draft(paths)) {
        Fetched::Pending => _ = text::muted(ui, "Looking at the scene…"),
        Fetched::Failed(why) => _ = text::toned(ui, Tone::Dead, why),
        Fetched::Ready(previews) => {
            for preview in previews.iter().take(PREVIEWS) {
                one_preview(ui, preview);
            }
            let more = previews.len().saturating_sub(PREVIEWS);
            if more > 0 {
                text::muted(ui, format!("and {more} more"));
            }
        }
    }
}

fn one_preview(ui: &mut Ui, preview: &Preview) {
    if let Some(why) = &preview.refused {
        ui.add(Label::new(RichText::new(why).color(Tokens::of(ui).tone(Tone::Dead))).wrap());
        return;
    }
    let asset = preview.asset.as_deref().unwrap_or_default();
    let files = words::plural(preview.files, "file", "files");
    text::plain(ui, format!("{asset}: {files}, {}", words::size(preview.size_bytes)));
    if let Some(scene) = &preview.scene {
        let frames = words::plural(scene.frame_count as usize, "frame", "frames");
        let jobs = words::plural(scene.chunks as usize, "job", "jobs");
        text::small(ui, format!("{}: {frames} ({}) in {jobs}", scene.renderer, scene.frames));
        let command = Label::new(RichText::new(&scene.command).monospace().small()).truncate();
        ui.add(command).on_hover_text(&scene.command);
    }
    if !preview.missing.is_empty() {
        let missing = preview.missing.join(", ");
        text::toned(ui, Tone::Wait, format!("Missing: {missing}"));
    }
}

fn buttons_ui(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    let paths = parse_paths(&frame.screen.typed_paths);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let text = match paths.len() {
            0 => "Submit paths".to_owned(),
            number => format!("Submit {}", words::plural(number, "path", "paths")),
        };
        let go = ui.add_enabled(!paths.is_empty(), text::primary_button(ui, &text));
        let by_key = ui.input(|input| input.modifiers.command && input.key_pressed(Key::Enter));
        if (go.clicked() || by_key) && !paths.is_empty() {
            actions.push(Action::Submit(paths));
        }
        if ui.button("Close").clicked() {
            actions.push(Action::CloseDialog);
        }
    });
}
