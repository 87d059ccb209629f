//! From files that are still to assets that can be handed in.

use super::book::shown;
use super::engine::Engine;
use super::jobs::{Job, Take};
use super::names::{self, NameKey};
use super::recipe;
use super::tracked::{Noted, Stage};
use super::units::{self, Look, Shape, Unit};
use crate::intake::{self, FileKind, Plan, Refusal};
use crate::model::{AssetName, Reason, limits};
use crate::protocol::submit::MissingWhy;
use crate::protocol::watch::WatchFileState;
use crate::recipes::Recipe;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Why a file is refused that the farm has nothing to do with.
pub(super) const UNSUPPORTED: &str = "the farm cannot do anything with files of this kind";
/// Why a side file waits by itself.
pub(super) const SIDE_ALONE: &str = "it goes along with the file that names it";
/// Names tried for an asset whose file's name another file of the farm has.
const NAMES_TRIED: u32 = 50;

impl Engine {
    /// A file is still from now on.
    pub(super) fn became_still(&mut self, path: &Path, now_ms: u64) {
        let kind = self.get(path).and_then(|tracked| tracked.kind);
        if kind.is_none() {
            return self.refuse(path, Reason::InputUnsupported, UNSUPPORTED);
        }
        if let Some(other) = self.collides(path) {
            let what = format!(
                "its name and that of {} are one name on other systems: rename one of them",
                shown(&other)
            );
            return self.refuse(path, Reason::InputNameConflict, &what);
        }
        self.plan_folder_of(path);
        // Those that named it before it came, and those that had it with other content.
        let mut waiting: BTreeSet<PathBuf> =
            self.wanted.get(&NameKey::of(path)).cloned().unwrap_or_default();
        waiting.extend(self.parts.get(path).cloned());
        waiting.extend(self.claims.of(path).cloned());
        for main in waiting {
            self.revive(&main, now_ms);
        }
        if kind == Some(FileKind::Side) && self.claims.of(path).is_none() {
            self.note(path, waiting_note(SIDE_ALONE.to_owned()));
        }
    }

    /// A unit's files are there anew: it is looked at again, also where it was handed in.
    fn revive(&mut self, key: &Path, now_ms: u64) {
        if let Some(unit) = self.units.get_mut(key) {
            unit.look = Look::Wanted;
        }
        if let Some(tracked) = self.get_mut(key)
            && tracked.is_taken()
        {
            tracked.stage = Stage::Still { since_ms: now_ms };
            self.plan_folder_of(key);
        }
    }

    /// Units that had this file are to be found anew.
    pub(super) fn unplan(&mut self, path: &Path) {
        if let Some(key) = self.claims.of(path).cloned()
            && let Some(unit) = self.units.get_mut(&key)
        {
            unit.look = Look::Wanted;
        }
        self.plan_folder_of(path);
    }

    pub(super) fn plan_folder_of(&mut self, path: &Path) {
        if let Some(folder) = path.parent() {
            self.queue.is_stale = true;
            self.replan.insert(folder.to_owned());
        }
    }

    /// Another file with a name that is the same on other systems, and that came before.
    fn collides(&self, path: &Path) -> Option<PathBuf> {
        let alike = self.keys.get(&NameKey::of(path))?;
        let wins = |other: &&PathBuf| {
            let taken = self.get(other).is_some_and(super::tracked::Tracked::is_taken);
            let open = self.get(other).is_some_and(super::tracked::Tracked::is_open);
            other.as_path() != path && (taken || (open && other.as_path() < path))
        };
        alike.iter().find(wins).cloned()
    }

    /// A file is not taken; the note beside it says why.
    pub(super) fn refuse(&mut self, path: &Path, reason: Reason, what: &str) {
        let Some(tracked) = self.get_mut(path) else { return };
        tracked.stage = Stage::Ended(WatchFileState::Refused);
        let why = Some(what.to_owned());
        self.note(path, Noted { state: Some(WatchFileState::Refused), why, reason: Some(reason) });
        self.lay_note(path, reason, what);
        self.plan_folder_of(path);
    }

