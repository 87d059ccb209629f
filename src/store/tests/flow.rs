use super::{Farm, recipe, result_of, submission};
use crate::model::{JobState, PipelineStatus, Stage, StageStatus};
use crate::protocol::event::Change;
use crate::protocol::submit::SubmitOutcome;
use crate::recipes::Recipe;
use crate::store::StoreError;
use std::collections::{BTreeMap, BTreeSet};

#[tokio::test]
async fn a_pipeline_runs_through_all_stages_and_is_published_once() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let pipeline = farm.submit("dragon", "v1").await.pipeline;
    let seen = farm.run_all(&worker).await;
    assert_eq!(
        seen,
        [
            Stage::Ingest,
            Stage::Inspect,
            Stage::Transform,
            Stage::Render,
            Stage::Render,
            Stage::Render,
            Stage::Assemble,
            Stage::Publish,
            Stage::Cleanup
        ]
    );
    let detail = farm.store.pipeline(pipeline).await.unwrap();
    assert_eq!(detail.pipeline.status, PipelineStatus::Succeeded);
    assert!(detail.pipeline.stages.iter().all(|stage| stage.status == StageStatus::Succeeded));
    assert!(detail.pipeline.still.is_some());
    assert!(detail.published.iter().any(|file| file.output == "still.png"));
    assert!(detail.published.iter().all(|file| file.path.is_some()));
    let events = farm.store.events_after(0, 1_000).await.unwrap();
    let published =
        |event: &&crate::protocol::event::Event| matches!(event.change, Change::Published { .. });
    assert_eq!(events.iter().filter(published).count(), 1);
    farm.check().await;
}

#[tokio::test]
async fn the_next_stage_waits_for_every_part_and_publish_for_its_export() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let pipeline = farm.submit("dragon", "v1").await.pipeline;
    for _ in 0..3 {
        farm.finish_one(&worker).await.unwrap();
    }
    let renders = farm.claim(&worker, 10).await;
    assert_eq!(renders.len(), 3, "still and two runs of frames");
    for (done, job) in renders.iter().enumerate() {
        assert!(farm.claim(&worker, 1).await.is_empty(), "{done} parts are done");
        let fence = crate::protocol::work::Fence { session: worker.id.clone(), epoch: job.epoch };
        farm.store.start(job.job_id, &fence).await.unwrap();
        farm.store.complete(job.job_id, &fence, result_of(job)).await.unwrap();
    }
    for _ in 0..2 {
        farm.finish_one(&worker).await.unwrap();
    }
    assert!(farm.claim(&worker, 1).await.is_empty(), "the export is not written");
    let status = |detail: crate::protocol::view::PipelineDetail| detail.pipeline.status;
    assert_eq!(status(farm.store.pipeline(pipeline).await.unwrap()), PipelineStatus::Running);
    farm.run_all(&worker).await;
    assert_eq!(status(farm.store.pipeline(pipeline).await.unwrap()), PipelineStatus::Succeeded);
    farm.check().await;
}

#[tokio::test]
async fn the_same_content_is_done_once() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let first = farm.submit("dragon", "v1").await;
    let again = farm.submit("dragon", "v1").await;
    assert_eq!((again.pipeline, again.outcome), (first.pipeline, SubmitOutcome::AlreadyRunning));
    farm.run_all(&worker).await;
    let there = farm.submit("dragon", "v1").await;
    assert_eq!((there.pipeline, there.outcome), (first.pipeline, SubmitOutcome::AlreadyThere));
    assert!(farm.claim(&worker, 10).await.is_empty());
    let new = farm.submit("dragon", "v2").await;
    assert_eq!((new.asset_version, new.outcome), (2, SubmitOutcome::Created));
    farm.check().await;
}

#[tokio::test]
async fn other_settings_of_the_same_content_are_other_work() {
    let farm = Farm::open();
    farm.submit("dragon", "v1").await;
    let mut smaller = recipe();
    let changes = BTreeMap::from([("still_px".to_owned(), "64".to_owned())]);
    smaller.settings = smaller.settings.with_changes(&changes).unwrap();
    let other = farm.store.submit(submission("dragon", "v1"), smaller, [1; 16]).await.unwrap();
    assert_eq!((other.asset_version, other.outcome), (1, SubmitOutcome::Created));
    farm.check().await;
}

