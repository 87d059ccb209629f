//! `sawah cancel`: stops a pipeline.

use super::context::Context;
use super::error::{CliError, Exit};
use super::{output, words};
use crate::model::PipelineId;
use crate::protocol::submit::Order;
use clap::Args;

/// Stop a pipeline: its running jobs are killed, its results so far stay
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sawah cancel 3\n  sawah cancel 3 --reason superseded")]
pub(super) struct CancelArguments {
    /// The pipeline's number, as 'sawah ls' shows it
    pipeline: PipelineId,
    /// Why, for the audit
    #[arg(long, default_value = "cancelled on the command line")]
    reason: String,
}

pub(super) fn run(context: &Context, arguments: CancelArguments) -> Result<Exit, CliError> {
    let pipeline = arguments.pipeline;
    let order = Order { actor: crate::client::actor(), reason: arguments.reason };
    let reply =
        context.with_client(|client| async move { Ok(client.cancel(pipeline, &order).await?) })?;
    if context.json {
        output::json(&reply)?;
    } else {
        let jobs = words::count(reply.jobs as usize, "job");
        output::line(&format!("Pipeline {pipeline} is cancelled, with {jobs}"))?;
    }
    Ok(Exit::Done)
}
