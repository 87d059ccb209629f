//! The stage host: the child process in which foreign bytes are read.
//!
//! It takes one request from standard input, runs the stage under a memory limit and answers on
//! standard output. A line `stop` asks it to end its programs. The end of standard input means that
//! the worker is gone: then the host kills all that is below it and its whole process group, so
//! that no renderer outlives its worker.

use super::message::{HOST_LINE_BYTES, HostMessage, STOP_LINE, cut};
use super::{Produced, Reporter, StageRequest, StageResult, dispatch};
use crate::model::{Reason, limits};
use crate::programs::{self, EndWhy};
use crate::protocol::work::Failure;
use std::any::Any;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Stack of the thread that runs a stage, in bytes: deep enough for nested foreign files.
const STAGE_STACK_BYTES: usize = 16 << 20;
/// The exit code of a host whose worker is gone, where it cannot kill its group.
const ORPHANED: i32 = 70;
/// Held by whoever ends the processes of this host: it must not exit meanwhile.
static LEAVING: Mutex<()> = Mutex::new(());
/// The worker is gone: what the stage says about its killed children is no news.
static GONE: AtomicBool = AtomicBool::new(false);

/// Runs one stage as a child of a worker. Exit code 0 only after a `done` line.
pub fn main() -> ExitCode {
    if serve(&dispatch::run) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Reads a request, runs `stage`, answers; whether the stage is done.
fn serve(stage: &(dyn Fn(&StageRequest, &dyn Reporter) -> StageResult + Sync)) -> bool {
    programs::host::become_host();
    programs::registry::listen(|running| say(&HostMessage::Programs { running }));
    let reporter = StdoutReporter { highest: Mutex::new(0.0) };
    let result = read_request().and_then(|request| {
        // A program of others is bounded by what it uses, not by what it asks the system for.
        if request.assignment.settings.scene.is_none() {
            limit_memory(request.assignment.limits.memory_bytes)?;
        }
        run_on_own_thread(stage, &request, &reporter)
    });
    // What still runs could change the files of the result.
    programs::tree::end_own();
    let message = match result {
        Ok(output) => HostMessage::Done { output },
        Err(mut failure) => {
            failure.message = cut(&failure.message, limits::MESSAGE_BYTES).to_owned();
            HostMessage::Failed { failure }
        }
    };
    let done = matches!(message, HostMessage::Done { .. });
    say(&message);
    drop(LEAVING.lock());
    done
}

/// Reads the request's line, then leaves standard input to the watchdog.
fn read_request() -> Result<StageRequest, Failure> {
    let bad = |why: String| Failure::new(Reason::Unexpected, why);
    let mut input = BufReader::new(std::io::stdin());
    let mut line = Vec::new();
    input
        .by_ref()
        .take(HOST_LINE_BYTES as u64)
        .read_until(b'\n', &mut line)
        .map_err(|error| bad(format!("the stage host cannot read its request: {error}")))?;
    if line.last() != Some(&b'\n') {
        return Err(bad("the request to the stage host is not one whole line".to_owned()));
    }
    watch_for_orphaning(input)?;
    serde_json::from_slice(&line).map_err(|error| {
        bad(format!("the request to the stage host cannot be understood: {error}"))
    })
}

fn watch_for_orphaning(mut input: impl Read + Send + 'static) -> Result<(), Failure> {
    let watch = move || {
        let mut order = Order::default();
        let mut bytes = [0; 64];
        loop {
            match input.read(&mut bytes) {
                Ok(0) => leave(),
                Ok(length) => order.hear(bytes.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => leave(),
            }
        }
    };
    std::thread::Builder::new().name("stage-watchdog".to_owned()).spawn(watch).map(drop).map_err(
        |error| {
            Failure::new(
                Reason::Unexpected,
                format!("the stage host cannot start its watchdog: {error}"),
            )
        },
    )
}

/// What the worker says after the request.
#[derive(Default)]
struct Order {
    line: Vec<u8>,
}

impl Order {
    fn hear(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte != b'\n' {
                // A longer line is no order that we know.
                if self.line.len() <= STOP_LINE.len() {
                    self.line.push(*byte);
                }
            } else if std::mem::take(&mut self.line) == STOP_LINE.as_bytes() {
                programs::registry::end_all(EndWhy::Stop);
            }
        }
    }
}

/// Ends this process with everything that it has started.
fn leave() -> ! {
    let _leaving = LEAVING.lock();
    GONE.store(true, Ordering::Release);
    programs::registry::end_all(EndWhy::Stop);
    programs::tree::end_own();
    kill_own_group()
}

#[cfg(unix)]
fn kill_own_group() -> ! {
    use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};
    // A host started by hand shares the group of the shell's pipeline: that one must live.
    if getpgrp() == getpid() {
        let _ = kill_current_process_group(Signal::KILL);
    }
    std::process::exit(ORPHANED)
}

