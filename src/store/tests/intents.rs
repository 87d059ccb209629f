//! A cancel or a drain whose effect is not there after a while is applied again and audited.

use super::Farm;
use crate::clock::Clock;
use crate::coordinator::keeping;
use crate::coordinator::leases::Leases;
use crate::model::{Intent, JobId, JobState, Mode, Target, limits};
use crate::policy::watchdog::{Overdue, Watchdog};
use crate::protocol::event::Change;
use crate::protocol::work::{Assignment, Progress, RunningJob};
use crate::store::SessionRecord;
use std::sync::Mutex;

/// What a coordinator keeps in memory.
struct Keeper {
    leases: Mutex<Leases>,
    watchdog: Mutex<Watchdog>,
}

impl Keeper {
    fn new() -> Self {
        Self {
            leases: Mutex::new(Leases::new(limits::LEASE_MS, 1_000)),
            watchdog: Mutex::new(Watchdog::default()),
        }
    }

    fn join(&self, record: &SessionRecord) {
        let (session, worker) = (record.id.clone(), record.worker.clone());
        let mut leases = self.leases.lock().unwrap();
        leases.open(session, worker, record.capabilities.clone(), 0);
    }

    async fn beat(&self, farm: &Farm, worker: &SessionRecord, job: &Assignment) -> keeping::Answer {
        let progress = Progress::default();
        let running = [RunningJob { job: job.job_id, epoch: job.epoch, progress }];
        let now_ms = farm.clock.now().mono_ms;
        keeping::beat(&farm.store, &self.leases, &worker.id, &running, now_ms).await.unwrap()
    }

    async fn look(&self, farm: &Farm) -> Vec<Overdue> {
        let now_ms = farm.clock.now().mono_ms;
        keeping::look_after(&farm.store, &self.leases, &self.watchdog, now_ms).await.unwrap()
    }
}

/// Intents in the audit, with the jobs that they reached and those that still run.
async fn told(farm: &Farm) -> Vec<(Intent, u32, u32)> {
    let events = farm.store.events_after(0, 1_000).await.unwrap();
    let intents = events.into_iter().filter_map(|event| match event.change {
        Change::IntentApplied { intent, jobs, running, .. } => Some((intent, jobs, running)),
        _ => None,
    });
    intents.collect()
}

#[tokio::test]
async fn a_cancel_that_did_not_reach_a_running_job_is_applied_again() {
    let mut farm = Farm::open();
    let keeper = Keeper::new();
    let worker = farm.worker("w1", &[]).await;
    keeper.join(&worker);
    let pipeline = farm.submit("dragon", "x").await.pipeline;
    let (job, _) = farm.begin(&worker).await;
    // As after a half-applied cancel of an older version.
    let db = rusqlite::Connection::open(farm.folder.path().join("sawah.db")).unwrap();
    let cancelled = "UPDATE pipeline SET status = 'cancelled', finished_ms = 1800000000000";
    db.execute(cancelled, []).unwrap();
    assert!(keeper.look(&farm).await.is_empty(), "it may be on its way");
    farm.pass_ms(60_000);
    assert_eq!(keeper.look(&farm).await.len(), 1);
    assert_eq!(farm.store.job(job.job_id).await.unwrap().job.state, JobState::Cancelled);
    assert_eq!(told(&farm).await, [(Intent::Cancel { pipeline }, 1, 0)]);
    assert_eq!(keeper.beat(&farm, &worker, &job).await.stop, [job.job_id]);
    farm.pass_ms(600_000);
    assert_eq!(told(&farm).await.len(), 1);
}

#[tokio::test]
async fn a_worker_that_runs_a_cancelled_job_on_is_told_again_and_that_is_audited() {
    let mut farm = Farm::open();
    let keeper = Keeper::new();
    let worker = farm.worker("w1", &[]).await;
    keeper.join(&worker);
    let pipeline = farm.submit("dragon", "x").await.pipeline;
    let (job, _) = farm.begin(&worker).await;
    farm.store.cancel_pipeline(pipeline, "ana", "").await.unwrap();
    for _ in 0..6 {
        assert_eq!(keeper.beat(&farm, &worker, &job).await.stop, [job.job_id]);
        assert!(keeper.look(&farm).await.is_empty(), "its patience is not over");
        farm.pass_ms(10_000);
    }
    keeper.beat(&farm, &worker, &job).await;
    let stop = Intent::Stop { job: job.job_id, worker: "w1".into() };
    assert_eq!(keeper.look(&farm).await[0].intent, stop);
    assert_eq!(keeper.beat(&farm, &worker, &job).await.stop, [job.job_id]);
    assert_eq!(told(&farm).await, [(stop, 0, 1)]);
    farm.check().await;
}

#[tokio::test]
async fn a_drain_that_does_not_end_gives_back_what_has_not_begun_and_tells_what_runs() {
    let mut farm = Farm::open();
    let keeper = Keeper::new();
    let worker = farm.worker("w1", &[]).await;
    keeper.join(&worker);
    farm.submit("a", "x").await;
    farm.submit("b", "x").await;
    let (running, _) = farm.begin(&worker).await;
    let claimed: JobId = farm.claim(&worker, 1).await[0].job_id;
    let target = || Target::Worker { worker: "w1".into() };
    farm.store.set_control(target(), Mode::Draining, "ana", "update").await.unwrap();
    farm.pass_ms(599_000);
    assert!(keeper.look(&farm).await.is_empty(), "what runs may end by itself");
    farm.pass_ms(1_000);
    assert_eq!(keeper.look(&farm).await.len(), 1);
    let job = farm.store.job(claimed).await.unwrap().job;
    assert_eq!((job.state, job.attempt), (JobState::Queued, 0), "no attempt is used");
    let state = farm.store.job(running.job_id).await.unwrap().job.state;
    assert_eq!(state, JobState::Processing, "what has begun is not cut off");
    assert!(keeper.beat(&farm, &worker, &running).await.drain, "the worker is told again");
    farm.pass_ms(10_000);
    assert!(keeper.look(&farm).await.is_empty());
    assert_eq!(told(&farm).await, [(Intent::Drain { target: target() }, 1, 1)]);
    farm.check().await;
}
