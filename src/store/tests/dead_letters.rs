//! Dead letters with their evidence, and what operators do with many of them.

use super::{Farm, result_of};
use crate::model::{JobState, PipelineStatus, Reason, Stage};
use crate::protocol::dead::{DeadLetterFilter, DismissBatch, Edit, ReplayBatch};
use crate::protocol::event::Change;
use crate::protocol::work::{Failure, Fence};
use crate::store::{Page, SessionRecord, StoreError};
use std::collections::BTreeMap;

const ALL: Page = Page { before: None, limit: 100 };

fn full(number: u32) -> Failure {
    Failure::new(Reason::InputCorrupt, format!("/farm/{number}.glb ends at byte {number}"))
}

fn order(filter: DeadLetterFilter) -> ReplayBatch {
    ReplayBatch {
        actor: "ana".into(),
        reason: "files copied again".into(),
        filter,
        edit: Edit::default(),
        dry_run: false,
    }
}

fn by_reason(reason: Reason) -> DeadLetterFilter {
    DeadLetterFilter { reason: Some(reason), ..DeadLetterFilter::default() }
}

/// Five dead letters: four alike, one other.
async fn five_dead(farm: &Farm, worker: &SessionRecord) {
    for number in 1..=4 {
        farm.submit(&format!("asset{number}"), "x").await;
        farm.fail_next(worker, full(number)).await;
    }
    farm.submit("other", "x").await;
    farm.fail_next(worker, Failure::new(Reason::InputUnsupported, "a text")).await;
}

/// Runs a new pipeline until this stage and fails it for good.
async fn die_at(farm: &Farm, worker: &SessionRecord, asset: &str, stage: Stage) {
    farm.submit(asset, "x").await;
    loop {
        let (job, fence) = farm.begin(worker).await;
        if job.stage == stage {
            farm.store.fail(job.job_id, &fence, full(1)).await.unwrap();
            return;
        }
        farm.store.complete(job.job_id, &fence, super::result_of(&job)).await.unwrap();
    }
}

#[tokio::test]
async fn a_dead_letter_keeps_payload_attempts_log_and_fingerprint() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "x").await;
    for _ in 0..3 {
        farm.fail_next(&worker, Failure::new(Reason::ProcessCrashed, "signal 11")).await;
        farm.pass_ms(90_000);
        farm.store.promote_due().await.unwrap();
    }
    let dead = farm.store.dead_letters(false, ALL).await.unwrap()[0].clone();
    let waiting = farm.store.letters_without_log(10).await.unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!((waiting[0].0, waiting[0].1.0), (dead.job, 3));
    farm.store.attach_log(dead.job, vec!["last words".into()]).await.unwrap();
    farm.store.attach_log(dead.job, vec!["too late".into()]).await.unwrap();
    assert!(farm.store.letters_without_log(10).await.unwrap().is_empty());
    let detail = farm.store.dead_letter(dead.job).await.unwrap();
    assert_eq!(detail.log, ["last words"]);
    assert_eq!(detail.attempts.len(), 3);
    let payload = detail.payload.unwrap();
    assert_eq!((payload.job_id, payload.attempt, payload.epoch.0), (dead.job, 3, 3));
    assert_eq!((payload.dependencies.len(), detail.dependencies), (1, 1));
    assert_eq!(payload.asset.as_str(), "dragon");
    let none = farm.store.dead_letter(crate::model::JobId(99)).await;
    assert!(matches!(none, Err(StoreError::NotFound(_))), "{none:?}");
    farm.check().await;
}

#[tokio::test]
async fn letters_that_are_alike_share_a_fingerprint_and_are_replayed_together() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    five_dead(&farm, &worker).await;
    let letters = farm.store.dead_letters(false, ALL).await.unwrap();
    let alike = letters.last().unwrap().fingerprint.clone();
    assert_eq!(letters.iter().filter(|letter| letter.fingerprint == alike).count(), 4);
    let filter = DeadLetterFilter { fingerprint: Some(alike), ..DeadLetterFilter::default() };
    let reply = farm.store.replay_many(order(filter)).await.unwrap();
    assert_eq!((reply.matched, reply.done, reply.refused, reply.left), (4, 4, 0, 0));
    assert!(reply.items.iter().all(|item| item.replayed_as.is_some()));
    assert_eq!(farm.store.dead_letters(false, ALL).await.unwrap().len(), 1);
    farm.run_all(&worker).await;
    let events = farm.store.events_after(0, 1_000).await.unwrap();
    let batch = events.iter().find_map(|event| match &event.change {
        Change::DeadLettersSettled { done, note, .. } => Some((*done, note.as_str())),
        _ => None,
    });
    assert_eq!(batch, Some((4, "files copied again")));
    farm.check().await;
}

