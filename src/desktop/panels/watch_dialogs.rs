//! Questions about watch folders.

use super::submit::recipe_combo;
use crate::client::live::WatchWish;
use crate::desktop::action::{Action, Actions};
use crate::desktop::carry_out_watch::WatchAction;
use crate::desktop::frame::FrameContext;
use crate::desktop::widgets::text;
use crate::desktop::words;
use crate::model::{WatchFileId, WatchFolderId};
use crate::protocol::watch::{WatchFolderView, WatchOrder};
use eframe::egui::{Align, Button, Layout, RichText, Ui};

const WIDTH: f32 = 400.0;

/// Really watch a folder no more?
pub fn unwatch_ui(
    frame: &FrameContext<'_>,
    ui: &mut Ui,
    folder: WatchFolderId,
    actions: &mut Actions,
) {
    ui.set_width(WIDTH);
    let path = folder_of(frame, folder).map_or_else(String::new, |view| view.path.clone());
    ui.label(RichText::new("Watch this folder no more?").heading());
    text::plain(ui, path);
    text::explanation(
        ui,
        "Its files stay, and so do the assets that were made of them. What was seen in it is forgotten: added again, the folder is looked at as a new one, and content that the farm knows makes no new work",
    );
    let danger = text::danger_button(ui, "Remove");
    answer_ui(ui, danger, "Keep watching", WatchWish::Remove { folder }, actions);
}

/// Really take a drop back?
pub fn withdraw_ui(
    frame: &FrameContext<'_>,
    ui: &mut Ui,
    file: WatchFileId,
    actions: &mut Actions,
) {
    ui.set_width(WIDTH);
    let Some(view) = frame.screen.watching.file(file) else {
        text::explanation(ui, "The file is not in the list any more");
        return;
    };
    let asset = view.drop.as_ref();
    let asset = asset.map_or_else(
        || view.path.clone(),
        |drop| format!("{} v{}", drop.asset, drop.asset_version),
    );
    ui.label(RichText::new(format!("Withdraw {asset}?")).heading());
    text::explanation(
        ui,
        "Its pipeline is cancelled where it still runs. The files stay where they are, and are not taken again by themselves. What was published before stays",
    );
    let wish = WatchWish::Files { folder: view.folder, order: WatchOrder::Withdraw { file } };
    let danger = text::danger_button(ui, "Withdraw");
    answer_ui(ui, danger, "Leave it", wish, actions);
}

/// Really take all files again?
pub fn retake_all_ui(
    frame: &FrameContext<'_>,
    ui: &mut Ui,
    folder: WatchFolderId,
    recipes: &[String],
    actions: &mut Actions,
) {
    ui.set_width(WIDTH);
    let files = folder_of(frame, folder).map_or(0, |view| {
        let counts = view.counts;
        let all = [counts.accepted, counts.duplicate, counts.refused, counts.withdrawn];
        all.into_iter().fold(0, u32::saturating_add)
    });
    let files = words::plural(files as usize, "file", "files");
    ui.label(RichText::new(format!("Take {files} again?")).heading());
    text::explanation(
        ui,
        "As if they had just come. With the same recipe, content that is known makes no new work; with another, each asset gets new results",
    );
    let mut again = frame.screen.watching.again.clone();
    ui.horizontal(|ui| {
        text::muted(ui, "Recipe");
        if recipe_combo(ui, "Recipe to take them with", "As the rules say", &mut again, recipes) {
            actions.push(Action::Watch(WatchAction::Again(again.clone())));
        }
    });
    let order = WatchOrder::RetakeAll { recipe: again };
    let go = text::primary_button(ui, "Take all again");
    answer_ui(ui, go, "Leave them", WatchWish::Files { folder, order }, actions);
}

fn answer_ui(
    ui: &mut Ui,
    go: Button<'static>,
    leave: &str,
    wish: WatchWish,
    actions: &mut Actions,
) {
    ui.add_space(8.0);
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        if ui.add(go).clicked() {
            actions.push(Action::Watch(WatchAction::Send(Box::new(wish))));
        }
        if ui.button(leave).clicked() {
            actions.push(Action::CloseDialog);
        }
    });
}

fn folder_of<'a>(frame: &FrameContext<'a>, id: WatchFolderId) -> Option<&'a WatchFolderView> {
    let folders = frame.screen.watching.folders.value.as_deref()?;
    folders.iter().find(|folder| folder.id == id)
}
