//! What a job asks of workers and limits. Jobs that ask for the same are of one class, so that a
//! claim decides about classes and never about single jobs.

use super::matching::{self, ResourceClass};
use crate::model::{AssetKind, Name, Stage};
use crate::recipes::Recipe;
use std::collections::BTreeSet;

/// What a job asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Needs {
    /// Of the worker.
    pub class: ResourceClass,
    /// Held while it runs.
    pub semaphores: BTreeSet<Name>,
    /// A token of each is taken when it is handed out.
    pub rates: BTreeSet<Name>,
}

impl Needs {
    /// Of workers only.
    pub fn only(class: ResourceClass) -> Self {
        Self { class, semaphores: BTreeSet::new(), rates: BTreeSet::new() }
    }

    /// Whether no limit is named.
    pub fn is_plain(&self) -> bool {
        self.semaphores.is_empty() && self.rates.is_empty()
    }
}

/// What a job of this stage and kind asks for.
pub fn of(recipe: &Recipe, stage: Stage, kind: Option<AssetKind>) -> Needs {
    let plain = Needs::only(matching::resource_class(stage, kind));
    match recipe.rule(stage) {
        Some(rule) => {
            Needs { semaphores: rule.semaphores.clone(), rates: rule.rates.clone(), ..plain }
        }
        None => plain,
    }
}
