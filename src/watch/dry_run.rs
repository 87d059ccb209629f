//! What watching a folder would do with what lies there now. Takes nothing.

use super::ending::{self, Ending};
use super::looker::Looker;
use super::names::{self, NameKey};
use super::planning::missing;
use super::scan::{self, Entry, ScanError, ScanOptions};
use super::tracked::{Noted, Stage, Tracked};
use super::units::{self, Shape, Unit};
use super::{ignore, recipe, seeing};
use crate::intake::{self, FileKind, Plan, Refusal, kind_of};
use crate::model::{AssetKind, AssetName, Reason, limits};
use crate::protocol::watch::WatchRules;
use crate::recipes::Library;
use crate::renderers;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What would become of one file or series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WouldBe {
    /// Below the folder, for people.
    pub path: String,
    /// What.
    #[serde(flatten)]
    pub fate: Fate,
}

/// What would become of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "fate")]
pub enum Fate {
    /// It would be handed in.
    Taken {
        /// The asset's name, where no other file has it.
        asset: AssetName,
        /// What it is.
        kind: AssetKind,
        /// The recipe.
        recipe: String,
        /// Files that go along, itself too.
        files: usize,
        /// Files that it names and that are not there.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
    },
    /// It would go along with another file.
    GoesAlong {
        /// Which.
        with: String,
    },
    /// It would wait.
    Waits {
        /// For what.
        why: String,
    },
    /// It would be refused.
    Refused {
        /// The stable code.
        code: &'static str,
        /// Why.
        why: String,
    },
    /// It would be left alone.
    Ignored {
        /// By which rule.
        why: String,
    },
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum DryRunError {
    /// The folder cannot be looked at.
    #[error(transparent)]
    Folder(#[from] ScanError),
    /// A pattern of the rules is wrong.
    #[error(transparent)]
    Pattern(#[from] ignore::BadPattern),
}

/// What is needed to say it.
pub struct DryRun<'a> {
    /// The rules.
    pub rules: &'a WatchRules,
    /// The recipes that they may name.
    pub recipes: &'a Library,
    /// The renderer profiles.
    pub renderers: &'a renderers::Library,
    /// Who looks into foreign files.
    pub looker: Looker,
}

/// What watching `root` would do with what lies there now, by path. Blocks.
pub fn dry_run(root: &Path, with: &DryRun<'_>) -> Result<Vec<WouldBe>, DryRunError> {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let mut rehearsal = Rehearsal {
        root: &root,
        with,
        folders: BTreeMap::new(),
        claims: BTreeMap::new(),
        plans: BTreeMap::new(),
        fates: BTreeMap::new(),
    };
    rehearsal.look()?;
    rehearsal.claim();
    rehearsal.judge();
    let shown = |(path, fate): (PathBuf, Fate)| WouldBe { path: names::shown_path(&path), fate };
    Ok(rehearsal.fates.into_iter().map(shown).collect())
}

struct Rehearsal<'a> {
    root: &'a Path,
    with: &'a DryRun<'a>,
    folders: BTreeMap<PathBuf, BTreeMap<PathBuf, Tracked>>,
    claims: BTreeMap<PathBuf, PathBuf>,
    plans: BTreeMap<PathBuf, Result<Plan, Refusal>>,
    fates: BTreeMap<PathBuf, Fate>,
}

