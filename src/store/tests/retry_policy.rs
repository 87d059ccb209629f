//! The rules of retries: budgets of a recipe, waits without an attempt, another worker, the cap.

use super::{Farm, capabilities, recipe, submission};
use crate::model::{ErrorClass, JobState, PipelineStatus, Reason, SessionId, Stage, limits};
use crate::protocol::view::AttemptOutcome;
use crate::protocol::work::{Failure, Fence};
use crate::store::{Page, SessionRecord};

const ALL: Page = Page { before: None, limit: 100 };

fn away() -> Failure {
    Failure::new(Reason::NetworkError, "refused")
}

fn crash() -> Failure {
    Failure::new(Reason::ProcessCrashed, "signal 11")
}

fn no_licence() -> Failure {
    Failure::new(Reason::LicenceUnavailable, "all 3 seats are taken")
}

/// A worker with many slots.
async fn wide(farm: &Farm, number: u8, slots: u32) -> SessionRecord {
    let capabilities = crate::protocol::work::Capabilities { slots, ..capabilities(&[]) };
    let session = SessionId::from_random([number; 16]);
    let name = format!("wide-{number}");
    farm.store.open_session(session, name.clone(), name, capabilities).await.unwrap()
}

#[tokio::test]
async fn a_recipe_changes_the_attempts_and_waits_of_a_stage() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let mut patient = recipe();
    let rule = patient.stages.iter_mut().find(|rule| rule.stage == Stage::Ingest).unwrap();
    rule.retry = toml::from_str("[unknown]\nattempts = 5\nwaits_s = [100]").unwrap();
    farm.store.submit(submission("dragon", "v1"), patient, [1; 16]).await.unwrap();
    let mut job = None;
    for attempt in 1..=5 {
        let (assignment, fence) = farm.begin(&worker).await;
        assert_eq!((assignment.attempt, assignment.max_attempts), (attempt, 5));
        let state = farm.store.fail(assignment.job_id, &fence, crash()).await.unwrap();
        assert_eq!(state == JobState::FailedTerminal, attempt == 5, "attempt {attempt}");
        let view = farm.store.job(assignment.job_id).await.unwrap().job;
        assert_eq!(view.max_attempts, 5);
        if let Some(run_at_ms) = view.run_at_ms {
            assert!((90_000..=110_000).contains(&(run_at_ms - view.updated_at_ms)));
        }
        job = Some(view.id);
        farm.pass_ms(120_000);
        farm.store.promote_due().await.unwrap();
    }
    assert_eq!(farm.store.dead_letters(false, ALL).await.unwrap()[0].job, job.unwrap());
    farm.check().await;
}

#[tokio::test]
async fn the_budget_follows_the_class_of_the_last_failure() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    let (job, fence) = farm.begin(&worker).await;
    assert_eq!(job.max_attempts, 4, "the most that any class allows");
    let full = Failure::new(Reason::DiskFull, "0 bytes left");
    assert_eq!(full.class, ErrorClass::Intervention);
    farm.store.fail(job.job_id, &fence, full).await.unwrap();
    assert_eq!(farm.store.job(job.job_id).await.unwrap().job.max_attempts, 2);
    farm.check().await;
}

#[tokio::test]
async fn waiting_for_a_licence_uses_no_attempt_and_keeps_its_reason() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    for round in 1..=20 {
        let (job, fence) = farm.begin(&worker).await;
        assert_eq!(job.attempt, 1, "round {round}");
        let state = farm.store.fail(job.job_id, &fence, no_licence()).await.unwrap();
        assert_eq!(state, JobState::RetryScheduled);
        let again = farm.store.fail(job.job_id, &fence, no_licence()).await;
        assert_eq!(again.unwrap(), JobState::RetryScheduled, "the same report, the same answer");
        let detail = farm.store.job(job.job_id).await.unwrap();
        assert_eq!(detail.job.attempt, 0);
        let wait_ms = detail.job.run_at_ms.unwrap() - detail.job.updated_at_ms;
        assert!((54_000..=66_000).contains(&wait_ms), "{wait_ms}");
        let last = detail.attempts.last().unwrap();
        assert_eq!(last.outcome, AttemptOutcome::Returned);
        assert_eq!(last.failure.as_ref().unwrap().reason, Reason::LicenceUnavailable);
        farm.pass_ms(66_000);
        assert_eq!(farm.store.promote_due().await.unwrap(), 1);
    }
    farm.run_all(&worker).await;
    assert!(farm.store.dead_letters(true, ALL).await.unwrap().is_empty());
    farm.check().await;
}

