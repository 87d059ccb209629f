//! Handing in assets, and what operators ask for.

use crate::model::{AssetName, Checksum, JobId, Name, PipelineId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// `POST /v1/pipelines`: an asset version to run through a recipe. The bytes of every file were
/// put under `/v1/artifacts/{checksum}` before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Submission {
    /// The asset's name.
    pub asset: AssetName,
    /// Where it came from, for people.
    pub source_ref: String,
    /// The file that names the asset, one of `files`; for a sequence its first frame.
    pub main_file: String,
    /// Whether `files` are the frames of a sequence.
    pub sequence: bool,
    /// All files, sorted by name.
    pub files: Vec<SourceFile>,
    /// Side files that the main file names but that could not be handed in.
    pub missing: Vec<MissingFile>,
    /// The recipe's name; none means the default.
    pub recipe: Option<String>,
    /// Changed settings of the recipe.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Who submits, for the audit.
    pub actor: String,
    /// Whose share of the farm it uses; none means `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Name>,
    /// 0 to 9, the highest first; none means 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
}

/// One file of a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceFile {
    /// Relative to the asset's folder, with `/`.
    pub name: String,
    /// Its content.
    pub checksum: Checksum,
    /// Its size.
    pub size_bytes: u64,
}

/// A side file that was not handed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MissingFile {
    /// As the asset's file writes it.
    pub name: String,
    /// Why.
    pub why: MissingWhy,
}

/// Why a side file was not handed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingWhy {
    /// No such file.
    NotFound,
    /// Its path leaves the asset's folder.
    Outside,
}

/// What becomes of a submission while one of its later queues is full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IfFull {
    /// It is refused: hand it in again later.
    #[default]
    Refuse,
    /// It is let in and held before its first stage until no queue is full.
    Hold,
}

/// The answer to a [`Submission`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Submitted {
    /// The pipeline that does it.
    pub pipeline: PipelineId,
    /// The asset.
    pub asset: AssetName,
    /// The asset's version.
    pub asset_version: u32,
    /// Whether it is new.
    pub outcome: SubmitOutcome,
}

/// Whether a submission made new work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubmitOutcome {
    /// A new pipeline runs.
    Created,
    /// The same content runs through the same recipe now.
    AlreadyRunning,
    /// The same content went through the same recipe before; its results are there.
    AlreadyThere,
}

/// `POST /v1/pipelines/{id}/cancel`, `/v1/dead-letters/{job}/dismiss` and
/// `/v1/workers/{worker}/forgive`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Order {
    /// Who asks, for the audit.
    pub actor: String,
    /// Why, for the audit.
    pub reason: String,
}

/// The answer to a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Replayed {
    /// The new job.
    pub job: JobId,
}

/// How many jobs a cancel reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancelReply {
    /// Jobs that became cancelled.
    pub jobs: u32,
}
