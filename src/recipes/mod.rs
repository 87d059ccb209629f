//! Recipes: TOML files that say which stages an asset goes through, with which settings.
//!
//! Shipped ones are in `assets/recipes`; a user's own lie in the configuration folder.

pub mod film;
pub mod library;
pub mod retry;
pub mod scene;
pub mod settings;
pub mod times;

pub use film::{FilmAlpha, FilmCodec, GapPolicy, MovingPicture};
pub use library::{Library, LibraryError};
pub use scene::SceneSettings;
pub use settings::{FilmPolicy, SettingError, Settings};
pub use times::{TimeLimits, Times};

use crate::model::{AssetKind, Checksum, Name, Requirements, Stage};
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
    /// How long attempts may run, where a stage does not say.
    #[serde(default, skip_serializing_if = "Times::is_empty")]
    pub times: Times,
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
    /// Longest run of one attempt, in seconds; see [`Recipe::timeout_s`] for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// Longest time without progress, in seconds; see [`Recipe::stall_s`] for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_s: Option<u64>,
    /// Address space of the process that reads foreign files, in MiB; 0 means no limit.
    #[serde(default)]
    pub memory_mib: u64,
    /// Semaphores that an attempt holds while it runs: `licence.ffmpeg`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub semaphores: BTreeSet<Name>,
    /// Rates that an attempt takes a token of when it is handed out.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub rates: BTreeSet<Name>,
    /// What the machine of an attempt must have.
    #[serde(default, skip_serializing_if = "Requirements::is_empty")]
    pub requires: Requirements,
    /// What differs from the farm's own retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<retry::RetryRules>,
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
