//! What a watch folder may be, and what its rules may say.

use super::pipelines::check_text;
use super::problem::Refusal;
use crate::model::{Reason, limits};
use crate::protocol::watch::{Results, WatchRules};
use crate::recipes::Library;
use std::path::{Path, PathBuf};

/// Shortest time between two looks.
const LEAST_POLL_MS: u64 = 250;
/// The folder of results in a watch folder, whose files are never taken.
const RESULTS_FOLDER: &str = "_results";

/// Folders that a watch folder must not meet.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The farm's.
    pub(super) farm: PathBuf,
    /// Those that are watched already.
    pub(super) watched: Vec<PathBuf>,
}

/// The path of a new watch folder as the farm keeps it. Blocks for a look at the disk.
pub(super) fn checked_path(path: &str, place: &Place) -> Result<String, Refusal> {
    check_text("path", path)?;
    let remedy = "Name a folder of the coordinator's machine by its whole path.";
    if !Path::new(path).is_absolute() {
        return Err(Refusal::invalid(format!("'{path}' is no whole path"), remedy));
    }
    let real = Path::new(path).canonicalize().map_err(|error| {
        let message =
            format!("the folder cannot be found on the coordinator's machine ({error}): {path}");
        Refusal::invalid(message, "Make the folder or mount its share first; check the path.")
            .because(Reason::InputUnreadable)
    })?;
    std::fs::read_dir(&real).map_err(|error| {
        let message = format!("this is no folder that can be read ({error}): {path}");
        Refusal::invalid(message, "Give Sawah's user the right to read it.")
            .because(Reason::InputUnreadable)
    })?;
    let farm = place.farm.canonicalize().unwrap_or_else(|_| place.farm.clone());
    if meets(&real, &farm) {
        let message =
            format!("the farm's own folder cannot be watched, nor one in or around it: {path}");
        return Err(Refusal::invalid(message, "Choose a folder beside the farm's."));
    }
    let others = place.watched.iter().filter(|other| **other != real);
    if let Some(other) = others.clone().find(|other| meets(&real, other)) {
        let message =
            format!("{path} lies in or around {}, which is watched already", other.display());
        return Err(Refusal::invalid(
            message,
            "Each file belongs to one watch folder: remove the other one first, or choose another.",
        ));
    }
    real.into_os_string().into_string().map_err(|_| {
        let message = format!("the folder's name is no Unicode: {path}");
        Refusal::invalid(message, "Rename the folder.")
    })
}

