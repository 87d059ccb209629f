//! The coordinator: the HTTP interface of a farm's store, and what moves in it by itself.
//!
//! [`start`] opens a farm's folder and serves it until [`Running::shutdown`].

pub mod auth;
pub mod keeping;
pub mod leases;
pub mod runtime_file;
mod artifacts;
mod audit;
mod batches;
mod claim;
mod controls;
mod dead_letters;
mod events;
mod extract;
mod farm;
mod jobs;
mod listener;
mod logs;
mod pipelines;
mod problem;
mod range;
mod reconcilers;
mod router;
mod sessions;
mod state;
mod watch;
mod watch_rules;

use crate::artifacts::{ArtifactError, Artifacts};
use crate::clock::Clock;
use crate::model::limits;
use crate::protocol::webhook::NewsKind;
use crate::recipes::Library;
use crate::store::{Store, StoreError};
use auth::{TokenError, TokenHash};
use leases::Leases;
use listener::BoundedListener;
use problem::Refusal;
use runtime_file::{Runtime, RuntimeFile};
use state::{Farm, Parts, Shared};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
pub use watch::WatchParts;

/// Calls that run when the coordinator stops may take this long to end.
const SHUTDOWN_TIME: Duration = Duration::from_secs(10);

/// How a coordinator runs.
#[derive(Clone)]
pub struct Config {
    /// The farm's folder; created where it is absent.
    pub farm: PathBuf,
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The recipes that submissions may name.
    pub library: Library,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// How long a session may be silent, in milliseconds.
    pub lease_ms: u64,
    /// How often a session is asked to beat, in milliseconds.
    pub heartbeat_ms: u64,
    /// Where each kind of news goes.
    pub webhooks: BTreeMap<NewsKind, String>,
}

impl Config {
    /// The farm's usual times, on a free port of this machine alone.
    pub fn new(farm: PathBuf, library: Library, clock: Arc<dyn Clock>) -> Self {
        Self {
            farm,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            library,
            clock,
            lease_ms: limits::LEASE_MS,
            heartbeat_ms: limits::HEARTBEAT_MS,
            webhooks: BTreeMap::new(),
        }
    }
}

