//! Assets: what a studio names.

use super::limits;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;
use utoipa::ToSchema;

/// What an asset is, which decides what the stages do with it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum AssetKind {
    /// Triangles with materials: glTF, GLB, OBJ, STL, PLY.
    Mesh,
    /// One picture: PNG, JPEG, TIFF, EXR, HDR, TGA, BMP, WebP, GIF, DDS.
    Image,
    /// Numbered pictures of one size.
    Sequence,
    /// What a renderer profile's program draws frames of: a scene, a script.
    Scene,
}

impl AssetKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Mesh, Self::Image, Self::Sequence, Self::Scene];

    /// The name used in recipes, the API and the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mesh => "mesh",
            Self::Image => "image",
            Self::Sequence => "sequence",
            Self::Scene => "scene",
        }
    }

    /// The kind with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for AssetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The name of an asset: safe as a folder name on every system.
///
/// Letters and digits of any script, `-`, `_` and `.`; does not begin with a dot; at most
/// [`limits::ASSET_NAME_BYTES`] bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ToSchema)]
#[serde(transparent)]
pub struct AssetName(String);

/// The text cannot name an asset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' cannot name an asset: use letters, digits, '-', '_' and '.', not a dot first, at most {max} bytes",
    max = limits::ASSET_NAME_BYTES
)]
pub struct BadAssetName(String);

/// Names that Windows keeps for devices.
const RESERVED: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8",
    "com9", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

impl AssetName {
    /// The nearest legal name to any text. A name that had to be cut ends in a hash of the whole,
    /// so that two long names stay two names.
    pub fn from_any(text: &str) -> Self {
        let mut name: String =
            text.chars().map(|letter| if is_name_letter(letter) { letter } else { '_' }).collect();
        if name.is_empty() || name.starts_with('.') || is_reserved(&name) || name.ends_with('.') {
            name = format!("_{}", name.trim_end_matches('.'));
        }
        if name.len() > limits::ASSET_NAME_BYTES {
            let digest: String = blake3::hash(text.as_bytes()).to_hex().chars().take(8).collect();
            let mut cut = limits::ASSET_NAME_BYTES - digest.len() - 1;
            while !name.is_char_boundary(cut) {
                cut -= 1;
            }
            name.truncate(cut);
            name = format!("{name}-{digest}");
        }
        Self(name)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_name_letter(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.')
}

fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default();
    RESERVED.iter().any(|reserved| stem.eq_ignore_ascii_case(reserved))
}

impl FromStr for AssetName {
    type Err = BadAssetName;

    fn from_str(text: &str) -> Result<Self, BadAssetName> {
        if Self::from_any(text).0 == text {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadAssetName(text.chars().take(200).collect()))
        }
    }
}

impl<'de> Deserialize<'de> for AssetName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for AssetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_becomes_a_legal_name() {
        let long_a = "ä".repeat(200);
        let long_b = format!("{long_a}b");
        for text in
            ["dragon", "", ".", "..", "a/b\\c", "CON", "nul.txt", "x.", "龍", &long_a, &long_b]
        {
            let name = AssetName::from_any(text);
            assert_eq!(name.as_str().parse::<AssetName>().as_ref(), Ok(&name), "{text}");
            assert!(name.as_str().len() <= limits::ASSET_NAME_BYTES);
        }
        assert_ne!(AssetName::from_any(&long_a), AssetName::from_any(&long_b));
        assert_eq!(AssetName::from_any("dragon.v2").as_str(), "dragon.v2");
    }

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        for bad in ["..", "a/b", "", ".hidden", "a\0b", "COM1"] {
            assert!(bad.parse::<AssetName>().is_err(), "{bad:?}");
        }
    }
}
