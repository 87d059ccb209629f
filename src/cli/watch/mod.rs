//! `sawah watch`: folders whose files are handed in by themselves.

mod dry_run;
mod orders;
mod rules;
mod show;

use super::context::Context;
use super::error::{CliError, Exit};
use super::output;
use crate::client::Client;
use crate::model::WatchFileId;
use crate::model::limits;
use crate::protocol::submit::Order;
use crate::protocol::watch::{
    NewWatchFolder, WatchChange, WatchFileState, WatchFolderView, WatchRules,
};
use clap::{Args, Subcommand};
use rules::RuleArguments;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  sawah watch add /srv/drop --recipe preview
  sawah watch add /srv/drop --dry-run
  sawah watch add /srv/shots --for scene=render --project film --after move --results beside
  sawah watch
  sawah watch files /srv/drop --state refused
  sawah watch retake /srv/drop hero.png --recipe quick
  sawah watch set /srv/drop --settle 10s
  sawah watch pause /srv/drop

A folder is one of the coordinator's machine, or a share mounted there. Artists drop files into it:
each is taken once it is complete, with the side files that it names, and what cannot be used gets
a note beside it.";

/// Watch folders: files that are dropped there are handed in by themselves
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct WatchArguments {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Watch a folder from now on
    Add(AddArguments),
    /// Show the watch folders: how they are seen, and their files by state
    Ls,
    /// Show the files of a watch folder, newest changes first, and why each is as it is
    Files(FilesArguments),
    /// Change rules of a watch folder; what is not named stays as it is
    Set(SetArguments),
    /// Take nothing more from a watch folder for now
    Pause(FolderArguments),
    /// Take files from a watch folder again
    Resume(FolderArguments),
    /// Watch a folder no more; its files and what is known of them stay
    Rm(FolderArguments),
    /// Take a file anew as if it had just come, or all of them; also with another recipe
    Retake(RetakeArguments),
    /// Take back what was handed in: its work is cancelled, the file stays
    Withdraw(WithdrawArguments),
}

#[derive(Debug, Args)]
struct AddArguments {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    rules: RuleArguments,
    /// Show what would be taken, with which recipe, and watch nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
struct SetArguments {
    /// The folder, or its number
    #[arg(value_name = "FOLDER")]
    folder: String,
    #[command(flatten)]
    rules: RuleArguments,
    /// Why, for the audit
    #[arg(long, default_value = "on the command line")]
    reason: String,
}

#[derive(Debug, Args)]
struct FolderArguments {
    /// The folder, or its number
    #[arg(value_name = "FOLDER")]
    folder: String,
    /// Why, for the audit
    #[arg(long, default_value = "on the command line")]
    reason: String,
}

#[derive(Debug, Args)]
struct FilesArguments {
    /// The folder, or its number
    #[arg(value_name = "FOLDER")]
    folder: String,
    /// Only files in this state: settling, waiting, accepted, duplicate, refused, ignored, withdrawn
    #[arg(long, value_name = "STATE", value_parser = state)]
    state: Option<WatchFileState>,
    /// At most this many
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::ROWS_PER_PAGE)))]
    limit: u32,
}

#[derive(Debug, Args)]
struct RetakeArguments {
    /// The folder, or its number
    #[arg(value_name = "FOLDER")]
    folder: String,
    /// The file as 'sawah watch files' shows it, or its number
    #[arg(value_name = "FILE", required_unless_present = "all")]
    file: Option<String>,
    /// All files of the folder
    #[arg(long, conflicts_with = "file")]
    all: bool,
    /// With another recipe
    #[arg(long, value_name = "R")]
    recipe: Option<String>,
}

#[derive(Debug, Args)]
struct WithdrawArguments {
    /// The folder, or its number
    #[arg(value_name = "FOLDER")]
    folder: String,
    /// The file as 'sawah watch files' shows it, or its number
    #[arg(value_name = "FILE")]
    file: String,
}

fn state(text: &str) -> Result<WatchFileState, String> {
    WatchFileState::parse(text).ok_or_else(|| {
        let names: Vec<_> = WatchFileState::ALL.iter().map(|state| state.as_str()).collect();
        format!("use {}", names.join(", "))
    })
}

