//! The farm in virtual time, from one seed: the real store, leases and policy, simulated workers
//! and people, a bad network, crashes, clock steps and full disks. After each step the rules are
//! checked; after the faults everything must end.
//!
//! No wall clock, no thread, no chance but the seed's: the same seed gives the same trace.
//!
//! Reading order: `world` (one step after the other), `coordinator` and `life` (the process that
//! is proven), `worker` and `work` (who does the jobs), `operator` (who gives orders), `chaos` and
//! `faults` (what goes wrong), `ledger` and `gates` (what must be true).

mod chaos;
mod coordinator;
mod faults;
mod gates;
mod ledger;
mod life;
mod message;
mod operator;
pub(crate) mod random;
mod time;
mod work;
mod worker;
mod world;

#[cfg(test)]
mod tests;

use crate::recipes::LibraryError;
use crate::store::Store;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Most virtual days of one run.
pub const DAYS: u32 = 365;
/// Most workers of one run.
pub const WORKERS: usize = 64;
/// Milliseconds of a virtual day.
const DAY_MS: u64 = 86_400_000;

/// What to simulate.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where all chance comes from.
    pub seed: u64,
    /// Virtual time in which faults happen, in milliseconds.
    pub length_ms: u64,
    /// Workers of the farm.
    pub workers: usize,
    /// Whether to keep the trace's lines.
    pub log: bool,
}

impl Options {
    /// So many days, as a fraction.
    pub fn new(seed: u64, days: f64, workers: usize) -> Self {
        let days = days.clamp(0.0, f64::from(DAYS));
        let length_ms = (days * DAY_MS as f64) as u64;
        Self { seed, length_ms, workers: workers.clamp(1, WORKERS), log: false }
    }

    /// The command that repeats this run.
    pub fn command(&self) -> String {
        let days = self.length_ms as f64 / DAY_MS as f64;
        format!("sawah simulate --seed {} --days {days} --workers {}", self.seed, self.workers)
    }
}

/// What came of one run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Its seed.
    pub seed: u64,
    /// Virtual milliseconds that passed.
    pub virtual_ms: u64,
    /// Events handled.
    pub steps: u64,
    /// Jobs that came to be.
    pub jobs: u64,
    /// Pipelines that came to be.
    pub pipelines: u64,
    /// What went wrong, by kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// How often a rule was checked.
    pub invariants_checked: u64,
    /// Hash of all that happened; the same for the same seed.
    pub trace_hash: String,
    /// The rule that was broken.
    pub violation: Option<String>,
    /// The command that repeats the run.
    pub command: String,
    /// The trace's lines, where they were asked for.
    #[serde(skip)]
    pub log: Vec<String>,
}

/// Why there is no run.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// The farm needs a folder.
    #[error("no folder for the simulated farm: {0}. Check the folder for temporary files")]
    Folder(std::io::Error),
    /// The recipes cannot be read.
    #[error("the shipped recipes cannot be read: {0}")]
    Recipes(LibraryError),
    /// A shipped recipe is absent.
    #[error("the shipped recipe '{0}' is absent")]
    NoRecipe(&'static str),
}

/// Every rule that is checked, in words.
pub fn rules() -> impl Iterator<Item = &'static str> {
    ledger::RULES.into_iter().chain(Store::rules()).chain(["the write-ahead log stays bounded"])
}

/// Runs one seed to its end, or to the first broken rule.
pub fn run(options: &Options) -> Result<Report, SimulationError> {
    let mut world = world::World::new(options)?;
    let violation = world.run().err();
    let hash = world.hash();
    let trace_hash = hash.iter().fold(String::new(), |mut text, byte| {
        // A text takes every letter.
        let _ = write!(text, "{byte:02x}");
        text
    });
    Ok(Report {
        seed: options.seed,
        virtual_ms: world.now_ms,
        steps: world.steps,
        jobs: world.ledger.jobs.len() as u64,
        pipelines: world.ledger.pipelines.len() as u64,
        faults: world.counts.clone(),
        invariants_checked: world.checks + world.ledger.checks,
        trace_hash,
        violation,
        command: options.command(),
        log: world.take_log(),
    })
}
