//! Sawah, a render-farm manager for small studios.
//!
//! The modules in reading order; each may use only those above it (held by a test).

pub mod model;
pub mod renderers;
pub mod recipes;
pub mod protocol;
pub mod policy;
pub mod clock;
pub mod programs;
pub mod telemetry;
pub mod settings;
pub mod store;
pub mod artifacts;
pub mod coordinator;
pub mod preview;
pub mod stages;
pub mod intake;
pub mod worker;
pub mod watch;
pub mod simulation;
pub mod client;
#[cfg(feature = "desktop")]
pub mod desktop;
pub mod cli;
