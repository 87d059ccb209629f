//! Pictures beside other viewers and converters: cold, warm, and of EXR.

use super::book::{Book, Unit};
use super::programs::is_there;
use super::{BenchError, Plan};
use crate::cli::output;
use crate::clock::Stopwatch;
use crate::preview::{DrawOn, LinearImage, write_png};
use crate::stages::formats::write_exr;
use crate::stages::glance::glance;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Models that are measured.
const MODELS: usize = 10;
/// Files of the folder that are tried for them.
const TRIED: usize = 200;
/// Edge of the pictures.
const PX: u32 = 512;
/// Pictures of each model in one process.
const WARM_ROUNDS: usize = 3;
/// Size of the EXR.
const EXR: (u32, u32) = (2_048, 1_080);
/// Times that each conversion is measured; the middle one counts.
const ROUNDS: usize = 3;
/// Draws each model that it is given with f3d in one process, and prints the milliseconds.
const F3D_WARM: &str = include_str!("f3d_warm.py");

const COLD: &str = "cold picture 512²";
const WARM: &str = "warm picture 512²";
const PNG: &str = "EXR 2048×1080 to PNG";
const THUMB: &str = "EXR 2048×1080 to 512 px";

/// Measures the models of a folder that both can draw, and an EXR made for it.
pub(super) fn measure(models: &Path, plan: &Plan, book: &mut Book) -> Result<(), BenchError> {
    let sawah = std::env::current_exe()?;
    let picture = plan.folder.join("picture.png");
    let other = is_there("f3d");
    if !other {
        output::note("f3d is not in the path and is left out: apt install f3d xvfb");
    }
    let chosen = choose(models, other, &picture)?;
    output::note(&format!("Drawing {} models", chosen.len()));
    cold(&sawah, &chosen, other, &picture, book)?;
    warm(&chosen, &picture, book)?;
    output::note("Converting an EXR");
    images(&sawah, plan, book)
}

/// Models that can be drawn, by both where the other is there.
fn choose(folder: &Path, other: bool, picture: &Path) -> Result<Vec<PathBuf>, BenchError> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let is_drawn = |file: &PathBuf| {
        let is_mesh = glance(file, PX, DrawOn::Best).is_ok_and(|one| one.record.camera.is_some());
        is_mesh && (!other || timed(f3d(file, picture)).is_ok())
    };
    let chosen: Vec<PathBuf> =
        files.into_iter().take(TRIED).filter(is_drawn).take(MODELS).collect();
    if chosen.is_empty() {
        let why = format!("no file of {} can be drawn", folder.display());
        return Err(BenchError::Nothing(why));
    }
    Ok(chosen)
}

fn f3d(file: &Path, picture: &Path) -> Command {
    let mut command = Command::new("f3d");
    command.arg("--output").arg(picture).args(["--resolution", "512,512"]).arg(file);
    command
}

fn cold(
    sawah: &Path,
    models: &[PathBuf],
    other: bool,
    picture: &Path,
    book: &mut Book,
) -> Result<(), BenchError> {
    let preview = |file: &PathBuf| {
        let mut command = Command::new(sawah);
        command.arg("preview").arg(file).args(["--size", "512", "--out"]).arg(picture);
        timed(command)
    };
    let others = |file: &PathBuf| timed(f3d(file, picture));
    if other {
        let took = models.iter().map(others).collect::<Result<Vec<_>, _>>()?;
        book.add(COLD, "f3d", median(took), Unit::Milliseconds);
    }
    let took = models.iter().map(preview).collect::<Result<Vec<_>, _>>()?;
    book.compare(COLD, "sawah preview", median(took), Unit::Milliseconds, (COLD, "f3d"));
    Ok(())
}

