//! What is run, within which bounds, what is heard of it, and how it ended.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

/// A program with its arguments and surroundings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// An absolute path, or a name that is looked for in `PATH`.
    pub program: PathBuf,
    /// Given as they are; no shell reads them.
    pub arguments: Vec<String>,
    /// Variables that are set beside those of this process.
    pub set: BTreeMap<String, String>,
    /// Variables that the program does not see. The mark of an attempt stays.
    pub remove: BTreeSet<String>,
    /// Where it works; must be there.
    pub folder: PathBuf,
}

impl Program {
    /// The command as somebody would type it in a shell, to try it by hand.
    pub fn shown(&self) -> String {
        let quoted = |text: &str| {
            let is_plain =
                |letter: char| letter.is_alphanumeric() || "-_./=:,+%@#".contains(letter);
            if !text.is_empty() && text.chars().all(is_plain) {
                text.to_owned()
            } else {
                format!("'{}'", text.replace('\'', r"'\''"))
            }
        };
        let mut words = vec![quoted(&self.program.to_string_lossy())];
        words.extend(self.arguments.iter().map(|text| quoted(text)));
        words.join(" ")
    }
}

/// How much a program may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Resident memory of the whole tree, in bytes; 0 means no limit.
    pub memory_bytes: u64,
    /// How long it may take to end after it was asked to, in milliseconds.
    pub grace_ms: u64,
    /// Longest raw log, in bytes.
    pub log_bytes: u64,
}

/// What is heard of a running program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard<'a> {
    /// The next bytes of its output and errors, in the order in which they were written.
    Output(&'a [u8]),
    /// What it takes; about twice a second.
    Usage(Usage),
}

/// What a program and all that it started take now. All 0 where the system does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Resident memory, in bytes; what processes share counts once.
    pub memory_bytes: u64,
    /// The most that was seen so far, in bytes.
    pub peak_memory_bytes: u64,
    /// Processes alive.
    pub processes: usize,
}

/// Why a program is made to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndWhy {
    /// The attempt must stop.
    Stop,
    /// It has run for too long.
    Time,
    /// It has said nothing for too long.
    Silence,
    /// Its output shows that going on is of no use.
    Fault,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// By itself, with an exit code.
    Code(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// It took more memory than allowed, and was killed.
    OverMemory,
    /// It was told to end; whether it did so by itself does not matter.
    Told(EndWhy),
}

/// A program that has ended, with everything that it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub how: How,
    /// The most memory of the whole tree that was seen, in bytes; 0 when it was never measured.
    pub peak_memory_bytes: u64,
    /// Whether output is missing in the raw log.
    pub log_cut: bool,
}

/// Why a program could not be run to an end.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// No such program.
    #[error("the program is not there: install it, or correct its name: {}", .0.display())]
    NotFound(PathBuf),
    /// The file is there, but the system does not start it.
    #[error("the program cannot be executed: {error}: check its rights and for which machine it was made: {}", program.display())]
    NotExecutable {
        /// Why.
        error: io::Error,
        /// Which.
        program: PathBuf,
    },
    /// Its working folder is not there.
    #[error("the folder to work in is not there: make it: {}", .0.display())]
    Folder(PathBuf),
    /// The raw log cannot be opened.
    #[error("the raw log cannot be opened: {error}: check the disk and the folder's rights: {}", path.display())]
    Log {
        /// Why.
        error: io::Error,
        /// Where.
        path: PathBuf,
    },
    /// The system did not give what a start needs.
    #[error("the program cannot be started: {error}: try again when the machine has room: {}", program.display())]
    Start {
        /// Why.
        error: io::Error,
        /// Which.
        program: PathBuf,
    },
    /// How it ended cannot be read.
    #[error("how the program ended cannot be read: {error}: try again: {}", program.display())]
    Unread {
        /// Why.
        error: io::Error,
        /// Which.
        program: PathBuf,
    },
    /// It was killed and lives on, as when it waits for a dead disk.
    #[error("{count} killed processes do not end: look at the machine's disks and drivers: {}", program.display())]
    Undying {
        /// Processes left.
        count: usize,
        /// Of which program.
        program: PathBuf,
    },
}

/// The system's code for a file that is no program of it; it has no kind of its own.
#[cfg(unix)]
const NO_PROGRAM: i32 = rustix::io::Errno::NOEXEC.raw_os_error();
/// `ERROR_BAD_EXE_FORMAT`.
#[cfg(not(unix))]
const NO_PROGRAM: i32 = 193;

impl ProgramError {
    /// What the error of a start means.
    pub(super) fn from_start(error: io::Error, program: &Program) -> Self {
        let path = program.program.clone();
        match error.kind() {
            _ if !program.folder.is_dir() => Self::Folder(program.folder.clone()),
            io::ErrorKind::NotFound => Self::NotFound(path),
            io::ErrorKind::PermissionDenied => Self::NotExecutable { error, program: path },
            _ if error.raw_os_error() == Some(NO_PROGRAM) => {
                Self::NotExecutable { error, program: path }
            }
            _ => Self::Start { error, program: path },
        }
    }
}
