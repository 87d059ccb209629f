//! Requests and a listener for the tests of render and assemble.

use super::{Reporter, StageRequest, fixture};
use crate::model::{AssetKind, Chunk, Stage};
use crate::recipes::Settings;
use std::path::Path;
use std::sync::Mutex;

/// A request whose inputs lie in `folder/in` and outputs in `folder/out`.
pub(super) fn request(
    folder: &Path,
    stage: Stage,
    kind: AssetKind,
    chunk: Chunk,
    settings: Settings,
) -> StageRequest {
    let (input_dir, output_dir) = (folder.join("in"), folder.join("out"));
    std::fs::create_dir_all(&input_dir).unwrap();
    std::fs::create_dir_all(&output_dir).unwrap();
    let mut assignment = fixture::assignment(stage);
    assignment.chunk = chunk;
    assignment.settings = settings;
    assignment.input.kind = Some(kind);
    StageRequest {
        assignment,
        input_dir,
        output_dir,
        workshop: super::Workshop::default(),
        stay: None,
    }
}

/// Keeps what a stage says; fails when progress falls.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) progress: Mutex<Vec<(f32, String)>>,
    pub(super) lines: Mutex<Vec<String>>,
}

impl Heard {
    pub(super) fn said(&self, text: &str) -> bool {
        let messages = self.progress.lock().unwrap();
        let lines = self.lines.lock().unwrap();
        messages.iter().map(|(_, text)| text).chain(lines.iter()).any(|line| line.contains(text))
    }
}

impl Reporter for Heard {
    fn progress(&self, percent: f32, message: &str) {
        let mut progress = self.progress.lock().unwrap();
        let before = progress.last().map_or(0.0, |(percent, _)| *percent);
        assert!(percent >= before && percent <= 100.0, "{before} then {percent} ({message})");
        progress.push((percent, message.to_owned()));
    }

    fn log(&self, line: &str) {
        self.lines.lock().unwrap().push(line.to_owned());
    }
}
