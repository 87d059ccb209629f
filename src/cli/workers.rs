//! `sawah workers`: who works now.

use super::context::Context;
use super::error::{CliError, Exit};
use super::output::{self, Table};
use super::words;
use crate::protocol::view::WorkerView;

pub(super) fn run(context: &Context) -> Result<Exit, CliError> {
    let rows = context.with_client(|client| async move { Ok(client.workers().await?) })?;
    if context.json {
        output::json(&rows)?;
    } else {
        table(&rows, context.now_ms())
            .print("No worker has a session: start one with 'sawah worker'")?;
    }
    Ok(Exit::Done)
}

fn table(rows: &[WorkerView], now_ms: i64) -> Table {
    let mut table = Table::new(&[
        "WORKER", "HOST", "OS", "#CORES", "#MEMORY", "#JOBS", "LEASE", "SINCE", "GRAPHICS",
        "PROGRAMS",
    ]);
    for row in rows {
        let can = &row.capabilities;
        let programs: Vec<String> = can
            .programs
            .iter()
            .map(|program| format!("{} {}", program.name, program.version))
            .collect();
        table.row([
            row.name.clone(),
            can.host.clone(),
            can.os.clone(),
            can.cores.to_string(),
            words::size(can.memory_bytes),
            format!("{}/{}", row.jobs.len(), can.slots),
            format!("{} left", words::span(i64::try_from(row.lease_left_ms).unwrap_or(i64::MAX))),
            words::ago(now_ms, row.opened_at_ms),
            if can.gpus.is_empty() { "none".to_owned() } else { can.gpus.join(", ") },
            programs.join(", "),
        ]);
    }
    table
}
