//! Blender: animations of Cycles and Workbench, and how they fail.

use super::table::{Case, End, check_all};
use super::{ONE_ATTEMPT, farm, film_frames, need, pictures, submit};
use crate::farm::{Farm, check_published};
use sawah::model::{Reason, Stage};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Scripts that spoil a render, by name.
const SCRIPTS: [(&str, &str); 4] = [
    ("raises.py", "raise KeyError('no such collection')\n"),
    ("crashes.py", "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"),
    (
        "walls.py",
        "import os, shutil, sys\n\
         folder = os.path.dirname(sys.argv[sys.argv.index('-o') + 1])\n\
         shutil.rmtree(folder)\nopen(folder, 'w').close()\n",
    ),
    (
        "crops.py",
        "import bpy\nrender = bpy.context.scene.render\n\
         render.use_border = render.use_crop_to_border = True\n\
         render.border_max_x = render.border_max_y = 0.5\n",
    ),
];

/// The scenes, made by Blender itself, once.
fn scenes() -> &'static Path {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            need("blender", "--version", "blender");
            let folder = tempfile::tempdir().expect("a folder can be made");
            let script = folder.path().join("make.py");
            fs::write(&script, include_str!("make.py")).expect("a script can be written");
            let mut blender = Command::new("blender");
            blender.args(["-b", "--factory-startup", "-noaudio", "--python-exit-code", "9"]);
            blender.arg("--python").arg(&script).arg("--").arg(folder.path());
            let made = blender.output().expect("Blender can be started");
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
            folder
        })
        .path()
}

/// A scene in a folder of its own, with what it needs, as far as that is named.
fn scene(farm: &Farm, folder: &str, name: &str, sides: &[&str]) -> PathBuf {
    let folder = farm.new_folder(folder);
    for name in sides.iter().chain([&name]) {
        fs::copy(scenes().join(name), folder.join(name)).expect("a scene can be copied");
    }
    folder.join(name)
}

async fn animation(
    farm: &Farm,
    name: &str,
    options: &[&str],
) -> sawah::protocol::view::PipelineDetail {
    let scene = scene(farm, name, &format!("{name}.blend"), &[]);
    let ran = submit(farm, &scene, &[options, &["--wait"]].concat(), &[]).await.expect_code(0);
    let detail = farm.pipeline(ran.pipeline()).await;
    check_published(&detail);
    detail
}

fn names(scene: &str, last: u32) -> Vec<String> {
    (1..=last).map(|frame| format!("render/{scene}_{frame:04}.png")).collect()
}

#[tokio::test]
async fn animations_of_cycles_and_workbench_become_checked_frames_and_films() {
    let (farm, _serve) = farm("blender", &[]).await;
    let _worker = farm.worker("render-01");
    let size = ["--set", "width=64", "--set", "height=48"];
    let cycles = ["--frames", "1-3", "--chunk", "2", "--set", "samples=2"];
    let (cycles, workbench) =
        ([&cycles[..], &size].concat(), [&["--chunk", "3"], &size[..]].concat());
    let (cycles, workbench) = tokio::join!(
        animation(&farm, "cycles", &cycles),
        // Its frames are those that the scene itself says.
        animation(&farm, "workbench", &workbench),
    );
    assert_eq!(pictures(&cycles), names("cycles", 3));
    assert_eq!(pictures(&workbench), names("workbench", 6));
    assert_eq!((film_frames(&cycles), film_frames(&workbench)), (3, 6));
    for detail in [cycles, workbench] {
        let render = detail.jobs.iter().filter(|job| job.job.stage == Stage::Render);
        for job in render {
            let by = job.drawn_by.as_deref().unwrap_or_default();
            assert!(by.starts_with("Blender "), "{by}");
            assert_eq!(job.warnings, [], "{job:#?}");
        }
    }
}

