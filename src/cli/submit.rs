//! `sawah submit`: hands in assets.

use super::context::Context;
use super::error::{CliError, Exit};
use super::{output, wait, words};
use crate::client::intake::{self, Handover, IntakeError, Item, Preview, SceneOrder};
use crate::client::{Client, ClientError};
use crate::model::frames::{Dialect, FrameList};
use crate::model::paths;
use crate::model::{AssetName, Name, PipelineStatus, Reason, limits};
use crate::protocol::submit::{IfFull, SubmitOutcome, Submitted};
use crate::protocol::view::{PipelineDetail, WorkerView};
use crate::recipes::library::SCENE_RECIPE;
use clap::Args;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

const EXAMPLES: &str = "Examples:
  sawah submit dragon.glb
  sawah submit crate.obj sunset.exr --wait
  sawah submit renders/rain --recipe preview --set fps=30
  sawah submit dragon_final_v7.glb --name dragon --set still_px=2048
  sawah submit hero.glb --project film --priority 8
  sawah submit rain_0001.png rain_0002.png rain_0003.png --separate
  sawah submit shot.blend --frames 1-250 --chunk 5 --set samples=64
  sawah submit smoke.pov --frames 1-48 --set width=640 --set height=360
  sawah submit convert.py --renderer command --frames 1-100 -- python3 {scene} {frames}

Side files (textures, .bin, .mtl) that an asset names are handed in with it. A folder, or three
or more files of one numbered series, becomes one film.";

/// Hand in files, or folders of numbered pictures
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct SubmitArguments {
    /// Meshes (GLB, glTF, OBJ, STL, PLY, FBX, USD), images (PNG, JPEG, TIFF, EXR, HDR, TGA, BMP, WebP, GIF, DDS), folders of numbered
    /// pictures, or scenes of a renderer (see 'sawah renderers')
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The frames of a scene, such as 1-250, 1-100x5 or 1,5,9; otherwise those it says itself
    #[arg(long, value_name = "FRAMES", allow_hyphen_values = true, help_heading = "Scenes")]
    frames: Option<String>,
    /// How the frames are written: sawah, deadline, opencue, flamenco or openjd
    #[arg(long, value_name = "DIALECT", default_value = "sawah", value_parser = dialect,
        help_heading = "Scenes")]
    frames_as: Dialect,
    /// Most frames of one job
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::FRAMES)),
        help_heading = "Scenes")]
    chunk: Option<u32>,
    /// The renderer profile, instead of the one for the file's suffix
    #[arg(long, value_name = "PROFILE", help_heading = "Scenes")]
    renderer: Option<String>,
    /// The folder that holds the scene and all that it needs [default: the scene's own]
    #[arg(long, value_name = "DIR", help_heading = "Scenes")]
    root: Option<PathBuf>,
    /// A file or folder that the scene needs besides; can be given several times
    #[arg(long, value_name = "PATH", help_heading = "Scenes")]
    with: Vec<PathBuf>,
    /// Read the scene where it lies, on storage that every worker sees; only its bytes are compared
    #[arg(long, conflicts_with_all = ["root", "with"], help_heading = "Scenes")]
    in_place: bool,
    /// Arguments for the program; with --renderer command the program comes first
    #[arg(last = true, value_name = "ARGUMENT", allow_hyphen_values = true)]
    arguments: Vec<String>,
    /// Which way through the stages
    #[arg(long, value_name = "R")]
    recipe: Option<String>,
    /// Change a setting of the recipe; can be given several times
    #[arg(long = "set", value_name = "K=V", value_parser = key_value)]
    settings: Vec<(String, String)>,
    /// The asset's name, instead of its file's
    #[arg(long, value_name = "ASSET")]
    name: Option<AssetName>,
    /// Whose share of the farm it uses [default: default]
    #[arg(long, value_name = "NAME")]
    project: Option<Name>,
    /// 0 to 9, the highest first [default: 5]
    #[arg(long, value_name = "N",
        value_parser = clap::value_parser!(u8).range(..=i64::from(limits::HIGHEST_PRIORITY)))]
    priority: Option<u8>,
    /// While a later queue is full, hold the work before its first stage instead of refusing it
    #[arg(long)]
    hold: bool,
    /// Numbered pictures stay single assets
    #[arg(long)]
    separate: bool,
    /// Show frames, jobs, files and the command, and send nothing
    #[arg(long, conflicts_with = "wait")]
    dry_run: bool,
    /// Wait until everything has ended; exit code 1 if something became a dead letter
    #[arg(long)]
    wait: bool,
}

fn dialect(text: &str) -> Result<Dialect, String> {
    Dialect::from_name(text).ok_or_else(|| {
        let names: Vec<_> = Dialect::ALL.iter().map(|one| one.as_str()).collect();
        format!("use {}", names.join(", "))
    })
}

