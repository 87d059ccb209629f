//! `sawah forgive`: a worker in quarantine is given work again.

use super::context::Context;
use super::error::{CliError, Exit};
use super::output;
use crate::protocol::submit::Order;
use clap::Args;
use serde::Serialize;

/// Give work to a worker in quarantine again
///
/// A worker that failed jobs of three pipelines in a row is given no more work. Look at the
/// evidence with 'sawah workers', correct the machine, then forgive it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sawah forgive render-03 --reason new-disk")]
pub(super) struct ForgiveArguments {
    /// The worker's name, as 'sawah workers' shows it
    worker: String,
    /// Why, for the audit
    #[arg(long)]
    reason: String,
}

#[derive(Serialize)]
struct Forgiven<'a> {
    worker: &'a str,
}

pub(super) fn run(context: &Context, arguments: ForgiveArguments) -> Result<Exit, CliError> {
    let ForgiveArguments { worker, reason } = arguments;
    let order = Order { actor: crate::client::actor(), reason };
    let name = worker.clone();
    context.with_client(|client| async move { Ok(client.forgive(&name, &order).await?) })?;
    if context.json {
        output::json(&Forgiven { worker: &worker })?;
    } else {
        output::line(&format!("Worker {} is given work again", output::one_line(&worker)))?;
    }
    Ok(Exit::Done)
}
