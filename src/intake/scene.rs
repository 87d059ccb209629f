//! Scenes: the file, what it needs, and what its program is told.

use super::{Handover, LocalFile, Plan, Refusal, files, kind};
use crate::model::frames::FrameList;
use crate::model::{AssetName, Reason, limits};
use crate::protocol::submit::MissingFile;
use crate::recipes::library::SCENE_RECIPE;
use crate::renderers::output::Expect;
use crate::renderers::{Profile, Unit};
use crate::stages::formats::blend;
use crate::stages::scene::files::{SceneFiles, Storage, side_files};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is said of scenes when they are handed in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SceneOrder {
    /// The renderer profile; none means by the file's suffix.
    pub renderer: Option<String>,
    /// The frames; none means those that the scene itself says.
    pub frames: Option<FrameList>,
    /// Most frames of one job.
    pub chunk: Option<u32>,
    /// The folder that file names are relative to; none means the scene's own.
    pub root: Option<PathBuf>,
    /// Files and folders that the scene needs and does not name in a way that can be read.
    pub with: Vec<PathBuf>,
    /// Arguments of the job's own.
    pub arguments: Vec<String>,
    /// Whether the scene is read where it lies, on storage that all workers see.
    pub in_place: bool,
}

/// The profile that draws this file; none where it is no scene.
pub(super) fn profile(path: &Path, handover: &Handover) -> Result<Option<Arc<Profile>>, Refusal> {
    let library = &handover.renderers;
    if let Some(name) = &handover.scene.renderer {
        return library.get(name).map(Some).ok_or_else(|| {
            let known: Vec<&str> = library.names().collect();
            let message =
                format!("no renderer profile is called '{name}'; there are {}", known.join(", "));
            Refusal::new(Reason::SettingInvalid, message)
        });
    }
    // What the farm draws itself needs a program only where frames are asked for.
    if handover.scene.frames.is_none() && kind::is_mesh(path) {
        return Ok(None);
    }
    let suffix = path.extension().map(|suffix| suffix.to_string_lossy().into_owned());
    Ok(suffix.and_then(|suffix| library.of_suffix(&suffix)))
}

/// The scene with all that it needs.
pub(super) fn plan(path: &Path, profile: &Profile, handover: &Handover) -> Result<Plan, Refusal> {
    let limit_bytes = handover.file_limit_bytes;
    files::regular(path, limit_bytes)?;
    let path = path.canonicalize().map_err(|error| files::unreadable(&error, path))?;
    let root = root(&path, handover)?;
    let main_file = below(&path, &root)?;
    let needed = if handover.scene.in_place {
        SceneFiles::default()
    } else {
        side_files(&root, &main_file, Storage::Sent)
    };
    let mut all: BTreeMap<String, PathBuf> = needed.found;
    for extra in &handover.scene.with {
        add(extra, &root, &mut all)?;
    }
    all.insert(main_file.clone(), path.clone());
    if all.len() > limits::FILES_PER_ASSET {
        let what = format!(
            "the scene has {} files, but at most {} are taken",
            all.len(),
            limits::FILES_PER_ASSET
        );
        return Err(Refusal::at(Reason::InputTooLarge, &what, &path));
    }
    for file in all.values() {
        files::regular(file, limit_bytes)?;
    }
    let mut notes = Vec::new();
    let settings = settings(&path, profile, handover, &mut notes)?;
    let missing: Vec<MissingFile> =
        needed.missing.into_iter().map(|(_, missing)| missing).collect();
    Ok(Plan {
        asset: AssetName::from_any(&path.file_stem().unwrap_or_default().to_string_lossy()),
        source_ref: path.to_string_lossy().into_owned(),
        main_file,
        sequence: false,
        files: all.into_iter().map(|(name, path)| LocalFile { name, path }).collect(),
        missing,
        notes,
        recipe: Some(SCENE_RECIPE.to_owned()),
        settings,
    })
}

