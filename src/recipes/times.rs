//! How long an attempt may run, and how long it may show no progress: two limits, never one.
//! A recipe sets them for a stage, or for all stages that compute and all that copy.

use super::{Recipe, StageRule};
use crate::model::{Load, Stage, limits};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// `[times]`: the limits of stages that have none of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Times {
    /// Of stages that compute: inspect, transform, render, assemble.
    #[serde(skip_serializing_if = "TimeLimits::is_empty")]
    pub cpu: TimeLimits,
    /// Of stages that copy: ingest, publish, cleanup.
    #[serde(skip_serializing_if = "TimeLimits::is_empty")]
    pub io: TimeLimits,
}

/// The two limits, in seconds; 0 means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimeLimits {
    /// Longest run of one attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// Longest time without progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_s: Option<u64>,
}

impl Times {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl TimeLimits {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Recipe {
    /// Longest run of one attempt of a stage, in seconds; 0 means no limit.
    pub fn timeout_s(&self, stage: Stage) -> u64 {
        let (of_load, default_s) = match stage.load() {
            Load::Cpu => (self.times.cpu, limits::CPU_TIMEOUT_S),
            Load::Io => (self.times.io, limits::IO_TIMEOUT_S),
        };
        self.own(stage, |rule| rule.timeout_s).or(of_load.timeout_s).unwrap_or(default_s)
    }

    /// Longest time without progress of one attempt of a stage, in seconds; 0 means no limit.
    pub fn stall_s(&self, stage: Stage) -> u64 {
        let (of_load, default_s) = match stage.load() {
            Load::Cpu => (self.times.cpu, limits::CPU_STALL_S),
            Load::Io => (self.times.io, limits::IO_STALL_S),
        };
        self.own(stage, |rule| rule.stall_s).or(of_load.stall_s).unwrap_or(default_s)
    }

    fn own(&self, stage: Stage, limit: impl Fn(&StageRule) -> Option<u64>) -> Option<u64> {
        self.rule(stage).and_then(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(times: &str) -> Recipe {
        let text = format!(
            "name='x'\ndescription='x'\n{times}\n[[stages]]\nstage='ingest'\n\
             [[stages]]\nstage='inspect'\ntimeout_s=7\n[[stages]]\nstage='render'\nstall_s=9\n"
        );
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn stages_that_compute_and_stages_that_copy_have_limits_of_their_own() {
        let plain = recipe("");
        let both = |recipe: &Recipe, stage| (recipe.timeout_s(stage), recipe.stall_s(stage));
        assert_eq!(both(&plain, Stage::Ingest), (7_200, 900));
        assert_eq!(both(&plain, Stage::Inspect), (7, 600), "its own timeout, the default stall");
        assert_eq!(both(&plain, Stage::Render), (3_600, 9));
        let own = recipe("[times.cpu]\ntimeout_s=100\nstall_s=50\n[times.io]\nstall_s=0\n");
        assert_eq!(both(&own, Stage::Ingest), (7_200, 0));
        assert_eq!(both(&own, Stage::Inspect), (7, 50));
        assert_eq!(both(&own, Stage::Render), (100, 9));
        assert_eq!(both(&own, Stage::Publish), (7_200, 0));
    }

    #[test]
    fn unknown_limits_are_refused() {
        for bad in ["[times.gpu]\nstall_s=1", "[times.io]\nlease_s=1"] {
            assert!(toml::from_str::<Recipe>(&format!("name='x'\n{bad}")).is_err(), "{bad}");
        }
    }
}
