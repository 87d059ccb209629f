//! Recipes: TOML files that say which stages an asset goes through, with which settings.
//!
//! Shipped ones are in `assets/recipes`; a user's own lie in the configuration folder.

pub mod library;
pub mod retry;
pub mod settings;

pub use library::{Library, LibraryError};
pub use settings::{FilmPolicy, SettingError, Settings};

use crate::model::{AssetKind, Checksum, Name, Stage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use utoipa::ToSchema;

/// One way through the stages. Frozen into each pipeline at its creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// What users type: `preview`.
    pub name: String,
    /// One sentence for people.
    pub description: String,
    /// What the stages make.
    #[serde(default)]
    pub settings: Settings,
    /// The stages in order, each once.
    pub stages: Vec<StageRule>,
}

/// How a recipe uses one stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StageRule {
    /// Which stage.
    pub stage: Stage,
    /// Only for these kinds; empty means all. Other kinds skip the stage.
    #[serde(default)]
    pub kinds: Vec<AssetKind>,
    /// Longest run of one attempt, in seconds.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: u64,
    /// Longest time without progress, in seconds.
    #[serde(default = "default_stall_s")]
    pub stall_s: u64,
    /// Address space of the process that reads foreign files, in MiB; 0 means no limit.
    #[serde(default)]
    pub memory_mib: u64,
    /// Semaphores that an attempt holds while it runs: `licence.ffmpeg`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub semaphores: BTreeSet<Name>,
    /// Rates that an attempt takes a token of when it is handed out.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub rates: BTreeSet<Name>,
    /// What differs from the farm's own retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<retry::RetryRules>,
}

fn default_timeout_s() -> u64 {
    3_600
}

fn default_stall_s() -> u64 {
    600
}

impl StageRule {
    /// Whether an asset of this kind goes through the stage. An unknown kind goes through all.
    pub fn applies_to(&self, kind: Option<AssetKind>) -> bool {
        self.kinds.is_empty() || kind.is_none_or(|kind| self.kinds.contains(&kind))
    }
}

impl Recipe {
    /// Names recipe and settings together: equal profiles make equal results from equal sources.
    pub fn profile(&self) -> String {
        let text = serde_json::to_vec(self).unwrap_or_default();
        format!("{}-{}", self.name, Checksum::of(&text).short())
    }

    /// The rule of one stage.
    pub fn rule(&self, stage: Stage) -> Option<&StageRule> {
        self.stages.iter().find(|rule| rule.stage == stage)
    }
}
