//! What Sawah tells other programs by HTTP.

use crate::model::{AssetName, JobId, PipelineId, Reason, Stage};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The header with the number of a piece of news. It may come twice: the number is the same.
pub const WEBHOOK_ID: &str = "x-sawah-delivery";

/// The body of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum News {
    /// A job was given up.
    DeadLetter {
        /// Its pipeline.
        pipeline: PipelineId,
        /// The asset.
        asset: AssetName,
        /// The job.
        job: JobId,
        /// Its stage.
        stage: Stage,
        /// The stable code.
        reason: Reason,
        /// What failed and why.
        message: String,
    },
    /// The published files lie in their folder.
    Published {
        /// The pipeline.
        pipeline: PipelineId,
        /// The asset.
        asset: AssetName,
        /// Its version.
        asset_version: u32,
        /// Where, on the coordinator's machine.
        folder: String,
    },
}

impl News {
    /// The name of its kind.
    pub const fn kind(&self) -> NewsKind {
        match self {
            Self::DeadLetter { .. } => NewsKind::DeadLetter,
            Self::Published { .. } => NewsKind::Published,
        }
    }
}

/// Kinds of news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NewsKind {
    /// A job was given up.
    DeadLetter,
    /// A pipeline's files were published.
    Published,
}

impl NewsKind {
    /// The name in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DeadLetter => "dead_letter",
            Self::Published => "published",
        }
    }
}
