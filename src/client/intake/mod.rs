//! Hands in files and folders: looks at them ([`crate::intake`]), hashes them, sends what the farm
//! does not have yet, and submits. One bad file never stops the others.

mod hash;

pub use crate::intake::{Preview, Refusal, SceneOrder, ScenePreview, preview};

use super::error::ClientError;
use super::http::Client;
use crate::intake::{self, Plan, Planned};
use crate::model::{Name, Reason};
use crate::protocol::problem::ProblemCode;
use crate::protocol::submit::{IfFull, SourceFile, Submission, Submitted};
use futures_util::{StreamExt as _, TryStreamExt as _};
use std::path::{Path, PathBuf};

/// Files sent at the same time.
const UPLOADS_AT_ONCE: usize = 4;

/// What to hand in, and how.
#[derive(Debug, Clone)]
pub struct Handover {
    /// The files, and what is said of them.
    pub what: intake::Handover,
    /// The recipe; none means the default.
    pub recipe: Option<String>,
    /// Who hands in, for the audit.
    pub actor: String,
    /// Whose share of the farm it uses; none means the default project.
    pub project: Option<Name>,
    /// 0 to 9; none means the default.
    pub priority: Option<u8>,
    /// What becomes of it while a later queue is full.
    pub if_full: IfFull,
}

impl Handover {
    /// These paths with the default recipe.
    pub fn new(paths: Vec<PathBuf>) -> Self {
        Self::of(intake::Handover::new(paths))
    }

    /// These files with the default recipe.
    pub fn of(what: intake::Handover) -> Self {
        Self {
            what,
            recipe: None,
            actor: super::actor(),
            project: None,
            priority: None,
            if_full: IfFull::default(),
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
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The coordinator refused or could not be reached.
    #[error(transparent)]
    Call(#[from] ClientError),
}

impl IntakeError {
    /// The stable code, where there is one.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::Refused(refusal) => Some(refusal.reason),
            Self::Call(ClientError::Refused { problem, .. }) => problem.reason,
            Self::Call(_) => None,
        }
    }
}

/// Says what happens now: `hashing gear.stl`. Called from the task that hands in.
pub type OnProgress<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// Hands in everything; one item for each asset and for each path that cannot be one.
pub async fn hand_in(client: &Client, handover: &Handover, progress: OnProgress<'_>) -> Vec<Item> {
    let task = handover.what.clone();
    let planned =
        tokio::task::spawn_blocking(move || intake::plan(&task)).await.unwrap_or_default();
    let mut items = Vec::with_capacity(planned.len());
    let mut cut_off: Option<(String, String)> = None;
    for Planned { source, plan } in planned {
        let notes = plan.as_ref().map(|plan| plan.notes.clone()).unwrap_or_default();
        let outcome = match (plan, &cut_off) {
            (Err(refusal), _) => Err(refusal.into()),
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
    let (files, limit_bytes) = (plan.files.clone(), handover.what.file_limit_bytes);
    let hashed = tokio::task::spawn_blocking(move || hash::all(&files, limit_bytes))
        .await
        .map_err(|error| Refusal::new(Reason::Unexpected, error.to_string()))??;
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
        recipe: handover.recipe.clone().or(plan.recipe),
        settings: plan.settings.into_iter().chain(handover.what.settings.clone()).collect(),
        actor: handover.actor.clone(),
        project: handover.project.clone(),
        priority: handover.priority,
    };
    Ok(client.submit_if(&submission, handover.if_full).await?)
}

async fn send(client: Client, path: PathBuf, file: SourceFile) -> Result<(), IntakeError> {
    let changed = |path: &Path| {
        Refusal::at(Reason::InputChanged, "the file changed while it was sent", path).into()
    };
    match client.upload(&path, file.checksum, file.size_bytes).await {
        Ok(_) => Ok(()),
        Err(ClientError::File { path, source, .. }) => {
            Err(intake::unreadable(&source, &path).into())
        }
        Err(ClientError::Refused { status: 422, problem })
            if problem.code == ProblemCode::Invalid =>
        {
            Err(changed(&path))
        }
        // A file that shrinks while it is sent breaks its own connection.
        Err(_) if !hash::is_as_hashed(&path, file.size_bytes) => Err(changed(&path)),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
