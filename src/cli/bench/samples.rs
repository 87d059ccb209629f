//! What is handed in to measure: shots of one frame a job, like a long render.

use super::BenchError;
use crate::model::{AssetKind, Checksum, SessionId, Stage};
use crate::protocol::submit::{SourceFile, Submission};
use crate::protocol::work::{Assignment, Capabilities, Completion, OpenSession, StageReport};
use crate::recipes::Recipe;
use std::collections::BTreeMap;

/// The bytes of every source file here.
pub(super) const BYTES: &[u8] = b"sawah bench\n";

/// A shot to submit, of its own name.
pub(super) fn submission(asset: &str) -> Result<Submission, BenchError> {
    let name = format!("{asset}.0001.png");
    let file = SourceFile {
        name: name.clone(),
        checksum: Checksum::of(BYTES),
        size_bytes: BYTES.len() as u64,
    };
    Ok(Submission {
        asset: asset.parse().map_err(|_| BenchError::Nothing(format!("'{asset}' is no name")))?,
        source_ref: format!("/bench/{name}"),
        main_file: name,
        sequence: true,
        files: vec![file],
        missing: Vec::new(),
        recipe: Some("preview".to_owned()),
        settings: BTreeMap::from([("chunk_frames".to_owned(), "1".to_owned())]),
        project: None,
        priority: None,
        actor: "bench".to_owned(),
    })
}

/// The recipe of these submissions.
pub(super) fn recipe(shipped: &Recipe) -> Recipe {
    let mut recipe = shipped.clone();
    recipe.settings.chunk_frames = 1;
    recipe
}

/// The result of a job, with no files; transform says how many frames there are to draw.
pub(super) fn completion(job: &Assignment, frames: u32) -> Completion {
    let report = StageReport {
        kind: (job.stage == Stage::Ingest).then_some(AssetKind::Sequence),
        frame_count: (job.stage == Stage::Transform).then_some(frames),
        ..StageReport::default()
    };
    Completion { outputs: Vec::new(), report, pointer_generation: job.pointer_generation }
}

/// A worker that can do everything.
pub(super) fn capabilities() -> Capabilities {
    Capabilities {
        host: "bench".to_owned(),
        os: std::env::consts::OS.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        cores: 1,
        memory_bytes: 1 << 30,
        slots: 1,
        gpus: Vec::new(),
        programs: Vec::new(),
        paths: Vec::new(),
    }
}

/// Opens a worker's session over HTTP.
pub(super) fn open_session(number: usize) -> OpenSession {
    OpenSession {
        protocol: crate::protocol::PROTOCOL_VERSION,
        worker: format!("bench-{number}"),
        instance: format!("folder of bench-{number}"),
        capabilities: capabilities(),
    }
}

/// The session of a worker that calls the store itself.
pub(super) fn session(number: usize) -> SessionId {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&(number as u64).to_le_bytes());
    SessionId::from_random(bytes)
}
