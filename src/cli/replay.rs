//! `sawah replay`: runs dead letters again, one or many.

use super::context::Context;
use super::error::{CliError, Exit};
use super::letters::{self, Letters};
use super::output;
use super::submit::key_value;
use crate::protocol::dead::{Edit, ReplayBatch};
use crate::protocol::submit::Order;
use clap::Args;

const EXAMPLES: &str = "Examples:
  sawah replay 17
  sawah replay 17 --reason ffmpeg-installed
  sawah replay --where reason=disk.full --reason disk-freed --dry-run
  sawah replay --where fingerprint=1a2b3c4d --reason driver-updated
  sawah replay 17 --reason too-large --set still_px=512 --memory-mib 8192";

/// Run dead letters again, each as a new job
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ReplayArguments {
    #[command(flatten)]
    letters: Letters,
    /// Change a setting, for these jobs alone; can be given several times
    #[arg(long = "set", value_name = "K=V", value_parser = key_value)]
    settings: Vec<(String, String)>,
    /// Another memory limit; 0 means none
    #[arg(long, value_name = "MIB")]
    memory_mib: Option<u64>,
    /// Another longest run, in seconds; 0 means no limit
    #[arg(long, value_name = "S")]
    timeout_s: Option<u64>,
    /// Why, for the audit; needed for more than one
    #[arg(long)]
    reason: Option<String>,
}

pub(super) fn run(context: &Context, arguments: ReplayArguments) -> Result<Exit, CliError> {
    let ReplayArguments { letters, settings, memory_mib, timeout_s, reason } = arguments;
    let filter = letters.filter()?;
    let edit = Edit { settings: settings.into_iter().collect(), memory_mib, timeout_s };
    let actor = crate::client::actor();
    if let [job] = *letters.jobs
        && edit.is_empty()
        && !letters.dry_run
    {
        let reason = reason.unwrap_or_else(|| "replayed on the command line".to_owned());
        let order = Order { actor, reason };
        let reply =
            context.with_client(|client| async move { Ok(client.replay(job, &order).await?) })?;
        if context.json {
            output::json(&reply)?;
        } else {
            output::line(&format!("Job {job} runs again as job {}", reply.job))?;
        }
        return Ok(Exit::Done);
    }
    let reason = reason.ok_or_else(|| CliError::usage("say why with --reason, for the audit"))?;
    let order = ReplayBatch { actor, reason, filter, edit, dry_run: letters.dry_run };
    let reply =
        context.with_client(|client| async move { Ok(client.replay_many(&order).await?) })?;
    letters::tell(context.json, &reply, "replayed")
}
