//! The tab of watch folders.

use super::farm::{NOW_MS, PreparedFarm, busy};
use super::{click, open, parts, press};
use eframe::egui::{Event, Key};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use sawah::client::live::{Order, WatchWish};
use sawah::desktop::picker::{Chosen, FilePicker, Pick};
use sawah::desktop::screen::{Dialog, Tab};
use sawah::desktop::{App, AppParts};
use sawah::model::{AssetName, PipelineId, Reason, WatchFileId, WatchFolderId};
use sawah::protocol::watch::{
    DropOutcome, DropView, Results, WatchCounts, WatchFileState, WatchFileView, WatchFolderView,
    WatchHealth, WatchOrder, WatchRules, WatchWord,
};
use std::sync::{Arc, Mutex};

fn folder(id: i64, path: &str, word: WatchWord, why: Option<&str>) -> WatchFolderView {
    WatchFolderView {
        id: WatchFolderId(id),
        path: path.to_owned(),
        rules: WatchRules { results: Results::Beside, ..WatchRules::default() },
        paused: false,
        health: WatchHealth {
            word,
            why: why.map(str::to_owned),
            events: word == WatchWord::Watching,
            looked_at_ms: Some(NOW_MS - 9_000),
        },
        counts: WatchCounts::default(),
        added_at_ms: NOW_MS - 86_400_000,
    }
}

fn file(id: i64, path: &str, state: WatchFileState, why: Option<&str>) -> WatchFileView {
    WatchFileView {
        id: WatchFileId(id),
        folder: WatchFolderId(3),
        path: path.to_owned(),
        size_bytes: 3_400_000 + id.unsigned_abs() * 77_777,
        state,
        why: why.map(str::to_owned),
        reason: (state == WatchFileState::Refused).then_some(Reason::InputTruncated),
        since_ms: NOW_MS - id * 47_000,
        drop: None,
        is_main: false,
    }
}

fn taken(id: i64, path: &str, main: &str, pipeline: i64, outcome: DropOutcome) -> WatchFileView {
    let asset = main.rsplit('/').next().unwrap().split('.').next().unwrap();
    let is_main = path == main;
    let drop = DropView {
        main: main.to_owned(),
        asset: AssetName::from_any(asset),
        asset_version: 2,
        pipeline: PipelineId(pipeline),
        outcome,
        missing: if asset == "bamboo-bridge" { vec!["rope.png".to_owned()] } else { Vec::new() },
        results: (outcome == DropOutcome::Succeeded)
            .then(|| format!("/projects/terrace/drop/_results/{asset}_v2_preview")),
    };
    WatchFileView { drop: Some(drop), is_main, ..file(id, path, WatchFileState::Accepted, None) }
}

/// A farm with three watch folders, one of them gone, and files in every state.
pub(super) fn watched() -> PreparedFarm {
    use WatchFileState::{Duplicate, Ignored, Refused, Settling, Waiting, Withdrawn};
    let farm = busy();
    let mut drop_in = folder(3, "/projects/terrace/drop", WatchWord::Watching, None);
    drop_in.counts = WatchCounts {
        settling: 1,
        waiting: 1,
        accepted: 5,
        duplicate: 1,
        refused: 1,
        ignored: 1,
        withdrawn: 1,
    };
    let gone = "the folder is not there: mount its share, or remove it from the watch folders";
    let folders = vec![
        folder(1, "/mnt/share/incoming", WatchWord::Gone, Some(gone)),
        WatchFolderView {
            paused: true,
            ..folder(2, "/projects/old show/drop", WatchWord::Paused, None)
        },
        drop_in,
    ];
    let still = "it is still growing";
    let waits = "it waits for side files: textures/roof.png";
    let cut = "its end is missing: this PNG should have 96512 bytes, and 18324 are here";
    let files = vec![
        file(1, "plates/mist_v003.exr", Settling, Some(still)),
        file(2, "hut/village-hut.obj", Waiting, Some(waits)),
        taken(
            3,
            "kite/kite-sequence.####.png",
            "kite/kite-sequence.####.png",
            56,
            DropOutcome::Open,
        ),
        taken(4, "dragon.glb", "dragon.glb", 47, DropOutcome::Succeeded),
        taken(5, "dragon_scales.png", "dragon.glb", 47, DropOutcome::Succeeded),
        taken(6, "bamboo-bridge.gltf", "bamboo-bridge.gltf", 50, DropOutcome::Failed),
        file(7, "plates/sky.png", Refused, Some(cut)),
        file(8, "dragon copy.glb", Duplicate, Some("the same as dragon.glb")),
        file(9, "Thumbs.db", Ignored, Some("left alone by the rule 'Thumbs.db'")),
        file(10, "lantern.fbx", Withdrawn, None),
        taken(11, "mill-wheel.usda", "mill-wheel.usda", 53, DropOutcome::Succeeded),
    ];
    farm.with(|farm| {
        farm.watch_folders = Arc::new(folders);
        farm.watch_files = Arc::new(files);
    });
    farm
}

