//! Requests and a listener for the tests of render and assemble.

use super::{Reporter, StageRequest};
use crate::model::{
    AssetKind, AssetName, Checksum, Chunk, Epoch, JobId, PipelineId, Stage, TraceId,
};
use crate::protocol::work::{Assignment, JobInput, JobLimits};
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
    let assignment = Assignment {
        job_id: JobId(1),
        pipeline_id: PipelineId(1),
        asset: AssetName::from_any("thing"),
        asset_version: 1,
        stage,
        chunk,
        idempotency_key: "key".into(),
        input: JobInput {
            source_ref: "thing".into(),
            checksum: Checksum::of(b"thing"),
            profile: "test".into(),
            options_ref: "test".into(),
            kind: Some(kind),
            main_file: "thing".into(),
            frame_count: None,
        },
        dependencies: Vec::new(),
        settings,
        limits: JobLimits { timeout_ms: 0, stall_ms: 0, memory_bytes: 0 },
        attempt: 1,
        max_attempts: 1,
        epoch: Epoch(1),
        trace_id: TraceId::from_random([7; 16]),
        enqueued_at_ms: 0,
        pointer_generation: 0,
    };
    StageRequest { assignment, input_dir, output_dir }
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
