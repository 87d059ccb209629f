//! What handing in would do, before anything is sent.

use super::{Handover, Plan, Planned, Refusal, plan};
use crate::model::limits;
use crate::recipes::Settings;
use crate::stages::scene::order::Order;
use serde::Serialize;
use std::collections::BTreeMap;

/// One asset that would be handed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Preview {
    /// The file, folder or series, for people.
    pub source: String,
    /// Its name; none where it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asset: Option<String>,
    /// Files that go along.
    pub files: usize,
    /// Their bytes.
    pub size_bytes: u64,
    /// Files that it needs and that cannot go along.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What is drawn, where a program draws it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<ScenePreview>,
    /// What people should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why it would be refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// What a program would draw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScenePreview {
    /// The renderer profile.
    pub renderer: String,
    /// The frames.
    pub frames: String,
    /// How many.
    pub frame_count: u32,
    /// Jobs that they are cut into.
    pub chunks: u32,
    /// The first job's command.
    pub command: String,
    /// Where it is read, where it stays in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// Looks at everything and sends nothing. Blocks on the disk.
pub fn preview(handover: &Handover, defaults: &Settings) -> Vec<Preview> {
    let planned = plan::plan(handover);
    let look = |planned: Planned| {
        let source = planned.source;
        match planned.plan.and_then(|plan| of(&source, &plan, handover, defaults)) {
            Ok(preview) => preview,
            Err(error) => refused(source, &error),
        }
    };
    planned.into_iter().map(look).collect()
}

fn of(
    source: &str,
    plan: &Plan,
    handover: &Handover,
    defaults: &Settings,
) -> Result<Preview, Refusal> {
    let sizes =
        plan.files.iter().map(|file| std::fs::metadata(&file.path).map_or(0, |it| it.len()));
    Ok(Preview {
        source: source.to_owned(),
        asset: Some(plan.asset.as_str().to_owned()),
        files: plan.files.len(),
        size_bytes: sizes.sum(),
        missing: plan.missing.iter().map(|missing| missing.name.clone()).collect(),
        scene: scene(plan, handover, defaults)?,
        notes: plan.notes.clone(),
        refused: None,
    })
}

fn scene(
    plan: &Plan,
    handover: &Handover,
    defaults: &Settings,
) -> Result<Option<ScenePreview>, Refusal> {
    let refused = |why: String| Refusal::new(crate::model::Reason::SettingInvalid, why);
    let changes: BTreeMap<_, _> =
        plan.settings.clone().into_iter().chain(handover.settings.clone()).collect();
    let settings = defaults.with_changes(&changes).map_err(|error| refused(error.to_string()))?;
    let Some(scene) = &settings.scene else { return Ok(None) };
    let Some(profile) = handover.renderers.get(&scene.renderer) else { return Ok(None) };
    let main = plan.files.iter().find(|file| file.name == plan.main_file);
    let Some(main) = main else { return Ok(None) };
    let frames = scene.frames();
    let size = settings.chunk_frames.clamp(1, limits::FRAMES);
    let command =
        Order::preview(&settings, profile, &main.path).map_or(Ok(String::new()), |order| {
            let first = scene.chunk(1, size).unwrap_or_else(|| frames.clone());
            let first = order.runs(&first).into_iter().next().unwrap_or(first);
            order.command(&first).map(|program| program.shown())
        });
    Ok(Some(ScenePreview {
        renderer: scene.renderer.clone(),
        frames: frames.to_string(),
        frame_count: frames.count(),
        chunks: frames.count().div_ceil(size),
        command: command.map_err(|failure| refused(failure.message))?,
        at: scene.at.clone(),
    }))
}

fn refused(source: String, error: &Refusal) -> Preview {
    Preview {
        source,
        asset: None,
        files: 0,
        size_bytes: 0,
        missing: Vec::new(),
        scene: None,
        notes: Vec::new(),
        refused: Some(error.to_string()),
    }
}