/// The job object that the worker holds ends the rest of the group with the worker.
#[cfg(not(unix))]
fn kill_own_group() -> ! {
    std::process::exit(ORPHANED)
}

/// Bounds the address space; 0 means no limit.
#[cfg(unix)]
fn limit_memory(memory_bytes: u64) -> Result<(), Failure> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    if memory_bytes == 0 {
        return Ok(());
    }
    let highest = getrlimit(Resource::As).maximum;
    let bytes = highest.map_or(memory_bytes, |highest| highest.min(memory_bytes));
    setrlimit(Resource::As, Rlimit { current: Some(bytes), maximum: Some(bytes) }).map_err(
        |error| {
            Failure::new(
                Reason::Unexpected,
                format!("the stage's memory limit of {bytes} bytes cannot be set: {error}"),
            )
        },
    )
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature on every system")]
fn limit_memory(_memory_bytes: u64) -> Result<(), Failure> {
    Ok(())
}

fn run_on_own_thread(
    stage: &(dyn Fn(&StageRequest, &dyn Reporter) -> StageResult + Sync),
    request: &StageRequest,
    reporter: &StdoutReporter,
) -> StageResult {
    let name = format!("stage-{}", request.assignment.stage);
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name(name)
            .stack_size(STAGE_STACK_BYTES)
            .spawn_scoped(scope, || stage(request, reporter))
            .map_err(|error| {
                let message = format!("the stage's thread cannot be started: {error}");
                Failure::new(Reason::Unexpected, message)
            })?
            .join()
            .unwrap_or_else(|panic| Err(from_panic(panic.as_ref(), request)))
    })
}

fn from_panic(panic: &(dyn Any + Send), request: &StageRequest) -> Failure {
    let words = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without words");
    let stage = request.assignment.stage;
    Failure::new(Reason::Unexpected, format!("the {stage} stage panicked: {words}"))
}

/// Progress and log lines on standard output.
struct StdoutReporter {
    highest: Mutex<f32>,
}

impl Reporter for StdoutReporter {
    fn progress(&self, percent: f32, message: &str) {
        self.say_progress(None, percent, message);
    }

    fn frame(&self, frame: i32, percent: f32, message: &str) {
        self.say_progress(Some(frame), percent, message);
    }

    fn keep(&self, file: Produced) {
        say(&HostMessage::Keep { file });
    }

    fn log(&self, line: &str) {
        for line in line.lines() {
            say(&HostMessage::Log { line: cut(line, limits::LOG_LINE_BYTES).to_owned() });
        }
    }
}

impl StdoutReporter {
    fn say_progress(&self, frame: Option<i32>, percent: f32, message: &str) {
        let percent = if percent.is_finite() { percent.clamp(0.0, 100.0) } else { 0.0 };
        let mut highest = self.highest.lock().unwrap_or_else(PoisonError::into_inner);
        *highest = highest.max(percent);
        let percent = *highest;
        drop(highest);
        let message = cut(message, limits::MESSAGE_BYTES).to_owned();
        say(&HostMessage::Progress { percent, message, frame });
    }
}

/// Writes one line. A worker that no longer reads is a worker that is gone.
fn say(message: &HostMessage) {
    if GONE.load(Ordering::Acquire) {
        return;
    }
    let Ok(mut line) = serde_json::to_vec(message) else { return };
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    if out.write_all(&line).and_then(|()| out.flush()).is_err() {
        leave();
    }
}

#[cfg(test)]
#[cfg(unix)]
#[path = "host_tests.rs"]
mod tests;
