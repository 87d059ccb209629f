//! `sawah demo`: the whole farm on sample assets, in one command.

mod play;
mod progress;
mod report;
mod samples;

use super::context::Context;
use super::embedded::Farm;
use super::error::{CliError, Exit};
use super::{desktop, output, signals};
use crate::client::discover::Wanted;
use clap::Args;
use report::Report;

const EXAMPLES: &str = "Examples:
  sawah demo
  sawah demo --headless
  sawah demo --headless --json
  sawah demo --headless --keep-open --farm /tmp/demo

The demo has a farm of its own. Five sample assets must be published and read back, and a broken
one must become a dead letter with its reason: then the exit code is 0.";

/// Try everything on sample assets, from handing in to publishing
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DemoArguments {
    /// Open no window, also where there is a display
    #[arg(long)]
    headless: bool,
    /// Keep serving the farm after the end, until Ctrl-C
    #[arg(long)]
    keep_open: bool,
}

pub(super) fn run(context: &Context, arguments: &DemoArguments) -> Result<Exit, CliError> {
    let folder = if context.is_farm_named() {
        context.settings.farm.value.clone()
    } else {
        context.folders.demo()
    };
    let with_window = !arguments.headless && desktop::check_display().is_ok();
    if !arguments.headless && !with_window {
        output::note("There is no display: the demo runs without a window");
    }
    let paths = samples::write(&folder.join("samples"))?;
    let runtime = Context::runtime()?;
    let wanted = Wanted { coordinator: None, token: None, farm: folder.clone() };
    let mut farm = runtime.block_on(Farm::open(context, &wanted))?;
    let client = farm.client().clone();
    output::note(&format!("Demo farm in {}, served at {}", folder.display(), client.url()));

    let play = play::Play {
        client: client.clone(),
        clock: context.clock.clone(),
        farm: folder.display().to_string(),
        paths,
    };
    let json = context.json;
    let mut playing = runtime.spawn(async move {
        let report = play.run().await?;
        report.print(json)?;
        Ok::<Report, CliError>(report)
    });
    let shown = if with_window {
        let title = "Sawah: demo farm".to_owned();
        desktop::show(context, &runtime, client, title)
    } else {
        Ok(())
    };
    let result = runtime.block_on(async {
        let report = tokio::select! {
            done = &mut playing => {
                done.map_err(|error| CliError::internal(&format!("the demo broke: {error}")))??
            }
            error = farm.worker_ended() => return Err(error),
            () = signals::end_wanted() => return Ok(Exit::Interrupted),
        };
        if arguments.keep_open && !with_window {
            output::note("The farm stays open: end it with Ctrl-C");
            signals::end_wanted().await;
        }
        Ok(if report.ok { Exit::Done } else { Exit::Failed })
    });
    playing.abort();
    runtime.block_on(farm.close());
    shown?;
    result
}
