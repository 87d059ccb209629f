//! How a command ends.

use super::output;
use crate::client::ClientError;
use crate::client::discover::DiscoverError;
use crate::client::intake::IntakeError;
use crate::settings::SettingsError;
use crate::telemetry::TelemetryError;
use std::io;
use std::process::ExitCode;

/// The exit codes; `sawah --help` documents them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// Done.
    Done,
    /// The work failed: a dead letter, a refused file, a failed check.
    Failed,
    /// Wrong usage.
    Usage,
    /// No coordinator can be reached.
    Unreachable,
    /// A fault inside Sawah.
    Internal,
    /// Ended by Ctrl-C.
    Interrupted,
}

impl Exit {
    #[cfg(test)]
    pub(super) const ALL: [Self; 6] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::Unreachable,
        Self::Internal,
        Self::Interrupted,
    ];

    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::Internal => 4,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// Why a command did not do its work.
#[derive(Debug)]
pub(super) struct CliError {
    exit: Exit,
    message: String,
}

impl CliError {
    pub(super) fn new(exit: Exit, message: &(impl ToString + ?Sized)) -> Self {
        Self { exit, message: message.to_string() }
    }

    pub(super) fn usage(message: &(impl ToString + ?Sized)) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(super) fn failed(message: &(impl ToString + ?Sized)) -> Self {
        Self::new(Exit::Failed, message)
    }

    pub(super) fn internal(message: &(impl ToString + ?Sized)) -> Self {
        Self::new(Exit::Internal, message)
    }

    /// What failed, why, and what to do.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// Tells people on stderr, and scripts by one JSON document on stdout.
    pub(super) fn report(&self, json: bool) -> ExitCode {
        if self.exit == Exit::Done {
            return self.exit.into();
        }
        output::note(&format!("sawah: {}", self.message));
        if json {
            let code = self.exit.code();
            let document = serde_json::json!({"error": {"message": self.message, "exit": code}});
            // Where stdout is gone as well, the exit code still tells.
            drop(output::json(&document));
        }
        self.exit.into()
    }
}

impl From<ClientError> for CliError {
    fn from(error: ClientError) -> Self {
        let exit = match error {
            ClientError::Unreachable { .. } | ClientError::Unauthorized { .. } => Exit::Unreachable,
            ClientError::BadAddress { .. } => Exit::Usage,
            ClientError::BadAnswer { .. } => Exit::Internal,
            ClientError::Refused { .. } | ClientError::Damaged(_) | ClientError::File { .. } => {
                Exit::Failed
            }
        };
        Self::new(exit, &error)
    }
}

impl From<DiscoverError> for CliError {
    fn from(error: DiscoverError) -> Self {
        match error {
            DiscoverError::Client(error) => error.into(),
            DiscoverError::NoToken { .. } => Self::new(Exit::Usage, &error),
            _ => Self::new(Exit::Unreachable, &error),
        }
    }
}

impl From<IntakeError> for CliError {
    fn from(error: IntakeError) -> Self {
        match error {
            IntakeError::Call(error) => error.into(),
            IntakeError::Refused(_) => Self::failed(&error),
        }
    }
}

impl From<SettingsError> for CliError {
    fn from(error: SettingsError) -> Self {
        Self::new(Exit::Usage, &error)
    }
}

impl From<TelemetryError> for CliError {
    fn from(error: TelemetryError) -> Self {
        Self::new(Exit::Usage, &error)
    }
}

/// Errors of writing the result. A reader that has seen enough (`sawah ls | head`) is no error.
impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        let exit = match error.kind() {
            io::ErrorKind::BrokenPipe => Exit::Done,
            _ => Exit::Internal,
        };
        Self::new(exit, &format!("cannot write the result: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_end_with_the_documented_codes() {
        let url = String::new;
        let table: [(CliError, u8); 6] = [
            (ClientError::Unreachable { url: url(), why: url() }.into(), 3),
            (ClientError::BadAddress { url: url(), why: url() }.into(), 2),
            (DiscoverError::NotServed { farm: "/f".into() }.into(), 3),
            (DiscoverError::NoToken { url: url() }.into(), 2),
            (io::Error::from(io::ErrorKind::BrokenPipe).into(), 0),
            (io::Error::from(io::ErrorKind::StorageFull).into(), 4),
        ];
        for (error, code) in table {
            assert_eq!(error.exit.code(), code, "{}", error.message);
        }
    }
}