impl Rehearsal<'_> {
    fn look(&mut self) -> Result<(), DryRunError> {
        let rules = self.with.rules;
        let ignore = super::ignore_list(rules)?;
        let options = ScanOptions {
            subfolders: rules.subfolders,
            follow_links: rules.follow_links,
            ..ScanOptions::new(&ignore)
        };
        let mut found = Vec::new();
        scan::scan(self.root, &options, &mut |entry| found.push(entry))?;
        let mut keys = BTreeSet::new();
        found.sort_by(|a, b| seeing::path_of(a).cmp(seeing::path_of(b)));
        for entry in found.into_iter().filter(|entry| !seeing::is_ours(seeing::path_of(entry))) {
            let path = seeing::path_of(&entry).to_owned();
            match entry {
                Entry::File { sight, .. } => {
                    let collides = !keys.insert(NameKey::of(&path));
                    self.saw(path, sight, collides);
                }
                Entry::Folder { .. } => {}
                other => {
                    let why = seeing::left_alone(&other);
                    self.fates.insert(path, Fate::Ignored { why });
                }
            }
        }
        Ok(())
    }

    fn saw(&mut self, path: PathBuf, sight: crate::model::Sight, collides: bool) {
        let kind = path.file_name().and_then(|name| kind_of(name, self.with.renderers));
        let end = ending::check(&self.root.join(&path), sight.size_bytes);
        let fate = match (kind, end) {
            (None, _) => Some(refused(Reason::InputUnsupported, super::planning::UNSUPPORTED)),
            _ if collides => {
                let why = "another file has the same name on some systems";
                Some(refused(Reason::InputNameConflict, why))
            }
            _ if sight.size_bytes == 0 => Some(Fate::Waits { why: "it is empty".to_owned() }),
            (_, Ok(Ending::Unfinished(why))) => Some(Fate::Waits { why }),
            (_, Err(error)) => {
                Some(refused(Reason::InputUnreadable, &format!("it cannot be read ({error})")))
            }
            _ => None,
        };
        if let Some(fate) = fate {
            self.fates.insert(path, fate);
            return;
        }
        let stage = Stage::Still { since_ms: 0 };
        let tracked = Tracked { sight, kind, stage, noted: Noted::default() };
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        self.folders.entry(folder).or_default().insert(path, tracked);
    }

    /// Looks into every file that may name others.
    fn claim(&mut self) {
        let files = self.folders.values().flatten();
        let mains: Vec<PathBuf> = files
            .filter(|(_, it)| matches!(it.kind, Some(FileKind::Mesh | FileKind::Scene)))
            .map(|(path, _)| path.clone())
            .collect();
        for main in mains {
            let plan = self.with.looker.look(&self.root.join(&main), &self.with.rules.settings);
            for file in plan.iter().flat_map(|plan| &plan.files) {
                if let Ok(relative) = file.path.strip_prefix(self.root)
                    && relative != main
                {
                    self.claims.insert(relative.to_owned(), main.clone());
                }
            }
            self.plans.insert(main, plan);
        }
    }

    fn judge(&mut self) {
        for (folder, files) in std::mem::take(&mut self.folders) {
            let goes_along = |path: &Path| self.claims.contains_key(path);
            let found =
                units::of_folder(&folder, files.iter(), goes_along, self.with.rules.separate);
            for (key, unit) in found {
                let fate = self.fate(&folder, &key, &unit, files.get(&key));
                self.fates.insert(key, fate);
            }
            for (path, file) in files {
                if let Some(main) = self.claims.get(&path) {
                    let with = names::shown_path(main);
                    self.fates.insert(path, Fate::GoesAlong { with });
                } else if file.kind == Some(FileKind::Side) {
                    let why = super::planning::SIDE_ALONE.to_owned();
                    self.fates.insert(path, Fate::Waits { why });
                }
            }
        }
    }

    fn fate(&self, folder: &Path, key: &Path, unit: &Unit, file: Option<&Tracked>) -> Fate {
        let plan = match unit.shape {
            Shape::Series { .. } => {
                let names: Vec<_> =
                    unit.members.iter().filter_map(|it| it.file_name()).map(Into::into).collect();
                let all =
                    intake::plan_series(&self.root.join(folder), &names, limits::SOURCE_FILE_BYTES);
                all.into_iter().next().map(|series| series.plan)
            }
            Shape::Whole => self.plans.get(key).cloned(),
            Shape::Picture { .. } => {
                Some(self.with.looker.look(&self.root.join(key), &self.with.rules.settings))
            }
        };
        match plan {
            None => Fate::Waits { why: "its frames are no series".to_owned() },
            Some(Err(refusal)) => refused(refusal.reason, &refusal.message),
            Some(Ok(plan)) => self.taken(key, &plan, file),
        }
    }

    fn taken(&self, key: &Path, plan: &Plan, file: Option<&Tracked>) -> Fate {
        let kind = recipe::asset_kind(file.and_then(|file| file.kind), plan);
        match recipe::choose(self.with.recipes, self.with.rules, kind, plan, None) {
            Err(refusal) => refused(refusal.reason, &refusal.message),
            Ok((recipe, _)) => Fate::Taken {
                asset: plan.asset.clone(),
                kind,
                recipe: recipe.name,
                files: plan.files.len(),
                missing: missing(key, plan).iter().map(|path| names::shown_path(path)).collect(),
            },
        }
    }
}

fn refused(reason: Reason, why: &str) -> Fate {
    Fate::Refused { code: reason.code(), why: why.to_owned() }
}
