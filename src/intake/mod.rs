//! Looks at files and folders before they are handed in: which assets they are, what goes along,
//! what lacks. It reads names and what names other files; who hands in hashes and sends.

mod files;
mod folder;
mod kind;
mod native;
mod neighbours;
mod plan;
mod preview;
mod scene;
mod series;

pub(crate) use files::{regular, unreadable};
pub use kind::{FileKind, kind_of, names_others};
pub(crate) use native::path as native_path;
pub use plan::{plan, plan_one};
pub use preview::{Preview, ScenePreview, preview};
pub use scene::SceneOrder;
pub use series::{Alike, SeriesPlan, plan_series, series_of};

use crate::model::{AssetName, Reason, limits};
use crate::protocol::submit::MissingFile;
use crate::renderers::Library;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is looked at, and what is said of it.
#[derive(Debug, Clone)]
pub struct Handover {
    /// Files and folders as named or dropped.
    pub paths: Vec<PathBuf>,
    /// The asset's name, where there is one asset and its file's name will not do.
    pub name: Option<AssetName>,
    /// Whether numbered pictures stay single ones.
    pub separate: bool,
    /// Changed settings of the recipe.
    pub settings: BTreeMap<String, String>,
    /// Largest single file, in bytes.
    pub file_limit_bytes: u64,
    /// What is said of scenes.
    pub scene: SceneOrder,
    /// The renderer profiles: they tell scenes from other files.
    pub renderers: Arc<Library>,
}

impl Handover {
    /// These paths with nothing said of them, and the shipped renderer profiles.
    pub fn new(paths: Vec<PathBuf>) -> Self {
        Self { renderers: Arc::new(Library::load(None).unwrap_or_default()), ..Self::bare(paths) }
    }

    /// These paths with nothing said of them, and no renderer profiles.
    pub(crate) fn bare(paths: Vec<PathBuf>) -> Self {
        Self {
            paths,
            name: None,
            separate: false,
            settings: BTreeMap::new(),
            file_limit_bytes: limits::SOURCE_FILE_BYTES,
            scene: SceneOrder::default(),
            renderers: Arc::default(),
        }
    }
}

/// Why files cannot be an asset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}. {} ({reason})", reason.remedy())]
pub struct Refusal {
    /// The stable code.
    pub reason: Reason,
    /// What is wrong, with the path last.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    pub(crate) fn at(reason: Reason, what: &str, path: &Path) -> Self {
        Self::new(reason, format!("{what}: {}", path.display()))
    }
}

/// A file to hash and send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalFile {
    /// Its name in the asset's file set, with `/`.
    pub name: String,
    /// Where it lies.
    #[serde(with = "native::path")]
    pub path: PathBuf,
}

/// One asset to hand in, looked at but not read yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Its name.
    pub asset: AssetName,
    /// Where the source lies, for people who look later.
    pub source_ref: String,
    /// The file that is opened; the others are there for it.
    pub main_file: String,
    /// Whether the files are the frames of one film.
    pub sequence: bool,
    /// All files, the main file too.
    pub files: Vec<LocalFile>,
    /// Files that it names and that cannot go along.
    pub missing: Vec<MissingFile>,
    /// What people should know though it can be handed in.
    pub notes: Vec<String>,
    /// The recipe where nobody names one; none means the farm's default.
    pub recipe: Option<String>,
    /// Settings that follow from the file; what people say wins.
    pub settings: BTreeMap<String, String>,
}

/// An asset or a refusal, under the name that people know it by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// The file, folder or series, for people.
    pub source: String,
    /// The asset, or why it is none.
    pub plan: Result<Plan, Refusal>,
}

#[cfg(test)]
mod tests;
