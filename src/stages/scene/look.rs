//! What a scene is, before anything is drawn: what it needs and whether it is there, whether this
//! machine's program can read it.

use super::super::StageRequest;
use super::super::formats::blend::{self, BlendFile, BlendVersion, ReferenceKind};
use super::super::source::Source;
use super::files::{SceneFiles, Storage, side_files};
use super::order::{Order, in_place};
use crate::model::{Reason, limits};
use crate::protocol::submit::MissingWhy;
use crate::protocol::work::{Failure, Warning};
use crate::recipes::scene::{MissingPolicy, SceneSettings};
use serde_json::{Value, json};
use std::path::Path;

/// Names shown in a message.
const SHOWN: usize = 8;

/// What was learned of a scene.
pub struct Look {
    /// For the asset's record.
    pub facts: Value,
    /// Files that it needs and that are there.
    pub references: Vec<String>,
    /// What people should know.
    pub warnings: Vec<Warning>,
}

/// Looks at the scene of a request.
pub(in crate::stages) fn look(
    request: &StageRequest,
    source: &Source<'_>,
    scene: &SceneSettings,
) -> Result<Look, Failure> {
    let here = scene.at.as_ref().map(|at| in_place(at, request)).transpose()?;
    let mut facts = json!({
        "renderer": scene.renderer,
        "frames": scene.frames().to_string(),
        "count": scene.frames().count(),
    });
    if blend::version(&source.main).is_ok_and(|version| version.is_none()) {
        let is_named_so = source.main.extension().is_some_and(|suffix| suffix == "blend");
        if is_named_so {
            let why = format!(
                "the file is called a Blender scene, but is none. Save it again. {}",
                source.main_name
            );
            return Err(Failure::new(Reason::SceneCorrupt, why));
        }
        return Ok(Look { facts, references: Vec::new(), warnings: Vec::new() });
    }
    let file = blend::read(&source.main).map_err(|error| {
        Failure::new(
            error.reason(),
            format!("the Blender scene cannot be read: {error}. {}", source.main_name),
        )
    })?;
    let files = match &here {
        Some(here) => {
            let folder = here.parent().unwrap_or(Path::new("/"));
            let name = here.file_name().unwrap_or_default().to_string_lossy();
            side_files(folder, &name, Storage::Shared)
        }
        None => side_files(&source.root, source.main_name, Storage::Sent),
    };
    let mut warnings = missing(&files, scene, source.main_name)?;
    warnings.extend(of_camera(&file, scene));
    if let Value::Object(facts) = &mut facts {
        facts.insert("blender".to_owned(), json!(file));
    }
    Ok(Look { facts, references: files.found.into_keys().collect(), warnings })
}

/// What is missing is told before the render: Blender draws on without it and says that all is well.
fn missing(files: &SceneFiles, scene: &SceneSettings, main: &str) -> Result<Vec<Warning>, Failure> {
    let mut warnings = Vec::new();
    for (why, reason, what) in [
        (MissingWhy::Outside, Reason::ReferenceOutside, "that lie outside its folder"),
        (MissingWhy::NotFound, Reason::ReferenceMissing, "that are missing"),
    ] {
        let names: Vec<&str> = files
            .missing
            .iter()
            .filter(|(_, missing)| missing.why == why)
            .map(|(_, missing)| missing.name.as_str())
            .collect();
        if names.is_empty() {
            continue;
        }
        let shown: Vec<&str> = names.iter().take(SHOWN).copied().collect();
        let more = names.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let message = format!("{main} needs files {what}: {}{more}", shown.join(", "));
        let is_needed = files.missing.iter().any(|(kind, missing)| {
            missing.why == why
                && matches!(
                    kind,
                    ReferenceKind::Library
                        | ReferenceKind::Image
                        | ReferenceKind::Cache
                        | ReferenceKind::Volume
                )
        });
        if is_needed && scene.missing.unwrap_or_default() == MissingPolicy::Fail {
            let remedy = "Put them there and submit the scene again, name a higher folder with --root, or say missing=warn";
            return Err(Failure::new(reason, format!("{message}. {remedy}")));
        }
        warnings.push(Warning { reason, message });
    }
    if !files.elsewhere.is_empty() && scene.at.is_none() {
        let shown: Vec<&str> = files.elsewhere.iter().take(SHOWN).map(String::as_str).collect();
        let message = format!(
            "{main} reads files by absolute paths, which every worker must see: {}",
            shown.join(", ")
        );
        warnings.push(Warning { reason: Reason::ReferenceOutside, message });
    }
    warnings.truncate(limits::WARNINGS_PER_JOB);
    Ok(warnings)
}

/// A scene without a camera may still draw its video strips, so this is no refusal.
fn of_camera(file: &BlendFile, scene: &SceneSettings) -> Option<Warning> {
    let active = file.scenes.iter().find(|one| one.is_active).or(file.scenes.first())?;
    if active.active_camera.is_some() || scene.values.contains_key("camera") {
        return None;
    }
    let message = if file.cameras.is_empty() {
        format!("the scene '{}' has no camera", active.name)
    } else {
        let cameras = file.cameras.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>();
        format!(
            "the scene '{}' has no active camera; name one with --set camera=…: {}",
            active.name,
            cameras.join(", ")
        )
    };
    Some(Warning { reason: Reason::CameraMissing, message })
}

/// Refuses a scene that a newer program saved than this worker's: an old one may crash on it, draw
/// it wrongly, or say something else.
pub(super) fn version_fits(order: &Order<'_>) -> Result<(), Failure> {
    let Ok(Some(saved)) = blend::version(&order.file) else { return Ok(()) };
    let Some(here) = order.version.and_then(parse).filter(|_| order.scene.renderer == "blender")
    else {
        return Ok(());
    };
    if saved.major < here.major || saved.major == here.major && saved.minor <= here.minor {
        return Ok(());
    }
    let why = format!(
        "Blender {}.{} saved the scene, and this worker has {}.{}",
        saved.major, saved.minor, here.major, here.minor
    );
    Err(Failure::new(Reason::SceneTooNew, why))
}

fn parse(version: &str) -> Option<BlendVersion> {
    let mut parts = version.split('.').map(str::parse);
    Some(BlendVersion { major: parts.next()?.ok()?, minor: parts.next()?.ok()? })
}
