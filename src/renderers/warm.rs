//! How a program is kept running between chunks of one scene.

use super::template::{Argument, Template};
use serde::Deserialize;

/// The scripts that can be named.
const SCRIPTS: &[(&str, &str)] =
    &[("blender_warm.py", include_str!("../../assets/renderers/blender_warm.py"))];

/// How a program is started that stays, and what it is told for each chunk.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmRules {
    /// The shipped script that takes the orders.
    pub script: String,
    /// Where the pictures of a chunk go, in the words of the program.
    pub picture: Template,
    /// The arguments; the path of the script follows them. They must set all that the usual
    /// arguments set, so that the pictures are the same.
    pub arguments: Vec<Argument>,
}

impl WarmRules {
    /// The script's text; none where no script has its name.
    pub fn text(&self) -> Option<&'static str> {
        SCRIPTS.iter().find(|(name, _)| *name == self.script).map(|(_, text)| *text)
    }
}
