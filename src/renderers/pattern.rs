//! A regular expression that is checked and bounded when its profile is read.

use crate::model::limits;
use regex::{Captures, Regex, RegexBuilder};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A regular expression of a profile. It matches in linear time whatever the log holds.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

/// Why a pattern is refused.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// Too long to be one line's pattern.
    #[error("the pattern is longer than {max} bytes: split it into several rules", max = limits::PATTERN_BYTES)]
    TooLong,
    /// It would match every line.
    #[error("the pattern matches an empty line and thus every line: make it stricter")]
    MatchesAll,
    /// No regular expression, or one that grows too large.
    #[error("the pattern is no regular expression that can be used: {0}")]
    Regex(Box<regex::Error>),
}

impl Pattern {
    /// Compiles `text`.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        if text.len() > limits::PATTERN_BYTES {
            return Err(PatternError::TooLong);
        }
        let regex = RegexBuilder::new(text)
            .size_limit(limits::PATTERN_MEMORY_BYTES)
            .dfa_size_limit(limits::PATTERN_MEMORY_BYTES)
            .build()
            .map_err(|error| PatternError::Regex(Box::new(error)))?;
        if regex.is_match("") { Err(PatternError::MatchesAll) } else { Ok(Self(regex)) }
    }

    /// Whether it is found in `line`.
    pub fn is_match(&self, line: &str) -> bool {
        self.0.is_match(line)
    }

    /// What its groups hold where it is found in `line`.
    pub fn captures<'l>(&self, line: &'l str) -> Option<Captures<'l>> {
        self.0.captures(line)
    }

    /// The line without the pattern at its beginning.
    pub fn strip<'l>(&self, line: &'l str) -> &'l str {
        let found = self.0.find(line).filter(|found| found.start() == 0);
        found.and_then(|found| line.get(found.end()..)).unwrap_or(line)
    }

    /// The names of its groups.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.0.capture_names().flatten()
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}
