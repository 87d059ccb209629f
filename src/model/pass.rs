//! What of an object a picture can show, by name.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What of an object a picture shows. What each one draws is told in `preview::pass`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pass {
    /// The object in the light of the studio.
    #[default]
    Beauty,
    /// Its colours without light.
    BaseColor,
    /// Its normals, with normal textures, as colours: red is +X, green +Y (up), blue +Z; half is 0.
    Normal,
    /// Its first texture coordinates: red is u, green v, in a checker of eight squares to a turn.
    Uv,
    /// The edges of its triangles.
    Wireframe,
}

impl Pass {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Beauty, Self::BaseColor, Self::Normal, Self::Uv, Self::Wireframe];

    /// Its name in settings and in the names of files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Beauty => "beauty",
            Self::BaseColor => "base-color",
            Self::Normal => "normal",
            Self::Uv => "uv",
            Self::Wireframe => "wireframe",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_in_recipes_and_on_the_command_line() {
        for pass in Pass::ALL {
            assert_eq!(serde_json::to_string(&pass).unwrap(), format!("\"{}\"", pass.as_str()));
        }
    }
}
