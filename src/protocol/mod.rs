//! The wire: what workers, clients and the coordinator say to each other under `/v1`.
//!
//! [`work`] is between a worker and the coordinator, [`submit`] and [`view`] between people's
//! clients and the coordinator, [`batch`] carries many of either in one call, [`watch`] is about
//! watch folders, [`event`] is the live stream, [`problem`] every refusal.

pub mod audit;
pub mod batch;
pub mod control;
pub mod dead;
pub mod event;
pub mod problem;
pub mod quarantine;
pub mod scaling;
pub mod submit;
pub mod view;
pub mod watch;
pub mod webhook;
pub mod why;
pub mod work;

/// The version of the protocol; a worker and a coordinator must agree on it.
pub const PROTOCOL_VERSION: u32 = 2;
