//! `sawah simulate`: the farm in virtual time, with faults, from a seed.

use super::context::Context;
use super::error::{CliError, Exit};
use super::output;
use crate::simulation::{self, Options, Report};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;

/// Prove the engine: run a simulated farm in virtual time, with faults, from a seed
///
/// The store, the leases and the policy are the real ones; workers, people, network, crashes,
/// clocks and disk are simulated. After each step the rules are checked; after the faults every
/// job and every pipeline must end. The same seed gives the same trace hash.
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
    /// How many seeds, one after the other from --seed
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
    seeds: u64,
    steps: u64,
    jobs: u64,
    pipelines: u64,
    virtual_ms: u64,
    faults: BTreeMap<&'static str, u64>,
    invariants_checked: u64,
    violations: u64,
    ok: bool,
    runs: Vec<Report>,
}

/// Most runs that the JSON document lists, beside those that broke a rule.
const RUNS_LISTED: usize = 100;

pub(super) fn run(context: &Context, arguments: &SimulateArguments) -> Result<Exit, CliError> {
    let mut summary = Summary::default();
    for seed in arguments.seed..arguments.seed.saturating_add(arguments.seeds) {
        let mut options = Options::new(seed, arguments.days, usize::from(arguments.workers));
        options.log = arguments.trace;
        let report = simulation::run(&options).map_err(|error| CliError::internal(&error))?;
        for line in &report.log {
            output::note(line.trim_end());
        }
        if !context.json && (arguments.seeds == 1 || report.violation.is_some()) {
            output::line(&one(&report))?;
        }
        add(&mut summary, report);
    }
    summary.ok = summary.violations == 0;
    let exit = if summary.ok { Exit::Done } else { Exit::Failed };
    if context.json {
        output::json(&summary)?;
    } else if arguments.seeds > 1 {
        output::line(&all(&summary))?;
    }
    Ok(exit)
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
         rules checked: {}\ntrace: {}\n{end}",
        report.seed,
        report.steps,
        report.jobs,
        report.pipelines,
        report.virtual_ms / 60_000,
        faults(&report.faults),
        report.invariants_checked,
        report.trace_hash,
    )
}

fn all(summary: &Summary) -> String {
    format!(
        "{} seeds: {} steps, {} jobs in {} pipelines, {} virtual hours\nfaults:\n{}\n\
         rules checked: {}\nviolations: {}",
        summary.seeds,
        summary.steps,
        summary.jobs,
        summary.pipelines,
        summary.virtual_ms / 3_600_000,
        faults(&summary.faults),
        summary.invariants_checked,
        summary.violations,
    )
}