#[tokio::test]
async fn filters_narrow_each_other_and_an_empty_one_is_refused() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    five_dead(&farm, &worker).await;
    let all = farm.store.dead_letters(false, ALL).await.unwrap();
    let count = async |filter: DeadLetterFilter| {
        let dry = ReplayBatch { dry_run: true, ..order(filter) };
        farm.store.replay_many(dry).await.unwrap().matched
    };
    let none = DeadLetterFilter::default;
    assert_eq!(count(by_reason(Reason::InputCorrupt)).await, 4);
    assert_eq!(count(by_reason(Reason::DiskFull)).await, 0);
    assert_eq!(count(DeadLetterFilter { stage: Some(Stage::Ingest), ..none() }).await, 5);
    assert_eq!(count(DeadLetterFilter { stage: Some(Stage::Render), ..none() }).await, 0);
    let asset = Some("asset2".parse().unwrap());
    assert_eq!(count(DeadLetterFilter { asset, ..by_reason(Reason::InputCorrupt) }).await, 1);
    let pipeline = Some(all[0].pipeline);
    assert_eq!(count(DeadLetterFilter { pipeline, ..none() }).await, 1);
    assert_eq!(count(DeadLetterFilter { pipeline, ..by_reason(Reason::InputCorrupt) }).await, 0);
    let jobs = vec![all[0].job, all[1].job];
    assert_eq!(count(DeadLetterFilter { jobs, ..none() }).await, 2);
    assert_eq!(count(DeadLetterFilter { all: true, ..none() }).await, 5);
    let nothing = farm.store.replay_many(order(none())).await;
    assert!(matches!(nothing, Err(StoreError::Invalid(_))), "{nothing:?}");
    let mute = ReplayBatch { reason: "  ".into(), ..order(by_reason(Reason::InputCorrupt)) };
    assert!(matches!(farm.store.replay_many(mute).await, Err(StoreError::Invalid(_))));
}

#[tokio::test]
async fn a_dry_run_counts_what_would_happen_and_changes_nothing() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    five_dead(&farm, &worker).await;
    // One of them cannot be replayed: the same work was asked for again.
    let first = farm.store.dead_letters(false, ALL).await.unwrap().last().unwrap().clone();
    farm.submit(first.asset.as_str(), "x").await;
    let before = farm.all().await;
    let filter = DeadLetterFilter { all: true, ..DeadLetterFilter::default() };
    let dry = ReplayBatch { dry_run: true, ..order(filter.clone()) };
    let reply = farm.store.replay_many(dry).await.unwrap();
    assert_eq!((reply.matched, reply.done, reply.refused), (5, 4, 1));
    assert!(reply.items.iter().all(|item| item.replayed_as.is_none()));
    assert_eq!(farm.all().await, before);
    let real = farm.store.replay_many(order(filter)).await.unwrap();
    assert_eq!((real.matched, real.done, real.refused), (5, 4, 1));
    let refused = real.items.iter().find(|item| item.refused.is_some()).unwrap();
    assert_eq!(refused.job, first.job);
    assert!(refused.refused.as_ref().unwrap().contains("does the same work"));
    farm.check().await;
}

