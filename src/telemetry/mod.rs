//! Structured logs on stderr, as text for people or JSON lines for collectors.
//!
//! Secrets never reach a log: the token's type prints as dots, and no request header is logged.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use tracing_subscriber::EnvFilter;

/// The shape of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One readable line each.
    #[default]
    Text,
    /// One JSON object each.
    Json,
}

impl LogFormat {
    /// The name used in the settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text names no log format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no log format: use text or json")]
pub struct UnknownLogFormat(String);

impl FromStr for LogFormat {
    type Err = UnknownLogFormat;

    fn from_str(text: &str) -> Result<Self, UnknownLogFormat> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(UnknownLogFormat(text.to_owned())),
        }
    }
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter cannot be read.
    #[error(
        "the log filter is wrong: {why}. Use error, warn, info, debug, trace, or parts such as 'info,sawah::store=debug'. It is '{filter}'"
    )]
    Filter {
        /// As given.
        filter: String,
        /// Why.
        why: String,
    },
    /// Logging is set up already.
    #[error("logging was set up twice: {0}")]
    Twice(String),
}

/// Sets up logging to stderr for the rest of the process.
///
/// `filter` is a level (`debug`) or a list of parts (`info,sawah::store=debug`).
pub fn init(filter: &str, format: LogFormat) -> Result<(), TelemetryError> {
    use std::io::IsTerminal as _;
    let filter = parse_filter(filter)?;
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colour);
    let result = match format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    result.map_err(|error| TelemetryError::Twice(error.to_string()))
}

/// Checks a filter without using it.
pub fn check_filter(filter: &str) -> Result<(), TelemetryError> {
    parse_filter(filter).map(|_| ())
}

/// A bare level is Sawah's own; libraries stay at warnings, since their details drown ours.
fn parse_filter(filter: &str) -> Result<EnvFilter, TelemetryError> {
    let wrong =
        |why: String| TelemetryError::Filter { filter: filter.chars().take(200).collect(), why };
    let trimmed = filter.trim();
    let is_level = ["error", "warn", "info", "debug", "trace", "off"]
        .iter()
        .any(|level| trimmed.eq_ignore_ascii_case(level));
    let is_plain_word = trimmed.chars().all(char::is_alphanumeric);
    match trimmed {
        "" => Err(wrong("it is empty".to_owned())),
        "error" | "off" => Ok(EnvFilter::new(trimmed)),
        _ if is_level => Ok(EnvFilter::new(format!("warn,sawah={trimmed}"))),
        _ if is_plain_word => Err(wrong(format!("'{trimmed}' is no level"))),
        _ => EnvFilter::try_new(trimmed).map_err(|error| wrong(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_parts_are_read_and_nonsense_is_refused() {
        for good in ["warn", "debug", "info,sawah::store=debug", "INFO", "off"] {
            assert!(check_filter(good).is_ok(), "{good}");
        }
        for bad in ["", "loud", "sawah=loud", "=,="] {
            let error = check_filter(bad).map_err(|error| error.to_string());
            assert!(error.as_ref().is_err_and(|text| text.contains("log filter")), "{bad}");
        }
    }

    #[test]
    fn a_bare_level_keeps_libraries_quiet() {
        let filter = parse_filter("debug").map(|filter| filter.to_string());
        assert!(filter.is_ok_and(|text| text.contains("sawah=debug") && text.contains("warn")));
    }
}
