//! What a stage host says, and what its end means.

use super::process::{HostEnd, failed};
use crate::model::Reason;
use crate::protocol::work::{Failure, JobLimits};
use crate::stages::message::HostMessage;
use crate::stages::{Reporter, StageOutput};
use std::process::ExitStatus;

/// What was heard of one attempt.
#[derive(Default)]
pub(super) struct Heard {
    done: Option<StageOutput>,
    failed: Option<Failure>,
    /// Programs that the host runs now.
    pub(super) programs: usize,
    /// It has answered and can serve another attempt.
    pub(super) ready: bool,
    /// It has said anything at all.
    pub(super) anything: bool,
    stack_overflow: bool,
}

impl Heard {
    /// Of the next attempt of a host that runs this many programs.
    pub(super) fn next(programs: usize) -> Self {
        Self { programs, ..Self::default() }
    }

    /// One line of standard output; whether it shows that the stage moves.
    pub(super) fn listen(&mut self, line: &str, reporter: &(dyn Reporter + Send + Sync)) -> bool {
        self.anything = true;
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
            Ok(HostMessage::Ready) => self.ready = true,
            Err(_) => {
                // A library that prints: for people, and no sign of progress.
                reporter.log(line);
                return false;
            }
        }
        true
    }

    pub(super) fn grumble(&mut self, line: &str, reporter: &(dyn Reporter + Send + Sync)) {
        self.stack_overflow |= line.contains("has overflowed its stack");
        reporter.log(line);
    }

    /// The answer of a host that is ready for the next attempt; none where it gave not exactly one.
    pub(super) fn answer(&mut self) -> Option<HostEnd> {
        match (self.done.take(), self.failed.take()) {
            (Some(output), None) => Some(HostEnd::Done(output)),
            (None, Some(failure)) => Some(HostEnd::Failed(failure)),
            _ => None,
        }
    }

    /// What the attempt of a host that has ended comes to.
    pub(super) fn judge(&mut self, status: ExitStatus, limits: JobLimits) -> HostEnd {
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
