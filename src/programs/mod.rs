//! Programs of others: started, heard, bounded, and gone at the end together with everything that
//! they started.
//!
//! Reading order: [`program`] (the words), [`run()`] (one program from start to end), [`signal`] and
//! [`registry`] (how others end it), [`tree`] (which processes are its), [`mark`] (how they are
//! found when nobody is left who knows), [`host`] (what a process that runs programs does first),
//! [`surroundings`] (what it gives to all of them).

pub mod bounds;
pub mod program;
pub mod signal;
pub mod registry;
pub mod host;
pub mod tree;
pub mod mark;
pub mod surroundings;
mod raw_log;
mod run;
mod start;

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod system;

pub use mark::Mark;
pub use program::{Bounds, EndWhy, Ended, Heard, How, Program, ProgramError, Usage};
pub use run::{run, run_fed};
pub use signal::EndSignal;

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
