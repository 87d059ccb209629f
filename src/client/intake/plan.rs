//! From paths to assets: single files with their side files, folders and series of pictures.

use super::neighbours::{self, Sequence};
use super::{Handover, IntakeError, LocalFile, Plan, Planned, files, folder, scene};
use crate::model::{AssetName, Reason, limits};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Loose files of one numbered series become one film from this many on.
const SERIES_FILES: usize = 3;

/// Looks at every path. Reads only what names side files.
pub(super) fn plan(handover: &Handover) -> Vec<Planned> {
    let mut seen = BTreeSet::new();
    let paths: Vec<&PathBuf> = handover.paths.iter().filter(|path| seen.insert(*path)).collect();
    let mut planned = Vec::new();
    let mut loose = Vec::new();
    for path in paths {
        match files::look(path) {
            Ok(metadata) if metadata.is_dir() => planned.push(Planned {
                source: path.display().to_string(),
                plan: folder::plan(path, handover.file_limit_bytes),
            }),
            Ok(_) => loose.push(path.as_path()),
            Err(refusal) => {
                planned.push(Planned { source: path.display().to_string(), plan: Err(refusal) });
            }
        }
    }
    let singles =
        if handover.separate { loose } else { take_series(loose, handover, &mut planned) };
    for path in singles {
        let plan = one(path, handover);
        planned.push(Planned { source: path.display().to_string(), plan });
    }
    name_them(&mut planned, handover.name.as_ref());
    planned
}

fn name_them(planned: &mut [Planned], name: Option<&AssetName>) {
    let Some(name) = name else { return };
    let count = planned.len();
    for one in planned {
        match &mut one.plan {
            Ok(plan) if count == 1 => plan.asset = name.clone(),
            Ok(_) => {
                let message =
                    format!("one name cannot name {count} assets: hand them in one by one");
                one.plan = Err(IntakeError::refused(Reason::SettingInvalid, message));
            }
            Err(_) => {}
        }
    }
}

/// Takes the series out of loose files; what is left stays in its order.
fn take_series<'a>(
    loose: Vec<&'a Path>,
    handover: &Handover,
    planned: &mut Vec<Planned>,
) -> Vec<&'a Path> {
    let mut by_folder: BTreeMap<&Path, Vec<&Path>> = BTreeMap::new();
    for path in loose.iter().copied().filter(|path| files::is_picture(path)) {
        by_folder.entry(path.parent().unwrap_or(Path::new(""))).or_default().push(path);
    }
    let mut taken = BTreeSet::new();
    for (folder, paths) in by_folder {
        let by_name = by_portable_name(&paths);
        let names: Vec<String> = by_name.keys().cloned().collect();
        for series in neighbours::series(&names).0 {
            if series.frames.len() < SERIES_FILES {
                continue;
            }
            let frames = frames(&series, &by_name);
            taken.extend(frames.iter().map(|file| file.path.clone()));
            let source = folder.join(series.label());
            let asset = series_name(&series, folder);
            let plan = sequence(&source, asset, &series, frames, handover.file_limit_bytes);
            planned.push(Planned { source: source.display().to_string(), plan });
        }
    }
    loose.into_iter().filter(|path| !taken.contains(*path)).collect()
}

pub(super) fn by_portable_name<P: AsRef<Path>>(paths: &[P]) -> BTreeMap<String, PathBuf> {
    paths
        .iter()
        .map(AsRef::as_ref)
        .filter_map(|path| Some((files::portable_name(path.file_name()?), path.to_owned())))
        .collect()
}

pub(super) fn frames(series: &Sequence, by_name: &BTreeMap<String, PathBuf>) -> Vec<LocalFile> {
    let file = |name: &String| {
        by_name.get(name).map(|path| LocalFile { name: name.clone(), path: path.clone() })
    };
    series.frames.iter().filter_map(|frame| file(&frame.name)).collect()
}

/// A series is named by what its frames share, or by their folder where they share nothing.
fn series_name(series: &Sequence, folder: &Path) -> AssetName {
    let shared = series.prefix.trim_end_matches(['_', '-', '.', ' ']);
    if shared.is_empty() { folder_name(folder) } else { AssetName::from_any(shared) }
}

/// The name of a folder, also of `.` and `..`.
pub(super) fn folder_name(folder: &Path) -> AssetName {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let full = here.canonicalize().unwrap_or_else(|_| here.to_owned());
    AssetName::from_any(&full.file_name().unwrap_or_default().to_string_lossy())
}

/// A film of these frames.
pub(super) fn sequence(
    source: &Path,
    asset: AssetName,
    series: &Sequence,
    files: Vec<LocalFile>,
    limit_bytes: u64,
) -> Result<Plan, IntakeError> {
    let most = usize::try_from(limits::FRAMES).unwrap_or(usize::MAX);
    if files.len() > most {
        let what = format!("the series has {} frames, but at most {most} are taken", files.len());
        return Err(IntakeError::at(Reason::InputTooLarge, &what, source));
    }
    for file in &files {
        files::regular(&file.path, limit_bytes)?;
    }
    let first = files.first().ok_or_else(|| {
        IntakeError::at(Reason::InputNotAFile, "the series has no frames", source)
    })?;
    let mut notes = Vec::new();
    if let Some((from, to)) = series.gaps.first() {
        let lack = series.missing();
        notes.push(format!("{lack} frames lack in the series, the first gap is {from}-{to}"));
    }
    Ok(Plan {
        asset,
        source_ref: reference(source),
        main_file: first.name.clone(),
        sequence: true,
        files,
        missing: Vec::new(),
        notes,
        recipe: None,
        settings: BTreeMap::new(),
    })
}

fn one(path: &Path, handover: &Handover) -> Result<Plan, IntakeError> {
    match scene::profile(path, handover)? {
        Some(profile) => scene::plan(path, &profile, handover),
        None => single(path, handover.file_limit_bytes),
    }
}

fn single(path: &Path, limit_bytes: u64) -> Result<Plan, IntakeError> {
    files::regular(path, limit_bytes)?;
    let Some(file_name) = path.file_name() else {
        return Err(IntakeError::at(Reason::InputNotAFile, "this names no file", path));
    };
    let main_file = files::portable_name(file_name);
    let stem = path.file_stem().unwrap_or(file_name).to_string_lossy();
    let asset = AssetName::from_any(&stem);
    let mut notes = Vec::new();
    if asset.as_str() != stem {
        notes.push(format!("the asset is called '{asset}', since its file's name will not do"));
    }
    let (mut local, missing) = neighbours::side_files(path)?;
    local.retain(|file| file.name != main_file);
    for file in &local {
        files::regular(&file.path, limit_bytes)?;
    }
    local.push(LocalFile { name: main_file.clone(), path: path.to_owned() });
    if local.len() > limits::FILES_PER_ASSET {
        let what = format!(
            "the asset has {} files, but at most {} are taken",
            local.len(),
            limits::FILES_PER_ASSET
        );
        return Err(IntakeError::at(Reason::InputTooLarge, &what, path));
    }
    Ok(Plan {
        asset,
        source_ref: reference(path),
        main_file,
        sequence: false,
        files: local,
        missing,
        notes,
        recipe: None,
        settings: BTreeMap::new(),
    })
}

/// Where the source lies, for people who look later from another folder.
fn reference(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.to_string_lossy().into_owned()
}
