//! Whether a run has done its work: exit code, log and last words together.

use super::run::Run;
use crate::model::Reason;
use serde::Serialize;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself.
    Code(i32),
    /// By a signal that nobody of the farm sent.
    Signal(i32),
    /// The farm ended it, for this reason.
    Killed(Reason),
}

/// Why a run has failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunFailure {
    /// What went wrong; its class says what happens next.
    pub reason: Reason,
    /// For people.
    pub message: String,
    /// The line of the log that says it.
    pub evidence: Option<String>,
}

/// Ended by the system, nearly always because memory ran out.
const SIGKILL: i32 = 9;
/// Asked to end: hang-up, interrupt, terminate.
const ASKED: [i32; 3] = [1, 2, 15];
/// A shell's code of a process that a signal ended is this and the signal's number.
const SHELL_SIGNAL: i32 = 128;
/// The highest signal that counts as one.
const LAST_SIGNAL: i32 = 31;
/// A shell's code for "no such program".
const SHELL_NOT_FOUND: i32 = 127;
/// Exceptions of Windows: the codes from 0xC0000000.
const WINDOWS_EXCEPTIONS: std::ops::RangeInclusive<u32> = 0xC000_0000..=0xCFFF_FFFF;

impl Run {
    /// The verdict. An error in the log is a failure whatever the exit code; a good exit code
    /// without the last words that the profile asks for is one as well. Whether the pictures are
    /// there and whole is looked at afterwards.
    pub fn verdict(&self, exit: Exit) -> Result<(), RunFailure> {
        // A run that waits for ever may well have written why; one without room may write anything.
        let counts = exit != Exit::Killed(Reason::LimitMemory);
        if let Some(found) = self.error.as_ref().filter(|_| counts) {
            let (message, evidence) = (found.message.clone(), Some(found.line.clone()));
            return Err(RunFailure { reason: found.reason, message, evidence });
        }
        match exit {
            Exit::Code(0) => self.last_words(),
            Exit::Code(code) => Err(self.by_code(code)),
            Exit::Signal(signal) => Err(self.by_signal(signal)),
            Exit::Killed(reason) => {
                Err(failure(reason, format!("{} was ended", self.profile.title)))
            }
        }
    }

    fn last_words(&self) -> Result<(), RunFailure> {
        let Some(rule) = &self.profile.success else { return Ok(()) };
        let title = &self.profile.title;
        if rule.required && !self.has_succeeded {
            let message = format!("{title} ended with 0 but never said that it was done");
            return Err(failure(Reason::ProgramUnfinished, message));
        }
        match (rule.counted, self.next_uncounted()) {
            (Some(reason), Some((frame, asked))) => {
                let made = self.frames_counted();
                let message = format!(
                    "{title} ended with 0 after {made} of {asked} frames: look for what is missing or broken of frame {frame}"
                );
                Err(failure(reason, message))
            }
            _ => Ok(()),
        }
    }

    fn by_code(&self, code: i32) -> RunFailure {
        if let Some(rule) = self.profile.exit.iter().find(|rule| rule.code == code) {
            return failure(rule.reason, rule.message.clone());
        }
        let title = &self.profile.title;
        let signal = code.saturating_sub(SHELL_SIGNAL);
        if (1..=LAST_SIGNAL).contains(&signal) {
            return self.by_signal(signal);
        }
        // The same 32 bits, as Windows counts them.
        if WINDOWS_EXCEPTIONS.contains(&(code as u32)) {
            let message = format!("{title} crashed (exit code 0x{:08X})", code as u32);
            return failure(Reason::ProcessCrashed, message);
        }
        if code == SHELL_NOT_FOUND {
            return failure(
                Reason::ProgramMissing,
                format!("{title} or a program that it calls was not found"),
            );
        }
        let message = format!("{title} ended with code {code} and its log names no known cause");
        failure(Reason::ProgramFailed, message)
    }

    fn by_signal(&self, signal: i32) -> RunFailure {
        let title = &self.profile.title;
        match signal {
            SIGKILL => failure(
                Reason::HostOutOfMemory,
                format!("the system ended {title} (signal 9), most likely because memory ran out"),
            ),
            _ if ASKED.contains(&signal) => failure(
                Reason::ProcessCrashed,
                format!("somebody outside the farm ended {title} (signal {signal})"),
            ),
            _ => failure(Reason::ProcessCrashed, format!("{title} crashed (signal {signal})")),
        }
    }
}

fn failure(reason: Reason, message: String) -> RunFailure {
    RunFailure { reason, message, evidence: None }
}
