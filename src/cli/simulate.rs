//! `sawah simulate`: the farm in virtual time, with faults, from a seed.

use super::context::Context;
use super::error::{CliError, Exit};
use super::output;
use crate::simulation::{self, Options, Report};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, sync_channel};

/// Prove the engine: run a simulated farm in virtual time, with faults, from a seed
///
/// The store, the leases and the policy are the real ones; workers, people, network, crashes,
/// clocks and disk are simulated. After each step the rules are checked; after the faults every
/// job and every pipeline must end. The same seed gives the same trace hash, and many seeds, which
/// run on all cores, the same report.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sawah simulate --seed 7
  sawah simulate --seed 0 --seeds 1000 --days 0.007 --workers 3
  sawah simulate --seed 7 --days 1 --workers 8 --json

Exit code 1 if a rule was broken; the command that repeats the seed is printed.")]
pub(super) struct SimulateArguments {
    /// Where all chance comes from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How many seeds, from --seed on
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: u64,
    /// Virtual days in which faults happen, as a fraction
    #[arg(long, value_name = "D", default_value_t = 0.02)]
    days: f64,
    /// Simulated workers
    #[arg(long, value_name = "W", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=64))]
    workers: u16,
    /// Print every step of the trace on stderr
    #[arg(long)]
    trace: bool,
}

/// All seeds together.
#[derive(Debug, Default, Serialize)]
struct Summary {
    /// The first seed.
    seed: u64,
    seeds: u64,
    steps: u64,
    jobs: u64,
    pipelines: u64,
    virtual_ms: u64,
    faults: BTreeMap<&'static str, u64>,
    /// Every rule that is checked.
    invariants: Vec<&'static str>,
    /// How often one was checked.
    invariants_checked: u64,
    /// Of one seed its own; of many a hash over theirs in the order of the seeds.
    trace_hash: String,
    violations: u64,
    ok: bool,
    runs: Vec<Report>,
}

/// Most runs that the JSON document lists, beside those that broke a rule.
const RUNS_LISTED: usize = 100;
/// Reports of each thread that wait for those of smaller seeds.
const REPORTS_WAITING: usize = 16;

pub(super) fn run(context: &Context, arguments: &SimulateArguments) -> Result<Exit, CliError> {
    let mut summary = Summary {
        seed: arguments.seed,
        invariants: simulation::rules().collect(),
        ..Summary::default()
    };
    let mut hasher = blake3::Hasher::new();
    in_order(arguments, |report| {
        for line in &report.log {
            output::note(line.trim_end());
        }
        if !context.json && (arguments.seeds == 1 || report.violation.is_some()) {
            output::line(&one(&report))?;
        }
        hasher.update(report.trace_hash.as_bytes());
        summary.trace_hash = match arguments.seeds {
            1 => report.trace_hash.clone(),
            _ => hasher.finalize().to_hex().to_string(),
        };
        add(&mut summary, report);
        Ok(())
    })?;
    summary.ok = summary.violations == 0;
    let exit = if summary.ok { Exit::Done } else { Exit::Failed };
    if context.json {
        output::json(&summary)?;
    } else if arguments.seeds > 1 {
        output::line(&all(&summary))?;
    }
    Ok(exit)
}

/// Runs the seeds on all cores and takes their reports in the order of the seeds: thread number n
/// of N runs every Nth seed, so nothing depends on which of them is faster.
fn in_order(
    arguments: &SimulateArguments,
    mut take: impl FnMut(Report) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get) as u64;
    let threads = cores.min(arguments.seeds);
    let end = arguments.seed.saturating_add(arguments.seeds);
    let seeds = move |first: u64| {
        (arguments.seed.saturating_add(first)..end).step_by(usize::try_from(threads).unwrap_or(1))
    };
    std::thread::scope(|scope| {
        let mut lanes = Vec::new();
        for thread in 0..threads {
            let (send, receive) = sync_channel(REPORTS_WAITING);
            lanes.push(receive);
            std::thread::Builder::new()
                .name(format!("simulation-{thread}"))
                .spawn_scoped(scope, move || {
                    for seed in seeds(thread) {
                        // Nobody listens any more once a run could not begin.
                        if send.send(simulation::run(&options(arguments, seed))).is_err() {
                            return;
                        }
                    }
                })
                .map_err(|error| CliError::internal(&format!("cannot start threads: {error}")))?;
        }
        for lane in (0..lanes.len()).cycle().take(usize::try_from(arguments.seeds).unwrap_or(0)) {
            let Some(Ok(report)) = lanes.get(lane).map(Receiver::recv) else {
                return Err(CliError::internal("a simulation ended without a report"));
            };
            take(report.map_err(|error| CliError::internal(&error))?)?;
        }
        Ok(())
    })
}

fn options(arguments: &SimulateArguments, seed: u64) -> Options {
    let mut options = Options::new(seed, arguments.days, usize::from(arguments.workers));
    options.log = arguments.trace;
    options
}

fn add(summary: &mut Summary, report: Report) {
    summary.seeds += 1;
    summary.steps += report.steps;
    summary.jobs += report.jobs;
    summary.pipelines += report.pipelines;
    summary.virtual_ms += report.virtual_ms;
    summary.invariants_checked += report.invariants_checked;
    summary.violations += u64::from(report.violation.is_some());
    for (kind, count) in &report.faults {
        *summary.faults.entry(kind).or_default() += count;
    }
    if summary.runs.len() < RUNS_LISTED || report.violation.is_some() {
        summary.runs.push(report);
    }
}

fn faults(faults: &BTreeMap<&'static str, u64>) -> String {
    let lines: Vec<_> = faults.iter().map(|(kind, count)| format!("  {kind} {count}")).collect();
    lines.join("\n")
}

fn one(report: &Report) -> String {
    let end = match &report.violation {
        None => "every rule held".to_owned(),
        Some(why) => format!("BROKEN: {why}\nrepeat with: {}", report.command),
    };
    format!(
        "seed {}: {} steps, {} jobs in {} pipelines, {} virtual minutes\nfaults:\n{}\n\
         checks of {} rules: {}\ntrace: {}\n{end}",
        report.seed,
        report.steps,
        report.jobs,
        report.pipelines,
        report.virtual_ms / 60_000,
        faults(&report.faults),
        simulation::rules().count(),
        report.invariants_checked,
        report.trace_hash,
    )
}

fn all(summary: &Summary) -> String {
    format!(
        "{} seeds: {} steps, {} jobs in {} pipelines, {} virtual hours\nfaults:\n{}\n\
         checks of {} rules: {}\ntrace: {}\nviolations: {}",
        summary.seeds,
        summary.steps,
        summary.jobs,
        summary.pipelines,
        summary.virtual_ms / 3_600_000,
        faults(&summary.faults),
        summary.invariants.len(),
        summary.invariants_checked,
        summary.trace_hash,
        summary.violations,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_seeds_are_told_in_their_order_and_are_what_they_are_alone() {
        let arguments =
            SimulateArguments { seed: 3, seeds: 5, days: 0.002, workers: 2, trace: false };
        let mut told = Vec::new();
        in_order(&arguments, |report| {
            told.push((report.seed, report.trace_hash));
            Ok(())
        })
        .unwrap();
        let alone = (3..8).map(|seed| simulation::run(&options(&arguments, seed)).unwrap());
        let alone: Vec<_> = alone.map(|report| (report.seed, report.trace_hash)).collect();
        assert_eq!(told, alone);
    }
}