#[tokio::test]
async fn a_licence_that_never_comes_is_a_dead_letter_in_the_end() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let mut hasty = recipe();
    let rule = hasty.stages.iter_mut().find(|rule| rule.stage == Stage::Ingest).unwrap();
    rule.retry = toml::from_str("licence_wait_s = 300").unwrap();
    let submitted = farm.store.submit(submission("dragon", "v1"), hasty, [1; 16]).await.unwrap();
    let mut waits = 0;
    while farm.fail_next(&worker, no_licence()).await == JobState::RetryScheduled {
        waits += 1;
        farm.pass_ms(66_000);
        farm.store.promote_due().await.unwrap();
    }
    assert!((5..=6).contains(&waits), "{waits}");
    let letter = &farm.store.dead_letters(false, ALL).await.unwrap()[0];
    assert_eq!(letter.reason, Reason::LicenceUnavailable);
    let view = farm.store.pipeline(submitted.pipeline).await.unwrap().pipeline;
    assert_eq!(view.status, PipelineStatus::DeadLettered);
    farm.check().await;
}

#[tokio::test]
async fn a_job_that_failed_on_a_worker_goes_to_another_one_first() {
    let mut farm = Farm::open();
    let (bad, good) = (farm.worker("bad", &[]).await, farm.worker("good", &[]).await);
    let both = [&bad, &good];
    farm.submit("dragon", "v1").await;
    let failed = farm.claim_among(&bad, 1, &both).await.pop().unwrap();
    farm.fail(&bad, &failed, crash()).await;
    farm.pass_ms(11_000);
    farm.store.promote_due().await.unwrap();
    assert!(farm.claim_among(&bad, 1, &both).await.is_empty(), "the other one lives");
    farm.submit("gear", "v1").await;
    let fresh = farm.claim_among(&bad, 1, &both).await.pop().unwrap();
    assert_eq!(fresh.attempt, 1, "other work is not held up");
    let again = farm.claim_among(&good, 1, &both).await.pop().unwrap();
    assert_eq!((again.job_id, again.attempt), (failed.job_id, 2));
    farm.check().await;
}

#[tokio::test]
async fn a_worker_gets_its_failed_job_back_when_no_other_comes() {
    let mut farm = Farm::open();
    let (bad, busy) = (farm.worker("bad", &[]).await, farm.worker("busy", &[]).await);
    farm.submit("dragon", "v1").await;
    let failed = farm.claim_among(&bad, 1, &[&bad, &busy]).await.pop().unwrap();
    farm.fail(&bad, &failed, crash()).await;
    farm.pass_ms(11_000);
    farm.store.promote_due().await.unwrap();
    farm.pass_ms(limits::ANOTHER_WORKER_MS - 1);
    assert!(farm.claim_among(&bad, 1, &[&bad, &busy]).await.is_empty());
    let alone = farm.claim_among(&bad, 1, &[&bad]).await.pop().unwrap();
    let fence = Fence { session: bad.id.clone(), epoch: alone.epoch };
    farm.store.release(alone.job_id, &fence).await.unwrap();
    assert!(farm.claim_among(&bad, 1, &[&bad, &busy]).await.is_empty());
    farm.pass_ms(limits::ANOTHER_WORKER_MS);
    assert_eq!(farm.claim_among(&bad, 1, &[&bad, &busy]).await.len(), 1);
    farm.check().await;
}

#[tokio::test]
async fn retries_in_flight_leave_room_for_fresh_jobs() {
    let farm = Farm::open();
    let worker = wide(&farm, 1, 8).await;
    for number in 0..90 {
        farm.submit(&format!("bad{number}"), "x").await;
    }
    for job in [farm.claim(&worker, 64).await, farm.claim(&worker, 64).await].concat() {
        assert_eq!(farm.fail(&worker, &job, away()).await, JobState::RetryScheduled);
    }
    farm.pass_ms(34_000);
    assert_eq!(farm.store.promote_due().await.unwrap(), 90);
    let first = farm.claim(&worker, 8).await;
    assert_eq!(first.len(), 4, "half of the slots");
    assert!(farm.claim(&worker, 8).await.is_empty());
    farm.pass_ms(1_000);
    for number in 0..6 {
        farm.submit(&format!("fresh{number}"), "x").await;
    }
    let fresh = farm.claim(&worker, 4).await;
    assert_eq!(fresh.len(), 4, "90 failing jobs do not hide the fresh ones");
    assert!(fresh.iter().all(|job| job.attempt == 1));
    farm.fail(&worker, &first[0], away()).await;
    let fence = Fence { session: worker.id.clone(), epoch: first[1].epoch };
    farm.store.release(first[1].job_id, &fence).await.unwrap();
    let next = farm.claim(&worker, 2).await;
    assert!(next.iter().all(|job| job.attempt == 2), "room again for two");
    assert_eq!(next.len(), 2);
    farm.store.close_session(&worker.id, true).await.unwrap();
    let small = wide(&farm, 2, 1).await;
    farm.pass_ms(90_000);
    farm.store.promote_due().await.unwrap();
    let one: Vec<_> = farm.claim(&small, 8).await;
    assert_eq!(one.iter().filter(|job| job.attempt > 1).count(), 1, "at least one");
    farm.check().await;
}
