//! The command line: one file per command.
//!
//! Results go to stdout, everything else to stderr. With `--json` stdout holds exactly one JSON
//! document, also where the command fails.

mod arguments;
mod audit;
mod bench;
mod cancel;
mod compare;
mod context;
mod control;
mod dead;
mod deep;
mod demo;
mod desktop;
mod dismiss;
mod doctor;
mod embedded;
mod error;
mod limits;
mod forgive;
mod letters;
mod logs;
mod look;
mod ls;
mod output;
mod parts;
mod preview;
mod renderers;
mod replay;
mod scene_look;
mod serve;
mod show;
mod signals;
mod simulate;
mod status;
mod submit;
mod wait;
mod watch;
mod why;
mod words;
mod worker;
mod workers;

use arguments::{Cli, Command};
use clap::Parser as _;
use context::Context;
use error::{CliError, Exit};
use std::ffi::OsString;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

/// Runs the command line `arguments` (the program's name first) and returns its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return show_clap(&error),
    };
    if matches!(cli.command, Some(Command::StageHost)) {
        return parts::stage_host();
    }
    if let Some(Command::Look { profiles_dir }) = &cli.command {
        return parts::look(profiles_dir);
    }
    if matches!(cli.command, Some(Command::Adapters)) {
        return parts::list_adapters();
    }
    let json = cli.global.json;
    let work = AssertUnwindSafe(|| {
        let context = Context::new(&cli)?;
        run(&context, cli.command)
    });
    // The panic's own words are on stderr by now.
    let result = std::panic::catch_unwind(work)
        .unwrap_or_else(|_| Err(CliError::internal("a fault inside Sawah: please report it")));
    match result {
        Ok(exit) => exit.into(),
        Err(error) => error.report(json),
    }
}

fn run(context: &Context, command: Option<Command>) -> Result<Exit, CliError> {
    match command {
        None => desktop::run(context),
        Some(Command::Bench(arguments)) => bench::run(context, &arguments),
        Some(Command::Demo(arguments)) => demo::run(context, &arguments),
        Some(Command::Serve(arguments)) => serve::run(context, &arguments),
        Some(Command::Worker(_)) => worker::run(context),
        Some(Command::Submit(arguments)) => submit::run(context, arguments),
        Some(Command::Ls(arguments)) => ls::run(context, &arguments),
        Some(Command::Show(arguments)) => show::run(context, &arguments),
        Some(Command::Logs(arguments)) => logs::run(context, &arguments),
        Some(Command::Cancel(arguments)) => cancel::run(context, arguments),
        Some(Command::Replay(arguments)) => replay::run(context, arguments),
        Some(Command::Why(arguments)) => why::run(context, &arguments),
        Some(Command::Pause(arguments)) => control::pause(context, arguments),
        Some(Command::Resume(arguments)) => control::resume(context, arguments),
        Some(Command::Drain(arguments)) => control::drain(context, arguments),
        Some(Command::Limits(arguments)) => limits::run(context, arguments),
        Some(Command::Status) => status::run(context),
        Some(Command::Audit(arguments)) => audit::run(context, &arguments),
        Some(Command::Workers) => workers::run(context),
        Some(Command::Dismiss(arguments)) => dismiss::run(context, arguments),
        Some(Command::Forgive(arguments)) => forgive::run(context, arguments),
        Some(Command::Watch(arguments)) => watch::run(context, arguments),
        Some(Command::Dead(arguments)) => dead::run(context, &arguments),
        Some(Command::Preview(arguments)) => preview::run(&arguments, context.json),
        Some(Command::Compare(arguments)) => compare::run(&arguments, context.json),
        Some(Command::Renderers(arguments)) => renderers::run(context, arguments),
        Some(Command::Doctor) => doctor::run(context),
        Some(Command::Simulate(arguments)) => simulate::run(context, &arguments),
        Some(Command::StageHost | Command::Adapters | Command::Look { .. }) => Ok(Exit::Internal),
    }
}

/// Help and version are no errors; a reader that went away is none either.
fn show_clap(error: &clap::Error) -> ExitCode {
    drop(error.print());
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}