/// What is said of scenes, and what was noticed.
fn scene(arguments: &SubmitArguments) -> Result<(SceneOrder, Option<String>), CliError> {
    let read = |text: &String| FrameList::parse(text, arguments.frames_as);
    let parsed = arguments.frames.as_ref().map(read).transpose();
    let parsed = parsed.map_err(|error| CliError::new(Exit::Usage, &error))?;
    let doubles = parsed.as_ref().map_or(0, |parsed| parsed.doubles);
    let note = (doubles > 0).then(|| format!("{doubles} frames are named twice and drawn once"));
    let order = SceneOrder {
        renderer: arguments.renderer.clone(),
        frames: parsed.map(|parsed| parsed.frames),
        chunk: arguments.chunk,
        root: arguments.root.clone(),
        with: arguments.with.clone(),
        arguments: arguments.arguments.clone(),
        in_place: arguments.in_place,
    };
    Ok((order, note))
}

pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write it as KEY=VALUE, such as still_px=512".to_owned()),
    }
}

/// One item as `--json` shows it.
#[derive(Debug, Serialize)]
struct ItemDocument {
    source: String,
    #[serde(flatten)]
    submitted: Option<Submitted>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<RefusalDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<PipelineDetail>,
}

#[derive(Debug, Serialize)]
struct RefusalDocument {
    code: Option<String>,
    message: String,
}

/// A wrong recipe or setting is wrong usage; a refused file is failed work.
fn exit_of(items: &[Item]) -> Exit {
    let reasons =
        items.iter().filter_map(|item| item.outcome.as_ref().err()).map(IntakeError::reason);
    reasons.fold(Exit::Done, |exit, reason| match (exit, reason) {
        (Exit::Failed, _) => Exit::Failed,
        (_, Some(Reason::SettingInvalid)) => Exit::Usage,
        _ => Exit::Failed,
    })
}

pub(super) fn run(context: &Context, arguments: SubmitArguments) -> Result<Exit, CliError> {
    let (wait, json) = (arguments.wait, context.json);
    let (scene, note) = scene(&arguments)?;
    if let Some(note) = note {
        output::note(&note);
    }
    let what = crate::intake::Handover {
        settings: arguments.settings.into_iter().collect::<BTreeMap<_, _>>(),
        name: arguments.name,
        separate: arguments.separate,
        scene,
        renderers: Arc::new(context.renderers()?),
        ..crate::intake::Handover::new(arguments.files)
    };
    let handover = Handover {
        recipe: arguments.recipe,
        project: arguments.project,
        priority: arguments.priority,
        if_full: if arguments.hold { IfFull::Hold } else { IfFull::Refuse },
        ..Handover::of(what)
    };
    if arguments.dry_run {
        return dry_run(context, &handover);
    }
    context.with_client(|client| async move {
        let is_watched = std::io::stderr().is_terminal();
        let progress = |text: &str| {
            if is_watched {
                output::note(&format!("{text} …"));
            }
        };
        let items = intake::hand_in(&client, &handover, &progress).await;
        unreachable_first(&items)?;
        let mut exit = exit_of(&items);
        for item in &items {
            say(item, json)?;
        }
        let details = if wait { wait_for(&client, &items).await? } else { BTreeMap::new() };
        for detail in details.values() {
            let good = detail.pipeline.status == PipelineStatus::Succeeded;
            if !good {
                exit = Exit::Failed;
            }
            match (json, good) {
                (false, true) => output::line(&wait::verdict(detail))?,
                (true, true) => {}
                (_, false) => output::note(&wait::verdict(detail)),
            }
        }
        if json {
            let documents: Vec<_> =
                items.into_iter().map(|item| document(item, &details)).collect();
            output::json(&documents)?;
        }
        Ok(exit)
    })
}

/// Shows what would be handed in.
fn dry_run(context: &Context, handover: &Handover) -> Result<Exit, CliError> {
    let library = context.library()?;
    let name = handover.recipe.as_deref().unwrap_or(SCENE_RECIPE);
    let recipe = library.get(name).ok_or_else(|| {
        let known: Vec<&str> = library.names().collect();
        CliError::usage(&format!("no recipe is called '{name}'; there are {}", known.join(", ")))
    })?;
    let previews = intake::preview(&handover.what, &recipe.settings);
    let is_refused = previews.iter().any(|preview| preview.refused.is_some());
    if context.json {
        output::json(&previews)?;
    } else {
        let workers = if handover.what.scene.in_place { workers(context) } else { Vec::new() };
        for preview in &previews {
            output::raw(described(preview).as_bytes())?;
            let at = preview.scene.as_ref().and_then(|scene| scene.at.as_deref());
            output::raw(places(at, &workers).as_bytes())?;
        }
    }
    Ok(if is_refused { Exit::Failed } else { Exit::Done })
}

/// The workers of the farm; none where it cannot be asked.
fn workers(context: &Context) -> Vec<WorkerView> {
    let asked = context.with_client(|client| async move { Ok(client.workers().await?) });
    asked.unwrap_or_else(|_| {
        output::note("The farm does not answer, so what its workers see is not shown");
        Vec::new()
    })
}

