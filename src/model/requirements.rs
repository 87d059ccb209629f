//! What a job requires of the machine that runs it.

use super::{Name, limits};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use utoipa::ToSchema;

/// What a machine must have. What is not named is not required, nor is 0, `false` or an empty
/// list, which also take back what a recipe requires.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, ToSchema,
)]
#[serde(deny_unknown_fields, default)]
pub struct Requirements {
    /// Processor cores at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// Memory of the machine at least, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// A graphics adapter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<bool>,
    /// Programs, by the names that `sawah workers` shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<BTreeSet<Name>>,
    /// A folder of shared storage that it must see, as the submitting machine calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sees: Option<String>,
}

impl Requirements {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These with others on top: what those name replaces what these say.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            cores: other.cores.or(self.cores),
            memory_mib: other.memory_mib.or(self.memory_mib),
            gpu: other.gpu.or(self.gpu),
            programs: other.programs.as_ref().or(self.programs.as_ref()).cloned(),
            sees: other.sees.as_ref().or(self.sees.as_ref()).cloned(),
        }
    }

    /// Whether it names no more programs than are kept.
    pub fn is_bounded(&self) -> bool {
        self.programs.as_ref().is_none_or(|names| names.len() <= limits::NEEDS_PER_STAGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_later_replaces_what_was_said_before() {
        let recipe = Requirements { cores: Some(8), gpu: Some(true), ..Requirements::default() };
        let edit =
            Requirements { cores: Some(0), memory_mib: Some(64_000), ..Requirements::default() };
        let both = recipe.and(&edit);
        assert_eq!((both.cores, both.memory_mib, both.gpu), (Some(0), Some(64_000), Some(true)));
        assert_eq!(recipe.and(&Requirements::default()), recipe);
    }
}