#[tokio::test]
async fn an_older_version_that_ends_late_leaves_the_pointers_alone() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let old = farm.submit("dragon", "v1").await.pipeline;
    let new = farm.submit("dragon", "v2").await.pipeline;
    let mut held = Vec::new();
    // Everything of the old version is held back at its first stage.
    let (job, fence) = farm.begin(&worker).await;
    assert_eq!(job.pipeline_id, old);
    held.push((job, fence));
    farm.run_all(&worker).await;
    for (job, fence) in held {
        farm.store.complete(job.job_id, &fence, result_of(&job)).await.unwrap();
    }
    farm.run_all(&worker).await;
    let events = farm.store.events_after(0, 1_000).await.unwrap();
    let movers: Vec<_> = events
        .iter()
        .filter_map(|event| match event.change {
            Change::Published { pipeline, .. } => Some(pipeline),
            _ => None,
        })
        .collect();
    assert_eq!(movers, [new]);
    for pipeline in [old, new] {
        let detail = farm.store.pipeline(pipeline).await.unwrap();
        assert_eq!(detail.pipeline.status, PipelineStatus::Succeeded);
    }
    farm.check().await;
}

#[tokio::test]
async fn pointers_move_only_from_the_generation_that_the_worker_saw() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    let (publish, fence) = loop {
        let (job, fence) = farm.begin(&worker).await;
        if job.stage == Stage::Publish {
            break (job, fence);
        }
        farm.store.complete(job.job_id, &fence, result_of(&job)).await.unwrap();
    };
    let before = farm.all().await;
    let mut stale = result_of(&publish);
    stale.pointer_generation += 1;
    let refused = farm.store.complete(publish.job_id, &fence, stale).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    assert_eq!(farm.all().await, before, "nothing of the refused publish stays");
    farm.store.complete(publish.job_id, &fence, result_of(&publish)).await.unwrap();
    farm.check().await;
}

#[tokio::test]
async fn a_cancelled_pipeline_has_no_live_jobs_and_refuses_their_results() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let pipeline = farm.submit("dragon", "v1").await.pipeline;
    let (job, fence) = farm.begin(&worker).await;
    assert_eq!(farm.store.cancel_pipeline(pipeline, "ana", "wrong file").await.unwrap(), 1);
    let late = farm.store.complete(job.job_id, &fence, result_of(&job)).await;
    assert!(matches!(late, Err(StoreError::Cancelled(_))));
    assert!(farm.store.held(&worker.id).await.unwrap().is_empty());
    let detail = farm.store.pipeline(pipeline).await.unwrap();
    assert_eq!(detail.pipeline.status, PipelineStatus::Cancelled);
    assert_eq!(detail.jobs.first().map(|job| job.job.state), Some(JobState::Cancelled));
    let again = farm.submit("dragon", "v1").await;
    assert_eq!(again.outcome, SubmitOutcome::Created, "cancelled work may be asked for again");
    farm.check().await;
}

#[tokio::test]
async fn another_profile_of_a_version_is_exported_beside_the_first() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    farm.run_all(&worker).await;
    let mut other = recipe();
    other.settings.still_px = 64;
    let profile = other.profile();
    farm.store.submit(submission("dragon", "v1"), other, [1; 16]).await.unwrap();
    while farm.finish_one(&worker).await.is_some() {}
    let exports = farm.store.pending_exports(10).await.unwrap();
    let folders: Vec<_> = exports.iter().map(|export| export.folder.as_str()).collect();
    assert_eq!(folders, [format!("v0001-{profile}")]);
}

#[tokio::test]
async fn a_version_published_again_by_the_same_profile_has_a_folder_of_its_own() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let mut folders = BTreeSet::new();
    let mut pipelines = Vec::new();
    for _ in 0..3 {
        let pipeline = farm.submit("dragon", "v1").await.pipeline;
        while farm.finish_one(&worker).await != Some(Stage::Publish) {}
        // The pointers have moved; the export and the rest are called off.
        farm.store.cancel_pipeline(pipeline, "ana", "").await.unwrap();
        pipelines.push(pipeline);
    }
    for export in farm.store.pending_exports(10).await.unwrap() {
        assert!(folders.insert(export.folder.clone()), "{} is used twice", export.folder);
        farm.store.export_done(export.id, &export.folder).await.unwrap();
    }
    assert_eq!(folders.len(), 3);
    // What is exported has its place, whatever was exported meanwhile.
    let other = Recipe { name: "other".into(), ..recipe() };
    farm.store.submit(submission("dragon", "v1"), other, [8; 16]).await.unwrap();
    while farm.finish_one(&worker).await != Some(Stage::Publish) {}
    let next = farm.store.pending_exports(10).await.unwrap().pop().unwrap();
    assert!(next.folder.starts_with("v0001-other-") && folders.insert(next.folder));
    let first = farm.store.pipeline(pipelines[0]).await.unwrap();
    assert_eq!(first.pipeline.status, PipelineStatus::Cancelled);
    farm.check().await;
}
