//! `sawah limits`: semaphores, rates, projects and queues.

use super::context::Context;
use super::error::{CliError, Exit};
use super::output::{self, Table};
use super::words;
use crate::model::{Name, limits};
use crate::protocol::control::{Limit, Limits, SetLimit};
use clap::{Args, Subcommand};

const EXAMPLES: &str = "Examples:
  sawah limits
  sawah limits semaphore licence.ffmpeg --capacity 2
  sawah limits semaphore licence.ffmpeg --none
  sawah limits rate storage --per-minute 60 --burst 10
  sawah limits project film --weight 3 --quota 12
  sawah limits queue ingest --queued 5000

A stage of a recipe names what it needs:
  semaphores = [\"licence.ffmpeg\"]
  rates = [\"storage\"]
What has no limit here is not limited.";

/// Show or set limits: semaphores, rates, projects, queues
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct LimitsArguments {
    #[command(subcommand)]
    set: Option<SetArguments>,
    /// Why, for the audit
    #[arg(long, global = true, default_value = "on the command line")]
    reason: String,
}

#[derive(Debug, Subcommand)]
enum SetArguments {
    /// How many jobs may hold something at once, such as a licence
    Semaphore {
        /// As recipes name it
        name: Name,
        /// Jobs at once
        #[arg(long, value_name = "N", required_unless_present = "none")]
        capacity: Option<u32>,
        /// Remove the limit
        #[arg(long, conflicts_with = "capacity")]
        none: bool,
    },
    /// How often jobs that use something may begin
    Rate {
        /// As recipes name it
        name: Name,
        /// Jobs a minute
        #[arg(long, value_name = "N", required_unless_present = "none")]
        per_minute: Option<u32>,
        /// Jobs at once after a quiet time
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        burst: u32,
        /// Remove the limit
        #[arg(long, conflicts_with = "per_minute")]
        none: bool,
    },
    /// The share of a project; sets weight and quota together
    Project {
        /// As 'sawah submit --project' names it
        name: Name,
        /// Turns it gets against the weights of the others
        #[arg(long, value_name = "N", default_value_t = 1,
            value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::PROJECT_WEIGHT)))]
        weight: u32,
        /// Jobs of it that may run at once; without it any number
        #[arg(long, value_name = "N")]
        quota: Option<u32>,
    },
    /// How many jobs may wait in a queue before submissions are refused
    Queue {
        /// As the list shows it
        queue: String,
        /// Jobs that may wait
        #[arg(long, value_name = "N", required_unless_present = "none")]
        queued: Option<u64>,
        /// Back to the default
        #[arg(long, conflicts_with = "queued")]
        none: bool,
    },
}

impl SetArguments {
    fn limit(self) -> Limit {
        match self {
            Self::Semaphore { name, capacity, .. } => Limit::Semaphore { name, capacity },
            Self::Rate { name, per_minute, burst, .. } => Limit::Rate { name, per_minute, burst },
            Self::Project { name, weight, quota } => Limit::Project { name, weight, quota },
            Self::Queue { queue, queued, .. } => Limit::Queue { queue, max_queued: queued },
        }
    }
}

pub(super) fn run(context: &Context, arguments: LimitsArguments) -> Result<Exit, CliError> {
    let order = arguments.set.map(|set| SetLimit {
        limit: set.limit(),
        actor: crate::client::actor(),
        reason: arguments.reason,
    });
    let all = context.with_client(|client| async move {
        Ok(match order {
            Some(order) => client.set_limit(&order).await?,
            None => client.limits().await?,
        })
    })?;
    if context.json {
        output::json(&all)?;
    } else {
        output::raw(text(&all, context.now_ms()).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn text(all: &Limits, now_ms: i64) -> String {
    [queues(all), projects(all), semaphores(all), rates(all, now_ms)]
        .into_iter()
        .filter(|table| !table.is_empty())
        .map(|table| table.render(0))
        .collect::<Vec<_>>()
        .join("\n")
}

fn any(limit: Option<u32>) -> String {
    limit.map_or_else(|| "any".to_owned(), |limit| limit.to_string())
}

fn queues(all: &Limits) -> Table {
    let mut table = Table::new(&["QUEUE", "MODE", "#QUEUED", "#LIMIT", "OLDEST"]);
    for row in &all.queues {
        let oldest = row.oldest_ms.and_then(|ms| i64::try_from(ms).ok());
        table.row([
            row.queue.clone(),
            row.mode.to_string(),
            row.queued.to_string(),
            row.max_queued.to_string(),
            oldest.map(words::span).unwrap_or_default(),
        ]);
    }
    table
}

fn projects(all: &Limits) -> Table {
    let mut table = Table::new(&["PROJECT", "#WEIGHT", "#RUNNING", "#QUOTA"]);
    for row in &all.projects {
        table.row([
            row.name.to_string(),
            row.weight.to_string(),
            row.running.to_string(),
            any(row.quota),
        ]);
    }
    table
}

fn semaphores(all: &Limits) -> Table {
    let mut table = Table::new(&["SEMAPHORE", "#HELD", "#CAPACITY", "HOLDERS"]);
    for row in &all.semaphores {
        let holders: Vec<_> =
            row.holders.iter().map(|one| format!("job {} on {}", one.job, one.worker)).collect();
        let (held, capacity) = (row.held.to_string(), any(row.capacity));
        table.row([row.name.to_string(), held, capacity, holders.join(", ")]);
    }
    table
}

fn rates(all: &Limits, now_ms: i64) -> Table {
    let mut table = Table::new(&["RATE", "#A MINUTE", "#BURST", "#TOKENS", "NEXT"]);
    for row in &all.rates {
        let next = match row.next_ms {
            Some(at_ms) if at_ms <= now_ms => "now".to_owned(),
            Some(at_ms) => format!("in {}", words::span(at_ms.saturating_sub(now_ms))),
            None => "never".to_owned(),
        };
        table.row([
            row.name.to_string(),
            row.per_minute.to_string(),
            row.burst.to_string(),
            row.tokens.to_string(),
            next,
        ]);
    }
    table
}
