//! 250 frames of which every tenth fails: once, or always.

use super::{TWO_ATTEMPTS, farm, painter, paints, pictures, submit};
use crate::farm::{Farm, check_published};
use sawah::model::{JobState, PipelineId, Reason, Stage};
use sawah::protocol::event::Change;
use sawah::protocol::view::FarmStatus;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

const COUNT: i32 = 250;

/// How often each frame was drawn, by what the program noted.
pub(super) fn drawn(place: &Path) -> Vec<(i32, usize)> {
    let text = fs::read_to_string(place.join("drawn")).expect("frames were drawn");
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        *counts.entry(line.parse().expect("a frame's number")).or_default() += 1;
    }
    counts.into_iter().collect()
}

fn each_once(frames: impl IntoIterator<Item = i32>) -> Vec<(i32, usize)> {
    frames.into_iter().map(|frame| (frame, 1)).collect()
}

fn is_bad(frame: i32) -> bool {
    frame % 10 == 5
}

async fn hand_in(farm: &Farm, how: &str, place: &Path) -> PipelineId {
    let options = ["--renderer", "command", "--frames", "1-250", "--chunk", "10"];
    let options = [&options[..], &["--recipe", "again", "--set", "expect=frames"]].concat();
    let ran = submit(farm, &painter(farm), &options, &paints(how, Some(place))).await;
    ran.expect_code(0).pipeline()
}

#[tokio::test]
async fn a_range_in_which_every_tenth_frame_fails_once_ends_complete() {
    let (farm, _serve) = farm("range-once", &[("again", TWO_ATTEMPTS)]).await;
    let _worker = farm.worker("render-01");
    let place = farm.new_folder("place");
    let mut events = farm.events(0).await;
    let pipeline = hand_in(&farm, "once", &place).await;
    events.until_succeeded(pipeline).await;
    let detail = farm.pipeline(pipeline).await;
    check_published(&detail);
    assert_eq!(pictures(&detail).len(), 250);
    assert_eq!(drawn(&place), each_once(1..=COUNT), "no frame is drawn twice");
    let chunks = detail.jobs.iter().filter(|job| job.job.stage == Stage::Render);
    let attempts: Vec<usize> = chunks.map(|job| job.attempts.len()).collect();
    assert_eq!(attempts, [2; 25], "each chunk failed once");
}

#[tokio::test]
async fn frames_that_always_fail_are_named_and_replayed_alone_once_the_cause_is_mended() {
    let (farm, _serve) = farm("range-always", &[("again", TWO_ATTEMPTS)]).await;
    let _worker = farm.worker("render-01");
    let place = farm.new_folder("place");
    let mut events = farm.events(0).await;
    let pipeline = hand_in(&farm, "always", &place).await;
    for _ in 0..25 {
        let dead = events.until("a dead letter", |event| {
            matches!(event.change, Change::JobChanged { to: JobState::FailedTerminal, .. })
        });
        dead.await;
    }
    let letters = farm.dead_letters(pipeline).await;
    assert_eq!(letters.len(), 25, "{letters:#?}");
    let named: BTreeSet<i32> = letters
        .iter()
        .map(|letter| {
            assert_eq!(letter.reason, Reason::ProcessCrashed, "{letter:?}");
            let (_, frame) = letter.message.split_once("no picture of frame ").unwrap_or_default();
            frame.parse().unwrap_or_else(|_| panic!("it names one frame: {letter:?}"))
        })
        .collect();
    assert_eq!(named, (1..=COUNT).filter(|frame| is_bad(*frame)).collect());
    assert_eq!(drawn(&place), each_once((1..=COUNT).filter(|frame| !is_bad(*frame))));

    fs::write(place.join("mended"), "").expect("the cause is mended");
    let mut events = farm.events(farm.get::<FarmStatus>("/v1/status").await.seq).await;
    let id = pipeline.to_string();
    farm.run(["replay", "--missing", &id, "--reason", "mended"]).await.expect_code(0);
    events.until_succeeded(pipeline).await;
    assert_eq!(drawn(&place), each_once(1..=COUNT), "only the missing ones are drawn");
    let detail = farm.pipeline(pipeline).await;
    check_published(&detail);
    assert_eq!(pictures(&detail).len(), 250);
}
