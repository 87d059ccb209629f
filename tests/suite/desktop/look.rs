//! Pictures of the window for people to judge; no pixel is compared.
//!
//! `SAWAH_PICTURES=folder cargo test --test suite desktop::look -- --ignored` writes them.

use super::farm::{self, PreparedFarm, busy, insert, pipeline};
use super::parts;
use super::watch::watched;
use eframe::egui::{Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use sawah::client::intake::{Preview, ScenePreview};
use sawah::client::live::{Connection, Notice};
use sawah::desktop::App;
use sawah::model::{PipelineId, Reason, Stage, StageStatus};
use std::path::PathBuf;
use std::sync::Arc;

struct Shot {
    name: &'static str,
    pixels: [f32; 2],
    scale: f32,
    theme: Theme,
}

fn shoot(shot: &Shot, farm: &PreparedFarm, drive: impl FnOnce(&mut Harness<'static, App>)) {
    let folder = std::env::var_os("SAWAH_PICTURES").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("test-output/desktop"),
        PathBuf::from,
    );
    std::fs::create_dir_all(&folder).unwrap();
    let parts = parts(farm);
    let mut window = Harness::builder()
        .with_size([shot.pixels[0] / shot.scale, shot.pixels[1] / shot.scale])
        .with_pixels_per_point(shot.scale)
        .with_theme(shot.theme)
        .allow_missing_glyphs()
        .wgpu()
        .build_eframe(move |creation| App::new(&creation.egui_ctx, parts));
    window.run();
    drive(&mut window);
    window.run_steps(4);
    let image = window.render().unwrap();
    image.save(folder.join(format!("{}.png", shot.name))).unwrap();
}

const SMALL: [f32; 2] = [1280.0, 720.0];
const FULL: [f32; 2] = [1920.0, 1080.0];
const HUGE: [f32; 2] = [3840.0, 2160.0];

fn dark(name: &'static str, pixels: [f32; 2]) -> Shot {
    Shot { name, pixels, scale: if pixels == HUGE { 2.0 } else { 1.0 }, theme: Theme::Dark }
}

fn light(name: &'static str, pixels: [f32; 2]) -> Shot {
    Shot { theme: Theme::Light, ..dark(name, pixels) }
}

/// A farm that knows what a scene would become.
fn scene() -> PreparedFarm {
    let farm = busy();
    let preview = Preview {
        source: "/projects/sh010/sh010.blend".to_owned(),
        asset: Some("sh010".to_owned()),
        files: 7,
        size_bytes: 48 << 20,
        missing: vec!["//../library/tree.blend".to_owned()],
        scene: Some(ScenePreview {
            renderer: "blender".to_owned(),
            frames: "1-250".to_owned(),
            frame_count: 250,
            chunks: 50,
            command: "blender -b /projects/sh010/sh010.blend -noaudio --python-exit-code 7 -o \
                render/sh010_#### -x 1 -f 1..5"
                .to_owned(),
            at: None,
        }),
        notes: Vec::new(),
        refused: None,
    };
    farm.with(|farm| farm.previews.insert(vec![preview.source.clone().into()], vec![preview]));
    farm
}

fn long_names() -> PreparedFarm {
    let farm = PreparedFarm::default();
    let long = "the-very-long-name-of-an-asset-that-somebody-exported-from-a-scene-with-many-levels_final_v12_really_final";
    farm.edit(|model| {
        for id in 1..=9 {
            let at = Stage::ALL[id as usize % 7];
            insert(model, pipeline(id, &format!("{long}-{id}"), at, StageStatus::Running));
        }
        let row = pipeline(10, long, Stage::Inspect, StageStatus::DeadLettered);
        let why = "texture 'textures/a/very/deep/folder/with/names/that/do/not/end/wood_planks_worn_8k_basecolor.png' is named by the file but is not beside it, so the look would be broken";
        let letter = farm::dead_letter(900, &row, Reason::ReferenceMissing, why);
        model.dead_letters.insert(letter.job, Arc::new(letter));
        insert(model, row);
    });
    farm
}

#[test]
#[ignore = "writes pictures for people to look at; needs a Vulkan driver"]
fn pictures_of_the_window() {
    let nothing = |_: &mut Harness<'static, App>| {};
    let select = |name: &'static str| {
        move |window: &mut Harness<'static, App>| {
            window.get_by_label(name).click();
            window.run();
        }
    };
    let key = |key: Key| move |window: &mut Harness<'static, App>| window.key_press(key);
    shoot(&dark("empty-1280", SMALL), &PreparedFarm::default(), nothing);
    shoot(&light("empty-light-1280", SMALL), &PreparedFarm::default(), nothing);
    shoot(&dark("busy-1280", SMALL), &busy(), nothing);
    shoot(&light("busy-light-1280", SMALL), &busy(), nothing);
    shoot(&dark("selected-1280", SMALL), &busy(), select("dragon v4, Succeeded"));
    shoot(&light("selected-light-1920", FULL), &busy(), select("rice-terrace-dawn v3, Succeeded"));
    shoot(&dark("running-1920", FULL), &busy(), select("kite-sequence v1, Running"));
    shoot(&dark("dead-1280", SMALL), &busy(), select("bamboo-bridge v3, Dead letter"));
    shoot(&dark("jobs-1280", SMALL), &busy(), key(Key::Num2));
    shoot(&dark("workers-1280", SMALL), &busy(), key(Key::Num3));
    shoot(&dark("letters-1280", SMALL), &busy(), key(Key::Num4));
    shoot(&light("letters-light-1920", FULL), &busy(), |window| {
        window.key_press(Key::Num4);
        window.run();
        window.key_press(Key::ArrowDown);
    });
    shoot(&dark("huge-3840", HUGE), &busy(), select("dragon v4, Succeeded"));
    shoot(&light("narrow-900", [900.0, 520.0]), &busy(), select("stone-lion v2, Running"));
    shoot(&dark("help-1280", SMALL), &busy(), key(Key::Questionmark));
    shoot(&dark("submit-1280", SMALL), &busy(), |window| {
        window.get_by_label("Submit…").click();
    });
    shoot(&dark("submit-scene", SMALL), &scene(), |window| {
        window.get_by_label("Submit…").click();
        window.run_steps(4);
        window.get_by_label("Or paste paths, one a line").focus();
        window.run();
        window.event(eframe::egui::Event::Paste("/projects/sh010/sh010.blend".to_owned()));
    });
    shoot(&light("cancel-1280", SMALL), &busy(), |window| {
        window.get_by_label("stone-lion v2, Running").click();
        window.run();
        window.get_by_label("Cancel…").click();
    });
    watch_folders();
    shoot(&dark("long-1280", SMALL), &long_names(), key(Key::ArrowDown));
    shoot(&dark("long-letters-1280", SMALL), &long_names(), key(Key::Num4));
    shoot(&dark("nomatch-1280", SMALL), &busy(), |window| {
        window.key_press(Key::Slash);
        window.run();
        window.event(eframe::egui::Event::Text("zebra".to_owned()));
    });
    let many = PreparedFarm::default();
    many.edit(|model| {
        for id in 1..=100_000 {
            let at = Stage::ALL[id as usize % 7];
            insert(model, pipeline(id, "field", at, StageStatus::Succeeded));
        }
    });
    shoot(&dark("many-1920", FULL), &many, nothing);
    lost_and_notices();
}

