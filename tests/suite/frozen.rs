//! Processes that stand still for longer than two leases, and then go on as if nothing had been.
#![cfg(target_os = "linux")]

use crate::farm::{Farm, check_published, publishes, signal, staged_files};
use crate::inputs::{obj, picture};
use crate::kill_serve::check_jobs;
use crate::kill_worker::{frames_job, hosts_in, hosts_of, until_gone};
use crate::zombie::open_session;
use rustix::process::Signal;
use sawah::model::{JobId, SessionId};
use sawah::protocol::event::{Change, Event};
use sawah::protocol::problem::ProblemCode;
use sawah::protocol::view::{AttemptOutcome, FarmStatus};
use sawah::protocol::work::Heartbeat;

/// Enough work to be in the midst of it when a process is stopped.
const WORK: [&str; 8] = [
    "--set",
    "turntable_frames=24",
    "--set",
    "turntable_px=1024",
    "--set",
    "chunk_frames=24",
    "--set",
    "film=never",
];

/// The lease is long enough for a busy machine not to end one by itself.
fn farm(name: &'static str) -> Farm {
    Farm::new(name).with("SAWAH_LEASE_MS", "8000").with("SAWAH_HEARTBEAT_MS", "500")
}

/// Waits for two leases: sessions of another farm fall silent and are lost, one after the other.
async fn two_leases_pass() {
    let mut hourglass = farm("hourglass");
    let _serve = hourglass.serve().await;
    for worker in ["first", "second"] {
        let silent = open_session(&hourglass, worker).await.session;
        hourglass.events(0).await.until("a lease", |event| is_lost(event, &silent)).await;
    }
}

fn is_lost(event: &Event, of: &SessionId) -> bool {
    matches!(&event.change, Change::WorkerLeft { session, lost: true, .. } if session == of)
}

/// Which session a job runs in.
async fn session_of(farm: &Farm, job: JobId) -> SessionId {
    let history = farm.history().await;
    let session = history.iter().rev().find_map(|event| match &event.change {
        Change::JobChanged { job: of, session, .. } if *of == job => session.clone(),
        _ => None,
    });
    session.expect("it runs")
}

