//! A farm served inside this process, or found served by another one.

use super::context::Context;
use super::error::CliError;
use super::parts::{self, WorkerPlan};
use crate::client::discover::{self, DiscoverError, Wanted};
use crate::client::{Client, Token};
use crate::coordinator::Running;
use crate::settings::Origin;
use crate::watch::Watcher;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long a worker may take to put down its work.
const WORKER_END: Duration = Duration::from_secs(20);

/// A coordinator of this process, with or without a worker.
pub(super) struct House {
    coordinator: Running,
    worker: Option<JoinHandle<Result<(), CliError>>>,
    watcher: Watcher,
    stop: CancellationToken,
}

impl House {
    /// Serves `farm`.
    pub(super) async fn start(
        context: &Context,
        farm: &Path,
        listen: SocketAddr,
        with_worker: bool,
    ) -> Result<Self, CliError> {
        let coordinator = parts::start_coordinator(context, farm, listen).await?;
        let watcher = parts::start_watcher(context, &coordinator)?;
        let stop = CancellationToken::new();
        let worker = with_worker.then(|| {
            let plan = WorkerPlan {
                coordinator: coordinator.url(),
                token: coordinator.token.clone(),
                name: context.settings.worker_name.value.clone(),
                work_dir: farm.join("staging"),
                slots: context.settings.worker_slots.value,
                profiles_dir: context.folders.renderers(),
                adapter: context.settings.worker_adapter.value.clone(),
                gpu_masks: context.settings.worker_gpu_masks.value.clone(),
                paths: context.settings.worker_paths.value.clone(),
            };
            tokio::spawn(parts::run_worker(plan, context.clock.clone(), stop.clone()))
        });
        Ok(Self { coordinator, worker, watcher, stop })
    }

    /// Where clients on this machine reach it.
    pub(super) fn url(&self) -> String {
        self.coordinator.url()
    }

    /// A client of it.
    pub(super) fn client(&self) -> Result<Client, CliError> {
        Ok(Client::new(&self.url(), Token::new(&self.coordinator.token))?)
    }

    /// Waits until the worker ends by itself, and says why; forever where there is no worker.
    pub(super) async fn worker_ended(&mut self) -> CliError {
        let Some(worker) = &mut self.worker else { return std::future::pending().await };
        let result = worker.await;
        self.worker = None;
        match result {
            Ok(Ok(())) => CliError::internal("the worker ended by itself"),
            Ok(Err(error)) => error,
            Err(error) => CliError::internal(&format!("the worker broke: {error}")),
        }
    }

    /// Ends orderly: nothing more is taken from watch folders, the worker gives its jobs back, then
    /// the coordinator closes the store.
    pub(super) async fn shutdown(self) {
        self.stop.cancel();
        self.watcher.shutdown().await;
        if let Some(mut worker) = self.worker
            && tokio::time::timeout(WORKER_END, &mut worker).await.is_err()
        {
            tracing::warn!("the worker did not end in time and is cut off");
            worker.abort();
        }
        self.coordinator.shutdown().await;
    }
}

/// A farm that is served, by this process or another.
pub(super) enum Farm {
    /// By this process.
    Own(Box<House>, Client),
    /// By another, which stays when this one ends.
    Other(Client),
}

impl Farm {
    /// Finds who serves the farm of `wanted`; where nobody does, this process begins to.
    pub(super) async fn open(context: &Context, wanted: &Wanted) -> Result<Self, CliError> {
        match discover::find(wanted).await {
            Ok(client) => Ok(Self::Other(client)),
            Err(DiscoverError::NotServed { .. } | DiscoverError::Stale { .. }) => {
                let listen = listen_embedded(context);
                let house = House::start(context, &wanted.farm, listen, true).await?;
                let client = house.client()?;
                Ok(Self::Own(Box::new(house), client))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A client of it.
    pub(super) fn client(&self) -> &Client {
        match self {
            Self::Own(_, client) | Self::Other(client) => client,
        }
    }

    /// Waits until the own worker ends by itself, and says why.
    pub(super) async fn worker_ended(&mut self) -> CliError {
        match self {
            Self::Own(house, _) => house.worker_ended().await,
            Self::Other(_) => std::future::pending().await,
        }
    }

    /// Ends what this process serves.
    pub(super) async fn close(self) {
        if let Self::Own(house, _) = self {
            house.shutdown().await;
        }
    }
}

/// A free port of this machine, unless somebody chose where to listen.
fn listen_embedded(context: &Context) -> SocketAddr {
    match context.settings.listen.origin {
        Origin::Default => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        _ => context.settings.listen.value,
    }
}
