//! POV-Ray: an animation in chunks, and how it fails.

use super::table::{Case, End, check_all};
use super::{ONE_ATTEMPT, farm, film_frames, need, pictures, submit};
use crate::farm::check_published;
use sawah::model::{Reason, Stage};
use std::collections::BTreeSet;
use std::fs;

const BALL: &str = include_str!("ball.pov");
const SIZE: [&str; 4] = ["--set", "width=64", "--set", "height=48"];

#[tokio::test]
async fn an_animation_of_povray_in_chunks_has_names_of_one_width() {
    need("povray", "--version", "povray");
    let (farm, _serve) = farm("povray", &[]).await;
    let _worker = farm.worker("render-01");
    let scene = farm.new_folder("scene").join("ball.pov");
    fs::write(&scene, BALL).expect("a scene can be written");
    let options = [&["--frames", "1-10", "--chunk", "4", "--wait"], &SIZE[..]].concat();
    let ran = submit(&farm, &scene, &options, &[]).await.expect_code(0);
    let detail = farm.pipeline(ran.pipeline()).await;
    check_published(&detail);
    let names: Vec<String> = (1..=10).map(|frame| format!("render/ball_{frame:02}.png")).collect();
    assert_eq!(pictures(&detail), names);
    assert_eq!(film_frames(&detail), 10);
    let frames = detail.published.iter().filter(|file| file.output.starts_with("render/"));
    let sums: BTreeSet<String> = frames.map(|file| file.checksum.to_string()).collect();
    let chunks = detail.jobs.iter().filter(|job| job.job.stage == Stage::Render).count();
    assert_eq!((sums.len(), chunks), (10, 3), "each frame of the clock is another picture");
}

#[tokio::test]
async fn a_failing_povray_is_told_by_its_cause_and_its_frames() {
    need("povray", "--version", "povray");
    let (farm, _serve) = farm("povray-fails", &[("once", ONE_ATTEMPT)]).await;
    let _worker = farm.worker("render-01");
    let case = |name: &'static str, text: String, program: &[&str], reason, words| {
        let scene = farm.new_folder(name).join(format!("{name}.pov"));
        fs::write(&scene, text).expect("a scene can be written");
        Case {
            name,
            scene,
            options: [&["--frames", "1-3"], &SIZE[..]].concat(),
            program: program.iter().map(|text| (*text).to_owned()).collect(),
            end: End::Dead(Stage::Render, reason, words),
        }
    };
    let ball = || BALL.to_owned();
    let wood = format!("{BALL}box {{ 0, 1 pigment {{ image_map {{ png \"wood.png\" }} }} }}\n");
    let missing = Reason::ReferenceMissing;
    let cases = vec![
        case("syntax", format!("{BALL}sphere {{\n"), &[], Reason::SceneInvalid, &["frames 1-3"]),
        case("include", format!("#include \"oak.inc\"\n{BALL}"), &[], missing, &["oak.inc", "1-3"]),
        case("texture", wood, &[], missing, &["wood.png", "1-3"]),
        case("absent", ball(), &["+Inone.pov"], Reason::SceneMissing, &["none.pov", "1-3"]),
        case("elsewhere", ball(), &["+O/nowhere/x_.png"], Reason::OutputUnwritable, &["1-3"]),
        case("smaller", ball(), &["+W32", "+H24"], Reason::OutputInvalid, &["32 × 24", "1-3"]),
    ];
    check_all(&farm, cases).await;
}
