//! Films: runs ffmpeg over numbered pictures and counts what it made.

use super::Reporter;
use super::failure::failure_from_io;
use crate::model::{Reason, limits};
use crate::protocol::work::{Failure, Warning};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{SyncSender, sync_channel};

/// Most lines of ffmpeg's own words that go to the log.
const LOG_LINES: usize = 400;
/// Lines that wait between ffmpeg and the log.
const WAITING_LINES: usize = 64;
/// Even edges, and the colours that players expect of a film.
const FILTERS: &str = "pad=ceil(iw/2)*2:ceil(ih/2)*2,\
    scale=in_range=pc:out_range=tv:out_color_matrix=bt709,format=yuv420p";

/// The programs that make and check films.
#[derive(Debug, Clone, Default)]
pub(super) struct Programs {
    pub(super) ffmpeg: Option<PathBuf>,
    pub(super) ffprobe: Option<PathBuf>,
}

/// What to make a film of.
#[derive(Debug)]
pub(super) struct Film<'a> {
    /// The folder that `pattern` is relative to.
    pub(super) folder: &'a Path,
    /// `turntable/%04d.png`, from 1.
    pub(super) pattern: &'static str,
    pub(super) frames: u32,
    pub(super) fps: u32,
    pub(super) target: &'a Path,
}

/// A line of one of ffmpeg's two streams.
enum Line {
    Progress(String),
    Words(String),
}

impl Programs {
    /// Looks through `PATH`.
    pub(super) fn find() -> Self {
        Self { ffmpeg: on_path("ffmpeg"), ffprobe: on_path("ffprobe") }
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(&file)).find(|path| path.is_file())
}

/// Encodes a film beside its target, counts its frames and renames it. `tell` gets the frames done.
pub(super) fn encode(
    film: &Film<'_>,
    ffmpeg: &Path,
    ffprobe: Option<&Path>,
    reporter: &dyn Reporter,
    tell: impl FnMut(u32),
) -> Result<Vec<Warning>, Failure> {
    let mut warnings = Vec::new();
    let codec: &[&str] = if knows_x264(ffmpeg)? {
        &["libx264", "-preset", "medium", "-crf", "18"]
    } else {
        warnings.push(Warning {
            reason: Reason::ProgramMissing,
            message:
                "this ffmpeg lacks the libx264 encoder: the film is MPEG-4 part 2, which some \
                      players cannot show. Install an ffmpeg with libx264 on the worker"
                    .to_owned(),
        });
        &["mpeg4", "-q:v", "2"]
    };
    let mut part = film.target.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    run(&mut command(film, ffmpeg, codec, &part), film, reporter, tell)?;
    match ffprobe {
        Some(ffprobe) => check_count(ffprobe, &part, film.frames)?,
        None => reporter.log("ffprobe is not installed: the film's frames are not counted"),
    }
    std::fs::rename(&part, film.target)
        .map_err(|error| failure_from_io(&error, "the film could not be renamed", film.target))?;
    Ok(warnings)
}

