//! `sawah dismiss`: puts dead letters aside.

use super::context::Context;
use super::error::{CliError, Exit};
use super::letters::{self, Letters};
use crate::protocol::dead::DismissBatch;
use clap::Args;

const EXAMPLES: &str = "Examples:
  sawah dismiss 17 --reason known
  sawah dismiss --where asset=dragon --reason replaced-by-v8";

/// Put dead letters aside for good
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DismissArguments {
    #[command(flatten)]
    letters: Letters,
    /// Why, for the audit
    #[arg(long)]
    reason: String,
}

pub(super) fn run(context: &Context, arguments: DismissArguments) -> Result<Exit, CliError> {
    let DismissArguments { letters, reason } = arguments;
    let (filter, dry_run) = (letters.filter()?, letters.dry_run);
    let order = DismissBatch { actor: crate::client::actor(), reason, filter, dry_run };
    let reply =
        context.with_client(|client| async move { Ok(client.dismiss_many(&order).await?) })?;
    letters::tell(context.json, &reply, "dismissed")
}
