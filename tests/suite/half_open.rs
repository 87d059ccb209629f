//! The line to a worker goes dead without an end: bytes are swallowed, nothing is closed.
#![cfg(target_os = "linux")]

use crate::farm::{Farm, Process, bounded, check_published, publishes};
use crate::inputs::{obj, picture};
use crate::kill_worker::{SLOW, frames_job, hosts_in, hosts_of};
use crate::line::{Line, Swallow};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use sawah::clock::{Clock, SystemClock};
use sawah::model::{JobId, JobState, PipelineId};
use sawah::protocol::event::{Change, Event};
use sawah::protocol::view::{AttemptOutcome, FarmStatus};
use tokio::io::unix::AsyncFd;

fn farm(name: &'static str) -> Farm {
    Farm::new(name).with("SAWAH_LEASE_MS", "10000").with("SAWAH_HEARTBEAT_MS", "500")
}

/// Waits until these processes are gone; returns when the last one went.
async fn last_death_ms(processes: Vec<u32>) -> i64 {
    for process in processes {
        let pid = i32::try_from(process).ok().and_then(Pid::from_raw).expect("a process id");
        // One that is gone already has no handle.
        let Ok(handle) = pidfd_open(pid, PidfdFlags::NONBLOCK) else { continue };
        #[expect(
            deprecated,
            reason = "its heir is unsafe; this handle is ours alone until the end"
        )]
        let handle = AsyncFd::new(handle).expect("it can be waited for");
        bounded("the end of a stage host", handle.readable())
            .await
            .expect("it ends")
            .retain_ready();
    }
    SystemClock::start().now().wall_ms
}

/// A worker called `far` that draws frames over a line.
struct Drawing {
    far: Process,
    pipeline: PipelineId,
    job: JobId,
    hosts: Vec<u32>,
}

async fn draw_over(farm: &Farm, line: &Line) -> Drawing {
    let far = farm.worker_at("far", &line.url());
    let source = obj(&farm.new_folder("source").join("box.obj"), None);
    let mut events = farm.events(0).await;
    let pipeline = farm.submit([source], &SLOW).await;
    let created = events.until("the job of the frames", |event| frames_job(event).is_some()).await;
    let job = frames_job(&created).expect("it is one");
    events.until_under_way(job).await;
    let hosts = hosts_of(far.pid());
    assert!(!hosts.is_empty(), "the frames are drawn in a stage host");
    Drawing { far, pipeline, job, hosts }
}

/// The event that takes the job from the worker.
async fn taken(farm: &Farm, of: JobId) -> Event {
    let mut events = farm.events(0).await;
    let taken = events.until("the job being taken from the worker", |event| {
        matches!(event.change, Change::JobChanged { job, from: JobState::Processing, .. } if job == of)
    });
    taken.await
}

/// The job ran on both workers, was finished by the second, and its result is there once.
async fn check_handed_on(farm: &Farm, drawing: &Drawing, first: AttemptOutcome) {
    let detail = farm.pipeline(drawing.pipeline).await;
    check_published(&detail);
    assert_eq!(publishes(&farm.history().await, drawing.pipeline), (1, 1));
    let attempts = farm.job(drawing.job).await.attempts;
    let told: Vec<_> =
        attempts.iter().map(|attempt| (attempt.worker.as_str(), attempt.outcome)).collect();
    assert_eq!(told, [("far", first), ("near", AttemptOutcome::Succeeded)], "{attempts:#?}");
}

#[tokio::test]
async fn a_worker_behind_a_dead_line_stops_before_its_lease_ends_and_comes_back() {
    let mut farm = farm("dead-line");
    let _serve = farm.serve().await;
    let line = Line::to(farm.url()).await;
    let drawing = draw_over(&farm, &line).await;
    line.swallow(Swallow::Everything);
    let near = farm.worker("near");
    let died_ms = last_death_ms(drawing.hosts.clone()).await;
    let taken = taken(&farm, drawing.job).await;
    assert!(
        died_ms <= taken.at_ms,
        "the stage host ran until {died_ms}, but the job was handed on at {}",
        taken.at_ms
    );
    farm.events(0).await.until_succeeded(drawing.pipeline).await;
    check_handed_on(&farm, &drawing, AttemptOutcome::Lost).await;

    // The line heals. What the worker still has of old connections is dead; it finds a new one.
    let seq = farm.get::<FarmStatus>("/v1/status").await.seq;
    line.swallow(Swallow::Nothing);
    farm.events(seq).await.until_joined("far").await;
    assert_eq!(near.stop().await, Some(0), "a worker ends orderly");
    let next = picture(&farm.new_folder("source").join("next.png"), 32, 32);
    let next = farm.submit([next], &["--recipe", "quick"]).await;
    farm.events(0).await.until_succeeded(next).await;
    let jobs = farm.pipeline(next).await.jobs;
    let mut attempts = jobs.iter().flat_map(|job| &job.attempts);
    assert!(attempts.all(|attempt| attempt.worker == "far"), "{jobs:#?}");
    assert_eq!(drawing.far.stop().await, Some(0), "a worker ends orderly");
    assert_eq!(hosts_in(farm.root()), Vec::<u32>::new(), "stage hosts are left");
}

/// Its beats arrive, so the coordinator would wait for it for ever; but the worker cannot know.
#[tokio::test]
async fn a_worker_that_hears_no_answers_stops_and_its_job_goes_on_elsewhere() {
    let mut farm = farm("no-answers");
    let _serve = farm.serve().await;
    let line = Line::to(farm.url()).await;
    let drawing = draw_over(&farm, &line).await;
    line.swallow(Swallow::Answers);
    let died_ms = last_death_ms(drawing.hosts.clone()).await;
    let taken = taken(&farm, drawing.job).await;
    assert!(died_ms <= taken.at_ms, "{died_ms}: {taken:#?}");
    assert!(
        matches!(taken.change, Change::JobChanged { to: JobState::Queued, .. }),
        "its goodbye arrives, and no attempt is used up: {taken:#?}"
    );
    let near = farm.worker("near");
    farm.events(0).await.until_succeeded(drawing.pipeline).await;
    check_handed_on(&farm, &drawing, AttemptOutcome::Returned).await;
    assert_eq!(farm.job(drawing.job).await.job.attempt, 1);
    assert_eq!(near.stop().await, Some(0), "a worker ends orderly");
    assert_eq!(hosts_in(farm.root()), Vec::<u32>::new(), "stage hosts are left");
}