#[tokio::test]
async fn a_worker_frozen_for_two_leases_is_refused_and_works_again_in_a_new_session() {
    let mut farm = farm("frozen-worker");
    let _serve = farm.serve().await;
    let frozen = farm.worker("frozen");
    let folder = farm.new_folder("source");
    let mut events = farm.events(0).await;
    let pipeline = farm.submit([obj(&folder.join("box.obj"), None)], &WORK).await;
    let created = events.until("the job of the frames", |event| frames_job(event).is_some()).await;
    let job = frames_job(&created).expect("it is one");
    events.until_under_way(job).await;
    let old = session_of(&farm, job).await;

    // As a machine that is suspended: its stage hosts stand still with it.
    let hosts = hosts_of(frozen.pid());
    assert!(!hosts.is_empty(), "the frames are drawn in a stage host");
    hosts.iter().chain([&frozen.pid()]).for_each(|pid| signal(*pid, Signal::STOP));
    let other = farm.worker("other");
    two_leases_pass().await;
    let lost = events.until("the loss of the session", |event| is_lost(event, &old)).await;
    events.until_under_way(job).await;
    assert_eq!(hosts_of(frozen.pid()), hosts, "they still stand");

    // Two of them draw the same frames now; one is told to stop.
    let seq = farm.get::<FarmStatus>("/v1/status").await.seq;
    hosts.iter().chain([&frozen.pid()]).for_each(|pid| signal(*pid, Signal::CONT));
    for host in hosts {
        until_gone(host).await;
    }
    farm.events(seq).await.until_joined("frozen").await;
    assert_eq!(staged_files(&farm.work_folder("frozen")), Vec::<std::path::PathBuf>::new());
    let beat = format!("/v1/sessions/{old}/heartbeat");
    let (_, problem) = farm.refused(&beat, &Heartbeat { running: Vec::new() }).await;
    assert_eq!(problem.code, ProblemCode::UnknownSession);

    events.until_succeeded(pipeline).await;
    check_published(&farm.pipeline(pipeline).await);
    let attempts = farm.job(job).await.attempts;
    let told: Vec<_> =
        attempts.iter().map(|attempt| (attempt.worker.as_str(), attempt.outcome)).collect();
    assert_eq!(told.first(), Some(&("frozen", AttemptOutcome::Lost)), "{attempts:#?}");
    assert_eq!(told.get(1).map(|(worker, _)| *worker), Some("other"), "{attempts:#?}");
    let accepted = told.iter().filter(|(_, outcome)| *outcome == AttemptOutcome::Succeeded);
    assert_eq!(accepted.count(), 1, "{attempts:#?}");
    let history = farm.history().await;
    assert_eq!(publishes(&history, pipeline), (1, 1));
    let later = history.iter().filter(|event| event.seq > lost.seq);
    let reported = later.filter(|event| matches!(&event.change, Change::JobChanged { session: Some(session), .. } if *session == old));
    assert_eq!(reported.count(), 0, "the frozen session changed something after it was lost");

    // In its new session it works like any other.
    assert_eq!(other.stop().await, Some(0), "a worker ends orderly");
    let next = picture(&folder.join("next.png"), 32, 32);
    let next = farm.submit([next], &["--recipe", "quick"]).await;
    farm.events(0).await.until_succeeded(next).await;
    let jobs = farm.pipeline(next).await.jobs;
    let mut attempts = jobs.iter().flat_map(|job| &job.attempts);
    assert!(attempts.all(|attempt| attempt.worker == "frozen"), "{jobs:#?}");
    assert_eq!(frozen.stop().await, Some(0), "a worker ends orderly");
    assert_eq!(hosts_in(farm.root()), Vec::<u32>::new(), "stage hosts are left");
}

#[tokio::test]
async fn a_coordinator_frozen_for_two_leases_uses_no_attempt_and_loses_nothing() {
    let mut farm = farm("frozen-serve");
    let serve = farm.serve().await;
    let workers = [farm.worker("render-01"), farm.worker("render-02")];
    let folder = farm.new_folder("source");
    let mut events = farm.events(0).await;
    let mut pipelines = vec![farm.submit([obj(&folder.join("box.obj"), None)], &WORK).await];
    let created = events.until("the job of the frames", |event| frames_job(event).is_some()).await;
    let job = frames_job(&created).expect("it is one");
    for name in ["one", "two"] {
        let source = picture(&folder.join(format!("{name}.png")), 64, 64);
        pipelines.push(farm.submit([source], &["--recipe", "quick"]).await);
    }
    events.until_under_way(job).await;

    let hosts: Vec<u32> = workers.iter().flat_map(|worker| hosts_of(worker.pid())).collect();
    signal(serve.pid(), Signal::STOP);
    two_leases_pass().await;
    for host in hosts {
        until_gone(host).await;
    }
    signal(serve.pid(), Signal::CONT);

    for pipeline in &pipelines {
        farm.events(0).await.until_succeeded(*pipeline).await;
    }
    let history = farm.history().await;
    let lost = |event: &&Event| matches!(&event.change, Change::WorkerLeft { lost: true, .. });
    assert_eq!(history.iter().filter(lost).count(), 0, "it blames nobody for its own sleep");
    for pipeline in &pipelines {
        let detail = farm.pipeline(*pipeline).await;
        check_published(&detail);
        check_jobs(&detail);
        assert_eq!(publishes(&history, *pipeline), (1, 1));
        for job in &detail.jobs {
            assert_eq!(job.job.attempt, 1, "an attempt was used up: {job:#?}");
        }
    }
    for worker in workers {
        assert_eq!(worker.stop().await, Some(0), "a worker ends orderly");
    }
    assert_eq!(hosts_in(farm.root()), Vec::<u32>::new(), "stage hosts are left");
}
