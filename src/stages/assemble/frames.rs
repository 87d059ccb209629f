//! Which frames are joined: their numbers, their files, and which are missing.

use super::scene::scene_frames;
use crate::model::{AssetKind, Reason};
use crate::protocol::work::Failure;
use crate::stages::StageRequest;
use crate::stages::render::{frame_file, turntable_file};
use crate::stages::source::below;
use crate::stages::transform::{FRAMES_FILE, FrameList};
use std::path::PathBuf;

/// A frame that a film should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Its number: of a turntable from 1, else as in the source or the scene.
    pub(super) number: i64,
    /// Its file, which must be there; none where it is missing.
    pub(super) file: Option<FrameFile>,
}

/// The file of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrameFile {
    /// As it is called among the outputs of render.
    pub(super) name: String,
    /// Where it lies.
    pub(super) path: PathBuf,
}

/// The frames of one asset.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frames {
    /// What it is; decides what is made beside the film.
    pub(super) kind: AssetKind,
    /// The film's name without suffix.
    pub(super) film: &'static str,
    /// By number. Of a sequence without what lies between the numbers; see [`super::gaps`].
    pub(super) wanted: Vec<Wanted>,
    /// Why a missing frame is missing: its source lacks it, or it was not drawn.
    pub(super) lack: Reason,
}

impl Frames {
    /// Of a request; none where the asset has no frames.
    pub(super) fn of(request: &StageRequest) -> Result<Option<Self>, Failure> {
        let assignment = &request.assignment;
        let (film, lack, wanted) = match assignment.input.kind {
            Some(AssetKind::Mesh) => {
                let numbers = 1..=assignment.settings.turntable_frames;
                let named = numbers.map(|index| (i64::from(index), Some(turntable_file(index))));
                ("turntable", Reason::OutputMissing, wanted(request, named)?)
            }
            Some(AssetKind::Sequence) => {
                let named = numbers_of_source(request)?
                    .into_iter()
                    .map(|(index, number)| (number, Some(frame_file(index))));
                ("film", Reason::ReferenceMissing, wanted(request, named)?)
            }
            Some(AssetKind::Scene) => {
                let scene = scene_frames(request);
                let mut frames = scene.map(|scene| scene.frames).unwrap_or_default();
                // Whatever the order they were drawn in, a film runs by number.
                frames.sort_by_key(|(number, _)| *number);
                let named = frames.into_iter().map(|(number, name)| (i64::from(number), name));
                ("film", Reason::OutputMissing, wanted(request, named)?)
            }
            Some(AssetKind::Image) | None => return Ok(None),
        };
        let kind = assignment.input.kind.unwrap_or(AssetKind::Image);
        Ok((!wanted.is_empty()).then_some(Self { kind, film, wanted, lack }))
    }

    /// The files that must be there, each with its frame's number.
    pub(super) fn there(&self) -> impl Iterator<Item = (i64, &FrameFile)> {
        self.wanted.iter().filter_map(|wanted| Some((wanted.number, wanted.file.as_ref()?)))
    }
}

fn wanted(
    request: &StageRequest,
    named: impl Iterator<Item = (i64, Option<String>)>,
) -> Result<Vec<Wanted>, Failure> {
    let folder = request.input_dir.join("render");
    named
        .map(|(number, name)| {
            let file = name.map(|name| below(&folder, &name).map(|path| FrameFile { name, path }));
            Ok(Wanted { number, file: file.transpose()? })
        })
        .collect()
}

/// Index and number of each frame of a sequence. Without a list that fits, both are the index.
fn numbers_of_source(request: &StageRequest) -> Result<Vec<(u32, i64)>, Failure> {
    let count = request.assignment.input.frame_count.unwrap_or(0);
    let plain = || (1..=count).map(|index| (index, i64::from(index))).collect();
    let path = request.input_dir.join("transform").join(FRAMES_FILE);
    if !path.is_file() {
        return Ok(plain());
    }
    let list: FrameList = crate::stages::source::read_json(&path, "the frame list")?;
    let numbers: Vec<(u32, i64)> =
        list.frames.iter().map(|frame| (frame.index, frame.number)).collect();
    let fits = numbers.len() == count as usize
        && (1..).zip(&numbers).all(|(index, frame): (u32, _)| index == frame.0)
        && numbers.is_sorted_by(|a, b| a.1 < b.1);
    Ok(if fits { numbers } else { plain() })
}
