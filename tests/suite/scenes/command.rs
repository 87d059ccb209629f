//! Any program, here one of Python: what it says, what it leaves, how it fails.

use super::table::{Case, End, check_all};
use super::{ONE_ATTEMPT, farm, film_frames, painter, paints, pictures, python, submit};
use crate::farm::{answer, check_published};
use reqwest::Method;
use sawah::model::{Reason, Stage};

const FRAMES: [&str; 6] = ["--renderer", "command", "--frames", "1-4", "--set", "expect=frames"];

#[tokio::test]
async fn a_program_of_python_draws_frames_in_chunks_and_says_how_far_it_is() {
    let (farm, _serve) = farm("command", &[]).await;
    let _worker = farm.worker("render-01");
    let scene = painter(&farm);
    let options = ["--renderer", "command", "--frames", "1-10", "--chunk", "4", "--wait"];
    let options = [&options[..], &["--set", "expect=frames", "--set", "fps=10"]].concat();
    let ran = submit(&farm, &scene, &options, &paints("plain", None)).await.expect_code(0);
    let detail = farm.pipeline(ran.pipeline()).await;
    check_published(&detail);
    let names: Vec<String> = (1..=10).map(|frame| format!("render/draw_{frame:04}.png")).collect();
    assert_eq!(pictures(&detail), names);
    assert_eq!(film_frames(&detail), 10);
    let chunks = detail.jobs.iter().filter(|job| job.job.stage == Stage::Render);
    let chunks: Vec<String> = chunks.map(|job| job.job.part()).collect();
    assert_eq!(chunks, ["frames 1-4", "frames 5-8", "frames 9-10"]);

    let job = detail.jobs.iter().find(|job| job.job.stage == Stage::Render).expect("a chunk");
    let log = farm.request(Method::GET, &format!("/v1/jobs/{}/log", job.job.id));
    let log = answer(log).await.1;
    let shown = format!("$ {} ", python());
    assert!(log.contains(&shown) && log.contains("openjd_status: painted 4"), "{log}");
    assert!(!log.contains("openjd_progress"), "what only counts stays out of the log: {log}");
}

#[tokio::test]
async fn a_program_without_pictures_leaves_what_it_wants() {
    let (farm, _serve) = farm("command-nothing", &[]).await;
    let _worker = farm.worker("render-01");
    let scene = painter(&farm);
    let options = ["--renderer", "command", "--frames", "1-3", "--wait"];
    let ran = submit(&farm, &scene, &options, &paints("report", None)).await.expect_code(0);
    let detail = farm.pipeline(ran.pipeline()).await;
    check_published(&detail);
    assert_eq!(pictures(&detail), ["render/draw_report.txt"]);
}

/// Each way in which a program fails, with its code, and words that help.
#[tokio::test]
async fn a_failing_program_is_told_by_its_cause_and_its_frames() {
    const MEMORY: &str = "memory_mib = 200\n[stages.retry.intervention]\nattempts = 1\n";
    const STALL: &str = "stall_s = 5\n[stages.retry.unknown]\nattempts = 1\n";
    let recipes = [("once", ONE_ATTEMPT), ("small", MEMORY), ("quick-stall", STALL)];
    let (farm, _serve) = farm("command-fails", &recipes).await;
    let _worker = farm.worker("render-01");
    let scene = painter(&farm);
    let place = farm.root().join("pids");
    let case = |name: &'static str, more: &[&'static str], how: &str, reason, words| Case {
        name,
        scene: scene.clone(),
        options: FRAMES.iter().chain(more).copied().collect(),
        program: paints(how, Some(&place)),
        end: End::Dead(Stage::Render, reason, words),
    };
    let missing = vec![python().to_owned(), "nothere.py".to_owned(), "{frames}".to_owned()];
    let size = ["--set", "width=16", "--set", "height=12"];
    let cases = vec![
        Case {
            program: missing,
            ..case("no-script", &[], "", Reason::SceneMissing, &["nothere.py", "frames 1-4"])
        },
        Case {
            program: vec!["no-such-program".to_owned()],
            ..case("no-program", &[], "", Reason::ProgramMissing, &["no-such-program"])
        },
        case("crashed", &[], "crash", Reason::ProcessCrashed, &["signal 11", "frames 2,4"]),
        case("hungry", &["--recipe", "small"], "hog", Reason::LimitMemory, &["200 MiB"]),
        case("hung", &["--recipe", "quick-stall"], "silent", Reason::LimitStall, &["5 s", "1-4"]),
        case("empty", &[], "empty", Reason::OutputInvalid, &["frame 2 ", "0 bytes"]),
        case("small", &size, "small", Reason::OutputInvalid, &["frames 1-4", "8 × 6", "16 × 12"]),
        case("half", &[], "half", Reason::OutputMissing, &["frames 2,4"]),
        case("said", &[], "says", Reason::ProgramFailed, &["cache is cold", "frames 2,4"]),
        case("broken", &[], "broken", Reason::ScriptError, &["ValueError: no such wood", "1-4"]),
        case("coded", &[], "code", Reason::ProgramFailed, &["code 3", "pump 7 is dry"]),
        case("walled", &[], "walled", Reason::OutputUnwritable, &["cannot be written", "1-4"]),
    ];
    check_all(&farm, cases).await;
    for process in super::gone::noted(&place) {
        assert!(!process.lives(), "{process:?} outlived its attempt");
    }
}

/// A worker that was told of two cards gives each of its slots one.
#[tokio::test]
async fn programs_of_a_slot_see_its_graphics_cards_only() {
    let (farm, _serve) = farm("command-cards", &[]).await;
    let settings = "[worker]\nslots = 2\ngpu_masks = [\"3\", \"GPU-4\"]\n";
    let folder = farm.new_folder("config/sawah");
    std::fs::write(folder.join("settings.toml"), settings).expect("settings");
    let _worker = farm.worker("render-01");
    let scene = painter(&farm);
    let tells = "import os, sys; names = ['CUDA_VISIBLE_DEVICES', 'HIP_VISIBLE_DEVICES', \
        'ROCR_VISIBLE_DEVICES', 'ZE_AFFINITY_MASK']; masks = set(map(os.environ.get, names)); \
        open(sys.argv[1] + 'cards.txt', 'w').write(' '.join(masks))";
    let program = [python(), "-c", tells, "{out}"].map(str::to_owned);
    let options = ["--renderer", "command", "--frames", "1", "--wait"];
    let ran = submit(&farm, &scene, &options, &program).await.expect_code(0);
    let detail = farm.pipeline(ran.pipeline()).await;
    let outputs = detail.jobs.iter().flat_map(|job| &job.outputs);
    let cards = outputs.clone().find(|output| output.name.ends_with("cards.txt"));
    let cards = cards.expect("the program's file");
    let said = farm.request(Method::GET, &format!("/v1/artifacts/{}", cards.checksum));
    let said = answer(said).await.1;
    assert!(["3", "GPU-4"].contains(&said.as_str()), "{said}");
}
