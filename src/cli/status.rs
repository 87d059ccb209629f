//! `sawah status`: one look at the farm, its queues, and what would help them.

use super::context::Context;
use super::error::{CliError, Exit};
use super::output::{self, Table};
use super::words;
use crate::protocol::scaling::Hint;
use crate::protocol::view::FarmStatus;

pub(super) fn run(context: &Context) -> Result<Exit, CliError> {
    let status = context.with_client(|client| async move { Ok(client.status().await?) })?;
    if context.json {
        output::json(&status)?;
    } else {
        output::raw(describe(&status).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn describe(status: &FarmStatus) -> String {
    let load = &status.load;
    let mut lines = vec![
        format!(
            "{} queued, {} running, {} wait for a retry, {} dead letters",
            status.queued, status.running, status.retrying, status.dead_letters
        ),
        format!(
            "{} workers with {} slots, {} % taken",
            status.workers, load.slots, load.utilisation_percent
        ),
    ];
    if let Some(trouble) = &status.export_trouble {
        let waiting = status.exports_waiting;
        lines.push(format!("{waiting} exports wait: {}", output::one_line(trouble)));
    }
    let mut table = Table::new(&["QUEUE", "#QUEUED", "#RUNNING", "#OLDEST", "HINT"]);
    for queue in &load.queues {
        let oldest_ms = queue.oldest_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX));
        table.row([
            queue.queue.clone(),
            queue.queued.to_string(),
            queue.running.to_string(),
            oldest_ms.map(words::span).unwrap_or_default(),
            hint(queue.hint),
        ]);
    }
    format!("{}\n\n{}", lines.join("\n"), table.render(0))
}

fn hint(hint: Hint) -> String {
    match hint {
        Hint::Enough => "enough".to_owned(),
        Hint::AddWorkers { slots } => format!("add workers with {slots} slots"),
        Hint::Limited => "a limit holds it: see 'sawah why'".to_owned(),
        Hint::Held => "paused or draining".to_owned(),
        Hint::Idle => "idle".to_owned(),
    }
}
