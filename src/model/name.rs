//! Short names that people give to projects, semaphores and rates.

use super::limits;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;
use utoipa::ToSchema;

/// The name of a project, a semaphore or a rate: `licence.ffmpeg`. Letters `a` to `z`, digits,
/// dots, hyphens and underscores.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String)]
pub struct Name(String);

/// A text that is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no name here: write 1 to {max} of the letters a to z, digits, '.', '-' and '_'",
    max = limits::NAME_BYTES
)]
pub struct BadName(String);

impl Name {
    /// The project of submissions that name none.
    pub fn default_project() -> Self {
        Self("default".to_owned())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let is_letter = |byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_');
        if (1..=limits::NAME_BYTES).contains(&text.len()) && text.bytes().all(is_letter) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadName(text.chars().take(200).collect()))
        }
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_plain() {
        let long = "a".repeat(limits::NAME_BYTES + 1);
        for good in ["default", "licence.ffmpeg", "show_7", "a-b", &long[1..]] {
            assert_eq!(good.parse::<Name>().map(|name| name.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", "Show", "a b", "ä", "a/b", &long] {
            assert!(bad.parse::<Name>().is_err(), "{bad:?}");
        }
        assert_eq!(Name::default_project().as_str().parse(), Ok(Name::default_project()));
    }
}