/// What each worker calls a scene that stays in its place.
fn places(at: Option<&str>, workers: &[WorkerView]) -> String {
    let Some(at) = at else { return String::new() };
    let line = |worker: &WorkerView| {
        let can = &worker.capabilities;
        let here = paths::map(at, &can.paths, &can.os);
        let here = here.unwrap_or_else(|| "leads nowhere: it is given none of it".to_owned());
        format!("  on {}   {here}\n", output::one_line(&worker.name))
    };
    workers.iter().map(line).collect()
}

fn described(preview: &Preview) -> String {
    let source = output::one_line(&preview.source);
    if let Some(why) = &preview.refused {
        return format!("{source}\n  refused    {why}\n");
    }
    let asset = preview.asset.as_deref().unwrap_or_default();
    let mut text = format!(
        "{source}\n  asset      {asset}\n  files      {}, {}\n",
        preview.files,
        words::size(preview.size_bytes)
    );
    for missing in &preview.missing {
        text = format!("{text}  missing    {}\n", output::one_line(missing));
    }
    if let Some(scene) = &preview.scene {
        text = format!(
            "{text}  renderer   {}\n  frames     {} ({})\n  jobs       {}\n  command    {}\n",
            scene.renderer, scene.frames, scene.frame_count, scene.chunks, scene.command
        );
    }
    for note in &preview.notes {
        text = format!("{text}  note       {note}\n");
    }
    text
}

/// A farm that cannot be reached is the whole command's failure, not that of one file.
fn unreachable_first(items: &[Item]) -> Result<(), CliError> {
    for item in items {
        match &item.outcome {
            Err(IntakeError::Call(ClientError::Unreachable { url, why })) => {
                let (url, why) = (url.clone(), why.clone());
                return Err(ClientError::Unreachable { url, why }.into());
            }
            Err(IntakeError::Call(ClientError::Unauthorized { url })) => {
                return Err(ClientError::Unauthorized { url: url.clone() }.into());
            }
            _ => {}
        }
    }
    Ok(())
}

fn say(item: &Item, json: bool) -> Result<(), CliError> {
    for note in &item.notes {
        output::note(&format!("{}: {note}", item.source));
    }
    match &item.outcome {
        Ok(done) if !json => output::line(&outcome(done))?,
        Ok(_) => {}
        Err(error) => output::note(&format!("sawah: {error}")),
    }
    Ok(())
}

fn outcome(done: &Submitted) -> String {
    let what = match done.outcome {
        SubmitOutcome::Created => "handed in",
        SubmitOutcome::AlreadyRunning => "in work already",
        SubmitOutcome::AlreadyThere => "made before, its results are there",
    };
    format!("{} v{}: {what}, pipeline {}", done.asset, done.asset_version, done.pipeline)
}

type Details = BTreeMap<crate::model::PipelineId, PipelineDetail>;

async fn wait_for(client: &Client, items: &[Item]) -> Result<Details, CliError> {
    let wanted: BTreeSet<_> =
        items.iter().filter_map(|item| Some(item.outcome.as_ref().ok()?.pipeline)).collect();
    if wanted.is_empty() {
        return Ok(Details::new());
    }
    wait::for_pipelines(client, &wanted, |_| {}).await?;
    let mut details = Details::new();
    for pipeline in wanted {
        details.insert(pipeline, client.pipeline(pipeline).await?);
    }
    Ok(details)
}

fn document(item: Item, details: &Details) -> ItemDocument {
    let refused = item.outcome.as_ref().err().map(|error| RefusalDocument {
        code: error.reason().map(|reason| reason.code().to_owned()),
        message: error.to_string(),
    });
    let submitted = item.outcome.ok();
    let result = submitted.as_ref().and_then(|done| details.get(&done.pipeline)).cloned();
    ItemDocument { source: item.source, submitted, notes: item.notes, refused, result }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::intake::Refusal;
    use crate::model::PipelineId;

    #[test]
    fn settings_are_key_and_value() {
        assert_eq!(key_value("film=never"), Ok(("film".to_owned(), "never".to_owned())));
        assert_eq!(key_value("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(key_value("film").is_err() && key_value("=1").is_err());
    }

    #[test]
    fn a_document_is_flat_and_says_why_a_file_was_refused() {
        let good = Item {
            source: "a.stl".to_owned(),
            notes: vec![],
            outcome: Ok(Submitted {
                pipeline: PipelineId(4),
                asset: AssetName::from_any("a"),
                asset_version: 1,
                outcome: SubmitOutcome::AlreadyThere,
            }),
        };
        let text = serde_json::to_value(document(good, &Details::new())).expect("json");
        assert_eq!((&text["pipeline"], &text["outcome"]), (&4.into(), &"already_there".into()));
        let bad = Item {
            source: "b.stl".to_owned(),
            notes: vec![],
            outcome: Err(IntakeError::Refused(Refusal {
                reason: crate::model::Reason::InputUnreadable,
                message: "no such file".to_owned(),
            })),
        };
        let text = serde_json::to_value(document(bad, &Details::new())).expect("json");
        assert_eq!(text["refused"]["code"], "input.unreadable");
        assert!(text.get("pipeline").is_none());
    }
}