    /// Finds the units of folders in which something changed; how many files lie in those.
    pub(super) fn find_units(&mut self) -> usize {
        let mut looked_at = 0_usize;
        for folder in std::mem::take(&mut self.replan) {
            let none = BTreeMap::new();
            let files = self.files.get(&folder).unwrap_or(&none);
            looked_at = looked_at.saturating_add(files.len());
            let paths: Vec<(PathBuf, &super::tracked::Tracked)> =
                files.iter().map(|(name, tracked)| (folder.join(name), tracked)).collect();
            let given = paths.iter().map(|(path, tracked)| (path, *tracked));
            let goes_along = |path: &Path| self.claims.of(path).is_some();
            let found = units::of_folder(&folder, given, goes_along, self.rules.separate);
            let old: Vec<PathBuf> = self
                .units
                .range(folder.clone()..)
                .take_while(|(key, _)| key.starts_with(&folder))
                .filter(|(key, _)| key.parent() == Some(&folder) && !found.contains_key(*key))
                .map(|(key, _)| key.clone())
                .collect();
            for key in old {
                if !self.taking.contains(&key) {
                    self.drop_unit(&key);
                }
            }
            for (key, unit) in found {
                self.keep_unit(key, unit);
            }
        }
        looked_at
    }

    /// A unit that is there already keeps what is known of it, unless its files are others.
    fn keep_unit(&mut self, key: PathBuf, unit: Unit) {
        if self.taking.contains(&key) {
            return;
        }
        match self.units.get_mut(&key) {
            Some(old)
                if old.members == unit.members && old.still_since_ms == unit.still_since_ms =>
            {
                old.shape = unit.shape;
            }
            _ => {
                self.units.insert(key, unit);
            }
        }
    }

    fn drop_unit(&mut self, key: &Path) {
        self.units.remove(key);
        self.release_claims(key);
    }

    /// Files that went along with a unit are free again.
    pub(super) fn release_claims(&mut self, key: &Path) {
        for path in self.claims.release(key) {
            self.plan_folder_of(&path);
        }
    }

    /// What a unit consists of is known now.
    pub(super) fn looked(&mut self, key: &Path, plan: Result<Plan, Refusal>) {
        let is_wanted = self.units.get(key).is_some_and(|unit| matches!(unit.look, Look::Running));
        if !is_wanted {
            return;
        }
        self.release_claims(key);
        if let Ok(plan) = &plan {
            for file in plan.files.iter().filter(|file| file.name != plan.main_file) {
                if let Ok(relative) = file.path.strip_prefix(&self.root) {
                    self.claims.claim(relative, key);
                    self.plan_folder_of(relative);
                }
            }
            for missing in missing(key, plan) {
                self.wanted.entry(NameKey::of(&missing)).or_default().insert(key.to_owned());
            }
        }
        if let Some(unit) = self.units.get_mut(key) {
            unit.look = Look::Done(Box::new(plan));
        }
        self.queue.first(key);
    }

    pub(super) fn look_into(&mut self, key: &Path) -> Option<Job> {
        let unit = self.units.get_mut(key)?;
        unit.look = Look::Running;
        self.running += 1;
        let path = self.root.join(key);
        Some(Job::Look { key: key.to_owned(), path, settings: self.rules.settings.clone() })
    }

    /// The job that hands a unit in; none where it is refused at once.
    pub(super) fn take(&mut self, key: &Path) -> Option<Job> {
        let unit = self.units.get(key)?.clone();
        let plan = match (unit.shape, unit.look) {
            (Shape::Series { .. }, _) => self.plan_series(key, &unit.members),
            (_, Look::Done(plan)) => *plan,
            (_, Look::Wanted | Look::Running) => return None,
        };
        let prepared = plan.and_then(|plan| Ok((self.recipe(key, &plan)?, plan)));
        let ((recipe, settings), plan) = match prepared {
            Ok(prepared) => prepared,
            Err(refusal) => {
                self.refuse_unit(key, refusal.reason, &refusal.message);
                return None;
            }
        };
        let mut files = BTreeMap::new();
        for file in &plan.files {
            let Ok(relative) = file.path.strip_prefix(&self.root) else { continue };
            let relative = relative.to_owned();
            let Some(tracked) = self.get_mut(&relative) else { continue };
            let sight = tracked.sight;
            tracked.stage = Stage::Taking(sight);
            files.insert(file.path.clone(), (relative.clone(), shown(&relative), sight));
        }
        self.taking.insert(key.to_owned());
        self.running += 1;
        Some(Job::Take(Box::new(Take {
            key: key.to_owned(),
            folder: self.id,
            shown: shown(key),
            files,
            missing: missing(key, &plan).iter().map(|path| super::bytes(path)).collect(),
            names: asset_names(key, &plan.asset),
            recipe,
            settings,
            project: self.rules.project.clone(),
            priority: self.rules.priority,
            follow_links: self.rules.follow_links,
            plan,
        })))
    }

