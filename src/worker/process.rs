//! One stage host: started in its own process group, heard, bounded in time, and always gone
//! at the end together with everything that it started.

use super::bounds;
use super::gone::Kin;
use super::lines::{Line, Lines, Overlong};
use super::running::{Stop, StopSignal};
use crate::model::{Reason, limits};
use crate::programs::Mark;
use crate::programs::mark::VARIABLE;
use crate::protocol::work::{Failure, JobLimits};
use crate::stages::message::{HOST_LINE_BYTES, HostMessage, STOP_LINE};
use crate::stages::{Reporter, StageOutput, StageRequest};
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

/// What to run.
#[derive(Clone, Copy)]
pub struct HostRun<'a> {
    /// Started as `PROGRAM stage-host`.
    pub program: &'a Path,
    /// What the stage is given; its limits are enforced.
    pub request: &'a StageRequest,
    /// For temporary files.
    pub temporary: &'a Path,
    /// Hears progress and log lines.
    pub reporter: &'a (dyn Reporter + Send + Sync),
    /// Inherited by everything that the attempt starts.
    pub mark: &'a Mark,
    /// How long programs may take to end well when the job is lost.
    pub lost_grace: Duration,
}

/// How a stage host ended.
#[derive(Debug, PartialEq)]
pub enum HostEnd {
    /// It said `done` and ended well. Its files are not verified yet.
    Done(StageOutput),
    /// It failed, crashed or passed a limit.
    Failed(Failure),
    /// It was killed because the attempt must stop.
    Stopped(Stop),
}

/// Runs a host to its end. When this returns, nothing that it started lives; when it is dropped,
/// all of it is killed.
pub async fn run_host(run: HostRun<'_>, stop: &mut StopSignal) -> HostEnd {
    let mut host = match Host::spawn(run) {
        Ok(host) => host,
        Err(error) => {
            let reason = match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Reason::ProgramMissing,
                _ => Reason::Unexpected,
            };
            let place = run.program.display();
            let message = format!("the stage host cannot be started: {error}: {place}");
            return HostEnd::Failed(Failure::new(reason, message));
        }
    };
    let limits = run.request.assignment.limits;
    let ending = host.watch(run.reporter, limits, stop).await;
    if let Some(grace) = ending.grace(run.lost_grace)
        && host.heard.programs > 0
    {
        let asked = host.ask(run.reporter, grace);
        tokio::select! {
            () = asked => {}
            // Without a lease there is less time, and it began before.
            () = stop.lost(), if !matches!(ending, Ending::Stopped(Stop::Lost)) => {}
        }
    }
    let status = host.end(run.reporter).await;
    match (ending, status) {
        (Ending::Exited, Ok(status)) => host.heard.judge(status, limits),
        (Ending::Exited, Err(error)) => {
            failed(Reason::Unexpected, format!("the end of the stage host cannot be read: {error}"))
        }
        (Ending::Stopped(stop), _) => HostEnd::Stopped(stop),
        (Ending::TimeOut, _) => failed(
            Reason::LimitTime,
            format!("the stage ran longer than {} s and was killed", limits.timeout_ms / 1_000),
        ),
        (Ending::Stalled, _) => failed(
            Reason::LimitStall,
            format!("the stage said nothing for {} s and was killed", limits.stall_ms / 1_000),
        ),
        (Ending::Unheard(why), _) => {
            failed(Reason::Unexpected, format!("the stage host was killed: {why}"))
        }
    }
}

fn failed(reason: Reason, message: String) -> HostEnd {
    HostEnd::Failed(Failure::new(reason, message))
}

enum Ending {
    Exited,
    Stopped(Stop),
    TimeOut,
    Stalled,
    Unheard(String),
}

impl Ending {
    /// How long the programs of a host that ends so may take to end well; none: no time at all.
    fn grace(&self, lost: Duration) -> Option<Duration> {
        match self {
            Self::Exited | Self::Unheard(_) => None,
            Self::Stopped(Stop::Lost) => Some(lost),
            Self::Stopped(Stop::Shutdown) | Self::TimeOut | Self::Stalled => {
                Some(Duration::from_millis(bounds::STOP_GRACE_MS))
            }
        }
    }
}

struct Host {
    group: Group,
    /// Makes the host end its programs.
    stop: Arc<Notify>,
    /// Writes the request, then keeps standard input open: its end would kill the host.
    _stdin: AbortOnDropHandle<()>,
    stdout: Option<Lines<ChildStdout>>,
    stderr: Option<Lines<ChildStderr>>,
    heard: Heard,
}

/// A process group that dies with this value, and all that it has started.
struct Group {
    child: Box<dyn ChildWrapper>,
    ended: bool,
    kin: Kin,
    kin_ended: bool,
}

impl Drop for Group {
    fn drop(&mut self) {
        // First those below the host: without it nobody knows them.
        if !self.kin_ended {
            self.kin.strike();
        }
        if !self.ended {
            let _ = self.child.start_kill();
        }
    }
}

