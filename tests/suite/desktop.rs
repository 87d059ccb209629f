//! The window, driven by accessible names over prepared farms.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod farm;
mod look;
mod watch;

use eframe::egui::{Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use farm::{PreparedFarm, busy, insert, pipeline};
use sawah::client::live::{Connection, Draft, Notice, Order};
use sawah::desktop::picker::{Chosen, FilePicker, Pick};
use sawah::desktop::screen::{Dialog, StateFilter, Tab};
use sawah::desktop::{App, AppParts};
use sawah::model::{JobId, JobState, PipelineId, PipelineStatus, Stage, StageStatus};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Chooses the same file at once.
struct FixedPicker;

impl FilePicker for FixedPicker {
    fn pick(&self, _what: Pick, chosen: Chosen) {
        chosen(vec![PathBuf::from("/picked/dragon.glb")]);
    }

    fn reveal(&self, _path: &str) -> Result<(), String> {
        Err("this machine has no file manager".to_owned())
    }
}

fn parts(farm: &PreparedFarm) -> AppParts {
    AppParts {
        farm: Box::new(farm.clone()),
        picker: Box::new(FixedPicker),
        waker: sawah::desktop::waker::WindowWaker::new(),
        recipes: vec!["preview".to_owned(), "quick".to_owned()],
        stop: Arc::default(),
    }
}

fn open(farm: &PreparedFarm) -> Harness<'static, App> {
    let parts = parts(farm);
    let mut window = Harness::builder()
        .with_size([1280.0, 720.0])
        .build_eframe(move |creation| App::new(&creation.egui_ctx, parts));
    window.run();
    window
}

fn click(window: &mut Harness<'static, App>, name: &str) {
    window.get_by_label(name).click();
    window.run();
}

fn press(window: &mut Harness<'static, App>, key: Key) {
    window.key_press(key);
    window.run();
}

#[test]
fn replay_sends_the_order_and_says_so_until_the_dead_letter_is_gone() {
    let farm = busy();
    let mut window = open(&farm);
    click(&mut window, "Dead letters tab");
    click(&mut window, "Replay bamboo-bridge");
    assert_eq!(farm.orders(), [Order::Replay { job: JobId(501) }]);
    assert!(window.query_by_label("Replay bamboo-bridge").is_none());
    window.get_by_label("Replay requested…");
    farm.edit(|model| _ = model.dead_letters.remove(&JobId(501)));
    window.run();
    assert!(window.query_by_label_contains("bamboo-bridge").is_none());
    window.get_by_label("Replay banyan");
}

#[test]
fn a_refused_order_gives_its_button_back_and_stays_on_the_screen() {
    let farm = busy();
    let mut window = open(&farm);
    click(&mut window, "Dead letters tab");
    click(&mut window, "Dismiss bamboo-bridge");
    farm.with(|farm| {
        farm.orders.clear();
        farm.notices.push(Notice {
            is_error: true,
            text: "The dead letter was settled before".to_owned(),
            pipeline: None,
        });
    });
    window.run();
    window.get_by_label("Dismiss bamboo-bridge");
    farm.with(|farm| farm.later_ms = 3_600_000);
    window.run();
    window.get_by_label("The dead letter was settled before");
    click(&mut window, "Dismiss notice");
    assert!(window.query_by_label("The dead letter was settled before").is_none());
}

#[test]
fn a_click_selects_and_holds_the_order_until_new_rows_are_asked_for() {
    let farm = busy();
    let mut window = open(&farm);
    click(&mut window, "dragon v4, Succeeded");
    assert_eq!(window.state().screen().selection.pipeline, Some(PipelineId(47)));
    window.get_by_label("Picture of dragon v4");
    let before = window.get_by_label("dragon v4, Succeeded").rect();
    farm.edit(|model| insert(model, pipeline(90, "newcomer", Stage::Ingest, StageStatus::Running)));
    window.run();
    assert!(window.query_by_label_contains("newcomer").is_none());
    assert_eq!(window.get_by_label("dragon v4, Succeeded").rect(), before);
    click(&mut window, "1 new · show");
    window.get_by_label("newcomer v3, Running");
}

#[test]
fn chips_filter_and_a_filter_without_rows_explains_itself() {
    let farm = busy();
    let mut window = open(&farm);
    click(&mut window, "Retrying: 1");
    assert_eq!(window.state().screen().filter, Some(StateFilter::Retrying));
    window.get_by_label("kite-sequence v1, Running");
    assert!(window.query_by_label("dragon v4, Succeeded").is_none());
    farm.edit(|model| {
        let job = Arc::make_mut(model.jobs.get_mut(&JobId(563)).unwrap());
        job.state = JobState::Succeeded;
    });
    window.run();
    window.get_by_label("No row in this state");
    window.get_by_label("Retrying: 0");
    window.get_all_by_label("Show all").next().unwrap().click();
    window.run();
    window.get_by_label("dragon v4, Succeeded");
}

