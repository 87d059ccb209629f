//! One stage host as its worker holds it: started in its own process group, fed, heard, and gone
//! together with everything that it started.

use super::bounds;
use super::gone::Kin;
use super::heard::Heard;
use super::lines::{Line, Lines, Overlong};
use super::running::{Stop, StopSignal};
use super::staging::HostFolder;
use crate::programs::Mark;
use crate::programs::mark::VARIABLE;
use crate::protocol::work::JobLimits;
use crate::stages::message::{HOST_LINE_BYTES, STOP_LINE};
use crate::stages::{Reporter, StageRequest};
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_util::task::AbortOnDropHandle;

/// The program of stage hosts.
#[derive(Debug, Clone, Copy)]
pub struct HostProgram<'a> {
    /// Started as `PROGRAM stage-host`.
    pub path: &'a Path,
    /// Which graphics adapter it may draw with, as `SAWAH_GPU` says it.
    pub adapter: &'a str,
    /// Which of several equal adapters it draws with, counted from 0.
    pub turn: usize,
}

/// Lines that wait for a host: a request and a stop.
const LINES_WAITING: usize = 4;

/// Why a host is listened to no longer.
pub(super) enum Ending {
    /// It has ended.
    Exited,
    /// It has answered, and waits for the next attempt.
    Ready,
    /// The attempt must stop.
    Stopped(Stop),
    /// It ran too long.
    TimeOut,
    /// It said nothing for too long.
    Stalled,
    /// It cannot be understood.
    Unheard(String),
}

impl Ending {
    /// How long the programs of a host that ends so may take to end well; none: no time at all.
    pub(super) fn grace(&self, lost: Duration) -> Option<Duration> {
        match self {
            Self::Exited | Self::Ready | Self::Unheard(_) => None,
            Self::Stopped(Stop::Lost) => Some(lost),
            Self::Stopped(Stop::Shutdown) | Self::TimeOut | Self::Stalled => {
                Some(Duration::from_millis(bounds::STOP_GRACE_MS))
            }
        }
    }
}

/// A host. Where it is dropped, all of it is killed.
pub(super) struct Host {
    group: Group,
    /// Lines for standard input, which stays open: its end would kill the host.
    feed: Sender<Vec<u8>>,
    _feeder: AbortOnDropHandle<()>,
    stdout: Option<Lines<ChildStdout>>,
    stderr: Option<Lines<ChildStderr>>,
    pub(super) heard: Heard,
    /// Of a host that stays.
    folder: Option<HostFolder>,
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

impl Host {
    /// Starts `program` as a host that carries `mark`, with this folder for temporary files.
    pub(super) fn start(
        program: HostProgram<'_>,
        temporary: &Path,
        mark: &Mark,
    ) -> io::Result<Self> {
        let mut command = CommandWrap::with_new(program.path, |command| {
            command
                .arg("stage-host")
                .current_dir(temporary)
                .env_remove("SAWAH_TOKEN")
                .env(VARIABLE, mark.as_str())
                .env("SAWAH_GPU", program.adapter)
                .env("SAWAH_GPU_TURN", program.turn.to_string())
                .env(super::QUIET_VULKAN.0, super::QUIET_VULKAN.1)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            for name in ["TMPDIR", "TMP", "TEMP"] {
                command.env(name, temporary);
            }
        });
        command.wrap(KillOnDrop);
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        let child = command.spawn()?;
        let kin = Kin::new(child.id(), mark);
        let mut group = Group { child, ended: false, kin, kin_ended: false };
        let stdin = group.child.stdin().take();
        let stdout = group.child.stdout().take();
        let stderr = group.child.stderr().take();
        let (feed, lines) = channel(LINES_WAITING);
        Ok(Self {
            group,
            feed,
            _feeder: AbortOnDropHandle::new(tokio::spawn(write_lines(stdin, lines))),
            stdout: stdout.map(|out| Lines::new(out, HOST_LINE_BYTES, Overlong::Refuse)),
            stderr: stderr
                .map(|err| Lines::new(err, crate::model::limits::LOG_LINE_BYTES, Overlong::Cut)),
            heard: Heard::default(),
            folder: None,
        })
    }

    /// [`Host::start`] for a host that serves one attempt after the other and owns `folder`.
    pub(super) fn start_to_stay(
        program: HostProgram<'_>,
        folder: HostFolder,
        mark: &Mark,
    ) -> io::Result<Self> {
        let host = Self::start(program, &folder.temporary(), mark)?;
        Ok(Self { folder: Some(folder), ..host })
    }

    /// The folder of a host that stays.
    pub(super) fn folder(&self) -> Option<&HostFolder> {
        self.folder.as_ref()
    }

    /// Gives it an attempt. What carries `mark` belongs to the host from now on.
    pub(super) fn give(&mut self, request: &StageRequest, mark: &Mark) -> io::Result<()> {
        let mut line = serde_json::to_vec(request).map_err(io::Error::other)?;
        line.push(b'\n');
        if line.len() > HOST_LINE_BYTES {
            return Err(io::Error::other("the request is too long"));
        }
        self.group.kin.set_attempt(mark);
        // What an idle host keeps running goes on.
        self.heard = Heard::next(self.heard.programs);
        // A host that does not read its request ends badly, and its end tells why.
        let _ = self.feed.try_send(line);
        Ok(())
    }

    /// Listens until the host has ended or must be killed, or has answered and stays.
    pub(super) async fn watch(
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
                        if self.heard.ready && self.folder.is_some() {
                            return Ending::Ready;
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

    /// Waits until an idle host does anything at all: from then on it is not trusted.
    pub(super) async fn stirs(&mut self) {
        tokio::select! {
            _ = next(&mut self.stdout) => {}
            _ = next(&mut self.stderr) => {}
            _ = self.group.child.wait() => {}
        }
    }

    /// Asks the host to end its programs, and hears it until it has ended or the time is over.
    pub(super) async fn ask(&mut self, reporter: &(dyn Reporter + Send + Sync), grace: Duration) {
        let _ = self.feed.try_send(format!("{STOP_LINE}\n").into_bytes());
        // No bounds but the grace: it is shorter than any of them.
        let unbounded = JobLimits { timeout_ms: 0, stall_ms: 0, memory_bytes: 0 };
        let (_switch, mut deaf) = StopSignal::new();
        let _ = tokio::time::timeout(grace, self.watch(reporter, unbounded, &mut deaf)).await;
    }

    /// Kills what is left of the group and of all that it has started, waits for the host, and
    /// hears its last words.
    pub(super) async fn end(
        &mut self,
        reporter: &(dyn Reporter + Send + Sync),
    ) -> io::Result<ExitStatus> {
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
        if let Some(folder) = self.folder.take() {
            folder.remove().await;
        }
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

async fn write_lines(stdin: Option<ChildStdin>, mut lines: Receiver<Vec<u8>>) {
    let Some(mut stdin) = stdin else { return };
    while let Some(line) = lines.recv().await {
        let _ = stdin.write_all(&line).await;
        let _ = stdin.flush().await;
    }
    std::future::pending::<()>().await;
}

/// Ends after this long; never for 0.
async fn after(limit_ms: u64) {
    if limit_ms == 0 {
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(Duration::from_millis(limit_ms)).await;
}
