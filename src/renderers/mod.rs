//! Renderer profiles: TOML files that say how a program is called and how its log is read.
//!
//! Shipped ones are in `assets/renderers`; a user's own lie in the configuration folder. Exit
//! codes lie, so a run is judged by its log, its exit code and, where a program has one, the
//! line that says it is done. Nothing here starts a program or looks at its files.

pub mod command;
pub mod event;
pub mod library;
pub mod lines;
pub mod output;
pub mod padding;
pub mod pattern;
pub mod placeholder;
pub mod profile;
pub mod progress;
pub mod reader;
pub mod rules;
pub mod run;
pub mod template;
pub mod values;
pub mod verdict;
pub mod warm;

pub use command::{CommandError, Invocation, Unit};
pub use event::Event;
pub use library::{Library, LibraryError};
pub use profile::Profile;
pub use reader::LogReader;
pub use run::{Run, RunWarning};
pub use values::{ValueError, Values};
pub use verdict::{Exit, RunFailure};

#[cfg(test)]
mod golden_tests;
#[cfg(test)]
mod tests;