#[test]
fn the_keyboard_reaches_everything() {
    let farm = busy();
    let mut window = open(&farm);
    press(&mut window, Key::ArrowDown);
    assert_eq!(window.state().screen().selection.pipeline, Some(PipelineId(60)));
    press(&mut window, Key::ArrowDown);
    press(&mut window, Key::ArrowDown);
    press(&mut window, Key::ArrowUp);
    assert_eq!(window.state().screen().selection.pipeline, Some(PipelineId(59)));
    window.get_by_label("Close inspector");
    press(&mut window, Key::Enter);
    assert!(window.query_by_label("Close inspector").is_none());
    press(&mut window, Key::Enter);
    press(&mut window, Key::Escape);
    assert_eq!(window.state().screen().selection.pipeline, None);
    press(&mut window, Key::Num4);
    assert_eq!(window.state().screen().tab, Tab::DeadLetters);
    press(&mut window, Key::ArrowDown);
    press(&mut window, Key::R);
    assert_eq!(farm.orders(), [Order::Replay { job: JobId(553) }]);
    press(&mut window, Key::Questionmark);
    assert_eq!(window.state().screen().dialog, Some(Dialog::Help));
    window.get_by_label("Replay the selected dead letter");
    press(&mut window, Key::Escape);
    assert_eq!(window.state().screen().dialog, None);
}

#[test]
fn slash_searches_and_its_own_letter_does_not_land_in_the_field() {
    let farm = busy();
    let mut window = open(&farm);
    let stroke = eframe::egui::Event::Key {
        key: Key::Slash,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers: Modifiers::NONE,
    };
    // A keyboard sends the key and its letter together.
    window.input_mut().events.extend([stroke, eframe::egui::Event::Text("/".to_owned())]);
    window.run();
    for letter in "rooster".chars() {
        window.event(eframe::egui::Event::Text(letter.to_string()));
        window.run();
    }
    assert_eq!(window.state().screen().search, "rooster");
    window.get_by_label("rooster v1, Running");
    assert!(window.query_by_label("gong v4, Running").is_none());
    // Keys are letters while text is typed.
    press(&mut window, Key::Num4);
    assert_eq!(window.state().screen().tab, Tab::Pipelines);
    press(&mut window, Key::Escape);
    press(&mut window, Key::Escape);
    assert_eq!(window.state().screen().search, "");
}

#[test]
fn cancel_asks_first_and_says_how_much_it_stops() {
    let farm = busy();
    let mut window = open(&farm);
    click(&mut window, "stone-lion v2, Running");
    click(&mut window, "Cancel…");
    window.get_by_label_contains("3 live jobs stop");
    assert!(farm.orders().is_empty());
    click(&mut window, "Keep running");
    click(&mut window, "Cancel…");
    click(&mut window, "Cancel pipeline");
    assert_eq!(farm.orders(), [Order::Cancel { pipeline: PipelineId(57) }]);
    window.get_by_label("Cancel requested…");
    farm.edit(|model| {
        let row = Arc::make_mut(model.pipelines.get_mut(&PipelineId(57)).unwrap());
        row.status = PipelineStatus::Cancelled;
    });
    window.run();
    assert!(window.query_by_label("Cancel requested…").is_none());
}

#[test]
fn files_come_in_by_dialog_by_paste_and_by_drop() {
    let farm = PreparedFarm::default();
    let mut window = open(&farm);
    window.get_by_label("No pipelines yet");
    click(&mut window, "Submit files or a folder…");
    click(&mut window, "Choose files…");
    window.run();
    let submit = |path: &str| Order::Submit(Draft::new(vec![PathBuf::from(path)]));
    assert_eq!(farm.orders(), [submit("/picked/dragon.glb")]);

    window.key_press_modifiers(Modifiers::COMMAND, Key::O);
    window.run();
    window.get_by_label("Or paste paths, one a line").focus();
    window.run();
    window.event(eframe::egui::Event::Paste("file:///pasted/a%20b.exr".to_owned()));
    window.run();
    click(&mut window, "Submit 1 path");
    assert_eq!(farm.orders()[1], submit("/pasted/a b.exr"));

    window.input_mut().hovered_files.push(eframe::egui::HoveredFile::default());
    window.run_steps(2);
    window.input_mut().hovered_files.clear();
    window.input_mut().dropped_files.push(Arc::new(Dropped(PathBuf::from("/dropped/lion.obj"))));
    window.run();
    assert_eq!(farm.orders()[2], submit("/dropped/lion.obj"));
}

