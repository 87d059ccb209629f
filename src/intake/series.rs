//! Numbered pictures that are the frames of one film.

use super::neighbours::{self, Sequence};
use super::{LocalFile, Plan, Refusal, files, native, plan};
use crate::model::{AssetName, Reason, limits};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Loose files of one numbered series become one film from this many on.
const SERIES_FILES: usize = 3;

/// A film among the files of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesPlan {
    /// Its name for people: `rain_[1-24].png`.
    pub label: String,
    /// What its frames' names have in common, whichever are there: `rain_####.png`.
    #[serde(with = "native::name")]
    pub pattern: OsString,
    /// Those of the given names that are its frames, by number.
    #[serde(with = "native::names")]
    pub taken: Vec<OsString>,
    /// The asset, or why it is none.
    pub plan: Result<Plan, Refusal>,
}

/// The numbered series of at least three pictures among these names of files in one folder.
/// `limit_bytes` is the largest single file. Names that no series took stay single files.
pub fn plan_series(folder: &Path, names: &[OsString], limit_bytes: u64) -> Vec<SeriesPlan> {
    let pictures =
        names.iter().map(|name| folder.join(name)).filter(|path| files::is_picture(path));
    let by_name = by_portable_name(&pictures.collect::<Vec<_>>());
    let names: Vec<String> = by_name.keys().cloned().collect();
    let all = neighbours::series(&names).0;
    let films = all.iter().filter(|series| series.frames.len() >= SERIES_FILES);
    films
        .map(|series| {
            let label = series.label();
            let frames = frames(series, &by_name);
            let names = frames.iter().filter_map(|frame| frame.path.file_name());
            let taken = names.map(ToOwned::to_owned).collect();
            let (source, asset) = (folder.join(&label), series_name(series, folder));
            let plan = sequence(&source, asset, series, frames, limit_bytes);
            SeriesPlan { label, pattern: pattern(series), taken, plan }
        })
        .collect()
}

/// Names of one folder that are numbered alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alike {
    /// What they have in common: `rain_####.png`.
    pub pattern: OsString,
    /// The names, by number.
    pub names: Vec<OsString>,
}

/// Sorts the names of pictures of one folder: those that are numbered by what they have in common,
/// also where there is only one of a kind, and those that are not. A version is no number.
pub fn series_of(names: &[OsString]) -> (Vec<Alike>, Vec<OsString>) {
    let paths: Vec<PathBuf> = names.iter().map(PathBuf::from).collect();
    let by_name = by_portable_name(&paths);
    let portable: Vec<String> = by_name.keys().cloned().collect();
    let (all, lone) = neighbours::series(&portable);
    let back = |name: &String| by_name.get(name).map(|path| path.as_os_str().to_owned());
    let mut alike: Vec<Alike> = all
        .iter()
        .map(|series| Alike {
            pattern: pattern(series),
            names: series.frames.iter().filter_map(|frame| back(&frame.name)).collect(),
        })
        .collect();
    let mut others = Vec::new();
    for name in &lone {
        match (neighbours::lone(name), back(name)) {
            (Some(series), Some(own)) => {
                alike.push(Alike { pattern: pattern(&series), names: vec![own] });
            }
            (None, Some(own)) => others.push(own),
            (_, None) => {}
        }
    }
    (alike, others)
}

fn pattern(series: &Sequence) -> OsString {
    format!("{}{}{}", series.prefix, "#".repeat(series.padding.max(1)), series.suffix).into()
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
) -> Result<Plan, Refusal> {
    let most = usize::try_from(limits::FRAMES).unwrap_or(usize::MAX);
    if files.len() > most {
        let what = format!("the series has {} frames, but at most {most} are taken", files.len());
        return Err(Refusal::at(Reason::InputTooLarge, &what, source));
    }
    for file in &files {
        files::regular(&file.path, limit_bytes)?;
    }
    let first = files
        .first()
        .ok_or_else(|| Refusal::at(Reason::InputNotAFile, "the series has no frames", source))?;
    let mut notes = Vec::new();
    if let Some((from, to)) = series.gaps.first() {
        let lack = series.missing();
        notes.push(format!("{lack} frames lack in the series, the first gap is {from}-{to}"));
    }
    Ok(Plan {
        asset,
        source_ref: plan::reference(source),
        main_file: first.name.clone(),
        sequence: true,
        files,
        missing: Vec::new(),
        notes,
        recipe: None,
        settings: BTreeMap::new(),
    })
}
