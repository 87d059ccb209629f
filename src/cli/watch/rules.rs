//! The flags that say what happens with the files of a watch folder.

use super::super::error::CliError;
use super::super::submit::key_value;
use crate::model::{AssetKind, Name, limits};
use crate::protocol::watch::{AfterSuccess, Existing, Results, Seeing, WatchRules};
use crate::watch::ignore::IgnoreList;
use clap::Args;
use std::path::Path;

/// The rules; what is not named stays as it is.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rules")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct RuleArguments {
    /// Which way through the stages meshes and pictures go
    #[arg(long, value_name = "R")]
    recipe: Option<String>,
    /// The recipe of one kind: mesh, image, sequence or scene; can be given several times
    #[arg(long = "for", value_name = "KIND=R", value_parser = kind_recipe)]
    recipes: Vec<(AssetKind, String)>,
    /// Change a setting of the recipe; can be given several times
    #[arg(long = "set", value_name = "K=V", value_parser = key_value)]
    settings: Vec<(String, String)>,
    /// Whose share of the farm it uses [default: default]
    #[arg(long, value_name = "NAME")]
    project: Option<Name>,
    /// 0 to 9, the highest first [default: 5]
    #[arg(long, value_name = "N",
        value_parser = clap::value_parser!(u8).range(..=i64::from(limits::HIGHEST_PRIORITY)))]
    priority: Option<u8>,
    /// How long a file must be still [default: 5s on local disks, 15s elsewhere]
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    settle: Option<u64>,
    /// How long side files and further frames are waited for [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    side_wait: Option<u64>,
    /// How long a file may stay empty or without its end before it is refused [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    give_up: Option<u64>,
    /// Take files of the folder alone
    #[arg(long, conflicts_with = "subfolders")]
    no_subfolders: bool,
    /// Take files of the folders below too; this is the default
    #[arg(long)]
    subfolders: bool,
    /// Follow links that stay inside the folder
    #[arg(long)]
    follow_links: bool,
    /// How new files are noticed: auto, events or polling [default: auto]
    #[arg(long, value_name = "HOW", value_parser = seeing)]
    seeing: Option<Seeing>,
    /// How often the folder is looked through where there are no events [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    poll: Option<u64>,
    /// Leave alone what lies there already, until it changes
    #[arg(long)]
    leave_existing: bool,
    /// What happens to a source after a success: stay, move (to _done/DATE) or delete [default: stay]
    #[arg(long, value_name = "WHAT", value_parser = after)]
    after: Option<AfterSuccess>,
    /// Where results go: farm, beside (into _results), a folder, or project:FOLDER [default: farm]
    #[arg(long, value_name = "WHERE", value_parser = results)]
    results: Option<Results>,
    /// Lay no notes beside refused files
    #[arg(long, conflicts_with = "notes")]
    no_notes: bool,
    /// Lay notes beside refused files; this is the default
    #[arg(long)]
    notes: bool,
    /// A pattern of names to leave alone, beside the shipped ones; can be given several times
    #[arg(long, value_name = "PATTERN")]
    also_ignore: Vec<String>,
    /// The only patterns of names to leave alone; can be given several times
    #[arg(long, value_name = "PATTERN", conflicts_with = "also_ignore")]
    ignore: Vec<String>,
    /// Numbered pictures stay single assets
    #[arg(long)]
    separate: bool,
}

impl RuleArguments {
    /// The rules with what was named changed.
    pub(super) fn change(&self, before: WatchRules) -> Result<WatchRules, CliError> {
        let mut rules = before;
        set(&mut rules.recipe, self.recipe.clone());
        rules.recipes.extend(self.recipes.iter().cloned());
        rules.settings.extend(self.settings.iter().cloned());
        set(&mut rules.project, self.project.clone());
        set(&mut rules.priority, self.priority);
        set(&mut rules.settle_ms, self.settle);
        put(&mut rules.side_wait_ms, self.side_wait);
        put(&mut rules.give_up_ms, self.give_up);
        put(&mut rules.poll_ms, self.poll);
        put(&mut rules.seeing, self.seeing);
        put(&mut rules.after, self.after);
        put(&mut rules.results, self.results.clone());
        put(&mut rules.subfolders, self.no_subfolders.then_some(false));
        put(&mut rules.subfolders, self.subfolders.then_some(true));
        put(&mut rules.notes, self.no_notes.then_some(false));
        put(&mut rules.notes, self.notes.then_some(true));
        put(&mut rules.follow_links, self.follow_links.then_some(true));
        put(&mut rules.separate, self.separate.then_some(true));
        put(&mut rules.existing, self.leave_existing.then_some(Existing::Leave));
        if !self.ignore.is_empty() {
            rules.ignore = Some(self.ignore.clone());
        }
        if !self.also_ignore.is_empty() {
            let mut all = rules.ignore.unwrap_or_else(IgnoreList::default_patterns);
            all.extend(self.also_ignore.iter().cloned());
            rules.ignore = Some(all);
        }
        crate::watch::ignore_list(&rules).map_err(|bad| CliError::usage(&bad))?;
        Ok(rules)
    }
}

