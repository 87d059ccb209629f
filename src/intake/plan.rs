//! From paths to assets: single files with their side files, folders and series of pictures.

use super::series::plan_series;
use super::{Handover, LocalFile, Plan, Planned, Refusal, files, folder, neighbours, scene};
use crate::model::{AssetName, Reason, limits};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Looks at every path of a handover. Reads only what names side files. Blocks on the disk.
pub fn plan(handover: &Handover) -> Vec<Planned> {
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
        let plan = plan_one(path, handover);
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
                one.plan = Err(Refusal::new(Reason::SettingInvalid, message));
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
    let mut by_folder: BTreeMap<&Path, Vec<OsString>> = BTreeMap::new();
    for path in &loose {
        if let Some(name) = path.file_name() {
            let folder = path.parent().unwrap_or(Path::new(""));
            by_folder.entry(folder).or_default().push(name.to_owned());
        }
    }
    let mut taken = BTreeSet::new();
    for (folder, names) in by_folder {
        for series in plan_series(folder, &names, handover.file_limit_bytes) {
            taken.extend(series.taken.iter().map(|name| folder.join(name)));
            let source = folder.join(series.label).display().to_string();
            planned.push(Planned { source, plan: series.plan });
        }
    }
    loose.into_iter().filter(|path| !taken.contains(*path)).collect()
}

/// One file with all that it needs: a mesh with its side files, a picture, or a scene. Reads what
/// names other files. The paths and the name of the handover are not looked at.
pub fn plan_one(path: &Path, handover: &Handover) -> Result<Plan, Refusal> {
    match scene::profile(path, handover)? {
        Some(profile) => scene::plan(path, &profile, handover),
        None => single(path, handover.file_limit_bytes),
    }
}

fn single(path: &Path, limit_bytes: u64) -> Result<Plan, Refusal> {
    files::regular(path, limit_bytes)?;
    let Some(file_name) = path.file_name() else {
        return Err(Refusal::at(Reason::InputNotAFile, "this names no file", path));
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
        return Err(Refusal::at(Reason::InputTooLarge, &what, path));
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
pub(super) fn reference(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.to_string_lossy().into_owned()
}
