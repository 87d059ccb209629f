//! A worker's own folder: full, healed, and cleared by somebody while it is in use.
#![cfg(target_os = "linux")]

use crate::farm::{Farm, check_published, publishes};
use crate::inputs::{obj, picture};
use crate::small_disk::{Mounts, SmallDisk, mounts};
use sawah::model::{JobState, PipelineId, Reason};
use sawah::protocol::event::Change;
use sawah::protocol::view::AttemptOutcome;
use std::collections::BTreeSet;
use std::fs;

/// Every worker that had a job of the pipeline.
async fn workers_of(farm: &Farm, pipeline: PipelineId) -> BTreeSet<String> {
    let jobs = farm.pipeline(pipeline).await.jobs;
    jobs.into_iter().flat_map(|job| job.attempts).map(|attempt| attempt.worker).collect()
}

#[tokio::test]
async fn a_full_disk_of_a_worker_is_said_and_heals_when_there_is_room() {
    let test = "worker_disk::a_full_disk_of_a_worker_is_said_and_heals_when_there_is_room";
    if let Mounts::PassedInside = mounts(test) {
        return;
    }
    let mut farm = Farm::new("disk-full");
    let disk = SmallDisk::mount(farm.work_folder("render-01"), "1m");
    let _serve = farm.serve().await;
    let _worker = farm.worker_in("render-01", disk.folder());
    // About 3 MB, since its pixels do not compress.
    let source = picture(&farm.new_folder("source").join("large.png"), 1024, 1024);
    let mut events = farm.events(0).await;
    let pipeline = farm.submit([source], &["--recipe", "quick"]).await;
    let failed = events.until("the failure", |event| {
        matches!(&event.change, Change::JobChanged { failure: Some(_), .. })
    });
    let Change::JobChanged { failure: Some(failure), to, .. } = failed.await.change else {
        unreachable!()
    };
    assert_eq!(failure.reason, Reason::DiskFull, "{failure:?}");
    assert_eq!(to, JobState::RetryScheduled, "somebody may make room");
    disk.grow("200m");
    events.until_succeeded(pipeline).await;
    check_published(&farm.pipeline(pipeline).await);
}

#[tokio::test]
async fn a_worker_without_room_steps_aside_until_it_has_some() {
    let test = "worker_disk::a_worker_without_room_steps_aside_until_it_has_some";
    if let Mounts::PassedInside = mounts(test) {
        return;
    }
    // With one slot it asks for nothing while it works, so the failure comes before its next claim.
    let mut farm = Farm::new("steps-aside").with("SAWAH_WORKER_SLOTS", "1");
    let disk = SmallDisk::mount(farm.work_folder("narrow"), "1m");
    let _serve = farm.serve().await;
    let narrow = farm.worker_of_folder("narrow");
    let folder = farm.new_folder("source");
    let large = picture(&folder.join("large.png"), 1024, 1024);
    let mut events = farm.events(0).await;
    let first = farm.submit([large], &["--recipe", "quick"]).await;
    let full = events.until("the failure", |event| {
        matches!(&event.change, Change::JobChanged { failure: Some(failure), .. }
            if failure.reason == Reason::DiskFull)
    });
    full.await;

    // These would fit, and the worker is idle: it asks for none of them, and the other one comes late.
    let mut small = Vec::new();
    for name in ["one", "two", "three"] {
        let source = picture(&folder.join(format!("{name}.png")), 16, 16);
        small.push(farm.submit([source], &["--recipe", "quick"]).await);
    }
    let roomy = farm.worker_of_folder("roomy");
    for pipeline in small {
        farm.events(0).await.until_succeeded(pipeline).await;
        assert_eq!(workers_of(&farm, pipeline).await, BTreeSet::from(["roomy".to_owned()]));
    }
    farm.events(0).await.until_succeeded(first).await;

    // Room heals it without a restart.
    disk.grow("200m");
    assert_eq!(roomy.stop().await, Some(0), "a worker ends orderly");
    let source = picture(&folder.join("four.png"), 16, 16);
    let last = farm.submit([source], &["--recipe", "quick"]).await;
    farm.events(0).await.until_succeeded(last).await;
    assert_eq!(workers_of(&farm, last).await, BTreeSet::from(["narrow".to_owned()]));
    assert_eq!(publishes(&farm.history().await, first), (1, 1));
    assert_eq!(narrow.stop().await, Some(0), "a worker ends orderly");
}

#[tokio::test]
async fn a_cache_that_is_cleared_under_a_running_worker_is_filled_again() {
    let mut farm = Farm::new("cleared-cache");
    let _serve = farm.serve().await;
    let _worker = farm.worker("render-01");
    let folder = farm.new_folder("source");
    let cache = farm.work_folder("render-01").join("cache");
    // The two boxes differ in a side file only: the worker believes that it has the geometry.
    for colour in ["1 0 0", "0 1 0"] {
        let source = obj(&folder.join("box.obj"), Some("box.mtl"));
        fs::write(folder.join("box.mtl"), format!("newmtl red\nKd {colour}\n")).unwrap();
        let args = ["--wait", "--recipe", "quick"];
        let ran = farm.try_submit([&source], &args).await.expect_code(0);
        let detail = farm.pipeline(ran.pipeline()).await;
        check_published(&detail);
        for job in detail.jobs {
            let outcomes: Vec<_> = job.attempts.iter().map(|attempt| attempt.outcome).collect();
            assert_eq!(outcomes, [AttemptOutcome::Succeeded], "{job:#?}");
        }
        // The worker still believes that it has the source; the second round finds nothing.
        fs::remove_dir_all(&cache).expect("the cache is there and can be cleared");
    }
}
