//! The submit dialog: the system's chooser, or typed and pasted paths.

use crate::desktop::action::{Action, Actions};
use crate::desktop::frame::FrameContext;
use crate::desktop::picker::parse_paths;
use crate::desktop::theme::Tokens;
use crate::desktop::widgets::text;
use crate::desktop::words;
use eframe::egui::{Align, ComboBox, Key, Layout, RichText, Role, TextEdit, Ui, WidgetInfo, vec2};

const WIDTH: f32 = 460.0;
/// Longest text of typed paths.
const TYPED_CHARS: usize = 64 << 10;
const DEFAULT_RECIPE: &str = "Default";

/// Draws it.
pub fn show(frame: &FrameContext<'_>, ui: &mut Ui, recipes: &[String], actions: &mut Actions) {
    ui.set_width(WIDTH);
    ui.label(RichText::new("Submit").heading());
    text::explanation(
        ui,
        "Meshes, pictures, or a folder of numbered frames. Side files such as textures come along by themselves. You can also drop them anywhere on the window",
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
        let label = text::muted(ui, "Recipe");
        let now = frame.screen.recipe.as_deref();
        let shown = now.unwrap_or(DEFAULT_RECIPE);
        let combo = ComboBox::from_id_salt("recipe").selected_text(shown).show_ui(ui, |ui| {
            if ui.selectable_label(now.is_none(), DEFAULT_RECIPE).clicked() {
                actions.push(Action::Recipe(None));
            }
            for recipe in recipes {
                if ui.selectable_label(now == Some(recipe), recipe.as_str()).clicked() {
                    actions.push(Action::Recipe(Some(recipe.clone())));
                }
            }
        });
        combo.response.widget_info(|| WidgetInfo::labeled(Role::ComboBox, true, "Recipe"));
        combo.response.labelled_by(label.id);
    });
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
