//! Dead letters in full, and orders about many of them at once.

use super::view::{AttemptView, DeadLetterView};
use super::work::Assignment;
use crate::model::{AssetName, JobId, PipelineId, Reason, Requirements, Stage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// `GET /v1/dead-letters/{job}`: one dead letter with all that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeadLetterDetail {
    /// The letter.
    pub letter: DeadLetterView,
    /// Every attempt in order.
    pub attempts: Vec<AttemptView>,
    /// The last lines of the last attempt's log.
    pub log: Vec<String>,
    /// What the last attempt was given; of its files at most the first hundred.
    pub payload: Option<Assignment>,
    /// Files that it read in all.
    pub dependencies: u64,
    /// What a replay had changed for this job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Edit>,
    /// Why it was replayed or dismissed, as the operator said.
    pub note: Option<String>,
}

/// Which dead letters an order is about: those that match everything that is given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DeadLetterFilter {
    /// Of this asset.
    pub asset: Option<AssetName>,
    /// Of this pipeline.
    pub pipeline: Option<PipelineId>,
    /// Of this stage.
    pub stage: Option<Stage>,
    /// With this reason.
    pub reason: Option<Reason>,
    /// Alike: with this fingerprint.
    pub fingerprint: Option<String>,
    /// These alone; empty means any.
    pub jobs: Vec<JobId>,
    /// Every open letter; needed where nothing else is given.
    pub all: bool,
    /// Of one pipeline every failed part that nothing has made or makes since, the dismissed ones
    /// included; for replays, with a pipeline.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub only_missing: bool,
}

/// What a replay does differently.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Edit {
    /// Changed settings, for this job alone.
    pub settings: BTreeMap<String, String>,
    /// Another memory limit, in MiB; 0 means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mib: Option<u64>,
    /// Another longest run, in seconds; 0 means no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// What the machine must have; what is not named stays as in the recipe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requires: Option<Requirements>,
    /// This worker alone may take it; an empty name means any again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_worker: Option<String>,
    /// This worker may not take it; an empty name means any again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_worker: Option<String>,
}

impl Edit {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// This edit with another one on top.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.settings.extend(other.settings.clone());
        self.memory_mib = other.memory_mib.or(self.memory_mib);
        self.timeout_s = other.timeout_s.or(self.timeout_s);
        if let Some(requires) = &other.requires {
            self.requires = Some(self.requires.unwrap_or_default().and(requires));
        }
        self.only_worker = other.only_worker.clone().or(self.only_worker);
        self.not_worker = other.not_worker.clone().or(self.not_worker);
        self
    }
}

/// `POST /v1/dead-letters/{job}/replay`: tries one again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplayOrder {
    /// Who asks, for the audit.
    pub actor: String,
    /// Why, for the audit; not empty.
    pub reason: String,
    /// What it does differently.
    #[serde(default, skip_serializing_if = "Edit::is_empty")]
    pub edit: Edit,
}

/// `POST /v1/dead-letters/replay`: tries many again, in one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplayBatch {
    /// Who asks, for the audit.
    pub actor: String,
    /// Why, for the audit; not empty.
    pub reason: String,
    /// Which.
    pub filter: DeadLetterFilter,
    /// What they do differently.
    #[serde(default)]
    pub edit: Edit,
    /// Says what would happen and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// `POST /v1/dead-letters/dismiss`: puts many aside, in one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DismissBatch {
    /// Who asks, for the audit.
    pub actor: String,
    /// Why, for the audit; not empty.
    pub reason: String,
    /// Which.
    pub filter: DeadLetterFilter,
    /// Says what would happen and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What an order about many did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchReply {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Open letters that match.
    pub matched: u32,
    /// Of these replayed or dismissed.
    pub done: u32,
    /// Of these refused; the items say why.
    pub refused: u32,
    /// Of these not looked at, because one order handles only so many: give it again.
    pub left: u32,
    /// Letter by letter, oldest first; of a dry run a sample.
    pub items: Vec<BatchItem>,
}

/// What became of one letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchItem {
    /// The job that was given up.
    pub job: JobId,
    /// The job that replays it.
    pub replayed_as: Option<JobId>,
    /// Why it was left as it is.
    pub refused: Option<String>,
}

/// What an order about many asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchKind {
    /// Try again.
    Replay,
    /// Put aside.
    Dismiss,
}