fn watch_folders() {
    let tab = |window: &mut Harness<'static, App>| {
        window.key_press(Key::Num5);
        window.run();
    };
    shoot(&dark("watch-empty-1280", SMALL), &busy(), tab);
    shoot(&dark("watch-1280", SMALL), &watched(), tab);
    shoot(&light("watch-light-1920", FULL), &watched(), |window| {
        tab(window);
        window.get_by_label("dragon.glb, Done").click();
        window.run();
    });
    shoot(&dark("watch-refused-1280", SMALL), &watched(), |window| {
        tab(window);
        window.get_by_label("plates/sky.png, Refused").click();
        window.run();
    });
    shoot(&dark("watch-3840", HUGE), &watched(), |window| {
        tab(window);
        window.get_by_label("bamboo-bridge.gltf, Given up").click();
        window.run();
    });
    shoot(&dark("watch-add-1280", SMALL), &watched(), |window| {
        tab(window);
        window.get_by_label("Add a folder…").click();
        window.run_steps(8);
    });
    shoot(&light("watch-gone-1280", SMALL), &watched(), |window| {
        tab(window);
        window.get_by_label("Watch folder /mnt/share/incoming, gone: looking for it").click();
        window.run();
        window.get_by_label("Take all again…").click();
    });
}

fn lost_and_notices() {
    let farm = busy();
    farm.with(|farm| {
        farm.connection = Some(Connection::Lost { why: "connection refused".to_owned() });
        let notice = |is_error, text: &str, pipeline: Option<i64>| Notice {
            is_error,
            text: text.to_owned(),
            pipeline: pipeline.map(PipelineId),
        };
        farm.notices.push(notice(false, "Submitted rooster v1", Some(60)));
        let why = "heron.psd was refused: the format is not one that Sawah reads. Convert it to PNG, JPEG, TIFF, EXR or HDR";
        farm.notices.push(notice(true, why, None));
    });
    shoot(&dark("lost-1280", SMALL), &farm, |_| {});
    let farm = busy();
    shoot(&dark("drop-1280", SMALL), &farm, |window| {
        let file = eframe::egui::HoveredFile::default();
        window.input_mut().hovered_files.extend([file.clone(), file]);
    });
}