    fn plan_series(&self, key: &Path, members: &[PathBuf]) -> Result<Plan, Refusal> {
        let folder = self.root.join(key.parent().unwrap_or(Path::new("")));
        let members: Vec<_> =
            members.iter().filter_map(|path| path.file_name()).map(ToOwned::to_owned).collect();
        let all = intake::plan_series(&folder, &members, limits::SOURCE_FILE_BYTES);
        let own =
            all.into_iter().find(|series| Some(series.pattern.as_os_str()) == key.file_name());
        own.map_or_else(
            || {
                let message = format!("the frames of {} are no series any more", shown(key));
                Err(Refusal { reason: Reason::InputChanged, message })
            },
            |series| series.plan,
        )
    }

    /// The recipe of a unit with its settings, and the settings that were changed.
    fn recipe(
        &self,
        key: &Path,
        plan: &Plan,
    ) -> Result<(Recipe, BTreeMap<String, String>), Refusal> {
        let kind = recipe::asset_kind(self.get(key).and_then(|tracked| tracked.kind), plan);
        let ordered = self.orders.get(key).and_then(|ordered| ordered.recipe.as_deref());
        recipe::choose(&self.recipes, &self.rules, kind, plan, ordered)
    }

    /// All files of a unit that were to be taken are refused.
    pub(super) fn refuse_unit(&mut self, key: &Path, reason: Reason, what: &str) {
        let members = self.units.remove(key).map(|unit| unit.members).unwrap_or_default();
        self.release_claims(key);
        for path in members {
            if self.get(&path).is_some_and(super::tracked::Tracked::is_open) {
                self.refuse(&path, reason, what);
            }
        }
        self.finish_orders(key);
    }
}

pub(super) fn waiting_note(why: String) -> Noted {
    Noted { state: Some(WatchFileState::Waiting), why: Some(why), reason: None }
}

/// Where the files that a main file names would be, below the watch folder.
pub(super) fn missing(key: &Path, plan: &Plan) -> Vec<PathBuf> {
    let folder = key.parent().unwrap_or(Path::new(""));
    let inside = plan.missing.iter().filter(|missing| missing.why == MissingWhy::NotFound);
    inside
        .map(|missing| {
            let mut path = folder.to_owned();
            for part in missing.name.replace('\\', "/").split('/') {
                match part {
                    "" | "." => {}
                    ".." => {
                        path.pop();
                    }
                    part => path.push(part),
                }
            }
            path
        })
        .collect()
}

/// Names for an asset, the best first: its own, with its folder's, with its suffix, with a number.
fn asset_names(key: &Path, own: &AssetName) -> Vec<AssetName> {
    let own = own.as_str();
    let mut names = vec![own.to_owned()];
    let folders: Vec<String> =
        key.parent().into_iter().flat_map(Path::iter).map(names::shown).collect();
    if let Some(folder) = folders.last() {
        names.push(format!("{folder}-{own}"));
    }
    if folders.len() > 1 {
        names.push(format!("{}-{own}", folders.join("-")));
    }
    if let Some(suffix) = key.extension() {
        names.push(format!("{own}-{}", names::shown(suffix)));
    }
    names.extend((2..NAMES_TRIED).map(|number| format!("{own}-{number}")));
    names.iter().map(|name| AssetName::from_any(name)).collect()
}
