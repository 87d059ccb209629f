//! The coordinator dies at ten different moments, as by a power cut, and starts again each time.

use crate::farm::{Farm, Process, check_published, files_under, publishes, staged_files};
use crate::inputs::{glb, obj, picture, stl};
use rusqlite::{Connection, OpenFlags};
use sawah::model::{PipelineId, PipelineStatus};
use sawah::protocol::view::{AttemptOutcome, FarmStatus, JobView, PipelineDetail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// After how many events, from the first claim on, each kill comes: in the midst of ingest, of
/// inspect, of renders, of publishes. The gaps grow so that no two fall on the same step.
const MOMENTS: [u64; 10] = [1, 6, 13, 21, 30, 40, 51, 63, 76, 90];

const SETTINGS: [&str; 10] = [
    "--set",
    "still_px=64",
    "--set",
    "thumbnails_px=[32]",
    "--set",
    "turntable_frames=4",
    "--set",
    "turntable_px=32",
    "--set",
    "chunk_frames=2",
];

#[tokio::test]
async fn a_coordinator_killed_ten_times_loses_nothing_and_publishes_once() {
    let mut farm = Farm::new("kill-serve");
    let mut serve = farm.serve().await;
    let pipelines = submit_all(&farm).await;
    let before = farm.get::<FarmStatus>("/v1/status").await.seq;
    let worker = farm.worker("render-01");

    for moment in MOMENTS {
        let seq = before + moment;
        let mut events = farm.events(before).await;
        events.until(&format!("event {seq}"), |event| event.seq >= seq).await;
        assert!(is_any_running(&farm, &pipelines).await, "all was done before event {seq}");
        serve.kill_hard().await;
        serve = farm.serve_again().await;
    }

    let mut events = farm.events(0).await;
    for pipeline in &pipelines {
        // Those that ended before are in the past of the stream, so each has its own.
        farm.events(0).await.until_succeeded(*pipeline).await;
    }
    let exported = |event: &sawah::protocol::event::Event| {
        matches!(event.change, sawah::protocol::event::Change::Exported { .. })
    };
    for _ in &pipelines {
        events.until("the export of every pipeline", exported).await;
    }
    check_all(&farm, &pipelines).await;
    end_all(worker, serve).await;
    check_leftovers(&farm);
}

async fn submit_all(farm: &Farm) -> Vec<PipelineId> {
    let folder = farm.new_folder("source");
    let sources = [
        obj(&folder.join("box.obj"), None),
        stl(&folder.join("stone.stl")),
        glb(&folder.join("crate.glb")),
        picture(&folder.join("leaf.png"), 48, 32),
    ];
    let mut pipelines = Vec::new();
    for source in sources {
        pipelines.push(farm.submit([source], &SETTINGS).await);
    }
    pipelines
}

async fn is_any_running(farm: &Farm, pipelines: &[PipelineId]) -> bool {
    for pipeline in pipelines {
        if farm.pipeline(*pipeline).await.pipeline.status == PipelineStatus::Running {
            return true;
        }
    }
    false
}

/// Every pipeline ended right, each step was committed once, each result was published once.
async fn check_all(farm: &Farm, pipelines: &[PipelineId]) {
    let history = farm.history().await;
    for pipeline in pipelines {
        let detail = farm.pipeline(*pipeline).await;
        assert_eq!(detail.pipeline.status, PipelineStatus::Succeeded, "{:#?}", detail.pipeline);
        assert_eq!(publishes(&history, *pipeline), (1, 1), "pipeline {pipeline}");
        check_published(&detail);
        check_jobs(&detail);
    }
    let jobs: Vec<JobView> = farm.get("/v1/jobs?limit=1000").await;
    assert!(jobs.iter().all(|job| job.state.is_terminal()), "{jobs:#?}");
}

/// Each part was made once, by one attempt that succeeded.
pub(crate) fn check_jobs(detail: &PipelineDetail) {
    let mut parts = BTreeSet::new();
    for job in &detail.jobs {
        assert!(parts.insert((job.job.stage, job.job.chunk)), "made twice: {:#?}", job.job);
        let succeeded = |outcome| outcome == AttemptOutcome::Succeeded;
        let count = job.attempts.iter().filter(|attempt| succeeded(attempt.outcome)).count();
        assert_eq!(count, 1, "one attempt succeeds: {job:#?}");
        let running = AttemptOutcome::Running;
        assert!(job.attempts.iter().all(|attempt| attempt.outcome != running), "{job:#?}");
        let epochs: Vec<_> = job.attempts.iter().map(|attempt| attempt.epoch).collect();
        assert!(epochs.windows(2).all(|pair| pair[0] < pair[1]), "{job:#?}");
    }
}

#[cfg(unix)]
async fn end_all(worker: Process, serve: Process) {
    assert_eq!(worker.stop().await, Some(0), "a worker ends orderly");
    assert_eq!(serve.stop().await, Some(0), "a coordinator ends orderly");
}

#[cfg(not(unix))]
async fn end_all(worker: Process, serve: Process) {
    worker.kill_hard().await;
    serve.kill_hard().await;
}

/// SQLite finds no fault in the database of a farm that is closed.
pub(crate) fn check_database(farm: &Farm) {
    let database = farm.folder().join("sawah.db");
    let database = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE);
    let integrity: String = database
        .expect("the database opens")
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("the database can be read");
    assert_eq!(integrity, "ok");
}

/// The database is whole, and nothing half-done lies anywhere.
fn check_leftovers(farm: &Farm) {
    check_database(farm);
    let none = Vec::<PathBuf>::new();
    let folder = farm.folder();
    assert_eq!(files_under(&folder.join("incoming")), none, "incoming");
    assert_eq!(files_under(&folder.join("staging")), none, "staging of the farm");
    assert_eq!(staged_files(&farm.work_folder("render-01")), none, "staging of the worker");
    assert_eq!(half_written(folder), none, "half-written files");
    assert!(!folder.join("runtime.json").exists(), "runtime.json goes with its coordinator");
    for name in files_under(&folder.join("store")) {
        let bytes = std::fs::read(folder.join("store").join(&name)).expect("it can be read");
        let checksum = sawah::model::Checksum::of(&bytes).to_string();
        assert_eq!(name.file_name(), Some(checksum.as_ref()), "a file in the content store");
    }
}

/// Files that were begun and not ended.
pub(crate) fn half_written(folder: &Path) -> Vec<PathBuf> {
    let mut files = files_under(folder);
    files.retain(|path| {
        path.extension().is_some_and(|suffix| suffix == "part" || suffix == "tmp")
            || path.iter().any(|part| part.to_string_lossy().starts_with(".tmp"))
    });
    files
}