fn command(film: &Film<'_>, ffmpeg: &Path, codec: &[&str], part: &Path) -> Command {
    let mut command = Command::new(ffmpeg);
    command
        // The pattern must not hold the folder: a '%' in its name would be read as a number.
        .current_dir(film.folder)
        .args(["-hide_banner", "-nostdin", "-y", "-loglevel", "warning", "-f", "image2"])
        .args(["-framerate", &film.fps.to_string(), "-start_number", "1", "-i", film.pattern])
        .args(["-frames:v", &film.frames.to_string(), "-vf", FILTERS, "-c:v"])
        .args(codec)
        .args(["-color_primaries", "bt709", "-color_trc", "bt709", "-colorspace", "bt709"])
        .args(["-movflags", "+faststart", "-progress", "pipe:1", "-nostats", "-f", "mp4"])
        .arg(part)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn knows_x264(ffmpeg: &Path) -> Result<bool, Failure> {
    let listed = Command::new(ffmpeg)
        .args(["-hide_banner", "-encoders"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| start_failure(ffmpeg, &error))?;
    Ok(String::from_utf8_lossy(&listed.stdout).split_whitespace().any(|word| word == "libx264"))
}

fn start_failure(program: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        Reason::ProgramMissing,
        format!("a program could not be started: {error}. Install it again. {}", program.display()),
    )
}

/// Runs ffmpeg to its end, its progress told and its words logged.
fn run(
    command: &mut Command,
    film: &Film<'_>,
    reporter: &dyn Reporter,
    mut tell: impl FnMut(u32),
) -> Result<(), Failure> {
    let program = PathBuf::from(command.get_program());
    let mut child = command.spawn().map_err(|error| start_failure(&program, &error))?;
    let (sender, lines) = sync_channel(WAITING_LINES);
    let listening = listen(&mut child, sender);
    let (mut ended, mut logged, mut last) = (false, 0, Vec::<String>::new());
    for line in lines {
        match line {
            Line::Progress(line) => {
                ended |= line == "progress=end";
                let frame = line.strip_prefix("frame=").and_then(|text| text.trim().parse().ok());
                if let Some(frame) = frame {
                    tell(u32::min(frame, film.frames));
                }
            }
            Line::Words(line) => {
                logged += 1;
                if logged <= LOG_LINES {
                    reporter.log(&format!("ffmpeg: {line}"));
                } else if logged == LOG_LINES + 1 {
                    reporter.log("ffmpeg: further lines are left out");
                }
                if last.len() == 3 {
                    last.remove(0);
                }
                last.push(line);
            }
        }
    }
    let status = child.wait();
    listening.map_err(|error| start_failure(&program, &error))?;
    let status = status.map_err(|error| start_failure(&program, &error))?;
    if status.success() && ended {
        return Ok(());
    }
    let words = last.join(" / ");
    if words.contains("No space left on device") {
        let why = format!("the film could not be written: {words}. {}", film.target.display());
        return Err(Failure::new(Reason::DiskFull, why));
    }
    Err(Failure::new(Reason::ProgramFailed, format!("ffmpeg failed ({status}): {words}")))
}

/// One named thread for each stream; they end with it.
fn listen(child: &mut Child, lines: SyncSender<Line>) -> std::io::Result<()> {
    let start = |name: &str, work: Box<dyn FnOnce() + Send>| {
        std::thread::Builder::new().name(name.to_owned()).spawn(work).map(|_| ())
    };
    if let Some(stream) = child.stdout.take() {
        let lines = lines.clone();
        start("ffmpeg-progress", Box::new(move || each_line(stream, &lines, Line::Progress)))?;
    }
    if let Some(stream) = child.stderr.take() {
        start("ffmpeg-words", Box::new(move || each_line(stream, &lines, Line::Words)))?;
    }
    Ok(())
}

/// Sends every line, cut at a bound; reads on to the end even if nobody listens, so that the child
/// never waits for us.
fn each_line(stream: impl Read, lines: &SyncSender<Line>, kind: fn(String) -> Line) {
    let mut stream = BufReader::new(stream);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let bound = limits::LOG_LINE_BYTES as u64;
        match stream.by_ref().take(bound).read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&bytes);
                let text = text.trim();
                if !text.is_empty() {
                    let _ = lines.send(kind(text.to_owned()));
                }
            }
        }
    }
}

/// ffmpeg ends without an error when its input has a gap: only counting tells.
fn check_count(ffprobe: &Path, film: &Path, expected: u32) -> Result<(), Failure> {
    let counted = Command::new(ffprobe)
        .args(["-v", "error", "-count_frames", "-select_streams", "v:0"])
        .args(["-show_entries", "stream=nb_read_frames", "-of", "csv=p=0"])
        .arg(film)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| start_failure(ffprobe, &error))?;
    let text = String::from_utf8_lossy(&counted.stdout);
    let frames: Option<u32> = text.trim().trim_end_matches(',').parse().ok();
    if frames == Some(expected) {
        return Ok(());
    }
    let found =
        frames.map_or_else(|| "no readable number of".to_owned(), |count| count.to_string());
    Err(Failure::new(
        Reason::OutputInvalid,
        format!(
            "the film has {found} frames, but {expected} were to be joined. {}",
            film.display()
        ),
    ))
}