fn meets(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// The rules, once each holds. Blocks for a look at the disk.
pub(super) fn checked(
    rules: WatchRules,
    library: &Library,
    place: &Place,
    own: &str,
) -> Result<WatchRules, Refusal> {
    check_recipes(&rules, library)?;
    if rules.priority.is_some_and(|priority| priority > limits::HIGHEST_PRIORITY) {
        let message = format!("a priority is 0 to {}", limits::HIGHEST_PRIORITY);
        return Err(Refusal::invalid(message, "Choose another priority."));
    }
    let waits = [rules.settle_ms.unwrap_or(0), rules.side_wait_ms, rules.give_up_ms, rules.poll_ms];
    if waits.iter().any(|wait| *wait > limits::WATCH_WAIT_MS) || rules.poll_ms < LEAST_POLL_MS {
        let message = format!(
            "a wait of the rules is too long or too short: at most a day, looks at least {LEAST_POLL_MS} ms apart"
        );
        return Err(Refusal::invalid(message, "Choose other waits."));
    }
    let patterns = rules.ignore.as_deref().unwrap_or_default();
    if patterns.len() > limits::WATCH_PATTERNS
        || patterns.iter().any(|one| one.is_empty() || one.len() > limits::WATCH_PATTERN_BYTES)
    {
        let message = format!(
            "the rules have too many patterns, or one that is empty or too long: at most {} of {} bytes",
            limits::WATCH_PATTERNS,
            limits::WATCH_PATTERN_BYTES
        );
        return Err(Refusal::invalid(message, "Shorten the list."));
    }
    check_results(&rules, place, own)?;
    Ok(rules)
}

/// Refuses a recipe that is not there.
pub(super) fn known_recipe(name: &str, library: &Library) -> Result<(), Refusal> {
    if library.get(name).is_some() {
        return Ok(());
    }
    let shown: String = name.chars().take(limits::NAME_BYTES).collect();
    let names: Vec<_> = library.names().collect();
    let remedy = format!("Use one of: {}.", names.join(", "));
    Err(Refusal::invalid(format!("no recipe is called '{shown}'"), remedy)
        .because(Reason::SettingInvalid))
}

fn check_recipes(rules: &WatchRules, library: &Library) -> Result<(), Refusal> {
    let named: Vec<&String> = rules.recipe.iter().chain(rules.recipes.values()).collect();
    for name in &named {
        known_recipe(name, library)?;
    }
    let fallback = crate::recipes::library::DEFAULT_RECIPE.to_owned();
    let tried = if named.is_empty() { vec![&fallback] } else { named };
    for recipe in tried.into_iter().filter_map(|name| library.get(name)) {
        recipe.settings.with_changes(&rules.settings)?;
    }
    Ok(())
}

fn check_results(rules: &WatchRules, place: &Place, own: &str) -> Result<(), Refusal> {
    let (Results::Folder { path } | Results::Project { path }) = &rules.results else {
        return Ok(());
    };
    check_text("results", path)?;
    let folder = Path::new(path);
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    if !folder.is_absolute() || folder.iter().any(|part| part == "..") {
        let message = format!("'{path}' is no whole path");
        return Err(Refusal::invalid(message, "Name the folder of results by its whole path."));
    }
    if folder.starts_with(&place.farm) {
        let message = format!("results cannot go into the farm's own folder: {path}");
        return Err(Refusal::invalid(message, "Choose a folder beside the farm's."));
    }
    let is_safe = folder.iter().any(|part| part == RESULTS_FOLDER);
    let watched = place.watched.iter().map(PathBuf::as_path).chain([Path::new(own)]);
    if !is_safe && watched.into_iter().any(|watched| folder.starts_with(watched)) {
        let message = format!("results would lie in a watch folder and be taken again: {path}");
        let remedy = format!("Choose a folder outside, or one called '{RESULTS_FOLDER}'.");
        return Err(Refusal::invalid(message, remedy));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use tempfile::TempDir;

    fn place() -> (TempDir, Place) {
        let root = tempfile::tempdir().unwrap();
        for name in ["farm/store", "in/shots", "drop/below", "other"] {
            std::fs::create_dir_all(root.path().join(name)).unwrap();
        }
        let real = root.path().canonicalize().unwrap();
        let place = Place { farm: real.join("farm"), watched: vec![real.join("drop")] };
        (root, place)
    }

    fn try_path(root: &TempDir, name: &str, place: &Place) -> Result<String, String> {
        let path = root.path().join(name);
        checked_path(path.to_str().unwrap(), place).map_err(|refusal| refusal.problem.message)
    }

    #[test]
    fn a_folder_is_watched_unless_it_meets_the_farm_or_another() {
        let (root, place) = place();
        assert!(try_path(&root, "in", &place).unwrap().ends_with("/in"));
        assert!(try_path(&root, "drop", &place).is_ok(), "the store says that it is there already");
        for (name, word) in [
            ("farm", "farm's own"),
            ("farm/store", "farm's own"),
            ("", "farm's own"),
            ("drop/below", "watched already"),
            ("none", "cannot be found"),
        ] {
            let message = try_path(&root, name, &place).unwrap_err();
            assert!(message.contains(word), "{name}: {message}");
        }
        std::fs::write(root.path().join("file"), b"x").unwrap();
        assert!(try_path(&root, "file", &place).unwrap_err().contains("no folder"));
        assert!(
            checked_path("in/shots", &place).unwrap_err().problem.message.contains("whole path")
        );
    }

    #[test]
    fn rules_are_checked_before_a_file_meets_them() {
        let (root, place) = place();
        let library = Library::load(None).unwrap();
        let own = root.path().canonicalize().unwrap().join("in");
        let own = own.to_str().unwrap();
        let results = |name: &str| Results::Folder {
            path: root.path().canonicalize().unwrap().join(name).to_str().unwrap().to_owned(),
        };
        let rules = WatchRules::default;
        let setting = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        for good in [
            rules(),
            WatchRules { recipe: Some("quick".into()), ..rules() },
            WatchRules { settings: setting("still_px", "64"), ..rules() },
            WatchRules { results: results("other"), ..rules() },
            WatchRules { results: results("in/_results"), ..rules() },
        ] {
            assert!(checked(good.clone(), &library, &place, own).is_ok(), "{good:?}");
        }
        for bad in [
            WatchRules { recipe: Some("nope".into()), ..rules() },
            WatchRules { settings: setting("still_px", "big"), ..rules() },
            WatchRules { priority: Some(10), ..rules() },
            WatchRules { settle_ms: Some(u64::MAX), ..rules() },
            WatchRules { poll_ms: 1, ..rules() },
            WatchRules { ignore: Some(vec![String::new()]), ..rules() },
            WatchRules { results: results("farm/out"), ..rules() },
            WatchRules { results: results("drop/out"), ..rules() },
            WatchRules { results: results("in/out"), ..rules() },
            WatchRules { results: Results::Folder { path: "out".into() }, ..rules() },
        ] {
            assert!(checked(bad.clone(), &library, &place, own).is_err(), "{bad:?}");
        }
    }
}
