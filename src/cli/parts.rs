//! The other parts of the program as commands start them.

use super::context::Context;
use super::error::CliError;
use crate::clock::Clock;
use crate::coordinator::{self, Running};
use crate::worker::{self, WorkerConfig, WorkerError};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Runs one stage as a child of a worker.
pub(super) fn stage_host() -> ExitCode {
    crate::stages::host::main()
}

/// Graphics adapters that can draw; may load drivers, so it can take seconds.
pub(super) fn adapters() -> Vec<String> {
    crate::preview::adapters()
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
    coordinator::start(config).await.map_err(|error| CliError::failed(&error))
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
}

/// Works until `stop`.
pub(super) async fn run_worker(
    plan: WorkerPlan,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) -> Result<(), CliError> {
    let stage_host = std::env::current_exe()
        .map_err(|error| CliError::internal(&format!("cannot find this program: {error}")))?;
    let gpus = tokio::task::spawn_blocking(adapters).await.unwrap_or_default();
    let config = WorkerConfig {
        coordinator: plan.coordinator,
        token: plan.token,
        name: plan.name,
        work_dir: plan.work_dir,
        slots: plan.slots,
        gpus,
        stage_host,
        cache_bytes: WorkerConfig::CACHE_BYTES,
        clock,
    };
    worker::run(config, stop).await.map_err(|error: WorkerError| CliError::failed(&error))
}
