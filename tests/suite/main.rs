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
mod line;
mod previews;
mod ran;
mod relay;
mod small_disk;

// The farm as people meet it.
mod adopting;
mod api;
mod bad_input;
mod batches;
mod commands;
mod demo;
mod failure_scenarios;
mod few_files;
mod flow;
mod frozen;
mod full_disk;
mod half_open;
mod kill_serve;
mod kill_worker;
mod retry;
mod separate_worker;
mod twice;
mod views;
mod warm;
mod watch;
mod worker_disk;
mod zombie;

mod samples;
mod scenes;

#[cfg(feature = "desktop")]
mod desktop;
