//! `sawah audit`: every change, one JSON document a line.

use super::context::Context;
use super::error::{CliError, Exit};
use super::output;
use crate::client::AuditQuery;
use crate::model::{JobId, PipelineId};
use crate::protocol::audit::AuditRow;
use clap::Args;

/// Print every change, oldest first: who did what, from which state to which, and why
///
/// One JSON document a line; with --json all of them in one. Ends at what there was when it
/// began: go on later with --after and the last number.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  sawah audit\n  sawah audit --after 1200\n  sawah audit --pipeline 3\n  sawah audit --job 17"
)]
pub(super) struct AuditArguments {
    /// Only changes with a greater number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    after: u64,
    /// Only changes of this pipeline
    #[arg(long, value_name = "P", conflicts_with = "job")]
    pipeline: Option<PipelineId>,
    /// Only changes of this job
    #[arg(long, value_name = "J")]
    job: Option<JobId>,
}

pub(super) fn run(context: &Context, arguments: &AuditArguments) -> Result<Exit, CliError> {
    let AuditArguments { after, pipeline, job } = *arguments;
    let json = context.json;
    context.with_client(|client| async move {
        let mut query = AuditQuery { after, limit: None, pipeline, job };
        let mut printer = Printer { json, rows: 0 };
        let mut end = None;
        loop {
            let page = client.audit(&query).await?;
            let end = *end.get_or_insert(page.last);
            for row in page.rows.iter().take_while(|row| row.seq <= end) {
                printer.print(row)?;
            }
            if page.after >= end {
                break;
            }
            query.after = page.after;
        }
        printer.close()?;
        Ok(Exit::Done)
    })
}

/// Prints rows as they come: an audit of years does not fit into memory.
struct Printer {
    json: bool,
    rows: u64,
}

impl Printer {
    fn print(&mut self, row: &AuditRow) -> Result<(), CliError> {
        let text = serde_json::to_string(row)
            .map_err(|error| CliError::internal(&format!("a row cannot be written: {error}")))?;
        let before = match (self.json, self.rows) {
            (false, _) => "",
            (true, 0) => "[\n",
            (true, _) => ",\n",
        };
        let after = if self.json { "" } else { "\n" };
        self.rows = self.rows.saturating_add(1);
        Ok(output::raw(format!("{before}{text}{after}").as_bytes())?)
    }

    fn close(&self) -> Result<(), CliError> {
        let end = match (self.json, self.rows) {
            (false, _) => return Ok(()),
            (true, 0) => "[]",
            (true, _) => "\n]",
        };
        Ok(output::line(end)?)
    }
}
