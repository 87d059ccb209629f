//! What is tried again by itself, what an operator does again, and what an operator stops.
#![cfg(target_os = "linux")]

use crate::farm::{Farm, check_published, jobs_created, publishes, signal, staged_files};
use crate::inputs::{obj, picture, truncate};
use crate::kill_worker::{frames_job, hosts_of};
use sawah::model::{JobState, PipelineStatus, Reason, Stage, StageStatus};
use sawah::protocol::event::Change;
use sawah::protocol::submit::{CancelReply, Order, Replayed};
use sawah::protocol::view::AttemptOutcome;
use std::path::PathBuf;

const SLOW: [&str; 6] =
    ["--set", "turntable_frames=96", "--set", "turntable_px=1024", "--set", "chunk_frames=96"];

fn order(reason: &str) -> Order {
    Order { actor: "operator test".to_owned(), reason: reason.to_owned() }
}

#[tokio::test]
async fn a_crashed_stage_is_an_outcome_and_is_tried_again() {
    let mut farm = Farm::new("crashed-stage").with("SAWAH_HEARTBEAT_MS", "200");
    let _serve = farm.serve().await;
    let worker = farm.worker("render-01");
    let source = obj(&farm.new_folder("source").join("box.obj"), None);
    let mut events = farm.events(0).await;
    let pipeline = farm
        .submit(
            [source],
            &[
                "--set",
                "turntable_frames=48",
                "--set",
                "turntable_px=1024",
                "--set",
                "chunk_frames=48",
            ],
        )
        .await;
    let created = events.until("the job of the frames", |event| frames_job(event).is_some()).await;
    let job = frames_job(&created).expect("it is one");
    events.until_under_way(job).await;
    for host in hosts_of(worker.pid()) {
        signal(host, rustix::process::Signal::KILL);
    }
    let crashed = events.until_job_is(job, JobState::RetryScheduled).await;
    let Change::JobChanged { failure: Some(failure), run_at_ms: Some(run_at_ms), .. } =
        crashed.change
    else {
        panic!("a retry says why and when: {crashed:#?}")
    };
    assert_eq!(failure.reason, Reason::ProcessCrashed, "{failure:?}");
    assert!(run_at_ms > crashed.at_ms, "a retry waits");

    events.until_succeeded(pipeline).await;
    let attempts = farm.job(job).await.attempts;
    let outcomes: Vec<_> = attempts.iter().map(|attempt| attempt.outcome).collect();
    assert_eq!(outcomes, [AttemptOutcome::Failed, AttemptOutcome::Succeeded], "{attempts:#?}");
    check_published(&farm.pipeline(pipeline).await);
    assert_eq!(publishes(&farm.history().await, pipeline), (1, 1));
}

#[tokio::test]
async fn a_cancelled_pipeline_stops_in_mid_render_and_publishes_nothing() {
    let mut farm = Farm::new("cancel").with("SAWAH_HEARTBEAT_MS", "200");
    let _serve = farm.serve().await;
    let _worker = farm.worker("render-01");
    let source = obj(&farm.new_folder("source").join("box.obj"), None);
    let mut events = farm.events(0).await;
    let pipeline = farm.submit([source], &SLOW).await;
    let created = events.until("the job of the frames", |event| frames_job(event).is_some()).await;
    let job = frames_job(&created).expect("it is one");
    events.until_under_way(job).await;

    let path = format!("/v1/pipelines/{pipeline}/cancel");
    let reply: CancelReply = farm.post(&path, &order("no longer wanted")).await;
    assert!(reply.jobs >= 1, "{reply:?}");
    let event = events.until_job_is(job, JobState::Cancelled).await;
    assert!(event.actor.contains("operator"), "{event:?}");

    // The worker has dropped the job and is free again: the next asset goes through.
    let next = picture(&farm.new_folder("source").join("next.png"), 32, 32);
    farm.try_submit([next], &["--wait"]).await.expect_code(0);
    let detail = farm.pipeline(pipeline).await;
    assert_eq!(detail.pipeline.status, PipelineStatus::Cancelled);
    assert!(detail.published.is_empty() && detail.export_folder.is_none(), "{detail:#?}");
    let render = detail.pipeline.stages.iter().find(|stage| stage.stage == Stage::Render);
    assert_eq!(render.map(|stage| stage.status), Some(StageStatus::Cancelled));
    let outcome = farm.job(job).await.attempts.last().map(|attempt| attempt.outcome);
    assert_eq!(outcome, Some(AttemptOutcome::Cancelled));
    assert_eq!(publishes(&farm.history().await, pipeline), (0, 0));
}

#[tokio::test]
async fn a_dead_letter_is_replayed_as_a_new_job() {
    let mut farm = Farm::new("replay");
    let _serve = farm.serve().await;
    let worker = farm.worker("render-01");
    let broken = truncate(&picture(&farm.new_folder("source").join("cut.png"), 64, 64), 50);
    let ran = farm.try_submit([broken], &["--wait"]).await.expect_code(1);
    let pipeline = ran.pipeline();
    let letters = farm.dead_letters(pipeline).await;
    let [letter] = letters.as_slice() else { panic!("one dead letter: {letters:#?}") };
    assert!(letter.replayed_as.is_none() && !letter.dismissed, "{letter:?}");

    let path = format!("/v1/dead-letters/{}/replay", letter.job);
    let Replayed { job } = farm.post(&path, &order("once more")).await;
    assert_ne!(job, letter.job);
    assert_eq!(farm.job(job).await.job.replay_of, Some(letter.job));
    // The bytes are as broken as before, so it is a dead letter again; the first stays as it was.
    let mut events = farm.events(0).await;
    events.until_job_is(job, JobState::FailedTerminal).await;
    let letters = farm.dead_letters(pipeline).await;
    assert_eq!(letters.len(), 2, "{letters:#?}");
    let settled = letters.iter().find(|one| one.job == letter.job).and_then(|one| one.replayed_as);
    assert_eq!(settled, Some(job));
    assert_eq!(jobs_created(&farm.history().await, pipeline, letter.stage).len(), 2);

    let path = format!("/v1/dead-letters/{job}/dismiss");
    farm.post::<()>(&path, &order("the file is at fault")).await;
    let dead = farm.run(["dead", "--json"]).await.expect_code(0);
    assert!(!dead.stdout.contains("input."), "nothing waits for anybody: {}", dead.stdout);
    assert_eq!(worker.stop().await, Some(0), "a worker ends orderly");
    assert_eq!(staged_files(&farm.work_folder("render-01")), Vec::<PathBuf>::new());
}