#[derive(Default)]
struct Heard {
    done: Option<StageOutput>,
    failed: Option<Failure>,
    /// Programs that the host runs now.
    programs: usize,
    stack_overflow: bool,
}

impl Host {
    fn spawn(run: HostRun<'_>) -> io::Result<Self> {
        let mut line = serde_json::to_vec(run.request).map_err(io::Error::other)?;
        line.push(b'\n');
        if line.len() > HOST_LINE_BYTES {
            return Err(io::Error::other("the request is too long"));
        }
        let mut command = CommandWrap::with_new(run.program, |command| {
            command
                .arg("stage-host")
                .current_dir(run.temporary)
                .env_remove("SAWAH_TOKEN")
                .env(VARIABLE, run.mark.as_str())
                .env(super::QUIET_VULKAN.0, super::QUIET_VULKAN.1)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            for name in ["TMPDIR", "TMP", "TEMP"] {
                command.env(name, run.temporary);
            }
        });
        command.wrap(KillOnDrop);
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        let child = command.spawn()?;
        let kin = Kin::new(child.id(), run.mark);
        let mut group = Group { child, ended: false, kin, kin_ended: false };
        let stdin = group.child.stdin().take();
        let stdout = group.child.stdout().take();
        let stderr = group.child.stderr().take();
        let stop = Arc::new(Notify::new());
        let feed = feed(stdin, line, Arc::clone(&stop));
        Ok(Self {
            group,
            stop,
            _stdin: AbortOnDropHandle::new(tokio::spawn(feed)),
            stdout: stdout.map(|out| Lines::new(out, HOST_LINE_BYTES, Overlong::Refuse)),
            stderr: stderr.map(|err| Lines::new(err, limits::LOG_LINE_BYTES, Overlong::Cut)),
            heard: Heard::default(),
        })
    }

    /// Listens until the host has ended or must be killed.
    async fn watch(
        &mut self,
        reporter: &(dyn Reporter + Send + Sync),
        limits: JobLimits,
        stop: &mut StopSignal,
    ) -> Ending {
        let mut time_out = Box::pin(after(limits.timeout_ms));
        let mut stall = Box::pin(after(limits.stall_ms));
        loop {
            tokio::select! {
                stop = stop.stopped() => return Ending::Stopped(stop),
                () = &mut time_out => return Ending::TimeOut,
                () = &mut stall => return Ending::Stalled,
                line = next(&mut self.stdout) => match line {
                    Ok(None) => {}
                    Ok(Some(Line::Text(line))) => {
                        if self.heard.listen(&line, reporter) {
                            stall.as_mut().set(after(limits.stall_ms));
                        }
                    }
                    Ok(Some(Line::TooLong)) => {
                        let why = format!("it wrote a line longer than {HOST_LINE_BYTES} bytes");
                        return Ending::Unheard(why);
                    }
                    Err(error) => {
                        return Ending::Unheard(format!("its output cannot be read: {error}"));
                    }
                },
                line = next(&mut self.stderr) => match line {
                    Ok(Some(Line::Text(line))) => self.heard.grumble(&line, reporter),
                    Ok(_) => {}
                    Err(error) => {
                        return Ending::Unheard(format!("its errors cannot be read: {error}"));
                    }
                },
                status = self.group.child.wait() => {
                    if let Err(error) = status {
                        return Ending::Unheard(format!("it cannot be waited for: {error}"));
                    }
                    return Ending::Exited;
                }
            }
        }
    }

    /// Asks the host to end its programs, and hears it until it has ended or the time is over.
    async fn ask(&mut self, reporter: &(dyn Reporter + Send + Sync), grace: Duration) {
        self.stop.notify_one();
        // No bounds but the grace: it is shorter than any of them.
        let unbounded = JobLimits { timeout_ms: 0, stall_ms: 0, memory_bytes: 0 };
        let (_switch, mut deaf) = StopSignal::new();
        let _ = tokio::time::timeout(grace, self.watch(reporter, unbounded, &mut deaf)).await;
    }

    /// Kills what is left of the group and of all that it has started, waits for the host, and
    /// hears its last words.
    async fn end(&mut self, reporter: &(dyn Reporter + Send + Sync)) -> io::Result<ExitStatus> {
        self.group.kin.end_below().await;
        // Fails where nothing is left, which is what we want.
        let _ = self.group.child.start_kill();
        let wait = Duration::from_millis(bounds::KILL_MS);
        let status = tokio::time::timeout(wait, self.group.child.wait())
            .await
            .unwrap_or_else(|_| Err(io::Error::other("the killed process does not go away")));
        self.group.ended = status.is_ok();
        self.group.kin.end_marked().await;
        self.group.kin_ended = true;
        let drain = async {
            while self.stdout.is_some() || self.stderr.is_some() {
                tokio::select! {
                    line = next(&mut self.stdout) => match line {
                        Ok(Some(Line::Text(line))) => drop(self.heard.listen(&line, reporter)),
                        _ => self.stdout = None,
                    },
                    line = next(&mut self.stderr) => match line {
                        Ok(Some(Line::Text(line))) => self.heard.grumble(&line, reporter),
                        _ => self.stderr = None,
                    },
                }
            }
        };
        // A process that left the group may hold the pipes open for ever.
        let _ = tokio::time::timeout(Duration::from_millis(bounds::DRAIN_MS), drain).await;
        status
    }
}

