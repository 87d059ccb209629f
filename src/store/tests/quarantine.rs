use super::Farm;
use crate::clock::Clock;
use crate::model::{JobState, PipelineId, Reason};
use crate::protocol::event::Change;
use crate::protocol::work::Failure;
use crate::store::{Page, Store, StoreError};
use std::sync::Arc;

const ALL: Page = Page { before: None, limit: 100 };

fn crash(number: u32) -> Failure {
    Failure::new(Reason::GpuLost, format!("the driver went away, crash {number}"))
}

/// Fails the first jobs of `pipelines` new pipelines.
async fn fail_pipelines(farm: &Farm, worker: &crate::store::SessionRecord, names: &[&str]) {
    for (number, name) in (1..).zip(names) {
        farm.submit(name, "x").await;
        farm.fail_next(worker, crash(number)).await;
    }
}

#[tokio::test]
async fn a_worker_that_fails_three_pipelines_in_a_row_gets_no_more_work_until_forgiven() {
    let mut farm = Farm::open();
    let bad = farm.worker("bad", &[]).await;
    fail_pipelines(&farm, &bad, &["a", "b", "c"]).await;
    farm.submit("d", "x").await;
    assert!(farm.claim(&bad, 1).await.is_empty());
    let kept = &farm.store.snapshot(10).await.unwrap().workers[0];
    let quarantine = kept.quarantine.clone().unwrap();
    assert_eq!(quarantine.evidence.len(), 3);
    assert!(quarantine.evidence[2].message.contains("crash 3"));
    let good = farm.worker("good", &[]).await;
    assert_eq!(farm.claim_among(&good, 1, &[&bad, &good]).await.len(), 1, "others work on");
    farm.store.close_session(&bad.id, false).await.unwrap();
    let back = farm.worker("bad", &[]).await;
    farm.submit("e", "x").await;
    assert!(farm.claim(&back, 1).await.is_empty(), "a new session changes nothing");
    farm.store.forgive("bad", "ana", "new driver").await.unwrap();
    assert_eq!(farm.claim(&back, 1).await.len(), 1);
    let twice = farm.store.forgive("bad", "ana", "again").await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))), "{twice:?}");
    let events = farm.store.events_after(0, 1_000).await.unwrap();
    let told =
        |wanted: fn(&Change) -> bool| events.iter().filter(|event| wanted(&event.change)).count();
    assert_eq!(told(|change| matches!(change, Change::WorkerQuarantined { .. })), 1);
    assert_eq!(
        told(
            |change| matches!(change, Change::WorkerForgiven { reason, .. } if reason == "new driver")
        ),
        1
    );
    farm.check().await;
}

#[tokio::test]
async fn a_success_between_and_failures_of_one_pipeline_are_no_quarantine() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    fail_pipelines(&farm, &worker, &["a", "b"]).await;
    farm.submit("good", "x").await;
    farm.finish_one(&worker).await.unwrap();
    // The second stage of the good one comes first: later stages do.
    farm.fail_next(&worker, crash(9)).await;
    fail_pipelines(&farm, &worker, &["c"]).await;
    assert_eq!(farm.store.quarantine("w1").await.unwrap(), None);
    farm.pass_ms(11_000);
    farm.store.promote_due().await.unwrap();
    farm.run_all(&worker).await;
    for name in ["x", "y", "z", "u"] {
        farm.submit(name, "broken").await;
        farm.fail_next(&worker, Failure::new(Reason::InputCorrupt, "bad")).await;
    }
    assert_eq!(farm.store.quarantine("w1").await.unwrap(), None, "broken files do not count");
    farm.check().await;
}

#[tokio::test]
async fn a_restart_of_the_coordinator_keeps_a_quarantine_with_its_evidence() {
    let mut farm = Farm::open();
    let bad = farm.worker("bad", &[]).await;
    fail_pipelines(&farm, &bad, &["a", "b", "c"]).await;
    farm.store.close().await;
    let clock = Arc::clone(&farm.clock) as Arc<dyn Clock>;
    farm.store = Store::open(farm.folder.path(), clock).unwrap();
    farm.submit("d", "x").await;
    assert!(farm.claim(&bad, 1).await.is_empty());
    assert_eq!(farm.store.quarantine("bad").await.unwrap().unwrap().evidence.len(), 3);
}

#[tokio::test]
async fn a_job_is_not_left_to_a_worker_that_is_in_quarantine() {
    let mut farm = Farm::open();
    let (bad, good) = (farm.worker("bad", &[]).await, farm.worker("good", &[]).await);
    fail_pipelines(&farm, &bad, &["a", "b", "c"]).await;
    for pipeline in 1..=3 {
        farm.store.cancel_pipeline(PipelineId(pipeline), "ana", "").await.unwrap();
    }
    farm.submit("d", "x").await;
    let job = farm.claim_among(&good, 1, &[&bad, &good]).await.pop().unwrap();
    assert_eq!(farm.fail(&good, &job, crash(1)).await, JobState::RetryScheduled);
    farm.pass_ms(11_000);
    farm.store.promote_due().await.unwrap();
    let all = farm.claim_among(&good, 10, &[&bad, &good]).await;
    assert!(all.iter().any(|one| one.job_id == job.job_id), "nobody else could take it");
    assert!(farm.store.dead_letters(true, ALL).await.unwrap().is_empty());
    farm.check().await;
}

#[tokio::test]
async fn jobs_that_are_too_big_are_no_fault_of_the_worker_unless_others_fail_too() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let too_big = || Failure::new(Reason::LimitMemory, "more than 4096 MiB");
    for name in ["a", "b", "c", "d"] {
        farm.submit(name, "x").await;
        farm.fail_next(&worker, too_big()).await;
    }
    assert_eq!(farm.store.quarantine("w1").await.unwrap(), None, "a night of large assets");
    fail_pipelines(&farm, &worker, &["e"]).await;
    let evidence = farm.store.quarantine("w1").await.unwrap().unwrap().evidence;
    assert_eq!(evidence.len(), 5, "another pipeline failed there for another reason");
    farm.check().await;
}
