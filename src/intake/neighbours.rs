//! What the formats say about a file's neighbours: side files, and frames of one film.

use super::{LocalFile, Refusal, files};
use crate::protocol::submit::MissingFile;
use crate::stages::formats::{references, sequence};
use std::path::Path;

pub(super) use sequence::Sequence;

/// The side files that a file names: those found, and those that are not there.
pub(super) fn side_files(path: &Path) -> Result<(Vec<LocalFile>, Vec<MissingFile>), Refusal> {
    let side = references::side_files(path).map_err(|error| files::unreadable(&error, path))?;
    let found = side.found.into_iter().map(|(name, path)| LocalFile { name, path }).collect();
    Ok((found, side.missing))
}

/// Names sorted into numbered series and others.
pub(super) fn series(names: &[String]) -> (Vec<Sequence>, Vec<String>) {
    let groups = sequence::group(names);
    (groups.sequences, groups.singles)
}

/// The series that a single name may be a frame of; none where it has no number.
pub(super) fn lone(name: &str) -> Option<Sequence> {
    sequence::lone(name)
}
