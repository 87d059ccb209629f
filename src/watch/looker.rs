//! Looks into files that name others. What it reads is foreign, so a child process does it: under
//! a memory limit and a time limit, and a crash of it is an answer like any other.

use crate::intake::{self, Handover, Plan, Refusal};
use crate::model::Reason;
use crate::renderers::Library;
use crate::stages::host::limit_memory;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long one look may take.
const LOOK_TIME: Duration = Duration::from_mins(1);
/// Memory that a looking child may ask for.
const MEMORY_BYTES: u64 = 4 << 30;
/// Longest answer: a plan names at most some ten thousand files.
const LINE_BYTES: u64 = 64 << 20;

/// One who looks.
pub enum Looker {
    /// In this process, for tests of what has nothing to do with children.
    #[cfg(test)]
    Here(Arc<Library>),
    /// In a child process, which stays for the next look.
    Child {
        /// This program.
        program: PathBuf,
        /// The user's own renderer profiles.
        profiles_dir: PathBuf,
        /// The child, where one runs.
        running: Mutex<Option<Running>>,
    },
}

/// A child that looks.
pub struct Running {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<io::Result<String>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a child is asked.
#[derive(Debug, Serialize, Deserialize)]
struct Request {
    #[serde(with = "crate::intake::native_path")]
    path: PathBuf,
    settings: BTreeMap<String, String>,
}

impl Looker {
    /// One who looks by a child of this program.
    pub fn child(program: PathBuf, profiles_dir: PathBuf) -> Self {
        Self::Child { program, profiles_dir, running: Mutex::new(None) }
    }

    /// The file with all that it names, or why it cannot be handed in. Blocks.
    pub fn look(&self, path: &Path, settings: &BTreeMap<String, String>) -> Result<Plan, Refusal> {
        match self {
            #[cfg(test)]
            Self::Here(renderers) => here(path, settings, renderers),
            Self::Child { program, profiles_dir, running } => {
                let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
                let request = Request { path: path.to_owned(), settings: settings.clone() };
                match ask(&mut running, program, profiles_dir, &request) {
                    Ok(answer) => answer,
                    Err(why) => {
                        // Whatever it is at now, the next look gets a fresh one.
                        *running = None;
                        Err(Refusal {
                            reason: Reason::ProcessCrashed,
                            message: format!(
                                "the file cannot be looked into, {why}: {}",
                                path.display()
                            ),
                        })
                    }
                }
            }
        }
    }
}

fn here(
    path: &Path,
    settings: &BTreeMap<String, String>,
    renderers: &Arc<Library>,
) -> Result<Plan, Refusal> {
    let handover = Handover {
        settings: settings.clone(),
        renderers: Arc::clone(renderers),
        ..Handover::bare(vec![path.to_owned()])
    };
    intake::plan_one(path, &handover)
}

fn ask(
    running: &mut Option<Running>,
    program: &Path,
    profiles_dir: &Path,
    request: &Request,
) -> Result<Result<Plan, Refusal>, String> {
    let mut line = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    line.push(b'\n');
    let child = match running {
        Some(child) => child,
        None => running.insert(
            start(program, profiles_dir)
                .map_err(|error| format!("its reader does not start ({error})"))?,
        ),
    };
    child.requests.write_all(&line).map_err(|error| format!("its reader ended ({error})"))?;
    let answer = child
        .answers
        .recv_timeout(LOOK_TIME)
        .map_err(|_| "its reader ended or took too long".to_owned())?
        .map_err(|error| format!("its reader ended ({error})"))?;
    serde_json::from_str(&answer)
        .map_err(|error| format!("its reader cannot be understood ({error})"))
}

fn start(program: &Path, profiles_dir: &Path) -> io::Result<Running> {
    let mut child = Command::new(program)
        .arg("look")
        .arg(profiles_dir)
        .env_remove("SAWAH_TOKEN")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (Some(requests), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("it has no pipes"));
    };
    let (sender, answers) = sync_channel(1);
    let mut lines = Answers(BufReader::new(output));
    // Ends with the child, whose output it reads.
    std::thread::Builder::new().name("watch-looker".to_owned()).spawn(move || {
        loop {
            let line = lines.next();
            let is_last = line.is_err();
            if sender.send(line).is_err() || is_last {
                return;
            }
        }
    })?;
    Ok(Running { child, requests, answers })
}

struct Answers(BufReader<ChildStdout>);

impl Answers {
    fn next(&mut self) -> io::Result<String> {
        let mut line = String::new();
        io::Read::take(&mut self.0, LINE_BYTES).read_line(&mut line)?;
        if line.ends_with('\n') { Ok(line) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// The child: answers each line of standard input until it ends.
pub fn main(profiles_dir: &Path) -> ExitCode {
    if limit_memory(MEMORY_BYTES).is_err() {
        return ExitCode::FAILURE;
    }
    let renderers = Arc::new(Library::load(Some(profiles_dir)).unwrap_or_default());
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { return ExitCode::FAILURE };
        let Ok(request) = serde_json::from_str::<Request>(&line) else { return ExitCode::FAILURE };
        let answer = here(&request.path, &request.settings, &renderers);
        let written = serde_json::to_writer(&mut output, &answer).map_err(io::Error::from);
        if written.and_then(|()| output.write_all(b"\n")).and_then(|()| output.flush()).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
