//! Identifiers. Numbers are short enough for people to say; random ones cannot be guessed.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use utoipa::ToSchema;

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = std::num::ParseIntError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    };
}

number_id! {
    /// One asset version going through one recipe.
    PipelineId
}
number_id! {
    /// One unit of work: a stage of a pipeline, or one chunk of it.
    JobId
}
number_id! {
    /// What shares the farm with others by its weight.
    ProjectId
}
number_id! {
    /// A folder whose files are handed in by themselves.
    WatchFolderId
}
number_id! {
    /// A file seen in a watch folder.
    WatchFileId
}

/// The fencing number of a job: +1 at each claim. A report with an older one changes nothing.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(transparent)]
pub struct Epoch(pub u32);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

macro_rules! hex_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// From 16 random bytes, which the caller supplies.
            pub fn from_random(bytes: [u8; 16]) -> Self {
                Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
            }

            /// Reads 32 lower-case hexadecimal digits.
            pub fn parse(text: &str) -> Option<Self> {
                let digits = text.len() == 32
                    && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
                digits.then(|| Self(text.to_owned()))
            }

            /// The 32 hexadecimal digits.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

hex_id! {
    /// One life of one worker process; it holds the lease. 32 hexadecimal digits.
    SessionId
}
hex_id! {
    /// Follows one pipeline through every log. 32 hexadecimal digits.
    TraceId
}