/// What the program is told, as changes of the recipe's settings.
fn settings(
    path: &Path,
    profile: &Profile,
    handover: &Handover,
    notes: &mut Vec<String>,
) -> Result<BTreeMap<String, String>, Refusal> {
    let order = &handover.scene;
    let mut settings = BTreeMap::from([("renderer".to_owned(), profile.name.clone())]);
    let own = if order.frames.is_none() { of_blend(path) } else { None };
    match (&order.frames, own) {
        (Some(frames), _) => {
            settings.insert("frames".to_owned(), frames.to_string());
        }
        (None, Some((frames, fps))) => {
            notes.push(format!("frames {frames} at {fps} a second, as the scene says"));
            settings.insert("frames".to_owned(), frames.to_string());
            settings.insert("fps".to_owned(), fps.to_string());
        }
        (None, None) if profile.output.expect == Expect::Frames => {
            let what = format!(
                "which frames {} is to draw cannot be read from the scene: say it with --frames",
                profile.title
            );
            return Err(Refusal::at(Reason::SettingInvalid, &what, path));
        }
        (None, None) => {}
    }
    let chunk = match profile.command.unit {
        // One process makes all of the job.
        Unit::Whole => Some(limits::FRAMES),
        _ => order.chunk,
    };
    if let Some(chunk) = chunk {
        settings.insert("chunk_frames".to_owned(), chunk.to_string());
    }
    if order.in_place {
        settings.insert("at".to_owned(), path.to_string_lossy().into_owned());
    }
    if !order.arguments.is_empty() {
        let list = toml::Value::from(order.arguments.clone()).to_string();
        settings.insert("arguments".to_owned(), list);
    }
    Ok(settings)
}

/// The frames and the rate that a Blender scene has of its own.
fn of_blend(path: &Path) -> Option<(FrameList, u32)> {
    let file = blend::read(path).ok()?;
    let scene = file.scenes.iter().find(|scene| scene.is_active).or(file.scenes.first())?;
    let (first, last, step) = (scene.frame_start, scene.frame_end, scene.frame_step.max(1));
    let frames =
        if step == 1 { format!("{first}-{last}") } else { format!("{first}-{last}x{step}") };
    let fps = scene.fps.per_second().map_or(24.0, f64::round).clamp(1.0, 240.0);
    Some((frames.parse().ok()?, fps as u32))
}

fn root(path: &Path, handover: &Handover) -> Result<PathBuf, Refusal> {
    match &handover.scene.root {
        Some(root) => root.canonicalize().map_err(|error| files::unreadable(&error, root)),
        None => Ok(path.parent().unwrap_or(Path::new(".")).to_owned()),
    }
}

/// The name of a file relative to the root.
fn below(path: &Path, root: &Path) -> Result<String, Refusal> {
    let outside = || {
        let what =
            format!("this does not lie in {}: name a higher folder with --root", root.display());
        Refusal::at(Reason::ReferenceOutside, &what, path)
    };
    let relative = path.strip_prefix(root).map_err(|_| outside())?;
    let parts: Vec<String> =
        relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.is_empty() || parts.iter().any(|part| files::portable_name(part.as_ref()) != *part) {
        let what = "its name, or that of its folder, cannot be written on every machine: rename it";
        return Err(Refusal::at(Reason::InputUnreadable, what, path));
    }
    Ok(parts.join("/"))
}

/// A file, or all files of a folder, that the scene needs besides.
fn add(extra: &Path, root: &Path, all: &mut BTreeMap<String, PathBuf>) -> Result<(), Refusal> {
    let real = extra.canonicalize().map_err(|error| files::unreadable(&error, extra))?;
    let mut waiting = vec![real];
    while let Some(path) = waiting.pop() {
        if all.len() > limits::FILES_PER_ASSET {
            let what = format!("more than {} files", limits::FILES_PER_ASSET);
            return Err(Refusal::at(Reason::InputTooLarge, &what, extra));
        }
        if !files::look(&path)?.is_dir() {
            all.insert(below(&path, root)?, path);
            continue;
        }
        let entries = std::fs::read_dir(&path).map_err(|error| files::unreadable(&error, &path))?;
        for entry in entries {
            let entry = entry.map_err(|error| files::unreadable(&error, &path))?;
            // Links could lead in circles, hidden files are nobody's input.
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if !is_link && !entry.file_name().to_string_lossy().starts_with('.') {
                waiting.push(entry.path());
            }
        }
    }
    Ok(())
}
