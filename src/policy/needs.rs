//! What a job asks of workers and limits. Jobs that ask for the same are of one class, so that a
//! claim decides about classes and never about single jobs.

use super::matching::{self, ResourceClass};
use crate::model::{AssetKind, Name, Requirements, Stage, paths};
use crate::protocol::dead::Edit;
use crate::recipes::Recipe;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The profile that runs any program.
const COMMAND: &str = "command";

/// What a job asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Needs {
    /// Of the worker.
    pub class: ResourceClass,
    /// Held while it runs.
    pub semaphores: BTreeSet<Name>,
    /// A token of each is taken when it is handed out.
    pub rates: BTreeSet<Name>,
    /// Which workers may take it.
    pub terms: Terms,
}

/// Which workers may take a job, and whether it waits for room.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// What the worker's machine must have.
    #[serde(skip_serializing_if = "Requirements::is_empty")]
    pub requires: Requirements,
    /// This worker alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_worker: Option<String>,
    /// Any worker but this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_worker: Option<String>,
    /// It was let in while a queue was full: it waits until none is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waits_for_room: bool,
}

impl Needs {
    /// Of workers only.
    pub fn only(class: ResourceClass) -> Self {
        Self { class, semaphores: BTreeSet::new(), rates: BTreeSet::new(), terms: Terms::default() }
    }

    /// Whether nothing is asked for beside the class.
    pub fn is_plain(&self) -> bool {
        self.semaphores.is_empty() && self.rates.is_empty() && self.terms == Terms::default()
    }

    /// The same with what a replay changes; an empty name takes a worker back.
    #[must_use]
    pub fn edited(mut self, edit: &Edit) -> Self {
        let named = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
        if let Some(requires) = &edit.requires {
            self.terms.requires = self.terms.requires.and(requires);
        }
        self.terms.only_worker = named(&edit.only_worker);
        self.terms.not_worker = named(&edit.not_worker);
        self
    }
}

/// What a job of this stage and kind asks for.
pub fn of(recipe: &Recipe, stage: Stage, kind: Option<AssetKind>) -> Needs {
    let plain = Needs::only(matching::resource_class(stage, kind));
    match recipe.rule(stage) {
        Some(rule) => {
            let mut terms = Terms { requires: rule.requires.clone(), ..Terms::default() };
            terms.requires.sees = folder(recipe, stage).or(terms.requires.sees);
            if let Some(renderer) = renderer(recipe, stage) {
                terms.requires.programs.get_or_insert_default().insert(renderer);
            }
            Needs { semaphores: rule.semaphores.clone(), rates: rule.rates.clone(), terms, ..plain }
        }
        None => plain,
    }
}

/// The folder of a scene that stays where it lies: these stages read what lies beside it.
fn folder(recipe: &Recipe, stage: Stage) -> Option<String> {
    let reads = matches!(stage, Stage::Inspect | Stage::Render);
    let scene = recipe.settings.scene.as_ref().filter(|_| reads)?;
    paths::folder(scene.at.as_ref()?).map(str::to_owned)
}

/// The program that a worker must have. A command names its own, which no worker can know before.
fn renderer(recipe: &Recipe, stage: Stage) -> Option<Name> {
    let scene = recipe.settings.scene.as_ref().filter(|_| stage == Stage::Render)?;
    let names_its_own = scene.renderer == COMMAND || scene.values.contains_key("program");
    if names_its_own { None } else { scene.renderer.parse().ok() }
}