/// The next line of an open pipe, none at its end. Waits for ever where it is closed.
async fn next<R: tokio::io::AsyncRead + Unpin>(
    lines: &mut Option<Lines<R>>,
) -> io::Result<Option<Line>> {
    let Some(open) = lines else { return std::future::pending().await };
    let line = open.next().await?;
    if line.is_none() {
        *lines = None;
    }
    Ok(line)
}

async fn feed(stdin: Option<ChildStdin>, line: Vec<u8>, stop: Arc<Notify>) {
    let Some(mut stdin) = stdin else { return };
    // A host that does not read its request ends badly, and its end tells why.
    let _ = stdin.write_all(&line).await;
    let _ = stdin.flush().await;
    stop.notified().await;
    let _ = stdin.write_all(format!("{STOP_LINE}\n").as_bytes()).await;
    let _ = stdin.flush().await;
    std::future::pending::<()>().await;
}

/// Ends after this long; never for 0.
async fn after(limit_ms: u64) {
    if limit_ms == 0 {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(Duration::from_millis(limit_ms)).await;
}

impl Heard {
    /// One line of standard output; whether it shows that the stage moves.
    fn listen(&mut self, line: &str, reporter: &(dyn Reporter + Send + Sync)) -> bool {
        match serde_json::from_str(line) {
            Ok(HostMessage::Progress { percent, message, frame: None }) => {
                reporter.progress(percent, &message);
            }
            Ok(HostMessage::Progress { percent, message, frame: Some(frame) }) => {
                reporter.frame(frame, percent, &message);
            }
            Ok(HostMessage::Log { line }) => reporter.log(&line),
            Ok(HostMessage::Keep { file }) => reporter.keep(file),
            Ok(HostMessage::Programs { running }) => self.programs = running,
            Ok(HostMessage::Done { output }) => self.done = Some(output),
            Ok(HostMessage::Failed { failure }) => self.failed = Some(failure),
            Err(_) => {
                // A library that prints: for people, and no sign of progress.
                reporter.log(line);
                return false;
            }
        }
        true
    }

    fn grumble(&mut self, line: &str, reporter: &(dyn Reporter + Send + Sync)) {
        self.stack_overflow |= line.contains("has overflowed its stack");
        reporter.log(line);
    }

    fn judge(&mut self, status: ExitStatus, limits: JobLimits) -> HostEnd {
        if let Some(failure) = self.failed.take() {
            return HostEnd::Failed(failure);
        }
        if status.success() {
            return self.done.take().map_or_else(
                || failed(Reason::OutputMissing, "the stage ended without a result".to_owned()),
                HostEnd::Done,
            );
        }
        if aborted(status) && limits.memory_bytes > 0 && !self.stack_overflow {
            let mib = limits.memory_bytes >> 20;
            return failed(
                Reason::LimitMemory,
                format!("the stage needed more than its memory limit of {mib} MiB"),
            );
        }
        failed(Reason::ProcessCrashed, format!("the stage's process ended with {}", words(status)))
    }
}

#[cfg(unix)]
fn aborted(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(rustix::process::Signal::ABORT.as_raw())
}

#[cfg(not(unix))]
fn aborted(status: ExitStatus) -> bool {
    /// `STATUS_STACK_BUFFER_OVERRUN`, which is how an abort ends there.
    const FAST_FAIL: i32 = 0xC000_0409_u32.cast_signed();
    status.code() == Some(FAST_FAIL)
}

#[cfg(unix)]
fn words(status: ExitStatus) -> String {
    use rustix::process::Signal;
    use std::os::unix::process::ExitStatusExt;
    let Some(signal) = status.signal() else {
        return format!("exit code {}", status.code().unwrap_or(-1));
    };
    let name = match Signal::from_named_raw(signal) {
        Some(Signal::SEGV) => " (bad memory access)",
        Some(Signal::ABORT) => " (abort)",
        Some(Signal::KILL) => " (killed, perhaps because the machine ran out of memory)",
        Some(Signal::BUS) => " (bus error, perhaps a full disk)",
        Some(Signal::ILL) => " (illegal instruction)",
        Some(Signal::FPE) => " (arithmetic error)",
        Some(Signal::TERM) => " (terminated)",
        _ => "",
    };
    format!("signal {signal}{name}")
}

#[cfg(not(unix))]
fn words(status: ExitStatus) -> String {
    status.code().map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}"))
}

#[cfg(test)]
#[cfg(unix)]
#[path = "process_tests.rs"]
mod tests;
