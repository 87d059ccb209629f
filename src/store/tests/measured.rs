//! Chunks that shall take so long follow from what the asset's frames took.

use super::kept::{blender, scene_with};
use super::{Farm, result_of};
use crate::model::Stage;
use crate::store::SessionRecord;

/// Draws one version of frames 1-24, each chunk in `ms`; the parts that it was cut into.
async fn draw(farm: &Farm, worker: &SessionRecord, content: &str, ms: i64) -> Vec<String> {
    let changes = [("chunk_frames", "12"), ("chunk_seconds", "30"), ("frames", "1-24")];
    let (mut job, mut fence) = scene_with(farm, worker, content, &changes).await;
    let mut parts = Vec::new();
    while job.stage == Stage::Render {
        parts.push(job.chunk.to_string());
        farm.pass_ms(ms);
        farm.store.complete(job.job_id, &fence, result_of(&job)).await.unwrap();
        (job, fence) = farm.begin(worker).await;
    }
    while farm.store.complete(job.job_id, &fence, result_of(&job)).await.is_ok() {
        let Some(next) = farm.claim(worker, 1).await.pop() else { break };
        (job, fence) = (
            next.clone(),
            crate::protocol::work::Fence { session: worker.id.clone(), epoch: next.epoch },
        );
        farm.store.start(job.job_id, &fence).await.unwrap();
    }
    parts
}

#[tokio::test]
async fn the_next_version_is_cut_by_what_frames_of_the_one_before_took() {
    let mut farm = Farm::open();
    let worker = &blender(&mut farm, "w1").await;
    // 12 frames in 60 s are 5 s each; 30 s hold 6 of them.
    assert_eq!(draw(&farm, worker, "one", 60_000).await, ["frames:1-12", "frames:13-24"]);
    let second = draw(&farm, worker, "two", 60_000).await;
    assert_eq!(second, ["frames:1-6", "frames:7-12", "frames:13-18", "frames:19-24"]);
    // Of the six chunks two had frames of 5 s and four of 10 s: 8.3 s, of which 30 s hold 3.
    assert_eq!(draw(&farm, worker, "three", 1_000).await.len(), 8);
    farm.check().await;
}
