use super::Farm;
use crate::model::{JobState, PipelineStatus, Reason, Stage, StageStatus};
use crate::protocol::submit::SubmitOutcome;
use crate::protocol::work::Failure;
use crate::store::{Page, StoreError};

const ALL: Page = Page { before: None, limit: 100 };

#[tokio::test]
async fn a_broken_file_is_a_dead_letter_at_once_with_its_reason() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let pipeline = farm.submit("broken", "x").await.pipeline;
    let state = farm
        .fail_next(&worker, Failure::new(Reason::InputCorrupt, "chunk 2 ends at byte 40"))
        .await;
    assert_eq!(state, JobState::FailedTerminal);
    let letters = farm.store.dead_letters(false, ALL).await.unwrap();
    let letter = letters.first().unwrap();
    assert_eq!((letter.reason, letter.stage), (Reason::InputCorrupt, Stage::Ingest));
    assert_eq!(letter.message, "chunk 2 ends at byte 40");
    assert_eq!(letter.remedy, Reason::InputCorrupt.remedy());
    assert_eq!(letter.worker.as_deref(), Some("w1"));
    let view = farm.store.pipeline(pipeline).await.unwrap().pipeline;
    assert_eq!(view.status, PipelineStatus::DeadLettered);
    assert_eq!(view.stages[0].status, StageStatus::DeadLettered);
    farm.check().await;
}

#[tokio::test]
async fn a_transient_failure_runs_again_when_it_is_due_and_not_before() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    let failure = Failure::new(Reason::NetworkError, "refused");
    assert_eq!(farm.fail_next(&worker, failure).await, JobState::RetryScheduled);
    assert!(farm.claim(&worker, 1).await.is_empty());
    farm.pass_ms(26_999);
    assert_eq!(farm.store.promote_due().await.unwrap(), 0);
    farm.pass_ms(6_002);
    assert_eq!(farm.store.promote_due().await.unwrap(), 1);
    let (job, _) = farm.begin(&worker).await;
    assert_eq!(job.attempt, 2);
    farm.check().await;
}

#[tokio::test]
async fn a_used_up_budget_is_a_dead_letter_and_a_replay_finishes_the_work() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let pipeline = farm.submit("dragon", "v1").await.pipeline;
    for attempt in 1..=4 {
        let failure = Failure::new(Reason::NetworkError, format!("attempt {attempt}"));
        let state = farm.fail_next(&worker, failure).await;
        let last = attempt == 4;
        assert_eq!(state == JobState::FailedTerminal, last, "attempt {attempt}");
        farm.pass_ms(700_000);
        farm.store.promote_due().await.unwrap();
    }
    let dead = farm.store.dead_letters(false, ALL).await.unwrap()[0].job;
    let new = farm.store.replay(dead, "ana", "the switch is back").await.unwrap();
    assert_eq!(farm.store.job(new).await.unwrap().job.replay_of, Some(dead));
    assert!(farm.store.dead_letters(false, ALL).await.unwrap().is_empty());
    let twice = farm.store.replay(dead, "ana", "again").await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))), "{twice:?}");
    farm.run_all(&worker).await;
    let view = farm.store.pipeline(pipeline).await.unwrap().pipeline;
    assert_eq!(view.status, PipelineStatus::Succeeded);
    farm.check().await;
}

#[tokio::test]
async fn one_dead_part_keeps_its_siblings_results_and_only_it_is_replayed() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let pipeline = farm.submit("dragon", "v1").await.pipeline;
    for _ in 0..3 {
        farm.finish_one(&worker).await.unwrap();
    }
    farm.fail_next(&worker, Failure::new(Reason::InputNothingToDraw, "no triangles")).await;
    assert_eq!(farm.run_all(&worker).await, [Stage::Render, Stage::Render]);
    let dead = farm.store.dead_letters(false, ALL).await.unwrap()[0].job;
    farm.store.replay(dead, "ana", "again").await.unwrap();
    let seen = farm.run_all(&worker).await;
    assert_eq!(seen, [Stage::Render, Stage::Assemble, Stage::Publish, Stage::Cleanup]);
    let view = farm.store.pipeline(pipeline).await.unwrap().pipeline;
    assert_eq!(view.status, PipelineStatus::Succeeded);
    farm.check().await;
}

#[tokio::test]
async fn a_dismissed_letter_is_gone_from_the_list_and_the_work_may_be_asked_for_again() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("broken", "x").await;
    farm.fail_next(&worker, Failure::new(Reason::InputCorrupt, "bad")).await;
    let dead = farm.store.dead_letters(false, ALL).await.unwrap()[0].job;
    farm.store.dismiss(dead, "ana", "known").await.unwrap();
    assert!(farm.store.dead_letters(false, ALL).await.unwrap().is_empty());
    assert_eq!(farm.store.dead_letters(true, ALL).await.unwrap().len(), 1);
    assert_eq!(farm.submit("broken", "x").await.outcome, SubmitOutcome::Created);
    let clash = farm.store.replay(dead, "ana", "again").await;
    assert!(matches!(clash, Err(StoreError::Conflict(_))), "a twin runs: {clash:?}");
    farm.check().await;
}

#[tokio::test]
async fn two_different_workers_lost_on_one_job_make_it_poison() {
    let mut farm = Farm::open();
    farm.submit("bomb", "x").await;
    for name in ["w1", "w2"] {
        let worker = farm.worker(name, &[]).await;
        farm.begin(&worker).await;
        farm.store.close_session(&worker.id, true).await.unwrap();
        farm.pass_ms(60_000);
        farm.store.promote_due().await.unwrap();
    }
    let letters = farm.store.dead_letters(false, ALL).await.unwrap();
    assert_eq!(letters[0].reason, Reason::WorkerPoisoned);
    farm.check().await;
}
