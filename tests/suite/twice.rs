//! The same content handed in twice is worked on once.

use crate::farm::{Farm, Ran, check_published, jobs_created, publishes};
use crate::inputs::{mtl, obj};
use sawah::model::{PipelineId, Stage};
use sawah::protocol::view::{PipelineView, Snapshot};
use std::fs;

const SMALL: [&str; 6] =
    ["--set", "turntable_frames=4", "--set", "turntable_px=32", "--set", "chunk_frames=2"];

fn told(ran: &Ran, outcome: &str) -> PipelineId {
    assert_eq!(ran.texts("outcome"), [outcome], "{ran:#?}");
    ran.pipeline()
}

#[tokio::test]
async fn two_identical_submissions_make_one_set_of_renders() {
    let mut farm = Farm::new("twice");
    let _serve = farm.serve().await;
    let folder = farm.new_folder("source");
    let source = obj(&folder.join("box.obj"), Some("box.mtl"));
    mtl(&folder.join("box.mtl"));

    // Nothing runs yet, so the second comes while the first is on its way.
    let first = told(&farm.try_submit([&source], &SMALL).await.expect_code(0), "created");
    let running = farm.try_submit([&source], &SMALL).await.expect_code(0);
    assert_eq!(told(&running, "already_running"), first);

    let _worker = farm.worker("render-01");
    let mut waiting = vec!["--wait"];
    waiting.extend(SMALL);
    let waited = farm.try_submit([&source], &waiting).await.expect_code(0);
    assert_eq!(waited.pipeline(), first, "waiting for the work that runs already");
    let there = farm.try_submit([&source], &SMALL).await.expect_code(0);
    assert_eq!(told(&there, "already_there"), first);

    // A still and two chunks of frames, each drawn once.
    let history = farm.history().await;
    assert_eq!(jobs_created(&history, first, Stage::Render).len(), 3);
    assert_eq!(publishes(&history, first), (1, 1));
    let pipelines: Vec<PipelineView> = farm.get("/v1/pipelines").await;
    assert_eq!(pipelines.len(), 1, "{pipelines:#?}");
    check_published(&farm.pipeline(first).await);
}

#[tokio::test]
async fn other_settings_or_other_bytes_are_other_work() {
    let mut farm = Farm::new("not-twice");
    let _serve = farm.serve().await;
    let folder = farm.new_folder("source");
    let source = obj(&folder.join("box.obj"), Some("box.mtl"));
    mtl(&folder.join("box.mtl"));
    let first = told(&farm.try_submit([&source], &SMALL).await.expect_code(0), "created");
    let quick = farm.try_submit([&source], &["--recipe", "quick"]).await.expect_code(0);
    assert_ne!(told(&quick, "created"), first);

    // A side file counts as much as the file that names it.
    fs::write(folder.join("box.mtl"), "newmtl red\nKd 0 0 1\n").expect("it can be written");
    let blue = farm.try_submit([&source], &SMALL).await.expect_code(0);
    let blue = told(&blue, "created");
    assert_ne!(blue, first);
    let snapshot: Snapshot = farm.get("/v1/snapshot?pipelines=10").await;
    assert_eq!(snapshot.pipelines_total, 3);
    let version = |id| {
        let found = snapshot.pipelines.iter().find(|pipeline| pipeline.id == id);
        found.map(|pipeline| pipeline.asset_version)
    };
    assert_eq!(version(first), Some(1));
    assert_eq!(version(blue), Some(2), "other bytes are a new version");
}
