//! Frames that are right before their job is done.

use super::{Farm, submission};
use crate::model::{AssetKind, Checksum, Epoch, JobState, Reason, Stage};
use crate::protocol::dead::{DeadLetterFilter, Edit, ReplayBatch};
use crate::protocol::work::{Assignment, Failure, Fence, OutputFile, Program};
use crate::recipes::Library;
use crate::recipes::library::SCENE_RECIPE;
use crate::store::{SessionRecord, StoreError};

fn frame(number: u32) -> OutputFile {
    let name = format!("render/shot_{number:04}.png");
    OutputFile {
        checksum: Checksum::of(name.as_bytes()),
        name,
        size_bytes: 10,
        media_type: "image/png".to_owned(),
    }
}

fn broken() -> Failure {
    Failure::new(Reason::SceneInvalid, "frame 3 is not right")
}

fn crash() -> Failure {
    Failure::new(Reason::ProcessCrashed, "signal 11")
}

/// A scene of four frames in one chunk, brought to its render job.
async fn scene(farm: &Farm, worker: &SessionRecord) -> (Assignment, Fence) {
    scene_with(farm, worker, "scene", &[("frames", "1-4"), ("chunk_frames", "4")]).await
}

/// A scene with these settings, brought to its first render job.
pub(super) async fn scene_with(
    farm: &Farm,
    worker: &SessionRecord,
    content: &str,
    changes: &[(&str, &str)],
) -> (Assignment, Fence) {
    let mut recipe = Library::load(None).unwrap().get(SCENE_RECIPE).unwrap().clone();
    let changes = changes.iter().chain(&[("renderer", "blender")]);
    let changes = changes.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    recipe.settings = recipe.settings.with_changes(&changes).unwrap();
    farm.store.submit(submission("shot", content), recipe, [7; 16]).await.unwrap();
    loop {
        let (job, fence) = farm.begin(worker).await;
        if job.stage == Stage::Render {
            return (job, fence);
        }
        let mut result = super::result_of(&job);
        result.report.kind = (job.stage == Stage::Ingest).then_some(AssetKind::Scene);
        farm.store.complete(job.job_id, &fence, result).await.unwrap();
    }
}

pub(super) async fn blender(farm: &mut Farm, name: &str) -> SessionRecord {
    let mut worker = farm.worker(name, &[]).await;
    worker.capabilities.programs =
        vec![Program { name: "blender".to_owned(), version: "3.4.1".to_owned() }];
    let (id, capabilities) = (worker.id.clone(), worker.capabilities.clone());
    farm.store.close_session(&id, true).await.unwrap();
    let session = crate::model::SessionId::from_random([name.as_bytes()[1]; 16]);
    let folder = format!("folder of {name}");
    farm.store.open_session(session, name.into(), folder, capabilities).await.unwrap()
}

#[tokio::test]
async fn the_next_attempt_goes_on_where_the_last_one_stood() {
    let mut farm = Farm::open();
    let worker = blender(&mut farm, "w1").await;
    let (job, fence) = scene(&farm, &worker).await;
    assert!(job.kept.is_empty() && job.dependencies[0].made_by.is_none(), "{job:?}");
    farm.store.keep(job.job_id, &fence, vec![frame(1), frame(2)]).await.unwrap();
    farm.store.keep(job.job_id, &fence, vec![frame(2)]).await.unwrap();
    assert_eq!(
        farm.store.fail(job.job_id, &fence, crash()).await.unwrap(),
        JobState::RetryScheduled
    );
    assert_eq!(farm.store.kept(job.job_id).await.unwrap().len(), 2, "the failure keeps them");
    farm.pass_ms(600_000);
    farm.store.promote_due().await.unwrap();
    let (again, fence) = farm.begin(&worker).await;
    assert_eq!((again.job_id, again.kept.clone()), (job.job_id, vec![frame(1), frame(2)]));
    let mut result = super::result_of(&again);
    result.outputs = (1..=4).map(frame).collect();
    farm.store.complete(again.job_id, &fence, result).await.unwrap();
    assert!(farm.store.kept(job.job_id).await.unwrap().is_empty(), "the result has them");
    farm.check().await;
}

#[tokio::test]
async fn the_newest_frame_stands_for_the_pipeline_while_it_is_drawn() {
    let mut farm = Farm::open();
    let worker = blender(&mut farm, "w1").await;
    let (job, fence) = scene(&farm, &worker).await;
    let small = |number: u32| OutputFile {
        name: format!("thumbnails/shot_{number:04}.png"),
        ..frame(100 + number)
    };
    for number in [1, 2] {
        let files = vec![frame(number), small(number)];
        farm.store.keep(job.job_id, &fence, files).await.unwrap();
        let still = farm.store.snapshot(10).await.unwrap().pipelines[0].still;
        assert_eq!(still, Some(small(number).checksum));
    }
    farm.check().await;
}

#[tokio::test]
async fn a_stale_claim_keeps_nothing() {
    let mut farm = Farm::open();
    let worker = blender(&mut farm, "w1").await;
    let (job, fence) = scene(&farm, &worker).await;
    let stale = Fence { epoch: Epoch(fence.epoch.0 + 1), ..fence.clone() };
    let refused = farm.store.keep(job.job_id, &stale, vec![frame(1)]).await;
    assert!(matches!(refused, Err(StoreError::Superseded(_))), "{refused:?}");
    farm.store.fail(job.job_id, &fence, broken()).await.unwrap();
    let late = farm.store.keep(job.job_id, &fence, vec![frame(1)]).await;
    assert!(late.is_err(), "a zombie's frames");
    let outside = OutputFile { name: "../x".to_owned(), ..frame(1) };
    assert!(farm.store.keep(job.job_id, &fence, vec![outside]).await.is_err());
    assert!(farm.store.kept(job.job_id).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_replay_draws_only_what_is_missing_and_other_settings_draw_all() {
    for (settings, kept) in [(None, 2), (Some(("samples", "9")), 0)] {
        let mut farm = Farm::open();
        let worker = blender(&mut farm, "w1").await;
        let (job, fence) = scene(&farm, &worker).await;
        farm.store.keep(job.job_id, &fence, vec![frame(1), frame(4)]).await.unwrap();
        let state = farm.store.fail(job.job_id, &fence, broken()).await.unwrap();
        assert_eq!(state, JobState::FailedTerminal);
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let order = ReplayBatch {
            filter: DeadLetterFilter { all: true, ..DeadLetterFilter::default() },
            edit: Edit { settings: settings.into_iter().collect(), ..Edit::default() },
            actor: "ana".to_owned(),
            reason: "mended".to_owned(),
            dry_run: false,
        };
        assert_eq!(farm.store.replay_many(order).await.unwrap().done, 1);
        let (again, _) = farm.begin(&worker).await;
        assert_eq!((again.chunk, again.kept.len()), (job.chunk, kept));
        farm.check().await;
    }
}

#[tokio::test]
async fn a_scene_waits_for_a_worker_that_has_its_program() {
    let mut farm = Farm::open();
    let worker = blender(&mut farm, "w1").await;
    let (job, fence) = scene(&farm, &worker).await;
    farm.store.release(job.job_id, &fence).await.unwrap();
    let bare = farm.worker("w2", &[]).await;
    assert!(farm.claim_among(&bare, 1, &[&bare]).await.is_empty());
    let view = farm.store.job_view(job.job_id).await.unwrap();
    assert_eq!(view.queue, "render.final");
    assert_eq!(farm.claim(&worker, 1).await.len(), 1);
}
