//! The profile of FFmpeg: numbered pictures become a film, or it stops at a gap and says that all
//! is well.

use super::table::{Case, End, check_all};
use super::{ONE_ATTEMPT, farm, film_frames, need};
use crate::inputs::picture;
use sawah::model::{Reason, Stage};
use std::path::{Path, PathBuf};

fn frames(folder: &Path, numbers: impl IntoIterator<Item = u32>) -> PathBuf {
    for number in numbers {
        picture(&folder.join(format!("frame_{number:04}.png")), 32, 24);
    }
    folder.join("frame_0001.png")
}

#[tokio::test]
async fn a_film_has_each_frame_that_was_asked_for_or_there_is_none() {
    need("ffmpeg", "-version", "ffmpeg");
    let (farm, _serve) = farm("film", &[("once", ONE_ATTEMPT)]).await;
    let _worker = farm.worker("render-01");
    let root: &'static str = farm.root().to_string_lossy().into_owned().leak();
    let case = |name: &'static str, folder: &'static str, frames: &'static str, scene, end| {
        let options = ["--renderer", "ffmpeg", "--set", "input=frame_", "--frames", frames];
        let with = format!("{root}/{folder}").leak();
        let options = [&options[..], &["--with", with]].concat();
        Case { name, scene, options, program: Vec::new(), end }
    };
    let whole = frames(&farm.new_folder("whole"), 1..=8);
    let gap = frames(&farm.new_folder("gap"), [1, 2, 3, 5, 6, 7, 8]);
    let dead = |reason, words| End::Dead(Stage::Render, reason, words);
    let cases = vec![
        case("six", "whole", "1-6", whole.clone(), End::Good(&[])),
        case("stops", "gap", "1-8", gap, dead(Reason::ReferenceMissing, &["3 of 8", "frame 4"])),
        case("leaps", "whole", "1-7x2", whole, dead(Reason::ArgumentsInvalid, &["1-7x2 leaps"])),
    ];
    check_all(&farm, cases).await;
    let six = crate::farm::answer(farm.request(reqwest::Method::GET, "/v1/snapshot")).await.1;
    let six: sawah::protocol::view::Snapshot = serde_json::from_str(&six).expect("a snapshot");
    let six = six.pipelines.iter().find(|one| one.asset.as_str() == "six").expect("it is there");
    assert_eq!(film_frames(&farm.pipeline(six.id).await), 6);
}
