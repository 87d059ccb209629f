//! `sawah preview`: pictures of files, without a farm.

#![expect(clippy::doc_markdown, reason = "these comments are help texts, shown as they are")]

use super::deep;
use super::error::{CliError, Exit};
use super::look::LookArguments;
use super::output;
use super::scene_look::SceneArguments;
use super::words;
use crate::clock::Stopwatch;
use crate::preview::{Cell, DrawOn, Picture, contact_sheet, write_png};
use crate::programs::tree::own_memory_bytes;
use crate::protocol::work::Failure;
use crate::stages::glance::{self, Glance, Record, Wish};
use crate::stages::view::Detail;
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  sawah preview dragon.glb
  sawah preview --out pictures --size 1024 *.obj *.exr
  sawah preview --sheet gallery.png models/*.glb
  sawah preview clip.mp4
  sawah preview render.exr --exposure -2 --tone-map agx
  sawah preview render.exr --layer ViewLayer.Depth --false-color
  sawah preview render.exr --mark --channel alpha --json
  sawah preview dragon.glb --pass wireframe --transparent
  sawah preview walk.glb --time 1.5
  sawah preview dragon.glb --json";

/// Most pictures in one row of a sheet.
const COLUMNS: u32 = 6;

/// Draw pictures of meshes, images and films, as the farm would, without one
///
/// Exit code 1 if a file cannot be drawn; the others are.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct PreviewArguments {
    /// Meshes, images, and films (MP4, MOV, MKV, WebM; a frame of them, by ffmpeg)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where the pictures go: a folder, or a file for a single picture [default: here, as NAME.preview.png]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Longest edge in pixels
    #[arg(long, default_value_t = 512, value_name = "PX", value_parser = clap::value_parser!(u32).range(1..=8192))]
    size: u32,
    /// One picture of all, in rows, instead of a picture for each
    #[arg(long, value_name = "FILE", conflicts_with = "out")]
    sheet: Option<PathBuf>,
    /// Draw on the processor
    #[arg(long)]
    cpu: bool,
    #[command(flatten)]
    look: LookArguments,
    #[command(flatten)]
    scene: SceneArguments,
}

/// What became of one file.
#[derive(Serialize)]
struct Row {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    record: Option<Record>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<Failure>,
    /// Writing the picture.
    encode_ms: f64,
    /// What this process holds after it.
    held: Held,
}

#[derive(Default, Serialize)]
struct Held {
    memory_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_files: Option<usize>,
}

impl Held {
    fn now() -> Self {
        let files = std::fs::read_dir("/proc/self/fd").ok();
        Self { memory_bytes: own_memory_bytes(), open_files: files.map(Iterator::count) }
    }
}

#[derive(Serialize)]
struct Previews {
    previews: Vec<Row>,
}

pub(super) fn run(arguments: &PreviewArguments, json: bool) -> Result<Exit, CliError> {
    deep::run(|| draw_all(arguments, json))
}

fn draw_all(arguments: &PreviewArguments, json: bool) -> Result<Exit, CliError> {
    let on = if arguments.cpu { DrawOn::Cpu } else { DrawOn::Best };
    let wish = Wish {
        view: arguments.look.wish(if json { Detail::Measures } else { Detail::Little }),
        scene: arguments.scene.wish(),
    };
    let (mut rows, mut cells) = (Vec::new(), Vec::new());
    for (file, number) in arguments.files.iter().zip(1_i64..) {
        let mut row = Row {
            file: file.display().to_string(),
            picture: None,
            width: None,
            height: None,
            record: None,
            refused: None,
            encode_ms: 0.0,
            held: Held::default(),
        };
        match glance::glance_as(file, arguments.size, on, &wish) {
            Ok(Glance { picture, record }) => {
                (row.width, row.height) = (Some(picture.width), Some(picture.height));
                row.record = Some(record);
                if arguments.sheet.is_some() {
                    cells.push(Cell { picture, number });
                } else {
                    let watch = Stopwatch::start();
                    row.picture = Some(save(&picture, target(arguments, file)?)?);
                    row.encode_ms = watch.elapsed().as_secs_f64() * 1_000.0;
                }
            }
            Err(failure) => row.refused = Some(failure),
        }
        row.held = Held::now();
        if !json {
            tell(&row, number, arguments.sheet.is_some())?;
        }
        rows.push(row);
    }
    if let Some(sheet) = &arguments.sheet
        && !cells.is_empty()
    {
        let rows = cells.len().isqrt().max(1);
        let columns = u32::try_from(cells.len().div_ceil(rows)).unwrap_or(COLUMNS).min(COLUMNS);
        save(&contact_sheet(&cells, columns), sheet.clone())?;
    }
    let failed = rows.iter().any(|row| row.refused.is_some());
    if json {
        output::json(&Previews { previews: rows })?;
    }
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

/// Where the picture of a file goes.
fn target(arguments: &PreviewArguments, file: &Path) -> Result<PathBuf, CliError> {
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let name = format!("{name}.preview.png");
    let Some(out) = &arguments.out else { return Ok(name.into()) };
    let is_file = out.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("png"));
    if is_file && arguments.files.len() == 1 && !out.is_dir() {
        return Ok(out.clone());
    }
    std::fs::create_dir_all(out).map_err(|error| {
        CliError::failed(&format!("the folder cannot be made: {error}: {}", out.display()))
    })?;
    Ok(out.join(name))
}

fn save(picture: &Picture, path: PathBuf) -> Result<PathBuf, CliError> {
    write_png(picture, &path).map_err(|error| CliError::failed(&error))?;
    Ok(path)
}

fn tell(row: &Row, number: i64, on_sheet: bool) -> Result<(), CliError> {
    let file = output::one_line(&row.file);
    if let Some(failure) = &row.refused {
        output::note(&format!("{file}: {}", words::failure(failure)));
        return Ok(());
    }
    let warnings = row.record.iter().flat_map(|record| &record.warnings);
    for warning in warnings {
        output::note(&format!("{file}: {}", warning.message));
    }
    let place = row.picture.as_ref().map(|path| path.display().to_string());
    let place = place.unwrap_or_else(|| format!("number {number}"));
    if on_sheet || row.picture.is_some() {
        output::line(&format!("{file}: {place}"))?;
    }
    Ok(())
}