pub(super) fn run(context: &Context, arguments: WatchArguments) -> Result<Exit, CliError> {
    match arguments.verb {
        None | Some(Verb::Ls) => show::folders(context),
        Some(Verb::Add(arguments)) if arguments.dry_run => dry_run::run(context, &arguments),
        Some(Verb::Add(arguments)) => add(context, &arguments),
        Some(Verb::Files(arguments)) => show::files(context, &arguments),
        Some(Verb::Set(arguments)) => set(context, &arguments),
        Some(Verb::Pause(arguments)) => pause(context, &arguments, true),
        Some(Verb::Resume(arguments)) => pause(context, &arguments, false),
        Some(Verb::Rm(arguments)) => remove(context, &arguments),
        Some(Verb::Retake(arguments)) => orders::retake(context, &arguments),
        Some(Verb::Withdraw(arguments)) => orders::withdraw(context, &arguments),
    }
}

/// The path as the coordinator of this machine knows it.
fn whole(folder: &Path) -> Result<String, CliError> {
    let path = std::path::absolute(folder).map_err(|error| CliError::usage(&error))?;
    path.into_os_string()
        .into_string()
        .map_err(|_| CliError::usage("the folder's name is no Unicode: rename it"))
}

fn add(context: &Context, arguments: &AddArguments) -> Result<Exit, CliError> {
    let rules = arguments.rules.change(WatchRules::default())?;
    let new =
        NewWatchFolder { path: whole(&arguments.folder)?, rules, actor: crate::client::actor() };
    let view =
        context.with_client(|client| async move { Ok(client.add_watch_folder(&new).await?) })?;
    say(context, &view, "is watched")
}

fn say(context: &Context, view: &WatchFolderView, what: &str) -> Result<Exit, CliError> {
    if context.json {
        output::json(view)?;
    } else {
        output::line(&format!("Folder {} {what}: {}", view.id, output::one_line(&view.path)))?;
    }
    Ok(Exit::Done)
}

fn set(context: &Context, arguments: &SetArguments) -> Result<Exit, CliError> {
    let view = context.with_client(|client| async move {
        let folder = find(&client, &arguments.folder).await?;
        let change = WatchChange {
            rules: Some(arguments.rules.change(folder.rules)?),
            paused: None,
            actor: crate::client::actor(),
            reason: arguments.reason.clone(),
        };
        Ok(client.change_watch_folder(folder.id, &change).await?)
    })?;
    say(context, &view, "has these rules from now on")
}

fn pause(context: &Context, arguments: &FolderArguments, paused: bool) -> Result<Exit, CliError> {
    let view = context.with_client(|client| async move {
        let folder = find(&client, &arguments.folder).await?;
        let change = WatchChange {
            rules: None,
            paused: Some(paused),
            actor: crate::client::actor(),
            reason: arguments.reason.clone(),
        };
        Ok(client.change_watch_folder(folder.id, &change).await?)
    })?;
    say(context, &view, if paused { "is paused" } else { "goes on" })
}

fn remove(context: &Context, arguments: &FolderArguments) -> Result<Exit, CliError> {
    let view = context.with_client(|client| async move {
        let folder = find(&client, &arguments.folder).await?;
        let (actor, reason) = (crate::client::actor(), arguments.reason.clone());
        client.remove_watch_folder(folder.id, &Order { actor, reason }).await?;
        Ok(folder)
    })?;
    say(context, &view, "is watched no more; its files stay")
}

/// The watch folder that a person means: its number, or its path.
async fn find(client: &Client, named: &str) -> Result<WatchFolderView, CliError> {
    let folders = client.watch_folders().await?;
    let number = named.parse::<i64>().ok();
    let real = Path::new(named).canonicalize().ok();
    let is_meant = |folder: &&WatchFolderView| {
        Some(folder.id.0) == number
            || folder.path == named
            || real.as_deref() == Some(Path::new(&folder.path))
    };
    folders.iter().find(is_meant).cloned().ok_or_else(|| {
        let known: Vec<_> =
            folders.iter().map(|folder| format!("{} {}", folder.id, folder.path)).collect();
        let known = if known.is_empty() {
            "no folder is watched: try 'sawah watch add DIR'".to_owned()
        } else {
            format!("there are {}", known.join(", "))
        };
        CliError::usage(&format!("'{named}' is not watched; {known}"))
    })
}

/// A number of a file, where the text is one.
fn file_number(text: &str) -> Option<WatchFileId> {
    text.parse().ok()
}