fn warm(models: &[PathBuf], picture: &Path, book: &mut Book) -> Result<(), BenchError> {
    let mut python = Command::new("python3");
    python.arg("-c").arg(F3D_WARM).arg(picture).args(models);
    match python.stdin(Stdio::null()).stderr(Stdio::null()).output() {
        Ok(told) if told.status.success() => {
            let text = String::from_utf8_lossy(&told.stdout);
            // What the library itself prints is no number.
            let took = text.lines().filter_map(|line| line.trim().parse().ok());
            let took = took.map(|ms: f64| Duration::from_secs_f64(ms.max(0.0) / 1_000.0)).collect();
            book.add(WARM, "f3d in one process", median(took), Unit::Milliseconds);
        }
        _ => output::note("f3d's Python module is left out: pip install f3d"),
    }
    let mut took = Vec::new();
    for round in 0..=WARM_ROUNDS {
        for model in models {
            let watch = Stopwatch::start();
            let drawn = glance(model, PX, DrawOn::Best);
            let drawn = drawn.map_err(|failure| BenchError::Nothing(failure.message))?;
            let written = write_png(&drawn.picture, picture);
            written.map_err(|error| BenchError::Nothing(error.to_string()))?;
            // The first round warms.
            if round > 0 {
                took.push(watch.elapsed());
            }
        }
    }
    let other = (WARM, "f3d in one process");
    book.compare(WARM, "sawah in one process", median(took), Unit::Milliseconds, other);
    Ok(())
}

fn images(sawah: &Path, plan: &Plan, book: &mut Book) -> Result<(), BenchError> {
    let file = plan.folder.join("light.exr");
    write_exr(&sky(), &file)?;
    let out = plan.folder.join("out.png");
    for (area, px) in [(PNG, "2048"), (THUMB, "512")] {
        let is_small = area == THUMB;
        let mut ffmpeg: Vec<&OsStr> = ["-v", "error", "-y", "-i"].map(OsStr::new).to_vec();
        ffmpeg.push(file.as_os_str());
        if is_small {
            ffmpeg.extend(["-vf", "scale=512:-1"].map(OsStr::new));
        }
        ffmpeg.push(out.as_os_str());
        let mut oiio = vec![file.as_os_str()];
        if is_small {
            oiio.extend(["--resize", "512x270"].map(OsStr::new));
        }
        oiio.extend([OsStr::new("-o"), out.as_os_str()]);
        for (program, arguments) in [("ffmpeg", ffmpeg), ("oiiotool", oiio)] {
            if is_there(program) {
                let took = middle(Path::new(program), &arguments)?;
                book.add(area, program, took, Unit::Milliseconds);
            }
        }
        let ours = ["preview", "--size", px, "--out"].map(OsStr::new);
        let ours = [&ours[..], &[out.as_os_str(), file.as_os_str()]].concat();
        let took = middle(sawah, &ours)?;
        book.compare(area, "sawah preview", took, Unit::Milliseconds, (area, "ffmpeg"));
        let again = "sawah preview (again)";
        book.compare(area, again, took, Unit::Milliseconds, (area, "oiiotool"));
    }
    Ok(())
}

/// Something with gradients, edges and light above white.
fn sky() -> LinearImage {
    let (width, height) = EXR;
    let pixel = |index: u32| {
        let (x, y) = (index % width, index / width);
        let (u, v) = (x as f32 / width as f32, y as f32 / height as f32);
        let grain = (x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503)) % 255;
        let sun = if (u - 0.5).hypot(v - 0.4) < 0.08 { 40.0 } else { 0.0 };
        [u + sun, v * 0.6 + sun, 1.0 - v + grain as f32 / 2_550.0, 1.0]
    };
    LinearImage { width, height, pixels: (0..width * height).map(pixel).collect() }
}

fn middle(program: &Path, arguments: &[&OsStr]) -> Result<f64, BenchError> {
    let run = |_| {
        let mut command = Command::new(program);
        command.args(arguments);
        timed(command)
    };
    Ok(median((0..ROUNDS).map(run).collect::<Result<Vec<_>, _>>()?))
}

/// How long a program takes that must succeed.
fn timed(mut command: Command) -> Result<Duration, BenchError> {
    let watch = Stopwatch::start();
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = quiet.status()?;
    if status.success() {
        return Ok(watch.elapsed());
    }
    let program = command.get_program().to_string_lossy();
    Err(BenchError::Nothing(format!("{program} ended with {status}")))
}

/// The middle one, in milliseconds.
fn median(mut took: Vec<Duration>) -> f64 {
    took.sort_unstable();
    took.get(took.len() / 2).map_or(0.0, Duration::as_secs_f64) * 1_000.0
}