#[tokio::test]
async fn many_are_dismissed_by_filter_with_a_reason() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    five_dead(&farm, &worker).await;
    let order = |dry_run| DismissBatch {
        actor: "ana".into(),
        reason: "replaced".into(),
        filter: by_reason(Reason::InputCorrupt),
        dry_run,
    };
    assert_eq!(farm.store.dismiss_many(order(true)).await.unwrap().done, 4);
    assert_eq!(farm.store.dead_letters(false, ALL).await.unwrap().len(), 5);
    assert_eq!(farm.store.dismiss_many(order(false)).await.unwrap().done, 4);
    assert_eq!(farm.store.dismiss_many(order(false)).await.unwrap().matched, 0);
    let left = farm.store.dead_letters(false, ALL).await.unwrap();
    assert_eq!((left.len(), left[0].reason), (1, Reason::InputUnsupported));
    let dismissed = farm.store.dead_letters(true, ALL).await.unwrap();
    let one = dismissed.iter().find(|letter| letter.dismissed).unwrap().job;
    assert_eq!(farm.store.dead_letter(one).await.unwrap().note.as_deref(), Some("replaced"));
    farm.store.replay(one, "ana", "after all").await.unwrap();
    farm.check().await;
}

#[tokio::test]
async fn an_edited_replay_runs_with_other_settings_and_limits() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    die_at(&farm, &worker, "dragon", Stage::Transform).await;
    let filter = DeadLetterFilter { all: true, ..DeadLetterFilter::default() };
    let settings = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
    for (key, value) in [("still_px", "0"), ("colour", "red"), ("chunk_frames", "3")] {
        let edit = Edit { settings: settings(key, value), ..Edit::default() };
        let reply = farm.store.replay_many(ReplayBatch { edit, ..order(filter.clone()) }).await;
        let reply = reply.unwrap();
        assert_eq!((reply.done, reply.refused), (0, 1), "{key}");
    }
    let edit = Edit {
        settings: settings("still_px", "64"),
        memory_mib: Some(9_000),
        timeout_s: Some(77),
        ..Edit::default()
    };
    let reply = farm.store.replay_many(ReplayBatch { edit: edit.clone(), ..order(filter.clone()) });
    let new = reply.await.unwrap().items[0].replayed_as.unwrap();
    let (job, fence) = farm.begin(&worker).await;
    assert_eq!((job.job_id, job.settings.still_px), (new, 64));
    assert_eq!((job.limits.memory_bytes, job.limits.timeout_ms), (9_000 << 20, 77_000));
    assert!(job.idempotency_key.contains(":edit-"), "{}", job.idempotency_key);
    assert_eq!(farm.store.job(new).await.unwrap().edit, Some(edit));
    // A replay of the replay keeps what was changed.
    farm.store.fail(new, &fence, full(2)).await.unwrap();
    farm.store.replay_many(order(filter)).await.unwrap();
    let (again, fence) = farm.begin(&worker).await;
    assert_eq!((again.settings.still_px, again.limits.timeout_ms), (64, 77_000));
    farm.store.complete(again.job_id, &fence, super::result_of(&again)).await.unwrap();
    let (next, _) = farm.begin(&worker).await;
    assert_eq!(next.settings.still_px, super::recipe().settings.still_px, "that job alone");
    farm.check().await;
}

#[tokio::test]
async fn a_replay_never_repeats_an_export_that_was_delivered() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    die_at(&farm, &worker, "dragon", Stage::Publish).await;
    let dead = farm.store.dead_letters(false, ALL).await.unwrap()[0].clone();
    farm.store.replay(dead.job, "ana", "again").await.unwrap();
    // Publish, its export, then cleanup fails for good.
    assert_eq!(farm.finish_one(&worker).await, Some(Stage::Publish));
    let exports = farm.store.pending_exports(10).await.unwrap();
    assert_eq!(exports.len(), 1);
    farm.store.export_done(exports[0].id, "/published/here").await.unwrap();
    assert_eq!(farm.fail_next(&worker, full(3)).await, JobState::FailedTerminal);
    let twice = farm.store.replay(dead.job, "ana", "again").await;
    assert!(matches!(twice, Err(StoreError::Conflict(_))), "{twice:?}");
    let all = DeadLetterFilter { all: true, ..DeadLetterFilter::default() };
    let reply = farm.store.replay_many(order(all.clone())).await.unwrap();
    assert_eq!((reply.matched, reply.done), (1, 1), "the cleanup alone");
    assert_eq!(farm.run_all(&worker).await, [Stage::Cleanup]);
    assert_eq!(farm.store.replay_many(order(all)).await.unwrap().matched, 0);
    assert!(farm.store.pending_exports(10).await.unwrap().is_empty());
    let events = farm.store.events_after(0, 1_000).await.unwrap();
    let told =
        |wanted: fn(&Change) -> bool| events.iter().filter(|event| wanted(&event.change)).count();
    assert_eq!(told(|change| matches!(change, Change::Exported { .. })), 1);
    assert_eq!(told(|change| matches!(change, Change::Published { .. })), 1);
    let view = farm.store.pipeline(dead.pipeline).await.unwrap().pipeline;
    assert_eq!(view.status, PipelineStatus::Succeeded);
    farm.check().await;
}

