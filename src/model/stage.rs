//! The seven stages in order, and how far a stage or a pipeline has come.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use utoipa::ToSchema;

/// A terrace of the farm. The order of the variants is the order of the work.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Verifies the bytes that arrived and freezes the file set.
    Ingest,
    /// Says what the files are and whether they can be used.
    Inspect,
    /// Brings foreign formats to the farm's own.
    Transform,
    /// Draws pictures.
    Render,
    /// Joins pictures to films and contact sheets.
    Assemble,
    /// Moves the pointers and writes the export folder.
    Publish,
    /// Removes what nobody needs any more.
    Cleanup,
}

/// The text names no stage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no stage is called '{0}': use ingest, inspect, transform, render, assemble, publish or cleanup"
)]
pub struct UnknownStage(String);

impl Stage {
    /// All stages in order.
    pub const ALL: [Self; 7] = [
        Self::Ingest,
        Self::Inspect,
        Self::Transform,
        Self::Render,
        Self::Assemble,
        Self::Publish,
        Self::Cleanup,
    ];

    /// The name used in recipes, the API and the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Inspect => "inspect",
            Self::Transform => "transform",
            Self::Render => "render",
            Self::Assemble => "assemble",
            Self::Publish => "publish",
            Self::Cleanup => "cleanup",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Stage {
    type Err = UnknownStage;

    fn from_str(text: &str) -> Result<Self, UnknownStage> {
        Self::ALL
            .into_iter()
            .find(|stage| stage.as_str() == text)
            .ok_or_else(|| UnknownStage(text.to_owned()))
    }
}

macro_rules! named_states {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            /// All values.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name used in the API and the store.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The value with this name.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

named_states! {
    /// How far one stage of one pipeline has come.
    StageStatus {
        /// Not reached.
        Pending = "pending",
        /// Some of its jobs are live.
        Running = "running",
        /// All its parts are done.
        Succeeded = "succeeded",
        /// The recipe has nothing to do here for this kind of asset.
        Skipped = "skipped",
        /// One of its jobs is a dead letter.
        DeadLettered = "dead_lettered",
        /// Cancelled before it was done.
        Cancelled = "cancelled",
    }
}

named_states! {
    /// How far a pipeline has come.
    PipelineStatus {
        /// Work is queued or running.
        Running = "running",
        /// Every stage succeeded or was skipped.
        Succeeded = "succeeded",
        /// A job is a dead letter: replay or dismiss it.
        DeadLettered = "dead_lettered",
        /// An operator cancelled it.
        Cancelled = "cancelled",
    }
}
