//! The source files of an asset, as the first three stages see them.

use super::StageRequest;
use super::failure::failure_from_io;
use super::formats::sequence::{self, Sequence};
use super::formats::{Format, sniff_file};
use crate::model::{AssetKind, Reason};
use crate::protocol::work::{Failure, InputFile};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Component, Path, PathBuf};

/// The source files of a request.
#[derive(Debug)]
pub(super) struct Source<'a> {
    /// The folder they lie in.
    pub root: PathBuf,
    /// The file that names the asset.
    pub main: PathBuf,
    /// Its name relative to the folder.
    pub main_name: &'a str,
    /// All of them.
    pub files: Vec<&'a InputFile>,
}

impl<'a> Source<'a> {
    /// Of a request. Fails when a name would leave the folder.
    pub(super) fn of(request: &'a StageRequest) -> Result<Self, Failure> {
        let root = request.input_dir.join("source");
        let assignment = &request.assignment;
        let files: Vec<&InputFile> =
            assignment.dependencies.iter().filter(|file| file.made_by.is_none()).collect();
        let main_name = assignment.input.main_file.as_str();
        for file in &files {
            below(&root, &file.name)?;
        }
        let main = below(&root, main_name)?;
        Ok(Self { root, main, main_name, files })
    }

    /// Where a file lies.
    pub(super) fn path(&self, name: &str) -> Result<PathBuf, Failure> {
        below(&self.root, name)
    }

    /// What the asset is: several pictures are a sequence, since pictures name no side files.
    pub(super) fn kind(&self, known: Option<AssetKind>, format: Format) -> AssetKind {
        match (known, format.kind()) {
            (Some(known), _) => known,
            (None, AssetKind::Image) if self.files.len() > 1 => AssetKind::Sequence,
            (None, kind) => kind,
        }
    }

    /// The frames in order. Fails with `input.mixed_sequence` when the names are not one sequence.
    pub(super) fn frames(&self) -> Result<Sequence, Failure> {
        let names: Vec<String> = self.files.iter().map(|file| file.name.clone()).collect();
        sequence::as_one(&names).ok_or_else(|| {
            let groups = sequence::group(&names);
            let mut found: Vec<String> = groups.sequences.iter().map(Sequence::label).collect();
            found.extend(groups.singles);
            let more = found.len().saturating_sub(6);
            found.truncate(6);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Failure::new(
                Reason::InputMixedSequence,
                format!(
                    "the files are not one numbered sequence: {}{more}. Submit each sequence by itself",
                    found.join(", ")
                ),
            )
        })
    }

    /// The format of the main file.
    pub(super) fn format(&self) -> Result<Format, Failure> {
        sniff_file(&self.main)
    }
}

/// A relative name below a folder; refused where it would leave it.
pub(super) fn below(root: &Path, name: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(name);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if name.is_empty() || !plain {
        return Err(Failure::new(
            Reason::ReferenceOutside,
            format!("a file name leaves the asset's folder. Use plain relative names. {name}"),
        ));
    }
    Ok(root.join(path))
}

/// Writes an output as JSON that people can read.
pub(super) fn write_json(value: &impl Serialize, path: &Path) -> Result<(), Failure> {
    let what = "an output could not be written";
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| Failure::new(Reason::Unexpected, format!("{what}: {error}")))?;
    bytes.push(b'\n');
    std::fs::write(path, bytes).map_err(|error| failure_from_io(&error, what, path))
}

/// Reads an output of a stage before as JSON; `what` names it: `the frame list`.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T, Failure> {
    let bytes = std::fs::read(path)
        .map_err(|error| failure_from_io(&error, &format!("{what} could not be read"), path))?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let why = format!("{what} cannot be understood: {error}. {}", path.display());
        Failure::new(Reason::OutputInvalid, why)
    })
}
