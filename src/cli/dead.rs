//! `sawah dead`: what was given up, why, and what to do.

use super::context::Context;
use super::error::{CliError, Exit};
use super::output::{self, Table};
use super::words;
use crate::client::Page;
use crate::model::limits;
use crate::protocol::view::DeadLetterView;
use clap::Args;

/// Show the dead letters: jobs that were given up, why, and what to do
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sawah dead\n  sawah dead --all --json\n  sawah replay 17")]
pub(super) struct DeadArguments {
    /// Also those that were replayed or dismissed
    #[arg(long)]
    all: bool,
}

pub(super) fn run(context: &Context, arguments: &DeadArguments) -> Result<Exit, CliError> {
    let all = arguments.all;
    let page = Page::newest(limits::ROWS_PER_PAGE);
    let rows =
        context.with_client(|client| async move { Ok(client.dead_letters(all, page).await?) })?;
    if context.json {
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
