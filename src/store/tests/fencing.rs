use super::{Farm, result_of};
use crate::model::{AssetKind, Epoch, JobState, Reason, SessionId, Stage};
use crate::protocol::view::AttemptOutcome;
use crate::protocol::work::{Failure, Fence};
use crate::store::StoreError;

#[tokio::test]
async fn a_zombie_of_a_lost_session_changes_nothing() {
    let mut farm = Farm::open();
    let zombie = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    let (job, fence) = farm.begin(&zombie).await;
    farm.store.close_session(&zombie.id, true).await.unwrap();
    farm.pass_ms(60_000);
    farm.store.promote_due().await.unwrap();
    let other = farm.worker("w2", &[]).await;
    let (again, _) = farm.begin(&other).await;
    assert_eq!((again.job_id, again.epoch), (job.job_id, Epoch(2)));
    let before = farm.all().await;
    let failure = Failure::new(Reason::ProcessCrashed, "late");
    let id = job.job_id;
    assert!(matches!(farm.store.start(id, &fence).await, Err(StoreError::UnknownSession)));
    let late = farm.store.complete(id, &fence, result_of(&job)).await;
    assert!(matches!(late, Err(StoreError::UnknownSession)));
    assert!(matches!(farm.store.fail(id, &fence, failure).await, Err(StoreError::UnknownSession)));
    assert!(matches!(farm.store.release(id, &fence).await, Err(StoreError::UnknownSession)));
    assert_eq!(farm.all().await, before);
    farm.check().await;
}

#[tokio::test]
async fn an_old_epoch_of_a_living_session_is_superseded() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    let (job, old) = farm.begin(&worker).await;
    farm.store.release(job.job_id, &old).await.unwrap();
    let (again, new) = farm.begin(&worker).await;
    assert_eq!(again.job_id, job.job_id);
    assert_eq!(again.attempt, 1, "an interrupted attempt is not counted");
    let late = farm.store.complete(job.job_id, &old, result_of(&job)).await;
    assert!(matches!(late, Err(StoreError::Superseded(_))), "{late:?}");
    farm.store.complete(job.job_id, &new, result_of(&job)).await.unwrap();
    let late = farm.store.complete(job.job_id, &old, result_of(&job)).await;
    assert!(matches!(late, Err(StoreError::Finished(_))), "{late:?}");
    farm.check().await;
}

#[tokio::test]
async fn a_result_before_the_start_is_refused() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    let job = farm.claim(&worker, 1).await.pop().unwrap();
    let fence = Fence { session: worker.id.clone(), epoch: job.epoch };
    let before = farm.all().await;
    let early = farm.store.complete(job.job_id, &fence, result_of(&job)).await;
    assert!(matches!(early, Err(StoreError::Conflict(_))), "{early:?}");
    assert_eq!(farm.all().await, before);
    farm.store.start(job.job_id, &fence).await.unwrap();
    farm.store.complete(job.job_id, &fence, result_of(&job)).await.unwrap();
    farm.check().await;
}

#[tokio::test]
async fn a_repeated_report_gets_the_same_answer_and_changes_nothing() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    let (job, fence) = farm.begin(&worker).await;
    let failure = Failure::new(Reason::NetworkError, "once");
    let first = farm.store.fail(job.job_id, &fence, failure.clone()).await.unwrap();
    let before = farm.all().await;
    assert_eq!(farm.store.fail(job.job_id, &fence, failure).await.unwrap(), first);
    assert_eq!(farm.all().await, before);

    farm.pass_ms(60_000);
    farm.store.promote_due().await.unwrap();
    let (job, fence) = farm.begin(&worker).await;
    farm.store.complete(job.job_id, &fence, result_of(&job)).await.unwrap();
    let before = farm.all().await;
    let again = farm.store.complete(job.job_id, &fence, result_of(&job)).await.unwrap();
    assert_eq!((again, farm.all().await), (JobState::Succeeded, before));
    farm.check().await;
}

#[tokio::test]
async fn a_goodbye_returns_the_jobs_and_a_restart_of_the_worker_loses_them() {
    let mut farm = Farm::open();
    let first = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    let (job, _) = farm.begin(&first).await;
    assert_eq!(farm.store.close_session(&first.id, false).await.unwrap(), 1);
    let detail = farm.store.job(job.job_id).await.unwrap();
    assert_eq!((detail.job.state, detail.job.attempt), (JobState::Queued, 0));

    let second = farm.worker("w1", &[]).await;
    farm.begin(&second).await;
    farm.worker("w1", &[]).await;
    let detail = farm.store.job(job.job_id).await.unwrap();
    let outcomes: Vec<_> = detail.attempts.iter().map(|attempt| attempt.outcome).collect();
    assert_eq!(outcomes, [AttemptOutcome::Returned, AttemptOutcome::Lost]);
    assert_eq!(detail.job.state, JobState::RetryScheduled);
    farm.check().await;
}

#[tokio::test]
async fn two_workers_of_one_name_do_not_push_each_other_out() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let clash = farm
        .store
        .open_session(
            SessionId::from_random([99; 16]),
            "w1".into(),
            "another folder".into(),
            worker.capabilities.clone(),
        )
        .await;
    assert!(matches!(clash, Err(StoreError::Conflict(_))), "{clash:?}");
    assert!(farm.store.held(&worker.id).await.is_ok());
}

#[tokio::test]
async fn the_drawing_of_meshes_waits_for_a_gpu_but_not_for_ever() {
    let mut farm = Farm::open();
    let plain = farm.worker("plain", &[]).await;
    let gpu = farm.worker("gpu", &["card"]).await;
    farm.submit("dragon", "v1").await;
    for _ in 0..3 {
        let (job, fence) = farm.begin(&plain).await;
        let mut result = result_of(&job);
        result.report.kind = (job.stage == Stage::Ingest).then_some(AssetKind::Mesh);
        farm.store.complete(job.job_id, &fence, result).await.unwrap();
    }
    let live = vec![plain.capabilities.clone(), gpu.capabilities.clone()];
    assert!(farm.store.claim(&plain.id, 1, live.clone()).await.unwrap().is_empty());
    assert_eq!(farm.store.claim(&gpu.id, 1, live.clone()).await.unwrap().len(), 1);
    farm.pass_ms(crate::model::limits::GPU_PREFERENCE_MS);
    assert_eq!(farm.store.claim(&plain.id, 1, live).await.unwrap().len(), 1);
    farm.check().await;
}

#[tokio::test]
async fn a_result_with_a_name_outside_its_folder_is_refused() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    let (job, fence) = farm.begin(&worker).await;
    let mut result = result_of(&job);
    result.outputs[0].name = "../escape.png".into();
    let refused = farm.store.complete(job.job_id, &fence, result).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    let fence = Fence { epoch: Epoch(fence.epoch.0), ..fence };
    farm.store.complete(job.job_id, &fence, result_of(&job)).await.unwrap();
}
