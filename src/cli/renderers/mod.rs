//! `sawah renderers`: the profiles, what this machine has, and how a log is read.

mod trial;

use super::context::Context;
use super::error::{CliError, Exit};
use super::output::{self, Table};
use crate::protocol::view::WorkerView;
use crate::worker::probe::{self, State};
use clap::{Args, Subcommand};
use serde::Serialize;

const EXAMPLES: &str = "Examples:
  sawah renderers
  sawah renderers --json
  sawah renderers test blender render.log
  sawah renderers test blender render.log --exit 1 --frames 1-250

Own profiles lie as NAME.toml in the folder 'renderers' beside the settings.";

/// List the renderers that Sawah knows, and what this machine has
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RenderersArguments {
    #[command(subcommand)]
    order: Option<Order>,
}

#[derive(Debug, Subcommand)]
enum Order {
    Test(trial::TestArguments),
}

/// One profile on this machine.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    title: String,
    description: String,
    #[serde(flatten)]
    state: State,
    /// Workers of the farm that have it, with their versions.
    workers: Vec<String>,
}

#[derive(Serialize)]
struct Renderers<'a> {
    renderers: &'a [Row],
}

pub(super) fn run(context: &Context, arguments: RenderersArguments) -> Result<Exit, CliError> {
    match arguments.order {
        Some(Order::Test(arguments)) => trial::run(context, &arguments),
        None => list(context),
    }
}

/// The workers of the farm; none where it cannot be reached, since this machine alone can be asked.
fn workers(context: &Context) -> Vec<WorkerView> {
    context.with_client(|client| async move { Ok(client.workers().await?) }).unwrap_or_default()
}

/// The workers that have the program of a profile.
fn having(profile: &str, workers: &[WorkerView]) -> Vec<String> {
    let has = |worker: &WorkerView| {
        let program = worker.capabilities.programs.iter().find(|one| one.name == profile)?;
        Some(format!("{} {}", output::one_line(&worker.name), output::one_line(&program.version)))
    };
    workers.iter().filter_map(has).collect()
}

fn list(context: &Context) -> Result<Exit, CliError> {
    let library = context.renderers()?;
    let workers = workers(context);
    let rows = Context::runtime()?.block_on(async {
        let mut rows = Vec::new();
        for profile in library.profiles() {
            rows.push(Row {
                name: profile.name.clone(),
                title: profile.title.clone(),
                description: profile.description.clone(),
                state: probe::look(&profile.program).await,
                workers: having(&profile.name, &workers),
            });
        }
        rows
    });
    if context.json {
        output::json(&Renderers { renderers: &rows })?;
    } else {
        let mut table = Table::new(&["PROFILE", "PROGRAM", "VERSION", "HERE", "WORKERS"]);
        for row in &rows {
            let version = row.state.version().unwrap_or_default().to_owned();
            table.row([
                row.name.clone(),
                row.title.clone(),
                version,
                row.state.words(),
                row.workers.join(", "),
            ]);
        }
        table.print("No renderer profile is known")?;
    }
    Ok(Exit::Done)
}