fn set<T>(place: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *place = value;
    }
}

fn put<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

fn kind_recipe(text: &str) -> Result<(AssetKind, String), String> {
    let (kind, recipe) = key_value(text)?;
    let names: Vec<_> = AssetKind::ALL.iter().map(|kind| kind.as_str()).collect();
    let kind = AssetKind::parse(&kind).ok_or_else(|| format!("a kind is {}", names.join(", ")))?;
    Ok((kind, recipe))
}

/// A time such as `500ms`, `5s`, `10m` or `2h`, in milliseconds.
fn milliseconds(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is no time: write it as 500ms, 5s, 10m or 2h");
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit_ms = match text.strip_prefix(digits).unwrap_or_default() {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.trim().parse().map_err(|_| wrong())?;
    number.checked_mul(unit_ms).ok_or_else(wrong)
}

fn seeing(text: &str) -> Result<Seeing, String> {
    match text {
        "auto" => Ok(Seeing::Auto),
        "events" => Ok(Seeing::Events),
        "polling" => Ok(Seeing::Polling),
        _ => Err("use auto, events or polling".to_owned()),
    }
}

fn after(text: &str) -> Result<AfterSuccess, String> {
    match text {
        "stay" => Ok(AfterSuccess::Stay),
        "move" => Ok(AfterSuccess::Move),
        "delete" => Ok(AfterSuccess::Delete),
        _ => Err("use stay, move or delete".to_owned()),
    }
}

fn results(text: &str) -> Result<Results, String> {
    let whole = |path: &str| {
        let path = std::path::absolute(Path::new(path)).map_err(|error| error.to_string())?;
        path.into_os_string().into_string().map_err(|_| "its name is no Unicode".to_owned())
    };
    match text {
        "farm" => Ok(Results::Farm),
        "beside" => Ok(Results::Beside),
        _ => match text.strip_prefix("project:") {
            Some(path) => Ok(Results::Project { path: whole(path)? }),
            None => Ok(Results::Folder { path: whole(text)? }),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Flags {
        #[command(flatten)]
        rules: RuleArguments,
    }

    fn change(flags: &[&str], before: WatchRules) -> WatchRules {
        let words = std::iter::once("x").chain(flags.iter().copied());
        Flags::try_parse_from(words).unwrap().rules.change(before).unwrap()
    }

    #[test]
    fn times_have_a_unit() {
        for (text, ms) in [("500ms", 500), ("5s", 5_000), ("10m", 600_000), ("2h", 7_200_000)] {
            assert_eq!(milliseconds(text), Ok(ms));
        }
        for text in ["", "5", "s", "-5s", "5d", "99999999999999999999s", "18446744073709551615h"] {
            assert!(milliseconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_not_named_stays_as_it_is() {
        assert_eq!(change(&[], WatchRules::default()), WatchRules::default());
        let first = change(
            &[
                "--recipe",
                "quick",
                "--for",
                "scene=render",
                "--after",
                "move",
                "--no-notes",
                "--settle",
                "2s",
                "--results",
                "project:/out",
                "--no-subfolders",
            ],
            WatchRules::default(),
        );
        assert_eq!(first.recipes.get(&AssetKind::Scene), Some(&"render".to_owned()));
        assert_eq!((first.settle_ms, first.after), (Some(2_000), AfterSuccess::Move));
        assert_eq!(first.results, Results::Project { path: "/out".to_owned() });
        assert!(!first.notes && !first.subfolders);
        let second = change(&["--notes", "--seeing", "polling"], first.clone());
        let expected = WatchRules { notes: true, seeing: Seeing::Polling, ..first };
        assert_eq!(second, expected);
    }

    #[test]
    fn patterns_come_beside_the_shipped_ones_or_instead_of_them() {
        let also = change(&["--also-ignore", "*.wip"], WatchRules::default()).ignore.unwrap();
        assert!(also.contains(&"*.wip".to_owned()) && also.len() > 10);
        let only = change(&["--ignore", "*.wip"], WatchRules::default());
        assert_eq!(only.ignore, Some(vec!["*.wip".to_owned()]));
        let bad = Flags::try_parse_from(["x", "--ignore", "a["]).unwrap();
        assert!(bad.rules.change(WatchRules::default()).is_err());
    }
}
