//! `sawah dead`: what was given up, why, and what to do.

use super::context::Context;
use super::error::{CliError, Exit};
use super::output::{self, Table};
use super::words;
use crate::client::Page;
use crate::model::{JobId, Reason, Stage, limits};
use crate::protocol::view::DeadLetterView;
use clap::Args;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Show the dead letters: jobs that were given up, why, and what to do
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  sawah dead\n  sawah dead --all --json\n  sawah dead --group\n  sawah dead 17\n  sawah replay 17"
)]
pub(super) struct DeadArguments {
    /// Also those that were replayed or dismissed
    #[arg(long)]
    all: bool,
    /// One line for each kind of failure
    #[arg(long)]
    group: bool,
    /// One letter in full: log, attempts, payload
    #[arg(conflicts_with_all = ["all", "group"])]
    job: Option<JobId>,
}

/// Letters that are alike.
#[derive(Debug, Serialize)]
struct Group<'a> {
    fingerprint: &'a str,
    count: usize,
    stage: Stage,
    reason: Reason,
    newest_at_ms: i64,
    assets: BTreeSet<&'a str>,
    jobs: Vec<JobId>,
    /// Of the newest.
    message: &'a str,
}

pub(super) fn run(context: &Context, arguments: &DeadArguments) -> Result<Exit, CliError> {
    if let Some(job) = arguments.job {
        return one(context, job);
    }
    let all = arguments.all;
    let page = Page::newest(limits::ROWS_PER_PAGE);
    let rows =
        context.with_client(|client| async move { Ok(client.dead_letters(all, page).await?) })?;
    if arguments.group && (context.json || !rows.is_empty()) {
        show_groups(context, &groups(&rows))?;
    } else if context.json {
        output::json(&rows)?;
    } else if rows.is_empty() {
        output::line("No dead letters wait")?;
    } else {
        let now_ms = context.now_ms();
        let text: Vec<String> = rows.iter().map(describe).collect();
        output::raw(table(&rows, now_ms).render(0).as_bytes())?;
        output::line(&format!("\n{}", text.join("\n")))?;
    }
    Ok(Exit::Done)
}

/// The kinds of failure, the most frequent first.
fn groups(rows: &[DeadLetterView]) -> Vec<Group<'_>> {
    let mut groups: BTreeMap<&str, Group<'_>> = BTreeMap::new();
    for row in rows {
        let group = groups.entry(&row.fingerprint).or_insert_with(|| Group {
            fingerprint: &row.fingerprint,
            count: 0,
            stage: row.stage,
            reason: row.reason,
            newest_at_ms: row.at_ms,
            assets: BTreeSet::new(),
            jobs: Vec::new(),
            message: &row.message,
        });
        group.count += 1;
        group.assets.insert(row.asset.as_str());
        group.jobs.push(row.job);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.count), group.fingerprint));
    groups
}

fn show_groups(context: &Context, groups: &[Group<'_>]) -> Result<(), CliError> {
    if context.json {
        return Ok(output::json(&groups)?);
    }
    let mut table = Table::new(&["FINGERPRINT", "#COUNT", "STAGE", "REASON", "NEWEST", "MESSAGE"]);
    for group in groups {
        table.row([
            group.fingerprint.to_owned(),
            group.count.to_string(),
            group.stage.to_string(),
            group.reason.to_string(),
            words::ago(context.now_ms(), group.newest_at_ms),
            output::one_line(group.message),
        ]);
    }
    output::raw(table.render(0).as_bytes())?;
    output::line("\nTry a kind again: sawah replay --where fingerprint=F --reason WHY")?;
    Ok(())
}

fn one(context: &Context, job: JobId) -> Result<Exit, CliError> {
    let detail = context.with_client(|client| async move { Ok(client.dead_letter(job).await?) })?;
    if context.json {
        output::json(&detail)?;
        return Ok(Exit::Done);
    }
    output::line(&describe(&detail.letter))?;
    output::line(&format!("  Fingerprint: {}", detail.letter.fingerprint))?;
    for attempt in &detail.attempts {
        let failure = attempt.failure.as_ref().map(words::failure).unwrap_or_default();
        let worker = output::one_line(&attempt.worker);
        output::line(&format!("  Attempt {} on {worker}: {failure}", attempt.attempt))?;
    }
    output::line("  The end of the log:")?;
    for line in &detail.log {
        output::line(&format!("    {}", output::one_line(line)))?;
    }
    Ok(Exit::Done)
}

fn table(rows: &[DeadLetterView], now_ms: i64) -> Table {
    let mut table =
        Table::new(&["#JOB", "#PIPELINE", "ASSET", "STAGE", "REASON", "#TRIES", "SINCE", "STATE"]);
    for row in rows {
        let state = match (row.replayed_as, row.dismissed) {
            (Some(job), _) => format!("replayed as job {job}"),
            (None, true) => "dismissed".to_owned(),
            (None, false) => "waits".to_owned(),
        };
        table.row([
            row.job.to_string(),
            row.pipeline.to_string(),
            format!("{} v{}", row.asset, row.asset_version),
            format!("{} {}", row.stage, row.chunk),
            row.reason.to_string(),
            row.attempts.to_string(),
            words::ago(now_ms, row.at_ms),
            state,
        ]);
    }
    table
}

fn describe(row: &DeadLetterView) -> String {
    let worker = row.worker.as_deref().unwrap_or("no worker");
    format!(
        "Job {} ({} v{}, {}, on {}): {}\n  What to do: {}",
        row.job,
        row.asset,
        row.asset_version,
        row.stage,
        output::one_line(worker),
        output::one_line(&row.message),
        output::one_line(&row.remedy)
    )
}
