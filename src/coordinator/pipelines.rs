//! Handing in assets, and what became of them.

use super::extract::{At, JsonBody, PageParams, Params};
use super::problem::{Conflicts, Refusal, Refusals};
use super::state::{Shared, blocking};
use crate::artifacts::{Artifacts, names};
use crate::model::{Checksum, PipelineId, Reason, limits};
use crate::protocol::submit::{CancelReply, IfFull, Order, Submission, Submitted};
use crate::protocol::view::{PipelineDetail, PipelineView};
use crate::recipes::library::DEFAULT_RECIPE;
use crate::recipes::{Library, Recipe};
use crate::store::SubmissionKey;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use serde::Deserialize;
use std::collections::BTreeSet;

/// Names a submission: repeated under the same key it gets the same answer.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Longest source reference, actor or reason, in bytes.
pub(super) const TEXT_BYTES: usize = limits::MESSAGE_BYTES;

/// An asset version to run through a recipe; the bytes of its files were put before.
///
/// Repeated with the same `Idempotency-Key` within a day it gets the same answer.
#[utoipa::path(post, path = "/v1/pipelines", tag = "pipelines", request_body = Submission,
    params(("idempotency-key" = Option<String>, Header, description = "New for each submission"),
        ("if_full" = Option<IfFull>, Query, description = "What to do while a later queue is full")),
    responses((status = 201, body = Submitted), Refusals, Conflicts))]
pub(super) async fn submit(
    State(farm): State<Shared>,
    headers: HeaderMap,
    Params(admission): Params<Admission>,
    JsonBody(submission): JsonBody<Submission>,
) -> Result<(StatusCode, Json<Submitted>), Refusal> {
    let key = submission_key(&headers, &submission)?;
    if let Some(key) = &key
        && let Some(before) = farm.store.remembered(key.clone()).await?
    {
        return Ok((StatusCode::CREATED, Json(before)));
    }
    let recipe = resolve(&farm.library, &submission)?;
    let artifacts = farm.artifacts.clone();
    let submission = blocking(move || checked(&artifacts, submission)).await?;
    let trace = super::random_bytes()?;
    let submitted = match key {
        key if admission.if_full == IfFull::Hold => {
            farm.store.submit_or_hold(key, submission, recipe, trace).await?
        }
        Some(key) => farm.store.submit_once(key, submission, recipe, trace).await?,
        None => farm.store.submit(submission, recipe, trace).await?,
    };
    tracing::info!(
        pipeline = %submitted.pipeline, asset = %submitted.asset, outcome = ?submitted.outcome,
        "asset submitted"
    );
    Ok((StatusCode::CREATED, Json(submitted)))
}

/// How a submission wants to be treated.
#[derive(Debug, Deserialize)]
pub(super) struct Admission {
    #[serde(default)]
    if_full: IfFull,
}

/// The client's key for the submission, with the checksum of what came under it.
fn submission_key(
    headers: &HeaderMap,
    submission: &Submission,
) -> Result<Option<SubmissionKey>, Refusal> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let key =
        value.to_str().ok().filter(|key| (1..=limits::SUBMISSION_KEY_BYTES).contains(&key.len()));
    let key = key.ok_or_else(|| {
        let message =
            format!("an idempotency key has 1 to {} ASCII letters", limits::SUBMISSION_KEY_BYTES);
        Refusal::invalid(message, "Choose a shorter key, such as a random UUID.")
    })?;
    let body = serde_json::to_vec(submission)
        .map_err(|error| Refusal::internal(format!("a submission cannot be written: {error}")))?;
    Ok(Some(SubmissionKey { key: key.to_owned(), body: Checksum::of(&body) }))
}

/// The recipe of a submission with its settings changed.
pub(super) fn resolve(library: &Library, submission: &Submission) -> Result<Recipe, Refusal> {
    let name = submission.recipe.as_deref().unwrap_or(DEFAULT_RECIPE);
    let recipe = library.get(name).ok_or_else(|| {
        let names: Vec<_> = library.names().collect();
        let shown: String = name.chars().take(limits::ASSET_NAME_BYTES).collect();
        Refusal::invalid(
            format!("no recipe is called '{shown}'"),
            format!("Use one of: {}.", names.join(", ")),
        )
        .because(Reason::SettingInvalid)
    })?;
    let settings = recipe.settings.with_changes(&submission.settings)?;
    Ok(Recipe { settings, ..recipe.clone() })
}

