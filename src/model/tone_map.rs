//! How scene light becomes colours of a screen: the choices, by name.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use utoipa::ToSchema;

/// A tone map. What each one does is told where it is computed, in `preview::tone`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToneMap {
    /// Khronos PBR Neutral: base colours stay as they are, only bright light is pressed.
    #[default]
    Neutral,
    /// `AgX`: soft and low in contrast, as Blender 4 shows by itself.
    Agx,
    /// A fit of the film-like curve of ACES: contrast, and hues that shift when they are bright.
    #[serde(rename = "aces")]
    AcesFit,
    /// None: light above 1 is cut off.
    Linear,
}

/// No tone map has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no tone map is called '{name}': choose one of {}", ToneMap::names())]
pub struct UnknownToneMap {
    /// The name as given.
    pub name: String,
}

impl ToneMap {
    /// All tone maps, the usual one first.
    pub const ALL: [Self; 4] = [Self::Neutral, Self::Agx, Self::AcesFit, Self::Linear];

    /// The name used in recipes and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Neutral => "neutral",
            Self::Agx => "agx",
            Self::AcesFit => "aces",
            Self::Linear => "linear",
        }
    }

    /// The name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Neutral => "Khronos PBR Neutral",
            Self::Agx => "AgX",
            Self::AcesFit => "ACES (fitted)",
            Self::Linear => "none (linear)",
        }
    }

    fn names() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }
}

impl fmt::Display for ToneMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ToneMap {
    type Err = UnknownToneMap;

    fn from_str(name: &str) -> Result<Self, UnknownToneMap> {
        let found = Self::ALL.into_iter().find(|map| map.as_str() == name);
        found.ok_or_else(|| UnknownToneMap { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_in_recipes_and_on_the_command_line() {
        for map in ToneMap::ALL {
            assert_eq!(serde_json::to_string(&map).unwrap(), format!("\"{map}\""));
            assert_eq!(map.as_str().parse(), Ok(map));
        }
        let error = "filmic".parse::<ToneMap>().unwrap_err().to_string();
        assert!(error.contains("'filmic'") && error.contains("neutral, agx, aces, linear"));
    }
}
