//! A folder is handed in as one film of its numbered pictures.

use super::neighbours::{self, Sequence};
use super::series::{by_portable_name, folder_name, frames, sequence};
use super::{Plan, Refusal, files};
use crate::model::{Reason, limits};
use std::path::{Path, PathBuf};

/// Names of strays in a message.
const STRAYS_SHOWN: usize = 3;

/// The folder's film, or why it is none.
pub(super) fn plan(folder: &Path, limit_bytes: u64) -> Result<Plan, Refusal> {
    let (pictures, others) = pictures(folder)?;
    if pictures.is_empty() {
        let what = "the folder holds no pictures";
        return Err(Refusal::at(Reason::InputNotAFile, what, folder));
    }
    let by_name = by_portable_name(&pictures);
    let names: Vec<String> = by_name.keys().cloned().collect();
    let (mut all, strays) = neighbours::series(&names);
    let (Some(series), true) = (all.pop(), all.is_empty() && strays.is_empty()) else {
        return Err(not_one_series(folder, &names));
    };
    let frames = frames(&series, &by_name);
    let mut plan = sequence(folder, folder_name(folder), &series, frames, limit_bytes)?;
    if others > 0 {
        plan.notes.push(format!("{others} files of the folder are no pictures and stay out"));
    }
    Ok(plan)
}

fn not_one_series(folder: &Path, names: &[String]) -> Refusal {
    let (all, strays) = neighbours::series(names);
    let mut parts: Vec<String> = all.iter().map(Sequence::label).collect();
    parts.extend(strays);
    let more = parts.len().saturating_sub(STRAYS_SHOWN);
    parts.truncate(STRAYS_SHOWN);
    if more > 0 {
        parts.push(format!("{more} more"));
    }
    let what = format!(
        "the folder's pictures are not one numbered series, but {}; put each series in a folder of its own, or hand in single pictures by name",
        parts.join(", ")
    );
    Refusal::at(Reason::InputMixedSequence, &what, folder)
}

/// Pictures of a folder, and how many other files it has. Hidden files are not looked at.
fn pictures(folder: &Path) -> Result<(Vec<PathBuf>, usize), Refusal> {
    let failed = |error| files::unreadable(&error, folder);
    let mut found = Vec::new();
    let mut others = 0;
    for (count, entry) in std::fs::read_dir(folder).map_err(failed)?.enumerate() {
        if count >= limits::FILES_PER_ASSET {
            let what = format!("the folder has more than {} entries", limits::FILES_PER_ASSET);
            return Err(Refusal::at(Reason::InputTooLarge, &what, folder));
        }
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let path = entry.path();
        if files::is_picture(&path) {
            found.push(path);
        } else if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            others += 1;
        }
    }
    Ok((found, others))
}
