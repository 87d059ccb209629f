//! `sawah logs`: what an attempt said.

use super::context::Context;
use super::error::{CliError, Exit};
use super::output;
use crate::client::Client;
use crate::model::{JobId, limits};
use crate::protocol::view::JobDetail;
use clap::Args;
use std::time::Duration;

/// How often a followed log is asked for more.
const POLL: Duration = Duration::from_millis(500);
/// A log that grows while it is sent may be a little longer than the bound of one attempt.
const LOG_BYTES: usize = limits::ATTEMPT_LOG_BYTES as usize * 2;

/// Show the log of a job's last attempt
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  sawah logs 17\n  sawah logs 17 -f\n  sawah logs 17 --attempt 1"
)]
pub(super) struct LogsArguments {
    /// The job's number, as 'sawah show' shows it
    job: JobId,
    /// Follow the log until the job ends
    #[arg(short, long)]
    follow: bool,
    /// The log of this attempt
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
}

pub(super) fn run(context: &Context, arguments: &LogsArguments) -> Result<Exit, CliError> {
    if context.json && arguments.follow {
        let why = "--json prints one document at the end: leave out -f";
        return Err(CliError::new(Exit::Usage, why));
    }
    let json = context.json;
    context.with_client(|client| async move {
        let detail = client.job(arguments.job).await?;
        let epoch = epoch_of(&detail, arguments.attempt)?;
        if arguments.follow {
            return follow(&client, arguments, epoch).await;
        }
        let part = client.log(arguments.job, epoch, 0, LOG_BYTES).await?;
        if json {
            let log = String::from_utf8_lossy(&part.bytes);
            output::json(&serde_json::json!({"job": arguments.job, "epoch": epoch, "log": log}))?;
        } else {
            output::raw(&part.bytes)?;
        }
        Ok(Exit::Done)
    })
}

/// The claim whose log is wanted: that of an attempt's number, or the last one.
fn epoch_of(detail: &JobDetail, attempt: Option<u32>) -> Result<Option<u32>, CliError> {
    let Some(number) = attempt else {
        return Ok(detail.attempts.last().map(|attempt| attempt.epoch.0));
    };
    let found = detail.attempts.iter().rfind(|attempt| attempt.attempt == number);
    found.map(|attempt| Some(attempt.epoch.0)).ok_or_else(|| {
        let (job, count) = (detail.job.id, detail.attempts.len());
        CliError::failed(&format!("job {job} has no attempt {number}, it had {count}"))
    })
}

async fn follow(
    client: &Client,
    arguments: &LogsArguments,
    mut epoch: Option<u32>,
) -> Result<Exit, CliError> {
    let mut offset = 0_i64;
    loop {
        // Asked before the log is read, so that what an ending job says last is not missed.
        let detail = client.job(arguments.job).await?;
        let latest = detail.attempts.last().map(|attempt| attempt.epoch.0);
        let is_over = |epoch: Option<u32>| {
            let attempt = detail.attempts.iter().find(|one| Some(one.epoch.0) == epoch);
            attempt.is_none_or(|attempt| attempt.ended_at_ms.is_some())
        };
        if epoch.is_none() {
            epoch = latest;
        }
        let was_over = is_over(epoch);
        if epoch.is_some() {
            let part = client.log(arguments.job, epoch, offset, LOG_BYTES).await?;
            output::raw(&part.bytes)?;
            let read = i64::try_from(part.bytes.len()).unwrap_or(i64::MAX);
            offset = offset.saturating_add(read);
        }
        if was_over {
            if arguments.attempt.is_none() && latest > epoch {
                epoch = latest;
                offset = 0;
                output::note("(a new attempt begins)");
                continue;
            }
            if arguments.attempt.is_some() || detail.job.state.is_terminal() {
                return Ok(Exit::Done);
            }
        }
        tokio::time::sleep(POLL).await;
    }
}
