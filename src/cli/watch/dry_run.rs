//! What watching a folder would do with what lies there now.

use super::super::context::Context;
use super::super::error::{CliError, Exit};
use super::super::output::{self, Table};
use super::super::parts;
use super::AddArguments;
use crate::protocol::watch::WatchRules;
use crate::watch::dry_run::{DryRun, Fate, WouldBe, dry_run};
use crate::watch::looker::Looker;

pub(super) fn run(context: &Context, arguments: &AddArguments) -> Result<Exit, CliError> {
    let rules = arguments.rules.change(WatchRules::default())?;
    let with = DryRun {
        rules: &rules,
        recipes: &context.library()?,
        renderers: &context.renderers()?,
        looker: Looker::child(parts::this_program()?, context.folders.renderers()),
    };
    let all = dry_run(&arguments.folder, &with).map_err(|error| CliError::failed(&error))?;
    if context.json {
        output::json(&all)?;
    } else {
        table(&all).print("Nothing lies there")?;
    }
    Ok(Exit::Done)
}

fn table(all: &[WouldBe]) -> Table {
    let mut table = Table::new(&["WOULD BE", "ASSET", "KIND", "RECIPE", "#FILES", "FILE", "WHY"]);
    for one in all {
        let (word, cells, why) = match &one.fate {
            Fate::Taken { asset, kind, recipe, files, missing } => {
                let cells =
                    [asset.to_string(), kind.to_string(), recipe.clone(), files.to_string()];
                let why = if missing.is_empty() {
                    String::new()
                } else {
                    format!("without {}", missing.join(", "))
                };
                ("taken", cells, why)
            }
            Fate::GoesAlong { with } => ("taken along", Default::default(), format!("with {with}")),
            Fate::Waits { why } => ("waiting", Default::default(), why.clone()),
            Fate::Refused { code, why } => {
                ("refused", Default::default(), format!("{why} ({code})"))
            }
            Fate::Ignored { why } => ("ignored", Default::default(), why.clone()),
        };
        let [asset, kind, recipe, files] = cells;
        let path = output::one_line(&one.path);
        table.row([word.to_owned(), asset, kind, recipe, files, path, output::one_line(&why)]);
    }
    table
}
