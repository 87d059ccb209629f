//! The worker: claims jobs from a coordinator and runs each in a stage host.
//!
//! Reading order: [`agent`] (one session after the other), `session` (lease, heartbeat, claims),
//! `attempt` (one job), [`process`] (its stage host), [`hosts`] (those that wait for the next one), [`lease`] (when to stop by itself).

pub mod bounds;
pub mod config;
pub mod names;
pub mod api;
pub mod transfer;
pub mod cache;
pub mod staging;
pub mod capabilities;
pub mod lines;
pub mod lease;
pub mod running;
mod heard;
mod host;
pub mod hosts;
pub mod process;
pub mod outputs;
pub mod logs;
pub mod keep;
pub mod probe;
pub mod agent;
mod attempt;
mod gone;
mod reports;
mod session;
pub mod pace;
mod slots;

/// Set for children that load Vulkan drivers: without it Mesa's device-choosing layer, which we do
/// not need, complains on stderr wherever there is no desktop session.
pub const QUIET_VULKAN: (&str, &str) = ("NODEVICE_SELECT", "1");

pub use agent::run;
pub use config::{WorkerConfig, WorkerError};