/// Scenes that inspect refuses, so that nothing is drawn of them.
fn refused(farm: &Farm) -> Vec<Case> {
    let case = |name: &'static str, scene, reason, words| Case {
        name,
        scene,
        options: vec!["--frames", "1-2"],
        program: Vec::new(),
        end: End::Dead(Stage::Inspect, reason, words),
    };
    let garbage = farm.new_folder("garbage").join("garbage.blend");
    fs::write(&garbage, "no scene at all\n".repeat(64)).expect("a file can be written");
    let (linked, painted) =
        (scene(farm, "linked", "linked.blend", &[]), scene(farm, "painted", "painted.blend", &[]));
    vec![
        case("no-library", linked, Reason::ReferenceMissing, &["//crate.blend", "missing=warn"]),
        case("no-texture", painted, Reason::ReferenceMissing, &["//wood.png", "missing=warn"]),
        case("garbage", garbage, Reason::SceneCorrupt, &["none"]),
    ]
}

/// Scenes that are drawn, or fail while they are.
fn tried(farm: &Farm) -> Vec<Case> {
    let case = |name: &'static str, of: &str, more: &[&'static str], end| {
        let path = scene(farm, name, &format!("{of}.blend"), &[]);
        let folder = path.parent().expect("it has a folder");
        for (script, text) in SCRIPTS {
            fs::write(folder.join(script), text).expect("a script can be written");
        }
        let options = ["--frames", "1-2", "--set", "samples=1"].iter().chain(more).copied();
        Case { name, scene: path, options: options.collect(), program: Vec::new(), end }
    };
    let dead = |reason, words| End::Dead(Stage::Render, reason, words);
    let new = case("newer", "cycles", &[], dead(Reason::SceneTooNew, &["3.6", "3.4"]));
    let mut bytes = fs::read(&new.scene).expect("the scene can be read");
    assert_eq!(bytes.get(9..12), Some(&b"304"[..]), "the header of Blender 3.4");
    bytes.splice(9..12, *b"306");
    fs::write(&new.scene, bytes).expect("the scene can be written");
    let warned = ["--set", "missing=warn"];
    let missing = End::Good(&[Reason::ReferenceMissing]);
    let magenta = End::Good(&[Reason::ReferenceMissing, Reason::OutputDegraded]);
    let size = ["--set", "script=crops.py", "--set", "width=64", "--set", "height=48"];
    let scripted = |name: &'static str, script: &'static str, end| {
        case(name, "cycles", &["--set", script], end)
    };
    let mut cases = vec![
        new,
        case("library-warned", "linked", &warned, missing),
        case("texture-warned", "painted", &warned, magenta),
        case("denoised", "denoised", &[], dead(Reason::DenoiserMissing, &["frames 1-2"])),
        case("blind", "blind", &[], dead(Reason::CameraMissing, &["frames 1-2"])),
        scripted(
            "raises",
            "script=raises.py",
            dead(Reason::ScriptError, &["KeyError: 'no such collection'"]),
        ),
        scripted("crashes", "script=crashes.py", dead(Reason::ProcessCrashed, &["frames 1-2"])),
        scripted("walls", "script=walls.py", dead(Reason::OutputUnwritable, &["frames 1-2"])),
        case("crops", "cycles", &size, dead(Reason::OutputInvalid, &["32 × 24", "frames 1-2"])),
    ];
    for case in &mut cases {
        let folder = case.scene.parent().expect("it has a folder");
        let script = case.options.iter().find_map(|option| option.strip_prefix("script="));
        if let Some(script) = script {
            let path = folder.join(script).to_string_lossy().into_owned();
            case.options.extend(["--with", path.leak()]);
        }
    }
    cases
}

#[tokio::test]
async fn a_failing_blender_is_told_by_its_cause_and_its_frames() {
    let (farm, _serve) = farm("blender-fails", &[("once", ONE_ATTEMPT)]).await;
    let _worker = farm.worker("render-01");
    let mut cases = refused(&farm);
    cases.extend(tried(&farm));
    check_all(&farm, cases).await;
}
