//! `sawah ls`: pipelines, newest first.

use super::context::Context;
use super::error::{CliError, Exit};
use super::output::{self, Table};
use super::words;
use crate::client::Page;
use crate::model::limits;
use crate::protocol::view::PipelineView;
use clap::Args;

/// Show the pipelines, newest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sawah ls\n  sawah ls --limit 200 --json")]
pub(super) struct LsArguments {
    /// At most this many
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::ROWS_PER_PAGE)))]
    limit: u32,
    /// Only those older than this pipeline
    #[arg(long, value_name = "PIPELINE")]
    before: Option<i64>,
}

pub(super) fn run(context: &Context, arguments: &LsArguments) -> Result<Exit, CliError> {
    let page = Page { before: arguments.before, limit: Some(arguments.limit) };
    let rows = context.with_client(|client| async move { Ok(client.pipelines(page).await?) })?;
    if context.json {
        output::json(&rows)?;
    } else {
        table(&rows, context.now_ms())
            .print("Nothing was handed in yet: try 'sawah submit FILE'")?;
    }
    Ok(Exit::Done)
}

fn table(rows: &[PipelineView], now_ms: i64) -> Table {
    let mut table = Table::new(&["#ID", "ASSET", "KIND", "RECIPE", "STATUS", "AT", "SUBMITTED"]);
    for row in rows {
        table.row([
            row.id.to_string(),
            format!("{} v{}", row.asset, row.asset_version),
            row.kind.map_or_else(|| "?".to_owned(), |kind| kind.to_string()),
            row.recipe.clone(),
            row.status.to_string(),
            words::place(row),
            words::ago(now_ms, row.created_at_ms),
        ]);
    }
    table
}
