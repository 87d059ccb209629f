//! The stage host: the child process in which foreign bytes are read.
//!
//! It takes one request from standard input, runs the stage under a memory limit and answers on
//! standard output. Where the request lets it stay, it then says that it is ready and takes the next
//! one: for stages whose work is done by programs of others, which are gone with their attempt
//! anyway. A line `stop` asks it to end its programs. The end of standard input means that
//! the worker is gone: then the host kills all that is below it and its whole process group, so
//! that no renderer outlives its worker.

use super::message::{HOST_LINE_BYTES, HostMessage, STOP_LINE, cut};
use super::{Produced, Reporter, StageRequest, StageResult, Stay, dispatch, may_share};
use crate::model::{Reason, limits};
use crate::programs::tree::Swept;
use crate::programs::{self, EndWhy, mark, surroundings};
use crate::protocol::work::Failure;
use std::any::Any;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Stack of the thread that runs a stage, in bytes: deep enough for nested foreign files.
pub const STAGE_STACK_BYTES: usize = 16 << 20;
/// Attempts that one host serves; the next one gets a new host.
const ATTEMPTS: u32 = 256;
/// A host that draws itself goes on while it holds less than this part of its memory between two
/// attempts, one in so many.
const MEMORY_SHARE: u64 = 4;
/// The exit code of a host whose worker is gone, where it cannot kill its group.
const ORPHANED: i32 = 70;
/// Held by whoever ends the processes of this host: it must not exit meanwhile.
static LEAVING: Mutex<()> = Mutex::new(());
/// The worker is gone: what the stage says about its killed children is no news.
static GONE: AtomicBool = AtomicBool::new(false);

/// Runs stages as a child of a worker. Exit code 0 only after a `done` line.
pub fn main() -> ExitCode {
    if serve(&dispatch::run) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Reads a request, runs `stage`, answers, and goes on where it may stay; whether the last one is
/// done.
fn serve(stage: &(dyn Fn(&StageRequest, &dyn Reporter) -> StageResult + Sync)) -> bool {
    programs::host::become_host();
    programs::registry::listen(|running| say(&HostMessage::Programs { running }));
    let (mut line, requests) = match first_request() {
        Ok(first) => first,
        Err(failure) => return answer(Err(failure)),
    };
    for served in 1_u32.. {
        let (result, stays) = serve_one(stage, &line);
        if !stays || served >= ATTEMPTS {
            // What still runs could change the files of the result.
            programs::tree::end_own();
            let done = answer(result);
            drop(LEAVING.lock());
            return done;
        }
        let done = answer(result);
        say(&HostMessage::Ready);
        match requests.recv() {
            Ok(next) => line = next,
            Err(_) => return done,
        }
    }
    false
}

/// Runs one stage; whether this host can serve another attempt after it.
fn serve_one(
    stage: &(dyn Fn(&StageRequest, &dyn Reporter) -> StageResult + Sync),
    line: &[u8],
) -> (StageResult, bool) {
    let request: StageRequest = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => {
            let why = format!("the request to the stage host cannot be understood: {error}");
            return (Err(Failure::new(Reason::Unexpected, why)), false);
        }
    };
    // A program of others is bounded by what it uses, not by what it asks the system for.
    if request.assignment.settings.scene.is_none()
        && let Err(failure) = limit_memory(request.assignment.limits.memory_bytes)
    {
        return (Err(failure), false);
    }
    let stay = request.stay.as_ref().filter(|_| may_share(&request.assignment));
    surroundings::set(stay.map(own_variables).unwrap_or_default());
    let reporter = StdoutReporter { highest: Mutex::new(0.0) };
    let (result, panicked) = run_on_own_thread(stage, &request, &reporter);
    let stays = stay.is_some() && !panicked && !programs::registry::is_over();
    if !stays {
        return (result, false);
    }
    let Swept { left, .. } = programs::tree::end_strays();
    // What leaks ends here, and the next attempt gets a new host.
    let most_bytes = request.assignment.limits.memory_bytes / MEMORY_SHARE;
    let is_small = most_bytes == 0
        || request.assignment.settings.scene.is_some()
        || programs::tree::own_memory_bytes() < most_bytes;
    (result, left == 0 && is_small)
}

/// What the programs of one attempt are given in a host that serves many.
fn own_variables(stay: &Stay) -> BTreeMap<String, String> {
    let temporary = stay.temporary.to_string_lossy();
    let folders = ["TMPDIR", "TMP", "TEMP"].map(|name| (name.to_owned(), temporary.to_string()));
    let mark = (mark::VARIABLE.to_owned(), stay.mark.clone());
    folders.into_iter().chain([mark]).collect()
}

/// Says what became of the request; whether it is done.
fn answer(result: StageResult) -> bool {
    let message = match result {
        Ok(output) => HostMessage::Done { output },
        Err(mut failure) => {
            failure.message = cut(&failure.message, limits::MESSAGE_BYTES).to_owned();
            HostMessage::Failed { failure }
        }
    };
    let done = matches!(message, HostMessage::Done { .. });
    say(&message);
    done
}

/// Reads the first request's line, then leaves standard input to the watchdog, which hands on those
/// that follow.
fn first_request() -> Result<(Vec<u8>, Receiver<Vec<u8>>), Failure> {
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
    let (hand, requests) = sync_channel(1);
    watch_for_orphaning(input, hand)?;
    Ok((line, requests))
}

fn watch_for_orphaning(
    mut input: impl Read + Send + 'static,
    requests: SyncSender<Vec<u8>>,
) -> Result<(), Failure> {
    let watch = move || {
        let mut order = Order::default();
        let mut bytes = [0; 4_096];
        loop {
            match input.read(&mut bytes) {
                Ok(0) => leave(),
                Ok(length) => order.hear(bytes.get(..length).unwrap_or_default(), &requests),
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

/// What the worker says after the first request.
#[derive(Default)]
struct Order {
    line: Vec<u8>,
}

impl Order {
    fn hear(&mut self, bytes: &[u8], requests: &SyncSender<Vec<u8>>) {
        for byte in bytes {
            if *byte != b'\n' {
                let is_request = self.line.first().unwrap_or(byte) == &b'{';
                let bound = if is_request { HOST_LINE_BYTES } else { STOP_LINE.len() };
                // A longer line is no order that we know.
                if self.line.len() <= bound {
                    self.line.push(*byte);
                }
                continue;
            }
            let line = std::mem::take(&mut self.line);
            if line == STOP_LINE.as_bytes() {
                programs::registry::end_all(EndWhy::Stop);
            } else if line.first() == Some(&b'{') {
                // One at a time comes: a worker that sends more gets no answer to them.
                let _ = requests.try_send(line);
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
pub(crate) fn limit_memory(memory_bytes: u64) -> Result<(), Failure> {
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

/// What the stage said, and whether it panicked.
fn run_on_own_thread(
    stage: &(dyn Fn(&StageRequest, &dyn Reporter) -> StageResult + Sync),
    request: &StageRequest,
    reporter: &StdoutReporter,
) -> (StageResult, bool) {
    let name = format!("stage-{}", request.assignment.stage);
    std::thread::scope(|scope| {
        let started = std::thread::Builder::new()
            .name(name)
            .stack_size(STAGE_STACK_BYTES)
            .spawn_scoped(scope, || stage(request, reporter));
        match started.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => (result, false),
            Ok(Err(panic)) => (Err(from_panic(panic.as_ref(), request)), true),
            Err(error) => {
                let message = format!("the stage's thread cannot be started: {error}");
                (Err(Failure::new(Reason::Unexpected, message)), true)
            }
        }
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
