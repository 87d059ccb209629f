use super::Farm;
use crate::model::{JobState, Mode, Target};
use crate::protocol::event::Change;
use crate::store::StoreError;

fn queue(name: &str) -> Target {
    Target::Queue { queue: name.into() }
}

fn worker(name: &str) -> Target {
    Target::Worker { worker: name.into() }
}

impl Farm {
    async fn control(&self, target: Target, mode: Mode) -> u64 {
        let view = self.store.set_control(target, mode, "ana", "maintenance").await.unwrap();
        assert_eq!(view.mode, mode);
        view.running
    }
}

#[tokio::test]
async fn a_paused_or_draining_queue_hands_out_nothing_and_what_runs_goes_on() {
    for mode in [Mode::Paused, Mode::Draining] {
        let mut farm = Farm::open();
        let w1 = farm.worker("w1", &[]).await;
        farm.submit("dragon", "v1").await;
        farm.submit("gear", "v1").await;
        let (job, fence) = farm.begin(&w1).await;
        assert_eq!(farm.control(queue("ingest"), mode).await, 1, "one of it still runs");
        assert!(farm.claim(&w1, 10).await.is_empty(), "{mode}");
        farm.store.complete(job.job_id, &fence, super::result_of(&job)).await.unwrap();
        let next = farm.claim(&w1, 10).await;
        assert_eq!(next.len(), 1, "other queues go on");
        assert_eq!(farm.store.controls().await.unwrap()[0].running, 0, "the drain is done");
        farm.control(queue("ingest"), Mode::Running).await;
        assert_eq!(farm.claim(&w1, 10).await.len(), 1);
        farm.check().await;
    }
}

#[tokio::test]
async fn a_paused_or_draining_farm_hands_out_nothing() {
    for mode in [Mode::Paused, Mode::Draining] {
        let mut farm = Farm::open();
        let w1 = farm.worker("w1", &[]).await;
        farm.submit("dragon", "v1").await;
        farm.control(Target::Farm, mode).await;
        assert!(farm.claim(&w1, 10).await.is_empty());
        let drain = farm.store.told(&w1.id).await.unwrap().drain;
        assert_eq!(drain, mode == Mode::Draining, "a drain is told to every worker");
        farm.control(Target::Farm, Mode::Running).await;
        assert!(!farm.store.told(&w1.id).await.unwrap().drain);
        assert_eq!(farm.claim(&w1, 10).await.len(), 1);
        farm.check().await;
    }
}

#[tokio::test]
async fn a_draining_worker_gets_nothing_new_is_told_so_and_keeps_what_it_runs() {
    let mut farm = Farm::open();
    let (w1, w2) = (farm.worker("w1", &[]).await, farm.worker("w2", &[]).await);
    farm.submit("dragon", "v1").await;
    farm.submit("gear", "v1").await;
    let (job, fence) = farm.begin(&w1).await;
    assert_eq!(farm.control(worker("w1"), Mode::Draining).await, 1);
    assert!(farm.claim(&w1, 10).await.is_empty());
    let told = farm.store.told(&w1.id).await.unwrap();
    assert!(told.drain && told.held == [(job.job_id, job.epoch.0)]);
    assert!(!farm.store.told(&w2.id).await.unwrap().drain);
    let state = farm.store.complete(job.job_id, &fence, super::result_of(&job)).await.unwrap();
    assert_eq!(state, JobState::Succeeded);
    assert!(farm.claim(&w1, 10).await.is_empty());
    assert_eq!(farm.claim(&w2, 10).await.len(), 2, "the others work on");
    farm.control(worker("w1"), Mode::Paused).await;
    assert!(farm.claim(&w1, 10).await.is_empty());
    assert!(!farm.store.told(&w1.id).await.unwrap().drain, "paused: it may go on asking");
    farm.check().await;
}

#[tokio::test]
async fn what_was_ordered_holds_after_a_restart_and_for_a_worker_that_comes_back() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    farm.control(worker("w1"), Mode::Draining).await;
    farm.control(queue("render.preview"), Mode::Paused).await;
    farm.store.close().await;
    farm.reopen();
    let targets: Vec<_> =
        farm.store.controls().await.unwrap().into_iter().map(|view| view.target).collect();
    assert_eq!(targets, [queue("render.preview"), worker("w1")]);
    assert!(farm.store.told(&w1.id).await.unwrap().drain);
    farm.store.close_session(&w1.id, true).await.unwrap();
    let again = farm.worker("w1", &[]).await;
    assert!(farm.store.told(&again.id).await.unwrap().drain);
    assert!(farm.claim(&again, 10).await.is_empty());
}

#[tokio::test]
async fn each_order_is_in_the_audit_once() {
    let farm = Farm::open();
    for mode in [Mode::Paused, Mode::Paused, Mode::Draining, Mode::Running, Mode::Running] {
        farm.control(queue("ingest"), mode).await;
    }
    let events = farm.store.events_after(0, 100).await.unwrap();
    let said: Vec<_> = events
        .iter()
        .map(|event| match &event.change {
            Change::ControlChanged { from, mode, reason, .. } => {
                assert_eq!(
                    (event.actor.as_str(), reason.as_str()),
                    ("operator ana", "maintenance")
                );
                (*from, *mode)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let (running, paused, draining) = (Mode::Running, Mode::Paused, Mode::Draining);
    assert_eq!(said, [(running, paused), (paused, draining), (draining, running)]);
    farm.check().await;
}

#[tokio::test]
async fn queues_that_are_not_there_and_empty_names_are_refused() {
    let farm = Farm::open();
    let set = |target| farm.store.set_control(target, Mode::Paused, "ana", "");
    assert!(matches!(set(queue("rendering")).await, Err(StoreError::NotFound(_))));
    assert!(matches!(set(worker(" ")).await, Err(StoreError::Invalid(_))));
    assert!(farm.store.controls().await.unwrap().is_empty());
    assert!(farm.store.events_after(0, 100).await.unwrap().is_empty());
}