/// Opens the dialog; a grid in what scrolls takes some frames to find its size.
fn open_dialog(window: &mut Harness<'static, App>) {
    window.get_by_label("Add a folder…").click();
    window.run_steps(8);
}

#[test]
fn a_folder_is_added_in_the_dialog_and_a_refusal_is_said_there() {
    let farm = busy();
    let mut window = open(&farm);
    press(&mut window, Key::Num5);
    assert_eq!(window.state().screen().tab, Tab::Watch);
    open_dialog(&mut window);
    click(&mut window, "Watch this folder");
    window.get_by_label_contains("Which folder?");
    assert!(farm.orders().is_empty());
    window.get_by_label("Folder, as the coordinator's machine sees it").focus();
    window.run();
    window.event(Event::Text("/projects/drop".to_owned()));
    window.run();
    click(&mut window, "Watch this folder");
    let wish = WatchWish::Add { path: "/projects/drop".to_owned(), rules: WatchRules::default() };
    assert_eq!(farm.orders(), [Order::Watch(wish)]);
    farm.with(|farm| farm.watch_saved = Some(Err("there is no such folder".to_owned())));
    window.run();
    window.get_by_label("there is no such folder");
    // What was typed is still there, and is sent again.
    click(&mut window, "Watch this folder");
    assert_eq!(farm.orders().len(), 2);
    farm.with(|farm| {
        farm.watch_saved = Some(Ok(WatchFolderId(1)));
        farm.watch_folders = Arc::new(vec![folder(1, "/projects/drop", WatchWord::Watching, None)]);
    });
    window.run();
    assert_eq!(window.state().screen().dialog, None);
    window.get_by_label("Watch folder /projects/drop, watching");
    window.get_by_label("No files yet");
}

#[test]
fn a_chosen_path_comes_into_the_dialog() {
    let farm = busy();
    let mut window = open(&farm);
    press(&mut window, Key::Num5);
    open_dialog(&mut window);
    click(&mut window, "Choose the watch folder");
    window.run();
    assert_eq!(window.state().screen().watching.form.path, "/picked/dragon.glb");
    assert!(farm.orders().is_empty(), "choosing hands nothing in");
}

/// A system's dialog that is answered when the test wants it.
#[derive(Clone, Default)]
struct LatePicker(Arc<Mutex<Option<Chosen>>>);

impl FilePicker for LatePicker {
    fn pick(&self, _what: Pick, chosen: Chosen) {
        *self.0.lock().unwrap() = Some(chosen);
    }

