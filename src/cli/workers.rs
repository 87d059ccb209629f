//! `sawah workers`: who works now.

use super::context::Context;
use super::error::{CliError, Exit};
use super::output::{self, Table};
use super::words;
use crate::protocol::quarantine::Quarantine;
use crate::protocol::view::WorkerView;

pub(super) fn run(context: &Context) -> Result<Exit, CliError> {
    let rows = context.with_client(|client| async move { Ok(client.workers().await?) })?;
    if context.json {
        output::json(&rows)?;
    } else {
        table(&rows, context.now_ms())
            .print("No worker has a session: start one with 'sawah worker'")?;
        for row in &rows {
            if let Some(quarantine) = &row.quarantine {
                output::line(&in_quarantine(row, quarantine))?;
            }
        }
    }
    Ok(Exit::Done)
}

fn in_quarantine(row: &WorkerView, quarantine: &Quarantine) -> String {
    let mut text = format!(
        "\n{} is in quarantine since {}: it failed jobs of {} pipelines in a row\n",
        output::one_line(&row.name),
        words::date(quarantine.since_ms),
        quarantine.evidence.len()
    );
    for one in &quarantine.evidence {
        let message = output::one_line(&one.message);
        text = format!("{text}  job {}: {}: {message}\n", one.job, one.reason);
    }
    let name = output::one_line(&row.name);
    format!("{text}  What to do: correct the machine, then 'sawah forgive {name}'")
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
