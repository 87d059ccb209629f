//! Hands in files and folders: looks at them, hashes them, sends what the farm does not have yet,
//! and submits. One bad file never stops the others.

mod files;
mod folder;
mod hash;
mod neighbours;
mod plan;
mod preview;
mod scene;

pub use preview::{Preview, ScenePreview, preview};
pub use scene::SceneOrder;

use super::error::ClientError;
use super::http::Client;
use crate::model::{AssetName, Name, Reason, limits};
use crate::protocol::problem::ProblemCode;
use crate::protocol::submit::{IfFull, MissingFile, SourceFile, Submission, Submitted};
use crate::renderers::Library;
use futures_util::{StreamExt as _, TryStreamExt as _};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files sent at the same time.
const UPLOADS_AT_ONCE: usize = 4;

/// What to hand in.
#[derive(Debug, Clone)]
pub struct Handover {
    /// Files and folders as named or dropped.
    pub paths: Vec<PathBuf>,
    /// The recipe; none means the default.
    pub recipe: Option<String>,
    /// Changed settings of the recipe.
    pub settings: BTreeMap<String, String>,
    /// The asset's name, where there is one asset and its file's name will not do.
    pub name: Option<AssetName>,
    /// Whether numbered pictures stay single ones.
    pub separate: bool,
    /// Who hands in, for the audit.
    pub actor: String,
    /// Whose share of the farm it uses; none means the default project.
    pub project: Option<Name>,
    /// 0 to 9; none means the default.
    pub priority: Option<u8>,
    /// What becomes of it while a later queue is full.
    pub if_full: IfFull,
    /// Largest single file, in bytes.
    pub file_limit_bytes: u64,
    /// What is said of scenes.
    pub scene: SceneOrder,
    /// The renderer profiles: they tell scenes from other files.
    pub renderers: Arc<Library>,
}

impl Handover {
    /// These paths with the default recipe.
    pub fn new(paths: Vec<PathBuf>) -> Self {
        Self {
            paths,
            recipe: None,
            settings: BTreeMap::new(),
            name: None,
            separate: false,
            actor: super::actor(),
            project: None,
            priority: None,
            if_full: IfFull::default(),
            file_limit_bytes: limits::SOURCE_FILE_BYTES,
            scene: SceneOrder::default(),
            renderers: Arc::new(Library::load(None).unwrap_or_default()),
        }
    }
}

/// What became of one asset of a handover.
#[derive(Debug)]
pub struct Item {
    /// The file, folder or series, for people.
    pub source: String,
    /// What people should know though it was handed in.
    pub notes: Vec<String>,
    /// The pipeline, or why there is none.
    pub outcome: Result<Submitted, IntakeError>,
}

/// Why an asset was not handed in.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// The files cannot be used.
    #[error("{message}. {} ({reason})", reason.remedy())]
    Refused {
        /// The stable code.
        reason: Reason,
        /// What is wrong, with the path last.
        message: String,
    },
    /// The coordinator refused or could not be reached.
    #[error(transparent)]
    Call(#[from] ClientError),
}

impl IntakeError {
    /// The stable code, where there is one.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Refused { reason, .. } => Some(*reason),
            Self::Call(ClientError::Refused { problem, .. }) => problem.reason,
            Self::Call(_) => None,
        }
    }

    fn refused(reason: Reason, message: impl Into<String>) -> Self {
        Self::Refused { reason, message: message.into() }
    }

    fn at(reason: Reason, what: &str, path: &Path) -> Self {
        Self::refused(reason, format!("{what}: {}", path.display()))
    }
}

/// Says what happens now: `hashing gear.stl`. Called from the task that hands in.
pub type OnProgress<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// A file to hash and send.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LocalFile {
    /// Its name in the asset's file set.
    name: String,
    path: PathBuf,
}

/// One asset to hand in, looked at but not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Plan {
    asset: AssetName,
    source_ref: String,
    main_file: String,
    sequence: bool,
    files: Vec<LocalFile>,
    missing: Vec<MissingFile>,
    notes: Vec<String>,
    /// The recipe where the handover names none; none means the farm's default.
    recipe: Option<&'static str>,
    /// Settings that follow from the file; what the handover says wins.
    settings: BTreeMap<String, String>,
}

/// An asset or a refusal, under the name that people know it by.
#[derive(Debug)]
struct Planned {
    source: String,
    plan: Result<Plan, IntakeError>,
}

/// Hands in everything; one item for each asset and for each path that cannot be one.
pub async fn hand_in(client: &Client, handover: &Handover, progress: OnProgress<'_>) -> Vec<Item> {
    let task = handover.clone();
    let planned = tokio::task::spawn_blocking(move || plan::plan(&task)).await.unwrap_or_default();
    let mut items = Vec::with_capacity(planned.len());
    let mut cut_off: Option<(String, String)> = None;
    for Planned { source, plan } in planned {
        let notes = plan.as_ref().map(|plan| plan.notes.clone()).unwrap_or_default();
        let outcome = match (plan, &cut_off) {
            (Err(refusal), _) => Err(refusal),
            (Ok(_), Some((url, why))) => {
                let (url, why) = (url.clone(), why.clone());
                Err(ClientError::Unreachable { url, why }.into())
            }
            (Ok(plan), None) => hand_in_one(client, handover, plan, progress).await,
        };
        if let Err(IntakeError::Call(ClientError::Unreachable { url, why })) = &outcome {
            cut_off = Some((url.clone(), why.clone()));
        }
        items.push(Item { source, notes, outcome });
    }
    items
}

async fn hand_in_one(
    client: &Client,
    handover: &Handover,
    plan: Plan,
    progress: OnProgress<'_>,
) -> Result<Submitted, IntakeError> {
    progress(&format!("hashing {}", plan.asset));
    let (files, limit_bytes) = (plan.files.clone(), handover.file_limit_bytes);
    let hashed = tokio::task::spawn_blocking(move || hash::all(&files, limit_bytes))
        .await
        .map_err(|error| IntakeError::refused(Reason::Unexpected, error.to_string()))??;
    progress(&format!("sending {}", plan.asset));
    futures_util::stream::iter(hashed.clone())
        .map(|(path, file)| send(client.clone(), path, file))
        .buffer_unordered(UPLOADS_AT_ONCE)
        .try_collect::<()>()
        .await?;
    let submission = Submission {
        asset: plan.asset,
        source_ref: plan.source_ref,
        main_file: plan.main_file,
        sequence: plan.sequence,
        files: hashed.into_iter().map(|(_, source)| source).collect(),
        missing: plan.missing,
        recipe: handover.recipe.clone().or_else(|| plan.recipe.map(str::to_owned)),
        settings: plan.settings.into_iter().chain(handover.settings.clone()).collect(),
        actor: handover.actor.clone(),
        project: handover.project.clone(),
        priority: handover.priority,
    };
    Ok(client.submit_if(&submission, handover.if_full).await?)
}

async fn send(client: Client, path: PathBuf, file: SourceFile) -> Result<(), IntakeError> {
    let what = "the file changed while it was sent";
    match client.upload(&path, file.checksum, file.size_bytes).await {
        Ok(_) => Ok(()),
        Err(ClientError::File { path, source, .. }) => Err(files::unreadable(&source, &path)),
        Err(ClientError::Refused { status: 422, problem })
            if problem.code == ProblemCode::Invalid =>
        {
            Err(IntakeError::at(Reason::InputChanged, what, &path))
        }
        // A file that shrinks while it is sent breaks its own connection.
        Err(_) if !hash::is_as_hashed(&path, file.size_bytes) => {
            Err(IntakeError::at(Reason::InputChanged, what, &path))
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
