//! The programs that make and check films, and how one is run to its end.

use crate::model::{Reason, limits};
use crate::protocol::work::Failure;
use crate::stages::Reporter;
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Most lines of ffmpeg's own words that go to the log.
const LOG_LINES: usize = 400;
/// Its last lines, which go into a message.
const LAST_LINES: usize = 3;
/// Lines that wait between ffmpeg and the log.
const WAITING_LINES: usize = 64;

/// The programs that make and check films.
#[derive(Debug, Clone, Default)]
pub(in crate::stages) struct Programs {
    pub(in crate::stages) ffmpeg: Option<PathBuf>,
    pub(in crate::stages) ffprobe: Option<PathBuf>,
}

/// A line of one of ffmpeg's two streams.
enum Line {
    Progress(String),
    Words(String),
}

impl Programs {
    /// Looks through `PATH`.
    pub(in crate::stages) fn find() -> Self {
        Self { ffmpeg: on_path("ffmpeg"), ffprobe: on_path("ffprobe") }
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(&file)).find(|path| path.is_file())
}

/// A program that did not start.
pub(super) fn start_failure(program: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        Reason::ProgramMissing,
        format!("a program could not be started: {error}. Install it again. {}", program.display()),
    )
}

/// The encoders of an ffmpeg.
#[derive(Debug)]
pub(super) struct Encoders(Option<HashSet<String>>);

impl Encoders {
    /// Asks it. One that cannot say has all: running it tells what is wrong with it.
    pub(super) fn of(ffmpeg: &Path) -> Result<Self, Failure> {
        let listed = Command::new(ffmpeg)
            .args(["-hide_banner", "-encoders"])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| start_failure(ffmpeg, &error))?;
        let text = String::from_utf8_lossy(&listed.stdout);
        let words = || text.split_whitespace().map(str::to_owned).collect();
        Ok(Self(listed.status.success().then(words)))
    }

    /// Whether it has the encoder of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|words| words.contains(name))
    }
}

/// Runs ffmpeg to its end: `feed` writes its input on a thread of its own, `tell` gets the frames
/// done, its words are logged.
pub(super) fn run(
    command: &mut Command,
    reporter: &dyn Reporter,
    feed: impl FnOnce(ChildStdin) -> Result<(), Failure> + Send,
    tell: impl FnMut(u32),
) -> Result<(), Failure> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = PathBuf::from(command.get_program());
    let failed = |error: std::io::Error| start_failure(&program, &error);
    let mut child = command.spawn().map_err(failed)?;
    let pipe = child.stdin.take();
    let heard = std::thread::scope(|scope| {
        let feeder = pipe.map(|pipe| {
            let builder = std::thread::Builder::new().name("film-frames".to_owned());
            builder.spawn_scoped(scope, move || feed(pipe))
        });
        let (sender, lines) = sync_channel(WAITING_LINES);
        let listening = listen(&mut child, sender);
        let heard = hear(&lines, reporter, tell);
        let given = match feeder {
            Some(Ok(feeder)) => feeder.join().unwrap_or_else(|_| Err(feeder_broke())),
            Some(Err(error)) => Err(failed(error)),
            None => Ok(()),
        };
        listening.map_err(failed)?;
        given.map(|()| heard)
    });
    let status = child.wait().map_err(failed)?;
    outcome(status, &heard?)
}

fn feeder_broke() -> Failure {
    Failure::new(Reason::Unexpected, "reading the frames for ffmpeg broke off. Report it")
}

/// What ffmpeg said.
struct Heard {
    ended: bool,
    last: Vec<String>,
}

fn hear(lines: &Receiver<Line>, reporter: &dyn Reporter, mut tell: impl FnMut(u32)) -> Heard {
    let (mut heard, mut logged) = (Heard { ended: false, last: Vec::new() }, 0);
    for line in lines {
        match line {
            Line::Progress(line) => {
                heard.ended |= line == "progress=end";
                let frame = line.strip_prefix("frame=").and_then(|text| text.trim().parse().ok());
                if let Some(frame) = frame {
                    tell(frame);
                }
            }
            Line::Words(line) => {
                logged += 1;
                if logged <= LOG_LINES {
                    reporter.log(&format!("ffmpeg: {line}"));
                } else if logged == LOG_LINES + 1 {
                    reporter.log("ffmpeg: further lines are left out");
                }
                if heard.last.len() == LAST_LINES {
                    heard.last.remove(0);
                }
                heard.last.push(line);
            }
        }
    }
    heard
}

fn outcome(status: ExitStatus, heard: &Heard) -> Result<(), Failure> {
    if status.success() && heard.ended {
        return Ok(());
    }
    let words = heard.last.join(" / ");
    if words.contains("No space left on device") {
        let why = format!(
            "ffmpeg could not write what it made: {words}. Free space on the worker's disk, then replay the job"
        );
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