    fn reveal(&self, _path: &str) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn a_folder_that_is_chosen_after_its_dialog_was_closed_is_neither_watched_nor_handed_in() {
    let (farm, picker) = (busy(), LatePicker::default());
    let parts = AppParts { picker: Box::new(picker.clone()), ..parts(&farm) };
    let mut window = Harness::builder()
        .with_size([1280.0, 720.0])
        .build_eframe(move |creation| App::new(&creation.egui_ctx, parts));
    window.run();
    press(&mut window, Key::Num5);
    open_dialog(&mut window);
    click(&mut window, "Choose the watch folder");
    press(&mut window, Key::Escape);
    assert_eq!(window.state().screen().dialog, None);
    let chosen = picker.0.lock().unwrap().take().unwrap();
    chosen(vec!["/picked/project".into()]);
    window.run();
    assert!(farm.orders().is_empty());
    assert_eq!(window.state().screen().watching.form.path, "");
    assert_eq!(window.state().screen().typed_paths, "");
}

#[test]
fn an_answer_closes_the_dialog_that_asked_and_no_other() {
    let farm = watched();
    let mut window = open(&farm);
    press(&mut window, Key::Num5);
    open_dialog(&mut window);
    window.get_by_label("Folder, as the coordinator's machine sees it").focus();
    window.run();
    window.event(Event::Text("/projects/drop".to_owned()));
    window.run();
    click(&mut window, "Watch this folder");
    window.get_by_label("Asking…");
    click(&mut window, "Close");
    click(&mut window, "Rules…");
    farm.with(|farm| farm.watch_saved = Some(Err("there is no such folder".to_owned())));
    window.run();
    let screen = window.state().screen();
    assert_eq!(screen.dialog, Some(Dialog::WatchFolder));
    assert_eq!(
        (screen.watching.form.folder, &screen.watching.form.problem),
        (Some(WatchFolderId(3)), &None)
    );
    window.get_by_label_contains("there is no such folder");
    // Nothing is on its way any more, whatever became of it: the form can be sent again.
    click(&mut window, "Save");
    farm.with(|farm| farm.orders.clear());
    window.run();
    window.get_by_label("Save");
}

#[test]
fn a_refused_file_says_why_and_can_be_taken_again() {
    let farm = watched();
    let mut window = open(&farm);
    press(&mut window, Key::Num5);
    click(&mut window, "Refused: 1");
    assert!(window.query_by_label_contains("dragon.glb").is_none());
    click(&mut window, "plates/sky.png, Refused");
    let reason = window.get_all_by_label_contains("its end is missing").count();
    assert!(reason >= 2, "in the row and in the card: {reason}");
    window.get_by_label(Reason::InputTruncated.remedy());
    press(&mut window, Key::T);
    let order = WatchOrder::Retake { file: WatchFileId(7), recipe: None };
    let wish = WatchWish::Files { folder: WatchFolderId(3), order };
    assert_eq!(farm.orders(), [Order::Watch(wish)]);
}

#[test]
fn a_taken_file_shows_its_pipeline_and_withdrawing_asks_first() {
    let farm = watched();
    let mut window = open(&farm);
    press(&mut window, Key::Num5);
    click(&mut window, "dragon.glb, Done");
    window.get_by_label("Picture of dragon v4");
    click(&mut window, "Withdraw…");
    assert!(farm.orders().is_empty());
    window.get_by_label("Withdraw dragon v2?");
    click(&mut window, "Withdraw");
    let order = WatchOrder::Withdraw { file: WatchFileId(4) };
    let wish = WatchWish::Files { folder: WatchFolderId(3), order };
    assert_eq!(farm.orders(), [Order::Watch(wish)]);
    click(&mut window, "Open results");
    window.get_by_label_contains("this machine has no file manager");
    press(&mut window, Key::Escape);
    assert_eq!(window.state().screen().watching.selected, None);
    assert!(window.query_by_label("Picture of dragon v4").is_none());
}

#[test]
fn folders_say_what_is_wrong_and_are_paused_changed_and_removed() {
    let farm = watched();
    let mut window = open(&farm);
    press(&mut window, Key::Num5);
    click(&mut window, "Watch folder /mnt/share/incoming, gone: looking for it");
    window.get_by_label_contains("mount its share");
    click(&mut window, "Pause");
    let pause = WatchWish::Pause { folder: WatchFolderId(1), paused: true };
    click(&mut window, "Rules…");
    assert_eq!(window.state().screen().dialog, Some(Dialog::WatchFolder));
    click(&mut window, "Lay a note beside a refused file");
    click(&mut window, "Save");
    let rules = WatchRules { results: Results::Beside, notes: false, ..WatchRules::default() };
    let change = WatchWish::Change { folder: WatchFolderId(1), rules };
    farm.with(|farm| farm.watch_saved = Some(Ok(WatchFolderId(1))));
    window.run();
    click(&mut window, "Take all again…");
    click(&mut window, "Take all again");
    let order = WatchOrder::RetakeAll { recipe: None };
    let again = WatchWish::Files { folder: WatchFolderId(1), order };
    click(&mut window, "Remove…");
    click(&mut window, "Remove");
    let remove = WatchWish::Remove { folder: WatchFolderId(1) };
    let wishes = [pause, change, again, remove].map(Order::Watch);
    assert_eq!(farm.orders(), wishes);
}

#[test]
fn files_are_walked_by_keys_and_held_in_place_while_one_is_selected() {
    let farm = watched();
    let mut window = open(&farm);
    press(&mut window, Key::Num5);
    press(&mut window, Key::ArrowDown);
    press(&mut window, Key::ArrowDown);
    assert_eq!(window.state().screen().watching.selected, Some(WatchFileId(2)));
    farm.with(|farm| {
        let mut files = farm.watch_files.as_ref().clone();
        files.insert(0, file(90, "newcomer.obj", WatchFileState::Settling, None));
        farm.watch_files = Arc::new(files);
    });
    window.run();
    assert!(window.query_by_label("newcomer.obj, Settling").is_none());
    click(&mut window, "1 new · show");
    window.get_by_label("newcomer.obj, Settling");
}

#[test]
fn of_five_thousand_files_only_those_in_sight_are_built() {
    let farm = watched();
    let many = (1..=5_000).map(|id| {
        let name = format!("a folder/with a name that is long/{id} dragon-\\xff.png");
        file(id, &name, WatchFileState::Settling, None)
    });
    farm.with(|farm| farm.watch_files = Arc::new(many.collect()));
    let mut window = open(&farm);
    press(&mut window, Key::Num5);
    let rows = window.get_all_by_label_contains(", Settling").count();
    assert!((5..100).contains(&rows), "{rows} rows");
    window.get_by_label_contains("The newest 5");
}