/// The coordinator did not start.
#[derive(Debug, thiserror::Error)]
pub enum CoordinatorError {
    /// The farm's folder cannot be made.
    #[error("the farm's folder cannot be made: {source}. Check the rights on {path}")]
    Folder {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The store cannot be opened or read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The content store cannot be opened.
    #[error(transparent)]
    Artifacts(#[from] ArtifactError),
    /// The token cannot be read or made.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The document of the interface cannot be written as JSON.
    #[error("the interface cannot be described: {0}")]
    Document(serde_json::Error),
    /// Nothing can listen there.
    #[error("cannot listen on {listen}: {source}. Is another program using the port?")]
    Listen {
        /// Where.
        listen: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The file that tells clients where the coordinator is.
    #[error("runtime.json cannot be written: {source}. Check the rights on {path}")]
    RuntimeFile {
        /// The farm's folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The thread that opened the farm ended before its answer.
    #[error("opening the farm was stopped before its end: {0}")]
    Stopped(String),
}

/// A coordinator that serves.
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    /// The token that calls must carry.
    pub token: String,
    farm: Shared,
    server: JoinHandle<std::io::Result<()>>,
    reconcilers: JoinSet<()>,
    runtime_file: RuntimeFile,
}

/// Opens the farm and serves it.
pub async fn start(config: Config) -> Result<Running, CoordinatorError> {
    let (folder, clock) = (config.farm.clone(), config.clock.clone());
    let opened = tokio::task::spawn_blocking(move || open(&folder, clock))
        .await
        .map_err(|error| CoordinatorError::Stopped(error.to_string()))??;
    let store = opened.store.clone();
    let started = serve(config, opened).await;
    if started.is_err() {
        store.close().await;
    }
    started
}

struct Opened {
    folder: PathBuf,
    store: Store,
    artifacts: Artifacts,
    token: String,
}

/// The store comes first: its lock says whether the folder is ours.
fn open(folder: &Path, clock: Arc<dyn Clock>) -> Result<Opened, CoordinatorError> {
    let folder_error = |source| CoordinatorError::Folder { path: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(folder_error)?;
    let folder = std::path::absolute(folder).map_err(folder_error)?;
    let store = Store::open(&folder, clock)?;
    let artifacts = Artifacts::open(&folder)?;
    let token = auth::load_or_create(&folder)?;
    Ok(Opened { folder, store, artifacts, token })
}

async fn serve(config: Config, opened: Opened) -> Result<Running, CoordinatorError> {
    let Opened { folder, store, artifacts, token } = opened;
    let listen_error = |source| CoordinatorError::Listen { listen: config.listen, source };
    store.set_webhooks(config.webhooks).await?;
    let listener = TcpListener::bind(config.listen).await.map_err(listen_error)?;
    let address = listener.local_addr().map_err(listen_error)?;
    let (router, document) = router::routes();
    let period = keeping::sweep_period(config.lease_ms);
    let period_ms = u64::try_from(period.as_millis()).unwrap_or(u64::MAX);
    let farm = Arc::new(Farm::new(Parts {
        store,
        artifacts,
        library: config.library,
        clock: config.clock,
        heartbeat_ms: config.heartbeat_ms,
        token: TokenHash::of(&token),
        document: document.to_json().map_err(CoordinatorError::Document)?,
        leases: Leases::new(config.lease_ms, period_ms),
        folder,
    }));
    let runtime =
        Runtime { url: url(address), pid: std::process::id(), started_at_ms: farm.started.wall_ms };
    grant_grace(&farm).await?;
    let stopping = farm.stopping.clone();
    let app = router::serve(router, &farm);
    let listener = BoundedListener::new(listener, listener::CONNECTIONS, listener::FIRST_HEADER);
    let server = axum::serve(listener, app)
        .with_graceful_shutdown(async move { stopping.cancelled().await });
    let server = tokio::spawn(server.into_future());
    let reconcilers = reconcilers::start(&farm);
    let runtime_file = match RuntimeFile::write(&farm.folder, &runtime) {
        Ok(file) => file,
        Err(source) => {
            farm.stopping.cancel();
            return Err(CoordinatorError::RuntimeFile { path: farm.folder.clone(), source });
        }
    };
    tracing::info!(url = runtime.url, farm = %farm.folder.display(), "coordinator listens");
    Ok(Running { address, token, farm, server, reconcilers, runtime_file })
}

/// Sessions of before get one full lease, counted from when they can beat again.
async fn grant_grace(farm: &Shared) -> Result<(), StoreError> {
    let records = farm.store.sessions().await?;
    let now_ms = farm.mono_ms();
    let mut leases = farm.leases();
    for record in records {
        leases.open(record.id, record.worker, record.capabilities, now_ms);
    }
    Ok(())
}

/// The address as clients on this machine reach it.
fn url(address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, address.port()))
}

fn random_bytes() -> Result<[u8; 16], Refusal> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Refusal::internal(format!("the system gives no random bytes: {error}")))?;
    Ok(bytes)
}

impl Running {
    /// Where clients on this machine reach it: `http://127.0.0.1:7420`.
    pub fn url(&self) -> String {
        url(self.address)
    }

    /// What a watcher of the farm's folders is started from.
    pub fn watch_parts(&self) -> WatchParts {
        WatchParts {
            store: self.farm.store.clone(),
            artifacts: self.farm.artifacts.clone(),
            library: self.farm.library.clone(),
            clock: Arc::clone(&self.farm.clock),
            folder: self.farm.folder.clone(),
            changed: Arc::clone(&self.farm.watch_changed),
        }
    }

    /// Ends orderly: no new calls, waiting claims and streams end, running calls get some
    /// seconds, then the store is closed.
    pub async fn shutdown(mut self) {
        self.farm.stopping.cancel();
        self.runtime_file.remove();
        let ending = async {
            while self.reconcilers.join_next().await.is_some() {}
            (&mut self.server).await
        };
        match tokio::time::timeout(SHUTDOWN_TIME, ending).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::warn!(%error, "the server ended with an error"),
            Ok(Err(error)) => tracing::warn!(%error, "the server ended early"),
            Err(_) => {
                tracing::warn!("some calls did not end in time and are cut off");
                self.server.abort();
                self.reconcilers.abort_all();
            }
        }
        self.farm.store.close().await;
        tracing::info!("coordinator ended");
    }
}

#[cfg(test)]
mod tests;
