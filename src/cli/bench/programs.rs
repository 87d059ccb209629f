//! What the farm adds to the programs that it runs: light frames of Blender beside Blender by hand,
//! and trivial commands beside `xargs`.

use super::book::{Book, Unit};
use super::crew::Crew;
use super::timing::rate;
use super::{BenchError, Context, Plan};
use crate::cli::output;
use crate::client::intake::SceneOrder;
use crate::clock::Stopwatch;
use crate::model::frames::{Dialect, FrameList};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// Makes the scene whose frames are drawn.
const SCENE: &str = include_str!("light_scene.py");
/// Frames of a usual and a quick run; the scene has this many.
const FRAMES: usize = 40;
const QUICK_FRAMES: usize = 8;
/// Commands of a usual and a quick run.
const COMMANDS: usize = 2_000;
const QUICK_COMMANDS: usize = 200;
/// Slots of the worker that runs them, and processes of `xargs`.
const COMMAND_SLOTS: u32 = 2;

const LIGHT: &str = "light frames";
const TRIVIAL: &str = "trivial commands";
const BY_HAND: &str = "blender -a by hand";
const ONE_BY_ONE: &str = "one blender for each frame";

/// Measures what this machine has the programs for.
pub(super) async fn measure(
    context: &Context,
    plan: &Plan,
    book: &mut Book,
) -> Result<(), BenchError> {
    if is_there("blender") {
        light_frames(context, plan, book).await?;
    } else {
        output::note("Blender is not in the path and is left out: apt install blender");
    }
    if is_there("xargs") && is_there("true") {
        commands(context, plan, book).await
    } else {
        output::note("xargs is not in the path and is left out: apt install findutils");
        Ok(())
    }
}

/// Whether a program is in the path.
pub(super) fn is_there(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

async fn light_frames(context: &Context, plan: &Plan, book: &mut Book) -> Result<(), BenchError> {
    let frames = if plan.quick { QUICK_FRAMES } else { FRAMES };
    let folder = plan.folder.join("light");
    std::fs::create_dir_all(&folder)?;
    let script = folder.join("make.py");
    std::fs::write(&script, SCENE)?;
    let scene = folder.join("light.blend");
    let make = [Path::new("-b"), Path::new("--factory-startup"), Path::new("--python")];
    by_hand(Command::new("blender").args(make).arg(&script).arg("--").arg(&scene)).await?;
    let out = folder.join("hand_####");
    let blender = || {
        let mut command = Command::new("blender");
        command.arg("-b").arg(&scene).args(["-noaudio", "-x", "1", "-o"]).arg(&out);
        command
    };
    output::note(&format!("Drawing {frames} light frames by Blender alone"));
    // The first start reads the program from the disk.
    by_hand(blender().args(["-f", "1"])).await?;
    let last = frames.to_string();
    let all = by_hand(blender().args(["-s", "1", "-e", &last, "-a"])).await?;
    book.add(LIGHT, BY_HAND, milliseconds(all), Unit::Milliseconds);
    let watch = Stopwatch::start();
    for frame in 1..=frames {
        by_hand(blender().args(["-f", &frame.to_string()])).await?;
    }
    book.add(LIGHT, ONE_BY_ONE, milliseconds(watch.elapsed()), Unit::Milliseconds);
    for chunk in [None, Some(1)] {
        let name =
            chunk.map_or("farm, usual chunks".to_owned(), |size| format!("farm, chunks of {size}"));
        output::note(&format!("Drawing {frames} light frames: {name}"));
        let folder = plan.folder.join(format!("light-{}", chunk.unwrap_or_default()));
        let order = SceneOrder { frames: Some(range(frames)?), chunk, ..SceneOrder::default() };
        let mut crew = Crew::start(context, &folder, 1).await?;
        let took = crew.draw(&scene, order).await?;
        crew.stop().await?;
        book.compare(LIGHT, &name, milliseconds(took), Unit::Milliseconds, (LIGHT, BY_HAND));
        let name = format!("{name} (again)");
        book.compare(LIGHT, &name, milliseconds(took), Unit::Milliseconds, (LIGHT, ONE_BY_ONE));
    }
    Ok(())
}

async fn commands(context: &Context, plan: &Plan, book: &mut Book) -> Result<(), BenchError> {
    let count = if plan.quick { QUICK_COMMANDS } else { COMMANDS };
    output::note(&format!("Running {count} trivial commands"));
    let bare = format!("true by xargs -P{COMMAND_SLOTS}");
    let took = xargs(count).await?;
    book.add(TRIVIAL, &bare, rate(count, took), Unit::PerSecond);
    let folder = plan.folder.join("trivial");
    let mut crew = Crew::start(context, &folder, COMMAND_SLOTS).await?;
    let order = SceneOrder {
        renderer: Some("command".to_owned()),
        frames: Some(range(count)?),
        chunk: Some(1),
        arguments: vec!["true".to_owned()],
        ..SceneOrder::default()
    };
    let took = crew.draw(&something(&folder)?, order).await?;
    crew.stop().await?;
    let name = format!("true through the farm, {COMMAND_SLOTS} slots");
    book.compare(TRIVIAL, &name, rate(count, took), Unit::PerSecond, (TRIVIAL, &bare));
    Ok(())
}

/// A file to hand in.
fn something(folder: &Path) -> Result<PathBuf, BenchError> {
    let path = folder.join("trivial.txt");
    std::fs::write(&path, "nothing to draw\n")?;
    Ok(path)
}

/// One `true` for each line.
async fn xargs(count: usize) -> Result<Duration, BenchError> {
    let lines = "x\n".repeat(count);
    let watch = Stopwatch::start();
    let mut child = Command::new("xargs")
        .args([&format!("-P{COMMAND_SLOTS}"), "-n1", "true"])
        .stdin(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(lines.as_bytes()).await?;
    }
    if !child.wait().await?.success() {
        return Err(BenchError::Nothing("xargs failed".to_owned()));
    }
    Ok(watch.elapsed())
}

/// Runs a program to its end.
async fn by_hand(command: &mut Command) -> Result<Duration, BenchError> {
    let watch = Stopwatch::start();
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = quiet.kill_on_drop(true).status().await?;
    if !status.success() {
        return Err(BenchError::Nothing(format!("a program by hand ended with {status}")));
    }
    Ok(watch.elapsed())
}

fn range(frames: usize) -> Result<FrameList, BenchError> {
    let read = FrameList::parse(&format!("1-{frames}"), Dialect::Sawah);
    read.map(|read| read.frames).map_err(|error| BenchError::Nothing(error.to_string()))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
