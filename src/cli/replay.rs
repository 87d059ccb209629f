//! `sawah replay`: runs a dead letter again.

use super::context::Context;
use super::error::{CliError, Exit};
use super::output;
use crate::model::JobId;
use crate::protocol::submit::Order;
use clap::Args;

/// Run a dead letter again, as a new job
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sawah replay 17\n  sawah replay 17 --reason ffmpeg-installed")]
pub(super) struct ReplayArguments {
    /// The job's number, as 'sawah dead' shows it
    job: JobId,
    /// Why, for the audit
    #[arg(long, default_value = "replayed on the command line")]
    reason: String,
}

pub(super) fn run(context: &Context, arguments: ReplayArguments) -> Result<Exit, CliError> {
    let job = arguments.job;
    let order = Order { actor: crate::client::actor(), reason: arguments.reason };
    let reply =
        context.with_client(|client| async move { Ok(client.replay(job, &order).await?) })?;
    if context.json {
        output::json(&reply)?;
    } else {
        output::line(&format!("Job {job} runs again as job {}", reply.job))?;
    }
    Ok(Exit::Done)
}
