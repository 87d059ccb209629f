//! A Blender that is kept running between chunks goes with whatever ends its host.
#![cfg(target_os = "linux")]

use crate::farm::{Farm, bounded};
use crate::kill_worker::{frames_job, until_gone};
use sawah::model::JobState;
use std::fs;
use std::path::{Path, PathBuf};
use tokio::process::Command;

/// A scene of light frames.
async fn scene(farm: &Farm) -> PathBuf {
    let path = farm.new_folder("source").join("light.blend");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/bench/light_scene.py");
    let mut command = Command::new("blender");
    command.args(["-b", "--factory-startup", "--python"]).arg(script).arg("--").arg(&path);
    let made = bounded("a scene", command.output()).await;
    made.expect("this test needs Blender: apt install blender");
    path
}

/// Processes of the program that a worker's hosts keep.
fn kept(work: &Path) -> Vec<u32> {
    let place = format!("{}/staging/host-", work.display());
    let entries = fs::read_dir("/proc").expect("proc is there").flatten();
    let is_kept = |entry: &fs::DirEntry| {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(&place)
    };
    entries.filter(is_kept).filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// What ends the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    WorkerKilled,
    WorkerStopped,
    Cancelled,
    Done,
}

#[tokio::test]
async fn nothing_of_a_blender_that_is_kept_outlives_what_it_was_kept_for() {
    for way in [Way::WorkerKilled, Way::WorkerStopped, Way::Cancelled, Way::Done] {
        let mut farm = Farm::new("warm");
        let _serve = farm.serve().await;
        let worker = farm.worker("one");
        let work = farm.work_folder("one");
        let mut events = farm.events(0).await;
        let frames = if way == Way::Done { "1-8" } else { "1-40" };
        let more = ["--frames", frames, "--chunk", "2", "--set", "film=never"];
        let pipeline = farm.submit([scene(&farm).await], &more).await;
        let created = events.until("the first chunk", |event| frames_job(event).is_some()).await;
        let job = frames_job(&created).expect("it is one");
        events.until_job_is(job, JobState::Succeeded).await;
        let kept = kept(&work);
        assert!(!kept.is_empty(), "no Blender is kept");
        match way {
            Way::WorkerKilled => worker.kill_hard().await,
            Way::WorkerStopped => assert_eq!(worker.stop().await, Some(0)),
            Way::Cancelled => {
                farm.run(["cancel", &pipeline.to_string(), "--reason", "enough"])
                    .await
                    .expect_code(0);
            }
            Way::Done => events.until_succeeded(pipeline).await,
        }
        for pid in kept.into_iter().chain(self::kept(&work)) {
            until_gone(pid).await;
        }
        assert_eq!(self::kept(&work), Vec::<u32>::new(), "{way:?}");
    }
}
