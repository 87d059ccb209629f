//! What can be typed, and the help that teaches it.

#![expect(clippy::doc_markdown, reason = "these comments are help texts, shown as they are")]

use super::audit::AuditArguments;
use super::bench::BenchArguments;
use super::cancel::CancelArguments;
use super::compare::CompareArguments;
use super::control::{DrainArguments, PauseArguments, ResumeArguments};
use super::dead::DeadArguments;
use super::demo::DemoArguments;
use super::dismiss::DismissArguments;
use super::forgive::ForgiveArguments;
use super::limits::LimitsArguments;
use super::logs::LogsArguments;
use super::ls::LsArguments;
use super::preview::PreviewArguments;
use super::renderers::RenderersArguments;
use super::replay::ReplayArguments;
use super::serve::ServeArguments;
use super::show::ShowArguments;
use super::simulate::SimulateArguments;
use super::submit::SubmitArguments;
use super::watch::WatchArguments;
use super::why::WhyArguments;
use super::worker::WorkerArguments;
use crate::telemetry::LogFormat;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

const ABOUT: &str =
    "Sawah runs assets through a farm: right results, never double, always recoverable

Without a command it opens the window on the farm, with a coordinator and a worker inside.
Assets are handed in with 'submit', run from stage to stage on the workers, and end as published
files, or as dead letters that say what went wrong and what to do.";

const EXAMPLES: &str = "Examples:
  sawah demo --headless                 try everything on sample assets, no window
  sawah serve --with-worker             a farm on this machine
  sawah submit dragon.glb --wait        hand in an asset and wait for its results
  sawah ls                              what is in work
  sawah doctor                          check this machine

Exit codes:
  0  done
  1  the work failed: a dead letter, a refused file, a failed check
  2  wrong usage
  3  no coordinator can be reached
  4  a fault inside Sawah
  130  ended by Ctrl-C";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "sawah", version, about = "A render-farm manager for small studios", long_about = ABOUT)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true, propagate_version = true)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) global: GlobalArguments,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

/// Flags of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(super) struct GlobalArguments {
    /// The farm's data folder [env: SAWAH_FARM] [default: in the user's data folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) farm: Option<PathBuf>,
    /// A coordinator on another machine, as http://HOST:PORT
    #[arg(long, global = true, value_name = "URL", env = "SAWAH_COORDINATOR")]
    pub(super) coordinator: Option<String>,
    /// The farm's token; otherwise read from the farm's folder
    #[arg(long, global = true, value_name = "T", env = "SAWAH_TOKEN", hide_env_values = true)]
    pub(super) token: Option<String>,
    /// Print one JSON document on stdout
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// What to log: error, warn, info, debug, trace, or 'info,sawah::store=debug' [env: SAWAH_LOG]
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(super) log: Option<String>,
    /// How log lines look [env: SAWAH_LOG_FORMAT] [default: text]
    #[arg(long, global = true, value_name = "FORMAT")]
    pub(super) log_format: Option<LogFormat>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Demo(DemoArguments),
    Serve(ServeArguments),
    Worker(WorkerArguments),
    Submit(SubmitArguments),
    Watch(WatchArguments),
    Ls(LsArguments),
    Show(ShowArguments),
    Logs(LogsArguments),
    Cancel(CancelArguments),
    Replay(ReplayArguments),
    Why(WhyArguments),
    Pause(PauseArguments),
    Resume(ResumeArguments),
    Drain(DrainArguments),
    Limits(LimitsArguments),
    /// Show what waits and runs in each queue, and whether more workers would help
    #[command(after_help = "Examples:\n  sawah status\n  sawah status --json")]
    Status,
    Audit(AuditArguments),
    /// Show the workers that have a session now
    #[command(after_help = "Examples:\n  sawah workers\n  sawah workers --json")]
    Workers,
    Forgive(ForgiveArguments),
    Dead(DeadArguments),
    Dismiss(DismissArguments),
    Preview(PreviewArguments),
    Compare(CompareArguments),
    Renderers(RenderersArguments),
    /// Check this machine: adapters, programs, folders, database, port, settings
    ///
    /// Each line is ok, a warning or a failure, and says what to do. Exit code 1 if one failed.
    #[command(after_help = "Examples:\n  sawah doctor\n  sawah doctor --json")]
    Doctor,
    Bench(BenchArguments),
    Simulate(SimulateArguments),
    /// Runs one stage as a child of a worker.
    #[command(hide = true)]
    StageHost,
    /// Lists graphics adapters as one JSON line: a child, since a broken driver may end it.
    #[command(hide = true)]
    Adapters,
    /// Looks into files for watch folders: a child, since what it reads is foreign.
    #[command(hide = true)]
    Look {
        /// The user's own renderer profiles.
        profiles_dir: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn examples(command: &clap::Command) -> Vec<String> {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        help.lines()
            .map(str::trim)
            .filter(|line| line.starts_with("sawah "))
            .map(|line| line.split("  ").next().unwrap_or_default().to_owned())
            .collect()
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples_and_every_example_parses() {
        let cli = Cli::command();
        let mut all = examples(&cli);
        for command in cli.get_subcommands().filter(|command| !command.is_hide_set()) {
            let own = examples(command);
            assert!(!own.is_empty(), "{} teaches by example", command.get_name());
            assert!(command.get_about().is_some(), "{}", command.get_name());
            all.extend(own);
        }
        for example in all {
            let parsed = Cli::try_parse_from(example.split_whitespace());
            assert!(
                parsed.is_ok(),
                "{example}: {}",
                parsed.err().map(|error| error.to_string()).unwrap_or_default()
            );
        }
    }

    #[test]
    fn wrong_usage_is_refused() {
        for line in [
            "sawah submit",
            "sawah show gear",
            "sawah worker --slots 0",
            "sawah fly",
            "sawah preview a.exr --tone-map filmic",
            "sawah preview a.exr --exposure nan",
            "sawah preview a.png --checker --alpha keep",
            "sawah compare a.png",
            "sawah compare a.png b.png --as blink",
            "sawah compare a.png b.png --at 1.5",
        ] {
            assert!(Cli::try_parse_from(line.split_whitespace()).is_err(), "{line}");
        }
    }

    #[test]
    fn exit_codes_are_documented() {
        for exit in crate::cli::error::Exit::ALL {
            assert!(EXAMPLES.contains(&format!("\n  {}  ", exit.code())), "{exit:?}");
        }
    }
}
