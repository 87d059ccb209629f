//! The other parts of the program as commands start them.

use super::context::Context;
use super::error::CliError;
use crate::clock::Clock;
use crate::coordinator::{self, Running};
use crate::model::PathMapping;
use crate::watch::{self, Watcher};
use crate::worker::{self, WorkerConfig, WorkerError};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Runs one stage as a child of a worker.
pub(super) fn stage_host() -> ExitCode {
    crate::stages::host::main()
}

/// Loading the drivers of a machine should not take longer.
const ADAPTERS_WAIT: Duration = Duration::from_mins(1);

/// Prints what [`adapters`] reads.
pub(super) fn list_adapters() -> ExitCode {
    match super::output::json(&crate::preview::adapters()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => CliError::from(error).report(false),
    }
}

/// Graphics adapters that can draw. A child loads the drivers: one that crashes or hangs counts
/// as no adapter.
pub(super) async fn adapters() -> Vec<String> {
    match ask_for_adapters().await {
        Ok(adapters) => adapters,
        Err(why) => {
            tracing::warn!(%why, "graphics adapters cannot be listed: none is used");
            Vec::new()
        }
    }
}

async fn ask_for_adapters() -> anyhow::Result<Vec<String>> {
    let mut child = tokio::process::Command::new(std::env::current_exe()?);
    child
        .arg("adapters")
        .env_remove("SAWAH_TOKEN")
        .env(worker::QUIET_VULKAN.0, worker::QUIET_VULKAN.1);
    child.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(ADAPTERS_WAIT, child.output()).await??;
    anyhow::ensure!(
        output.status.success(),
        "the child that loads the drivers ended with {}",
        output.status
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The version of the database inside.
pub(super) fn sqlite_version() -> String {
    crate::store::sqlite_version().to_owned()
}

/// Opens a farm and serves it.
pub(super) async fn start_coordinator(
    context: &Context,
    farm: &Path,
    listen: SocketAddr,
) -> Result<Running, CliError> {
    let settings = &context.settings;
    let mut config =
        coordinator::Config::new(farm.to_owned(), context.library()?, Arc::clone(&context.clock));
    config.listen = listen;
    config.lease_ms = settings.lease_ms.value;
    config.heartbeat_ms = settings.heartbeat_ms.value;
    config.webhooks = settings.webhooks();
    coordinator::start(config).await.map_err(|error| CliError::failed(&error))
}

/// Watches the farm's watch folders.
pub(super) fn start_watcher(context: &Context, running: &Running) -> Result<Watcher, CliError> {
    let parts = running.watch_parts();
    Ok(Watcher::start(watch::Parts {
        store: parts.store,
        artifacts: parts.artifacts,
        recipes: parts.library,
        clock: parts.clock,
        farm: parts.folder,
        changed: parts.changed,
        program: this_program()?,
        profiles_dir: context.folders.renderers(),
        free_floor_bytes: context.settings.free_floor_mib.value.saturating_mul(1 << 20),
    }))
}

/// Looks into files for a watcher, as its child.
pub(super) fn look(profiles_dir: &Path) -> ExitCode {
    watch::looker::main(profiles_dir)
}

/// This program.
pub(super) fn this_program() -> Result<PathBuf, CliError> {
    std::env::current_exe()
        .map_err(|error| CliError::internal(&format!("cannot find this program: {error}")))
}

/// A worker as the settings describe it.
#[derive(Debug, Clone)]
pub(super) struct WorkerPlan {
    /// The coordinator's address.
    pub(super) coordinator: String,
    /// The farm's token.
    pub(super) token: String,
    /// The worker's name, unique in the farm.
    pub(super) name: String,
    /// Its folder.
    pub(super) work_dir: PathBuf,
    /// Jobs at once.
    pub(super) slots: u32,
    /// The user's own renderer profiles.
    pub(super) profiles_dir: PathBuf,
    /// Which adapter pictures are drawn with.
    pub(super) adapter: String,
    /// The graphics cards of each slot's programs.
    pub(super) gpu_masks: Vec<String>,
    /// What shared folders of other machines are called here.
    pub(super) paths: Vec<PathMapping>,
}

/// Works until `stop`.
pub(super) async fn run_worker(
    plan: WorkerPlan,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) -> Result<(), CliError> {
    let stage_host = this_program()?;
    let gpus = adapters().await;
    let config = WorkerConfig {
        coordinator: plan.coordinator,
        token: plan.token,
        name: plan.name,
        work_dir: plan.work_dir,
        slots: plan.slots,
        gpus,
        adapter: plan.adapter,
        gpu_masks: plan.gpu_masks,
        profiles_dir: Some(plan.profiles_dir),
        paths: plan.paths,
        stage_host,
        cache_bytes: WorkerConfig::CACHE_BYTES,
        clock,
    };
    worker::run(config, stop).await.map_err(|error: WorkerError| CliError::failed(&error))
}