#[derive(Debug)]
struct Dropped(PathBuf);

impl eframe::egui::DroppedFile for Dropped {
    fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        Err("the window reads no files".to_owned())
    }
}

#[test]
fn a_lost_connection_keeps_the_rows_and_says_why() {
    let farm = busy();
    let mut window = open(&farm);
    farm.with(|farm| {
        farm.connection = Some(Connection::Lost { why: "connection refused".to_owned() });
    });
    window.run();
    window.get_by_label("Cut off from the coordinator");
    window.get_by_label_contains("as they were just now. Trying again: connection refused");
    farm.with(|farm| farm.later_ms = 240_000);
    window.run();
    window.get_by_label_contains("as they were 4 min ago");
    window.get_by_label("dragon v4, Succeeded");
}

#[test]
fn a_published_file_gives_its_path_and_a_notice_leads_to_its_pipeline() {
    let farm = busy();
    let mut window = open(&farm);
    press(&mut window, Key::Num2);
    farm.with(|farm| {
        farm.notices.push(Notice {
            is_error: false,
            text: "Submitted dragon v4".to_owned(),
            pipeline: Some(PipelineId(47)),
        });
    });
    window.run();
    click(&mut window, "Show pipeline");
    assert_eq!(window.state().screen().tab, Tab::Pipelines);
    assert_eq!(window.state().screen().selection.pipeline, Some(PipelineId(47)));
    assert!(window.query_by_label("Submitted dragon v4").is_none());
    window.get_by_label("Copy path of still.png").click();
    let wanted = "/srv/farm/published/dragon/v0004/still.png";
    let mut copied = false;
    for _ in 0..4 {
        window.step();
        let commands = &window.output().platform_output.commands;
        copied |= commands.iter().any(|command| {
            matches!(command, eframe::egui::OutputCommand::CopyText(text) if text == wanted)
        });
    }
    assert!(copied);
}

#[test]
fn a_settled_screen_asks_for_no_frame_and_leases_tick_once_a_second() {
    let farm = busy();
    farm.edit(|model| {
        model.jobs.clear();
        for worker in model.workers.values_mut() {
            Arc::make_mut(worker).jobs.clear();
        }
    });
    let mut window = open(&farm);
    let calm = Duration::from_secs(30);
    for key in [Key::Num1, Key::Num2, Key::Num3, Key::Num4] {
        press(&mut window, key);
        assert!(wait(&window) >= calm, "{key:?} {:?}", window.ctx.repaint_causes());
    }
    press(&mut window, Key::Num1);
    press(&mut window, Key::ArrowDown);
    assert!(wait(&window) >= calm, "{:?}", window.ctx.repaint_causes());

    let farm = busy();
    let mut window = open(&farm);
    assert!(wait(&window) >= calm, "no lease in sight on the first tab");
    press(&mut window, Key::Num2);
    assert_eq!(wait(&window), Duration::from_secs(1));
    assert_eq!(window.get_all_by_label("Lease 27 s left").count(), 2);
    farm.with(|farm| farm.later_ms = 20_000);
    window.run();
    assert_eq!(window.get_all_by_label("Lease 7 s left").count(), 2);
}

fn wait(window: &Harness<'static, App>) -> Duration {
    let outputs = &window.output().viewport_output;
    outputs.values().map(|output| output.repaint_delay).min().unwrap()
}

#[test]
fn a_hundred_thousand_rows_build_only_those_in_sight() {
    let farm = PreparedFarm::default();
    farm.edit(|model| {
        for id in 1..=100_000 {
            insert(model, pipeline(id, "field", Stage::Cleanup, StageStatus::Succeeded));
        }
    });
    let mut window = open(&farm);
    farm.pictures_asked.store(0, Ordering::Relaxed);
    window.step();
    let built = farm.pictures_asked.load(Ordering::Relaxed);
    assert!((5..40).contains(&built), "{built} rows built");
    press(&mut window, Key::PageDown);
    for _ in 0..3 {
        press(&mut window, Key::PageDown);
    }
    assert_eq!(window.state().screen().selection.pipeline, Some(PipelineId(99_970)));
    assert!(window.get_all_by_label("field v3, Succeeded").count() < 40);
}

#[test]
fn colours_are_made_in_the_theme_only() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/desktop");
    let mut folders = vec![folder];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("theme.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(!text.contains("Color32::"), "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files > 20);
}