/// The submission with its files in order, once every rule holds and every byte is stored.
pub(super) fn checked(
    artifacts: &Artifacts,
    mut submission: Submission,
) -> Result<Submission, Refusal> {
    check_texts(&submission)?;
    submission.files.sort_by(|a, b| a.name.cmp(&b.name));
    check_files(&submission)?;
    let mut absent = 0_usize;
    let mut first = None;
    for file in &submission.files {
        let stored = artifacts.size(&file.checksum)?;
        if stored.is_some_and(|size_bytes| size_bytes != file.size_bytes) {
            let message = format!(
                "'{}' is said to have {} bytes, but the bytes of its checksum are others",
                file.name, file.size_bytes
            );
            return Err(Refusal::invalid(message, "Read the file again and submit it again.")
                .because(Reason::ArtifactMismatch));
        }
        if stored.is_none() {
            absent += 1;
            first = first.or(Some(file));
        }
    }
    match first {
        None => Ok(submission),
        Some(file) => Err(Refusal::invalid(
            format!(
                "the bytes of {absent} files are not in the content store, first '{}'",
                file.name
            ),
            format!("Upload PUT /v1/artifacts/{} first, then submit again.", file.checksum),
        )
        .because(Reason::ArtifactMissing)),
    }
}

fn check_texts(submission: &Submission) -> Result<(), Refusal> {
    check_text("actor", &submission.actor)?;
    check_text("source_ref", &submission.source_ref)?;
    submission.missing.iter().try_for_each(|missing| check_text("missing", &missing.name))?;
    let count = submission.files.len().max(submission.missing.len());
    if count > limits::FILES_PER_ASSET {
        let message = format!("an asset has at most {} files", limits::FILES_PER_ASSET);
        return Err(Refusal::invalid(message, "Split the asset.").because(Reason::InputTooLarge));
    }
    Ok(())
}

/// Refuses a text that is too long to keep.
pub(super) fn check_text(field: &str, text: &str) -> Result<(), Refusal> {
    if text.len() > TEXT_BYTES {
        let message = format!("'{field}' is longer than {TEXT_BYTES} bytes");
        return Err(Refusal::invalid(message, "Make it shorter."));
    }
    Ok(())
}

fn check_files(submission: &Submission) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    for file in &submission.files {
        names::check(&file.name)
            .map_err(|error| Refusal::invalid(error.to_string(), "Rename the file."))?;
        if !seen.insert(file.name.as_str()) {
            let message = format!("two files are called '{}'", file.name);
            return Err(Refusal::invalid(message, "Give each file its own name."));
        }
        if file.size_bytes > limits::SOURCE_FILE_BYTES {
            let message = format!("'{}' is larger than a file may be", file.name);
            return Err(Refusal::invalid(message, Reason::InputTooLarge.remedy())
                .because(Reason::InputTooLarge));
        }
    }
    if !seen.contains(submission.main_file.as_str()) {
        return Err(Refusal::invalid(
            "the main file is not one of the files",
            "Name one of the submitted files as main_file.",
        ));
    }
    Ok(())
}

/// Newest pipelines first.
#[utoipa::path(get, path = "/v1/pipelines", tag = "pipelines",
    params(("before" = Option<i64>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Vec<PipelineView>), Refusals))]
pub(super) async fn list(
    State(farm): State<Shared>,
    Params(page): Params<PageParams>,
) -> Result<Json<Vec<PipelineView>>, Refusal> {
    Ok(Json(farm.store.pipelines(page.into()).await?))
}

/// One pipeline in full.
#[utoipa::path(get, path = "/v1/pipelines/{pipeline}", tag = "pipelines",
    params(("pipeline" = i64, Path)), responses((status = 200, body = PipelineDetail), Refusals))]
pub(super) async fn show(
    State(farm): State<Shared>,
    At(pipeline): At<PipelineId>,
) -> Result<Json<PipelineDetail>, Refusal> {
    let mut detail = farm.store.pipeline(pipeline).await?;
    farm.fill_progress(detail.jobs.iter_mut().map(|detail| &mut detail.job));
    Ok(Json(detail))
}

