//! A worker dies in mid-render, as by a power cut: another one finishes, and one result is there.
#![cfg(target_os = "linux")]

use crate::farm::{Farm, bounded, check_published, publishes, signal, staged_files};
use crate::inputs::obj;
use rustix::process::Signal;
use sawah::model::{Chunk, JobId, JobState, Reason, Stage};
use sawah::protocol::event::{Change, Event};
use sawah::protocol::view::{AttemptOutcome, FarmStatus};
use std::fs;
use std::path::Path;

/// Enough work for the worker to be in the middle of it when it dies.
pub(crate) const SLOW: [&str; 8] = [
    "--set",
    "turntable_frames=48",
    "--set",
    "turntable_px=1024",
    "--set",
    "chunk_frames=48",
    "--set",
    "film=never",
];

/// The job that draws frames, when it is created.
pub(crate) fn frames_job(event: &Event) -> Option<JobId> {
    match event.change {
        Change::JobCreated { job, stage: Stage::Render, chunk: Chunk::Frames { .. }, .. } => {
            Some(job)
        }
        _ => None,
    }
}

/// Stage hosts that a worker has started.
pub(crate) fn hosts_of(worker: u32) -> Vec<u32> {
    let mut hosts = Vec::new();
    for entry in fs::read_dir("/proc").expect("proc is there").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let command = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        let is_child = parent.is_some_and(|parent| parent.trim() == worker.to_string());
        if is_child && command.split('\0').any(|word| word == "stage-host") {
            hosts.push(pid);
        }
    }
    hosts
}

/// Stage hosts whose work folder lies under `folder`, whoever started them.
pub(crate) fn hosts_in(folder: &Path) -> Vec<u32> {
    let mut hosts = Vec::new();
    for entry in fs::read_dir("/proc").expect("proc is there").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
        let command = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        let works_there =
            fs::read_link(entry.path().join("cwd")).is_ok_and(|at| at.starts_with(folder));
        if works_there && command.split('\0').any(|word| word == "stage-host") {
            hosts.push(pid);
        }
    }
    hosts
}

/// Waits until a process is gone.
pub(crate) async fn until_gone(pid: u32) {
    let mut tail = tokio::process::Command::new("tail");
    tail.arg(format!("--pid={pid}")).args(["-f", "/dev/null"]).kill_on_drop(true);
    let status = bounded("the end of a stage host", tail.status()).await;
    assert!(status.expect("tail can be run").success());
}

#[tokio::test]
async fn another_worker_finishes_what_a_killed_one_began() {
    let mut farm =
        Farm::new("kill-worker").with("SAWAH_LEASE_MS", "6000").with("SAWAH_HEARTBEAT_MS", "500");
    let _serve = farm.serve().await;
    let first = farm.worker("first");
    let source = obj(&farm.new_folder("source").join("box.obj"), None);
    let mut events = farm.events(0).await;
    let pipeline = farm.submit([source], &SLOW).await;

    let created = events.until("the job of the frames", |event| frames_job(event).is_some()).await;
    let job = frames_job(&created).expect("it is one");
    events.until_job_is(job, JobState::Processing).await;
    events.until_under_way(job).await;
    let hosts = hosts_of(first.pid());
    assert!(!hosts.is_empty(), "the frames are drawn in a stage host");
    first.kill_hard().await;
    for host in hosts {
        until_gone(host).await;
    }
    assert!(!staged_files(&farm.work_folder("first")).is_empty(), "it died in the middle");

    let second = farm.worker("second");
    let lost = events.until("the loss of the job", |event| {
        matches!(&event.change, Change::JobChanged { job: of, to: JobState::RetryScheduled, failure: Some(failure), .. }
            if *of == job && failure.reason == Reason::LeaseLost)
    });
    lost.await;
    events.until_succeeded(pipeline).await;

    let detail = farm.pipeline(pipeline).await;
    check_published(&detail);
    let attempts = farm.job(job).await.attempts;
    let told: Vec<_> =
        attempts.iter().map(|attempt| (attempt.worker.as_str(), attempt.outcome)).collect();
    assert_eq!(
        told,
        [("first", AttemptOutcome::Lost), ("second", AttemptOutcome::Succeeded)],
        "{attempts:#?}"
    );
    assert!(attempts[0].epoch < attempts[1].epoch, "{attempts:#?}");
    assert_eq!(publishes(&farm.history().await, pipeline), (1, 1));

    // What the dead worker left behind goes when it comes back.
    second.kill_hard().await;
    let _first_again = farm.worker("first");
    events.until_joined("first").await;
    assert_eq!(staged_files(&farm.work_folder("first")), Vec::<std::path::PathBuf>::new());
}

#[tokio::test]
async fn an_outage_of_the_coordinator_uses_no_attempt() {
    let mut farm =
        Farm::new("outage").with("SAWAH_LEASE_MS", "3000").with("SAWAH_HEARTBEAT_MS", "500");
    let serve = farm.serve().await;
    let worker = farm.worker("render-01");
    let source = obj(&farm.new_folder("source").join("box.obj"), None);
    let mut events = farm.events(0).await;
    let pipeline = farm.submit([source], &SLOW).await;
    let created = events.until("the job of the frames", |event| frames_job(event).is_some()).await;
    let job = frames_job(&created).expect("it is one");
    events.until_under_way(job).await;

    // The worker cannot tell a stopped coordinator from one that hands its jobs on: it stops them.
    let hosts = hosts_of(worker.pid());
    signal(serve.pid(), Signal::STOP);
    for host in hosts {
        until_gone(host).await;
    }
    signal(serve.pid(), Signal::CONT);
    farm.events(0).await.until_succeeded(pipeline).await;

    check_published(&farm.pipeline(pipeline).await);
    let detail = farm.job(job).await;
    let outcomes: Vec<_> = detail.attempts.iter().map(|attempt| attempt.outcome).collect();
    assert_eq!(outcomes, [AttemptOutcome::Returned, AttemptOutcome::Succeeded], "{detail:#?}");
    assert_eq!(detail.job.attempt, 1, "{detail:#?}");
}

#[tokio::test]
async fn a_worker_follows_its_coordinator_to_another_port() {
    let mut farm = Farm::new("moved");
    let first = farm.serve().await;
    let _worker = farm.worker_of_folder("render-01");
    farm.events(0).await.until_joined("render-01").await;
    let seq = farm.get::<FarmStatus>("/v1/status").await.seq;
    let old = farm.url().to_owned();
    first.kill_hard().await;
    let _second = farm.serve().await;
    assert_ne!(farm.url(), old, "the system gives another free port");
    farm.events(seq).await.until_joined("render-01").await;
}