#[tokio::test]
async fn a_letter_whose_work_another_pipeline_delivered_is_not_replayed() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    die_at(&farm, &worker, "dragon", Stage::Publish).await;
    let dead = farm.store.dead_letters(false, ALL).await.unwrap()[0].job;
    farm.submit("dragon", "x").await;
    farm.run_all(&worker).await;
    let all = DeadLetterFilter { all: true, ..DeadLetterFilter::default() };
    let reply = farm.store.replay_many(order(all)).await.unwrap();
    assert_eq!((reply.done, reply.refused, reply.items[0].job), (0, 1, dead));
    let events = farm.store.events_after(0, 1_000).await.unwrap();
    let exported = events.iter().filter(|event| matches!(event.change, Change::Exported { .. }));
    assert_eq!(exported.count(), 1);
    assert!(farm.store.pending_exports(10).await.unwrap().is_empty());
    farm.check().await;
}

#[tokio::test]
async fn a_replay_waits_for_the_live_jobs_of_another_pipeline_with_the_same_work() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let broken = || Failure::new(Reason::InputCorrupt, "broken");
    let first = farm.submit("dragon", "v1").await.pipeline;
    farm.finish_one(&worker).await;
    let (dead, fence) = farm.begin(&worker).await;
    farm.store.fail(dead.job_id, &fence, broken()).await.unwrap();
    let second = farm.submit("dragon", "v1").await.pipeline;
    assert_ne!(first, second, "a pipeline that was given up is no obstacle");
    for _ in 0..3 {
        farm.finish_one(&worker).await;
    }
    let draws = farm.claim(&worker, 10).await;
    farm.fail(&worker, &draws[0], broken()).await;
    // The second is given up too, but two of its parts are still being drawn.
    let replay = || farm.store.replay(dead.job_id, "ana", "mended");
    assert!(matches!(replay().await, Err(StoreError::Conflict(_))));
    for job in &draws[1..] {
        let fence = Fence { session: worker.id.clone(), epoch: job.epoch };
        farm.store.start(job.job_id, &fence).await.unwrap();
        farm.store.complete(job.job_id, &fence, result_of(job)).await.unwrap();
    }
    replay().await.unwrap();
    farm.run_all(&worker).await;
    let detail = farm.store.pipeline(first).await.unwrap();
    assert_eq!(detail.pipeline.status, PipelineStatus::Succeeded);
    farm.check().await;
}

#[tokio::test]
async fn a_cancelled_pipeline_is_not_revived_by_a_replay() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let pipeline = farm.submit("dragon", "v1").await.pipeline;
    for _ in 0..3 {
        farm.finish_one(&worker).await;
    }
    let draws = farm.claim(&worker, 10).await;
    farm.fail(&worker, &draws[0], Failure::new(Reason::InputCorrupt, "broken")).await;
    // The parts that are still drawn go, and with them all chance to end well.
    farm.store.cancel_pipeline(pipeline, "ana", "enough").await.unwrap();
    let detail = farm.store.pipeline(pipeline).await.unwrap();
    assert_eq!(detail.pipeline.status, PipelineStatus::Cancelled);
    let replay = farm.store.replay(draws[0].job_id, "ana", "mended").await;
    assert!(matches!(replay, Err(StoreError::Conflict(_))), "{replay:?}");
    assert_eq!(farm.store.verify().await.unwrap(), Vec::<String>::new());
    farm.check().await;
}
