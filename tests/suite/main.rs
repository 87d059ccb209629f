//! The integration tests, one binary so that linking happens once.
//!
//! Most of them start the real program on a farm of their own; see [`farm`].
#![expect(clippy::expect_used, reason = "a test that cannot go on must say so and end")]

// The house: what the source and the documents must keep to.
mod architecture;
mod documents;

// What the tests stand on.
mod events;
mod farm;
mod inputs;

// The farm as people meet it.
mod api;
mod bad_input;
mod batches;
mod commands;
mod demo;
mod flow;
mod kill_serve;
mod kill_worker;
mod retry;
mod separate_worker;
mod twice;
mod zombie;

mod samples;

#[cfg(feature = "desktop")]
mod desktop;
