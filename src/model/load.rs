//! What a stage's work is bound by.

use super::Stage;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What an attempt mostly waits for: its own computing, or disks and the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Decoding, drawing, encoding.
    Cpu,
    /// Copying, hashing, looking through folders.
    Io,
}

impl Stage {
    /// What the stage's work is bound by.
    pub const fn load(self) -> Load {
        match self {
            Self::Ingest | Self::Publish | Self::Cleanup => Load::Io,
            Self::Inspect | Self::Transform | Self::Render | Self::Assemble => Load::Cpu,
        }
    }
}
