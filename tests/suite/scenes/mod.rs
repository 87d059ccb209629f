//! Scenes through the farm: real programs draw them, or fail for real.
#![cfg(target_os = "linux")]

mod blender;
mod command;
mod film;
mod gone;
mod in_place;
mod keeping;
mod povray;
mod range;
mod table;

use crate::farm::{Farm, Process};
use crate::ran::Ran;
use sawah::protocol::view::PipelineDetail;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Every class of failure ends a job at once.
const ONE_ATTEMPT: &str = "[stages.retry.transient]\nattempts = 1\n\
    [stages.retry.intervention]\nattempts = 1\n[stages.retry.unknown]\nattempts = 1\n";
/// A second attempt comes at once.
const TWO_ATTEMPTS: &str = "[stages.retry.unknown]\nattempts = 2\nwaits_s = [0]\n";

/// A recipe for scenes that makes no film; `render` are further lines of its render stage.
fn recipe(name: &str, render: &str) -> String {
    format!(
        "name = '{name}'\ndescription = 'for a test'\n\
         [settings]\nstill_px = 64\nthumbnails_px = [32]\nfilm = 'never'\n\
         [[stages]]\nstage = 'ingest'\n[[stages]]\nstage = 'inspect'\n\
         [[stages]]\nstage = 'render'\n{render}\
         [[stages]]\nstage = 'assemble'\n[[stages]]\nstage = 'publish'\n\
         [[stages]]\nstage = 'cleanup'\n"
    )
}

/// A farm with these recipes of its own, and its coordinator.
async fn farm(name: &'static str, recipes: &[(&str, &str)]) -> (Farm, Process) {
    let mut farm = Farm::new(name)
        .with("SAWAH_LEASE_MS", "6000")
        .with("SAWAH_HEARTBEAT_MS", "500")
        .with("SAWAH_LOG", "warn");
    let folder = farm.new_folder("config/sawah/recipes");
    for (name, render) in recipes {
        let path = folder.join(format!("{name}.toml"));
        fs::write(path, recipe(name, render)).expect("a recipe can be written");
    }
    let serve = farm.serve().await;
    (farm, serve)
}

/// Hands in a scene: options first, then the arguments of its program.
async fn submit(farm: &Farm, scene: &Path, options: &[&str], program: &[String]) -> Ran {
    let mut args: Vec<OsString> = ["submit", "--json"].map(OsString::from).to_vec();
    args.extend(options.iter().map(OsString::from));
    args.push(scene.into());
    if !program.is_empty() {
        args.push("--".into());
        args.extend(program.iter().map(OsString::from));
    }
    farm.run(args).await
}

/// Ends the test unless this program can be started.
fn need(program: &str, version: &str, package: &str) {
    let started = Command::new(program).arg(version).output();
    assert!(started.is_ok(), "{program} is needed: apt install {package}");
}

/// Python itself, whatever stands before it in the path.
fn python() -> &'static str {
    static PYTHON: OnceLock<String> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let say = ["-c", "import sys; print(sys.executable)"];
        let said = Command::new("python3").args(say).output();
        let said = said.expect("python3 is needed: apt install python3");
        String::from_utf8_lossy(&said.stdout).trim().to_owned()
    })
}

/// The program that draws as it is told, in a folder of its own.
fn painter(farm: &Farm) -> PathBuf {
    let path = farm.new_folder("painter").join("draw.py");
    fs::write(&path, include_str!("draw.py")).expect("a program can be written");
    path
}

/// The arguments with which `painter` draws.
fn paints(how: &str, place: Option<&Path>) -> Vec<String> {
    let words = [python(), "{scene}", "{frames}", "{out}", how].map(str::to_owned);
    words.into_iter().chain(place.map(|place| place.to_string_lossy().into_owned())).collect()
}

/// The pictures of a scene that were published, by name.
fn pictures(detail: &PipelineDetail) -> Vec<String> {
    let names = detail.published.iter().map(|file| file.output.clone());
    names.filter(|name| name.starts_with("render/")).collect()
}

/// A published film's number of frames, counted by ffprobe.
fn film_frames(detail: &PipelineDetail) -> u32 {
    let is_film = |name: &str| Path::new(name).extension().is_some_and(|suffix| suffix == "mp4");
    let film = detail.published.iter().find(|file| is_film(&file.output));
    let film = film.and_then(|film| film.path.clone()).expect("a film was published");
    let mut probe = Command::new("ffprobe");
    probe.args(["-v", "error", "-count_frames", "-select_streams", "v:0", "-of", "csv=p=0"]);
    probe.args(["-show_entries", "stream=nb_read_frames"]).arg(film);
    let told = probe.output().expect("ffprobe is needed: apt install ffmpeg");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    told.trim().trim_end_matches(',').parse().unwrap_or_else(|_| panic!("ffprobe says '{told}'"))
}
