//! Frames that are right survive the worker that drew them.

use super::range::drawn;
use super::{farm, painter, paints, pictures, submit};
use crate::farm::{bounded, check_published};
use crate::relay::{Relay, Way};
use reqwest::Method;
use sawah::model::Stage;
use sawah::protocol::view::AttemptOutcome;
use sawah::protocol::work::KeepRequest;
use std::collections::BTreeSet;
use std::fs;

#[tokio::test]
async fn a_worker_killed_in_mid_chunk_loses_no_kept_frame() {
    let (farm, _serve) = farm("keeping", &[("plain", "")]).await;
    // What is kept is told twice, which must change nothing, and shows here that it was told.
    let (relay, mut told) = Relay::to(farm.url(), |message| {
        let keeps = message.path.ends_with("/keep") && message.method == Method::POST;
        if keeps { Way::Twice } else { Way::Pass }
    })
    .await;
    let first = farm.worker_at("first", relay.url());
    let place = farm.new_folder("place");
    let gate = place.join("gate");
    let made = std::process::Command::new("mkfifo").arg(&gate).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo is needed: apt install coreutils");
    let options = ["--renderer", "command", "--frames", "1-6", "--chunk", "6", "--recipe", "plain"];
    let options = [&options[..], &["--set", "expect=frames"]].concat();
    let mut events = farm.events(0).await;
    let ran = submit(&farm, &painter(&farm), &options, &paints("gated", Some(&place))).await;
    let pipeline = ran.expect_code(0).pipeline();

    let mut kept = BTreeSet::new();
    while kept.len() < 3 {
        let message = bounded("a kept frame", told.recv()).await.expect("the relay runs");
        assert!(message.answers.iter().all(|(status, _)| status.is_success()), "{message:?}");
        let request: KeepRequest = serde_json::from_slice(&message.body).expect("a request");
        let names = request.files.into_iter().map(|file| file.name);
        kept.extend(names.filter(|name| name.starts_with("render/")));
    }
    first.kill_hard().await;
    fs::remove_file(&gate).expect("the gate opens");
    let _second = farm.worker("second");
    events.until_succeeded(pipeline).await;

    let each_once: Vec<(i32, usize)> = (1..=6).map(|frame| (frame, 1)).collect();
    assert_eq!(drawn(&place), each_once, "no frame that was kept is drawn again");
    let detail = farm.pipeline(pipeline).await;
    check_published(&detail);
    assert_eq!(pictures(&detail).len(), 6);
    let render = detail.jobs.iter().find(|job| job.job.stage == Stage::Render).expect("a chunk");
    let outcomes: Vec<_> = render.attempts.iter().map(|attempt| attempt.outcome).collect();
    assert_eq!(outcomes, [AttemptOutcome::Lost, AttemptOutcome::Succeeded], "{render:#?}");
}
