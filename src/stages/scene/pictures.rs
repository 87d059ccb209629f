//! What a program left: which file holds which frame, and whether it is right.

use super::super::Produced;
use super::super::frames::{Checked, Expected, FrameFacts, check};
use super::media::media_type;
use crate::model::frames::FrameList;
use crate::model::{Reason, limits};
use crate::policy::flow;
use crate::preview::{Picture, write_png};
use crate::protocol::work::{Failure, OutputFile, Warning};
use crate::renderers::output::OutputCheck;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Longest edge of the small picture of a frame, in pixels.
const THUMBNAIL_PX: u32 = 256;

/// The frames of a chunk: those that are right, and what is wrong with others.
#[derive(Debug)]
pub struct Pictures {
    /// Where the program writes: the pictures' folder and how their names begin.
    out: PathBuf,
    wanted: FrameList,
    good: BTreeMap<i32, Option<Produced>>,
    bad: BTreeMap<i32, Failure>,
    files: BTreeMap<i32, String>,
    previous: Option<FrameFacts>,
    newest: Option<(i32, Picture)>,
    /// What people should know of the pictures.
    pub warnings: Vec<Warning>,
}

impl Pictures {
    /// Of a chunk that begins; `kept` were right in an earlier attempt.
    pub fn new(out: &Path, wanted: FrameList, kept: &[OutputFile]) -> Self {
        let mut pictures = Self {
            out: out.to_owned(),
            wanted,
            good: BTreeMap::new(),
            bad: BTreeMap::new(),
            files: BTreeMap::new(),
            previous: None,
            newest: None,
            warnings: Vec::new(),
        };
        for file in kept {
            let Some(name) = file.name.strip_prefix(flow::SCENE_FOLDER) else { continue };
            if let Some(frame) = pictures.frame_of(name) {
                pictures.good.insert(frame, None);
            }
        }
        pictures
    }

    /// The frames that are still to be drawn; none where all are right.
    pub fn missing(&self) -> Option<FrameList> {
        self.wanted.filtered(|frame| !self.good.contains_key(&frame))
    }

    /// How many of the chunk's frames are right.
    pub fn done(&self) -> u32 {
        u32::try_from(self.good.len()).unwrap_or(u32::MAX)
    }

    /// Looks at the picture of a frame, once it is there; whether it is right now.
    pub fn look(&mut self, frame: i32, rules: &OutputCheck, size: Option<(u32, u32)>) -> bool {
        if self.good.contains_key(&frame) {
            return true;
        }
        let Some(name) = self.file(frame) else { return false };
        let path = self.folder().join(&name);
        let previous = self.previous.as_ref();
        let expected = Expected { check: rules, size, made_since: None, previous };
        match check(&path, &expected) {
            Ok(mut checked) => {
                self.newest = checked.take_thumbnail(THUMBNAIL_PX).map(|small| (frame, small));
                let Checked { facts, findings, .. } = checked;
                self.note(frame, findings);
                self.previous = Some(facts);
                self.bad.remove(&frame);
                self.good.insert(frame, Some(produced(&name)));
                true
            }
            Err(failure) => {
                self.bad.insert(frame, failure);
                false
            }
        }
    }

    /// A small picture of the frame that was looked at last, for people who watch; none where it
    /// cannot be shown.
    pub fn thumbnail(&mut self, frame: i32) -> Option<Produced> {
        let (of, small) = self.newest.take()?;
        let name = format!("{}{}.png", flow::THUMBNAIL_FOLDER, self.name_of(frame));
        let path = self.folder().parent()?.join(&name);
        let written = std::fs::create_dir_all(path.parent()?)
            .map_err(|_| ())
            .and_then(|()| write_png(&small, &path).map_err(|_| ()));
        // Without it nothing is wrong with the frame.
        (of == frame && written.is_ok())
            .then(|| Produced { name, media_type: "image/png".to_owned() })
    }

    /// The name of a frame without folder and suffix.
    fn name_of(&self, frame: i32) -> String {
        let file = self.files.get(&frame).map_or("", String::as_str);
        file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned()
    }

    /// The file of a frame that is right and was made in this attempt.
    pub fn made(&self, frame: i32) -> Option<&Produced> {
        self.good.get(&frame)?.as_ref()
    }

    /// All files that were made in this attempt and are right.
    pub fn all_made(&self) -> Vec<Produced> {
        self.good.values().flatten().cloned().collect()
    }

    /// Why the chunk is not whole; none where it is.
    pub fn failure(&self, title: &str) -> Option<Failure> {
        let missing = self.missing()?;
        let bad = missing.filtered(|frame| self.bad.contains_key(&frame));
        let absent = missing.filtered(|frame| !self.bad.contains_key(&frame));
        let first = self.bad.values().next();
        let mut parts = Vec::new();
        if let Some(frames) = absent {
            let made = self.found();
            parts.push(format!("{title} made no picture of {}{made}", named(&frames)));
        }
        if let (Some(frames), Some(first)) = (bad, first) {
            parts.push(format!("{} not right: {}", named(&frames), first.message));
        }
        let reason = first.map_or(Reason::OutputMissing, |first| first.reason);
        Some(Failure::new(reason, parts.join("; ")))
    }

    /// Files beside the frames, for programs whose result are files.
    pub fn others(&self) -> Vec<String> {
        let mut names = self.names();
        names
            .retain(|name| self.frame_of(name).is_none_or(|frame| !self.good.contains_key(&frame)));
        names
    }

    fn folder(&self) -> &Path {
        self.out.parent().unwrap_or(Path::new("."))
    }

    fn names(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.folder()) else { return Vec::new() };
        let files =
            entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let names = files.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.take(limits::OUTPUTS_PER_JOB).collect();
        names.sort();
        names
    }

    /// Where programs write names of their own making, people want to see them.
    fn found(&self) -> String {
        let strange: Vec<String> =
            self.names().into_iter().filter(|name| self.frame_of(name).is_none()).collect();
        match strange.as_slice() {
            [] => String::new(),
            [first, ..] => format!(", but {} other files, the first is {first}", strange.len()),
        }
    }

    fn file(&mut self, frame: i32) -> Option<String> {
        if !self.files.contains_key(&frame) {
            for name in self.names() {
                if let Some(of) = self.frame_of(&name) {
                    self.files.insert(of, name);
                }
            }
        }
        self.files.get(&frame).cloned()
    }

    /// The frame of a file: the number that stands last before the suffix.
    fn frame_of(&self, name: &str) -> Option<i32> {
        let prefix = self.out.file_name()?.to_str()?;
        let (stem, _) = name.strip_prefix(prefix)?.rsplit_once('.')?;
        let stem = stem.trim_start_matches(['.', '_']);
        let frame = stem.parse().ok()?;
        self.wanted.as_slice().contains(&frame).then_some(frame)
    }

    fn note(&mut self, frame: i32, findings: Vec<Warning>) {
        let room = limits::WARNINGS_PER_JOB.saturating_sub(self.warnings.len());
        self.warnings.extend(findings.into_iter().take(room).map(|warning| Warning {
            message: format!("frame {frame}: {}", warning.message),
            ..warning
        }));
    }
}

/// A file of the pictures' folder as an output of the job.
pub fn produced(name: &str) -> Produced {
    Produced {
        name: format!("{}{name}", flow::SCENE_FOLDER),
        media_type: media_type(name).to_owned(),
    }
}

/// `frame 7` or `frames 3, 7-9`.
fn named(frames: &FrameList) -> String {
    let word = if frames.count() == 1 { "frame" } else { "frames" };
    format!("{word} {frames}")
}
