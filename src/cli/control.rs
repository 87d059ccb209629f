//! `sawah pause`, `sawah resume`, `sawah drain`: whether work is handed out.

use super::context::Context;
use super::error::{CliError, Exit};
use super::{output, words};
use crate::model::{Mode, Target};
use crate::protocol::control::{ControlView, SetControl};
use clap::Args;

/// Hand out no more work of the farm, a queue or to a worker; what runs goes on
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  sawah pause\n  sawah pause --queue render.preview\n  sawah pause --worker render-03 --reason driver-update"
)]
pub(super) struct PauseArguments {
    #[command(flatten)]
    order: OrderArguments,
}

/// Hand out work again
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  sawah resume\n  sawah resume --queue render.preview\n  sawah resume --worker render-03"
)]
pub(super) struct ResumeArguments {
    #[command(flatten)]
    order: OrderArguments,
}

/// Finish what runs and take nothing new: before an update or a shutdown
///
/// Says how much still runs; ask again until it is 0. Workers that drain are told so with their
/// next heartbeat.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  sawah drain --worker render-03\n  sawah drain --queue publish --reason storage-move\n  sawah drain"
)]
pub(super) struct DrainArguments {
    #[command(flatten)]
    order: OrderArguments,
}

#[derive(Debug, Args)]
struct OrderArguments {
    /// Only this queue, as 'sawah limits' shows it
    #[arg(long, value_name = "Q", conflicts_with = "worker")]
    queue: Option<String>,
    /// Only this worker, as 'sawah workers' shows it
    #[arg(long, value_name = "W")]
    worker: Option<String>,
    /// Why, for the audit
    #[arg(long, default_value = "on the command line")]
    reason: String,
}

pub(super) fn pause(context: &Context, arguments: PauseArguments) -> Result<Exit, CliError> {
    run(context, arguments.order, Mode::Paused)
}

pub(super) fn resume(context: &Context, arguments: ResumeArguments) -> Result<Exit, CliError> {
    run(context, arguments.order, Mode::Running)
}

pub(super) fn drain(context: &Context, arguments: DrainArguments) -> Result<Exit, CliError> {
    run(context, arguments.order, Mode::Draining)
}

fn run(context: &Context, arguments: OrderArguments, mode: Mode) -> Result<Exit, CliError> {
    let target = match (arguments.queue, arguments.worker) {
        (Some(queue), _) => Target::Queue { queue },
        (None, Some(worker)) => Target::Worker { worker },
        (None, None) => Target::Farm,
    };
    let actor = crate::client::actor();
    let order = SetControl { target, mode, actor, reason: arguments.reason };
    let view =
        context.with_client(|client| async move { Ok(client.set_control(&order).await?) })?;
    if context.json {
        output::json(&view)?;
    } else {
        output::line(&sentence(&view))?;
    }
    Ok(Exit::Done)
}

fn sentence(view: &ControlView) -> String {
    let running = usize::try_from(view.running).unwrap_or(usize::MAX);
    let jobs = words::count(running, "job");
    let target = view.target.to_string();
    let mut letters = target.chars();
    let target: String =
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    match view.mode {
        Mode::Running => format!("{target} is running"),
        Mode::Paused => format!("{target} is paused; {jobs} still running"),
        Mode::Draining if running == 0 => format!("{target} is drained"),
        Mode::Draining => format!("{target} is draining; {jobs} still running"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_says_what_still_runs_and_when_it_is_done() {
        let mut view = ControlView {
            target: Target::Worker { worker: "w1".into() },
            mode: Mode::Draining,
            actor: "ana".into(),
            reason: String::new(),
            since_ms: Some(0),
            running: 2,
        };
        assert_eq!(sentence(&view), "Worker w1 is draining; 2 jobs still running");
        view.running = 0;
        assert_eq!(sentence(&view), "Worker w1 is drained");
        view.mode = Mode::Running;
        assert_eq!(sentence(&view), "Worker w1 is running");
    }
}
