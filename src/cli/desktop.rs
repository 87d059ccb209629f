//! `sawah` alone: the window, with a coordinator and a worker inside where nobody serves the farm.

use super::context::Context;
use super::embedded::Farm;
use super::error::{CliError, Exit};
use crate::client::Client;
use tokio::runtime::Runtime;

pub(super) fn run(context: &Context) -> Result<Exit, CliError> {
    check_display()?;
    let runtime = Context::runtime()?;
    let folder = context.settings.farm.value.clone();
    let title = format!("Sawah: farm in {}", folder.display());
    let farm = runtime.block_on(Farm::open(context, &context.wanted(folder)))?;
    let title = match &farm {
        Farm::Other(client) if context.is_coordinator_named() => format!("Sawah: {}", client.url()),
        _ => title,
    };
    let shown = show(context, &runtime, farm.client().clone(), title);
    runtime.block_on(farm.close());
    shown.map(|()| Exit::Done)
}

/// Why there can be no window, if so.
pub(super) fn check_display() -> Result<(), CliError> {
    #[cfg(feature = "desktop")]
    if crate::desktop::display_available() {
        return Ok(());
    }
    let why = if cfg!(feature = "desktop") {
        "there is no display to open a window on"
    } else {
        "this build of Sawah has no window"
    };
    Err(CliError::failed(&format!(
        "{why}: use 'sawah serve' for a farm without a window, or 'sawah demo --headless' to try everything"
    )))
}

/// Shows the window until it is closed or Ctrl-C comes. Must run on the main thread.
#[cfg(feature = "desktop")]
pub(super) fn show(
    context: &Context,
    runtime: &Runtime,
    client: Client,
    title: String,
) -> Result<(), CliError> {
    use crate::client::live::LiveFarm;
    use crate::desktop::{DesktopOptions, waker::WindowWaker};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    let recipes = runtime.block_on(client.recipes())?;
    let waker = WindowWaker::new();
    let stop = Arc::new(AtomicBool::new(false));
    let options = DesktopOptions {
        title,
        waker: waker.clone(),
        recipes: recipes.into_iter().map(|recipe| recipe.name).collect(),
        stop: Arc::clone(&stop),
    };
    let closer = waker.clone();
    let signal = runtime.spawn(async move {
        super::signals::end_wanted().await;
        stop.store(true, Ordering::Release);
        closer.wake();
    });
    let live = LiveFarm::connect(client, waker.waker(), runtime.handle(), context.clock.clone());
    let result = crate::desktop::run(live, options).map_err(|error| CliError::failed(&error));
    signal.abort();
    result
}

/// Shows the window until it is closed; this build has none.
#[cfg(not(feature = "desktop"))]
pub(super) fn show(_: &Context, _: &Runtime, _: Client, _: String) -> Result<(), CliError> {
    check_display()
}
