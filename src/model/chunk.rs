//! The part of a stage that one job does.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Which part of a stage a job does. Written `whole`, `still` or `frames:1-12`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Chunk {
    /// All of it.
    Whole,
    /// The still picture and its thumbnails.
    Still,
    /// The frames from `first` to `last`, both included; the first frame of an asset is 1.
    Frames {
        /// First frame, 1 or more.
        first: u32,
        /// Last frame, not before the first.
        last: u32,
    },
}

/// The text is no chunk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no chunk: use whole, still or frames:FIRST-LAST")]
pub struct BadChunk(String);

impl fmt::Display for Chunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.pad("whole"),
            Self::Still => f.pad("still"),
            Self::Frames { first, last } => f.pad(&format!("frames:{first}-{last}")),
        }
    }
}

impl FromStr for Chunk {
    type Err = BadChunk;

    fn from_str(text: &str) -> Result<Self, BadChunk> {
        let bad = || BadChunk(text.to_owned());
        match text {
            "whole" => Ok(Self::Whole),
            "still" => Ok(Self::Still),
            _ => {
                let range = text.strip_prefix("frames:").ok_or_else(bad)?;
                let (first, last) = range.split_once('-').ok_or_else(bad)?;
                let first = first.parse().map_err(|_| bad())?;
                let last = last.parse().map_err(|_| bad())?;
                if first == 0 || last < first {
                    return Err(bad());
                }
                Ok(Self::Frames { first, last })
            }
        }
    }
}

impl Serialize for Chunk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Chunk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl utoipa::PartialSchema for Chunk {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .pattern(Some("^(whole|still|frames:[1-9][0-9]*-[1-9][0-9]*)$"))
            .description(Some("Which part of a stage a job does"))
            .into()
    }
}

impl utoipa::ToSchema for Chunk {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_reads_back_and_bad_text_is_refused() {
        for chunk in [Chunk::Whole, Chunk::Still, Chunk::Frames { first: 1, last: 12 }] {
            assert_eq!(chunk.to_string().parse(), Ok(chunk));
        }
        for bad in ["", "frames:", "frames:0-3", "frames:4-3", "frames:1-x", "all"] {
            assert!(bad.parse::<Chunk>().is_err(), "{bad}");
        }
    }
}