/// Cancels every live job of a pipeline; their workers hear it with their next heartbeat.
#[utoipa::path(post, path = "/v1/pipelines/{pipeline}/cancel", tag = "pipelines",
    params(("pipeline" = i64, Path)), request_body = Order,
    responses((status = 200, body = CancelReply), Refusals, Conflicts))]
pub(super) async fn cancel(
    State(farm): State<Shared>,
    At(pipeline): At<PipelineId>,
    JsonBody(order): JsonBody<Order>,
) -> Result<Json<CancelReply>, Refusal> {
    check_text("actor", &order.actor)?;
    check_text("reason", &order.reason)?;
    let jobs = farm.store.cancel_pipeline(pipeline, &order.actor, &order.reason).await?;
    tracing::info!(%pipeline, jobs, "pipeline cancelled");
    Ok(Json(CancelReply { jobs }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AssetName;
    use crate::protocol::submit::SourceFile;
    use std::collections::BTreeMap;

    fn submission(files: &[(&str, &[u8])]) -> Submission {
        let files = files.iter().map(|(name, bytes)| SourceFile {
            name: (*name).into(),
            checksum: Checksum::of(bytes),
            size_bytes: bytes.len() as u64,
        });
        Submission {
            asset: AssetName::from_any("dragon"),
            source_ref: "/work/dragon.obj".into(),
            main_file: "dragon.obj".into(),
            sequence: false,
            files: files.collect(),
            missing: Vec::new(),
            recipe: None,
            settings: BTreeMap::new(),
            actor: "ana".into(),
            project: None,
            priority: None,
        }
    }

    fn store(bytes: &[&[u8]]) -> (tempfile::TempDir, Artifacts) {
        let farm = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::open(farm.path()).unwrap();
        for bytes in bytes {
            artifacts.put_bytes(Checksum::of(bytes), bytes).unwrap();
        }
        (farm, artifacts)
    }

    #[test]
    fn a_whole_submission_passes_with_its_files_in_order() {
        let (_farm, artifacts) = store(&[b"o", b"m"]);
        let given = submission(&[("dragon.obj", b"o"), ("a/dragon.mtl", b"m")]);
        let taken = checked(&artifacts, given).unwrap();
        assert_eq!(taken.files[0].name, "a/dragon.mtl");
    }

    #[test]
    fn absent_bytes_are_named_with_the_way_to_bring_them() {
        let (_farm, artifacts) = store(&[b"o"]);
        let given = submission(&[("dragon.obj", b"o"), ("b.png", b"b"), ("c.png", b"c")]);
        let problem = checked(&artifacts, given).unwrap_err().problem;
        assert_eq!(problem.reason, Some(Reason::ArtifactMissing));
        assert!(problem.message.contains("2 files") && problem.message.contains("b.png"));
        assert!(problem.remedy.contains(&Checksum::of(b"b").to_string()));
    }

    #[test]
    fn file_sets_that_break_a_rule_are_refused() {
        let (_farm, artifacts) = store(&[b"o"]);
        for files in [
            vec![],
            vec![("other.obj", b"o" as &[u8])],
            vec![("dragon.obj", b"o"), ("dragon.obj", b"o")],
            vec![("dragon.obj", b"o"), ("../x", b"o")],
            vec![("dragon.obj", b"o"), ("/etc/passwd", b"o")],
        ] {
            let status = checked(&artifacts, submission(&files)).unwrap_err().status;
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{files:?}");
        }
        let mut given = submission(&[("dragon.obj", b"o")]);
        given.files[0].size_bytes = 2;
        let problem = checked(&artifacts, given).unwrap_err().problem;
        assert_eq!(problem.reason, Some(Reason::ArtifactMismatch));
    }

    #[test]
    fn recipes_and_settings_are_resolved_or_refused() {
        let library = Library::load(None).unwrap();
        let mut given = submission(&[]);
        given.settings = BTreeMap::from([("still_px".into(), "64".into())]);
        let recipe = resolve(&library, &given).unwrap();
        assert_eq!((recipe.name.as_str(), recipe.settings.still_px), (DEFAULT_RECIPE, 64));
        given.settings = BTreeMap::from([("still_px".into(), "big".into())]);
        let problem = resolve(&library, &given).unwrap_err().problem;
        assert_eq!(problem.reason, Some(Reason::SettingInvalid));
        given.recipe = Some("nope".into());
        assert!(resolve(&library, &given).unwrap_err().problem.remedy.contains(DEFAULT_RECIPE));
    }
}
