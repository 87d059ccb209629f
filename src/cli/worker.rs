//! `sawah worker`: this machine runs jobs for a coordinator.

#![expect(clippy::doc_markdown, reason = "these comments are help texts, shown as they are")]

use super::context::Context;
use super::error::{CliError, Exit};
use super::parts::{self, WorkerPlan};
use super::signals;
use crate::client::discover::{self, Wanted};
use crate::settings::SLOTS;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const EXAMPLES: &str = "Examples:
  sawah worker
  sawah worker --farm /srv/farm --slots 2
  sawah worker --coordinator http://farm:7420 --token 0123abcd --name render-01

On the coordinator's machine the farm's folder names address and token. The worker waits for a
coordinator that is away. Ctrl-C gives its jobs back and ends it.";

/// Run jobs for a coordinator, until Ctrl-C
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct WorkerArguments {
    /// Its name, unique in the farm [env: SAWAH_WORKER_NAME] [default: the host's name]
    #[arg(long, value_name = "N")]
    pub(super) name: Option<String>,
    /// Its work folder [env: SAWAH_WORKER_WORK_DIR] [default: in the user's data folder]
    #[arg(long, value_name = "DIR")]
    pub(super) work: Option<PathBuf>,
    /// Jobs at once [env: SAWAH_WORKER_SLOTS] [default: half the cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(i64::from(*SLOTS.start())..=i64::from(*SLOTS.end())))]
    pub(super) slots: Option<u32>,
}

/// How often a worker that found its coordinator through a farm's folder looks there again.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

pub(super) fn run(context: &Context) -> Result<Exit, CliError> {
    let wanted = context.wanted(context.settings.farm.value.clone());
    Context::runtime()?.block_on(async {
        let stop = CancellationToken::new();
        let ender = stop.clone();
        tokio::spawn(async move {
            signals::end_wanted().await;
            ender.cancel();
        });
        while !stop.is_cancelled() {
            work_until_moved(context, &wanted, &stop).await?;
        }
        Ok(Exit::Done)
    })
}

/// Works for the coordinator that is found now, until `stop` or until the farm's folder names
/// another address: a coordinator may come back on another port.
async fn work_until_moved(
    context: &Context,
    wanted: &Wanted,
    stop: &CancellationToken,
) -> Result<(), CliError> {
    // Where it is, not whether it answers: a worker waits for its coordinator.
    let client = discover::locate(wanted)?;
    let settings = &context.settings;
    let plan = WorkerPlan {
        coordinator: client.url().to_owned(),
        token: client.token().reveal().to_owned(),
        name: settings.worker_name.value.clone(),
        work_dir: settings.worker_work_dir.value.clone(),
        slots: settings.worker_slots.value,
        profiles_dir: context.folders.renderers(),
        adapter: settings.worker_adapter.value.clone(),
        gpu_masks: settings.worker_gpu_masks.value.clone(),
        paths: settings.worker_paths.value.clone(),
    };
    let here = stop.child_token();
    let mut working = std::pin::pin!(parts::run_worker(plan, context.clock.clone(), here.clone()));
    tokio::select! {
        ended = &mut working => ended,
        () = moved(wanted, client.url()) => {
            here.cancel();
            working.await
        }
    }
}

/// Waits until another address is found than `url`.
async fn moved(wanted: &Wanted, url: &str) {
    let mut look = tokio::time::interval(LOOK_AGAIN);
    loop {
        look.tick().await;
        if discover::locate(wanted).is_ok_and(|client| client.url() != url) {
            tracing::info!("the coordinator has another address now");
            return;
        }
    }
}
