//! What every command starts from: settings, folders, clock, and the way to a coordinator.

use super::arguments::{Cli, Command};
use super::error::CliError;
use crate::client::discover::{self, Wanted};
use crate::client::{Client, Token};
use crate::clock::{Clock, SystemClock};
use crate::recipes::Library;
use crate::renderers;
use crate::settings::{Defaults, Flags, Folders, Origin, Settings};
use crate::telemetry;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// What every command starts from.
pub(super) struct Context {
    pub(super) settings: Settings,
    pub(super) folders: Folders,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) json: bool,
    coordinator: Option<String>,
    token: Option<Token>,
}

impl Context {
    /// Reads the settings and sets up logging.
    pub(super) fn new(cli: &Cli) -> Result<Self, CliError> {
        let environment = |name: &str| std::env::var_os(name);
        let folders = Folders::find(&environment)?;
        let settings =
            Settings::load(&folders, &environment, flags(cli), &Defaults::of_this_machine())?;
        let level = match cli.command {
            Some(Command::Serve(_) | Command::Worker(_)) => "info",
            // There a lost worker or a long queue is what was asked for.
            Some(Command::Simulate(_) | Command::Bench(_)) => "error",
            _ => "warn",
        };
        let filter = settings.log.value.as_deref().unwrap_or(level);
        telemetry::init(filter, settings.log_format.value)?;
        Ok(Self {
            settings,
            folders,
            clock: Arc::new(SystemClock::start()),
            json: cli.global.json,
            coordinator: cli.global.coordinator.clone().filter(|url| !url.is_empty()),
            token: cli.global.token.as_deref().filter(|text| !text.is_empty()).map(Token::new),
        })
    }

    /// The wall clock in Unix milliseconds.
    pub(super) fn now_ms(&self) -> i64 {
        self.clock.now().wall_ms
    }

    /// Threads for what waits.
    pub(super) fn runtime() -> Result<Runtime, CliError> {
        tokio::runtime::Builder::new_multi_thread()
            .thread_name("sawah-io")
            .enable_all()
            .build()
            .map_err(|error| CliError::internal(&format!("cannot start threads: {error}")))
    }

    /// Finds the coordinator and runs `work` with it.
    pub(super) fn with_client<T, F>(&self, work: impl FnOnce(Client) -> F) -> Result<T, CliError>
    where
        F: Future<Output = Result<T, CliError>>,
    {
        Self::runtime()?.block_on(async { work(self.client().await?).await })
    }

    /// The coordinator of the farm or the one named, checked to answer.
    pub(super) async fn client(&self) -> Result<Client, CliError> {
        Ok(discover::find(&self.wanted(self.settings.farm.value.clone())).await?)
    }

    /// How to find the coordinator of `farm`.
    pub(super) fn wanted(&self, farm: PathBuf) -> Wanted {
        Wanted { coordinator: self.coordinator.clone(), token: self.token.clone(), farm }
    }

    /// Whether the farm was named for this very command, not by the settings.
    pub(super) fn is_farm_named(&self) -> bool {
        matches!(self.settings.farm.origin, Origin::Flag(_) | Origin::Environment(_))
    }

    /// Whether a coordinator was named.
    pub(super) fn is_coordinator_named(&self) -> bool {
        self.coordinator.is_some()
    }

    /// The shipped renderer profiles and the user's own.
    pub(super) fn renderers(&self) -> Result<renderers::Library, CliError> {
        renderers::Library::load(Some(&self.folders.renderers()))
            .map_err(|error| CliError::new(super::error::Exit::Usage, &error))
    }

    /// The shipped recipes and the user's own.
    pub(super) fn library(&self) -> Result<Library, CliError> {
        Library::load(Some(&self.folders.recipes()))
            .map_err(|error| CliError::new(super::error::Exit::Usage, &error))
    }
}

fn flags(cli: &Cli) -> Flags {
    let mut flags = Flags {
        farm: cli.global.farm.clone(),
        log: cli.global.log.clone(),
        log_format: cli.global.log_format,
        ..Flags::default()
    };
    match &cli.command {
        Some(Command::Serve(arguments)) => flags.listen = arguments.listen,
        Some(Command::Worker(arguments)) => {
            flags.slots = arguments.slots;
            flags.name.clone_from(&arguments.name);
            flags.work.clone_from(&arguments.work);
        }
        _ => {}
    }
    flags
}
