//! The command line: one JSON document where it is asked for, exit codes as documented.

use crate::farm::Farm;
use crate::inputs::{picture, truncate};
use std::fs;

#[tokio::test]
async fn without_a_coordinator_clients_say_so_with_code_3() {
    let farm = Farm::new("no-coordinator");
    let file = picture(&farm.new_folder("source").join("leaf.png"), 16, 16);
    let file = file.to_string_lossy().into_owned();
    let commands: [&[&str]; 7] = [
        &["ls"],
        &["show", "1"],
        &["logs", "1"],
        &["cancel", "1"],
        &["workers"],
        &["dead"],
        &["submit", &file],
    ];
    for command in commands {
        let ran = farm.run(command).await.expect_code(3);
        assert!(ran.stderr.contains("sawah serve"), "what to do is said: {ran:#?}");
        assert!(ran.stdout.is_empty(), "{ran:#?}");
    }
    // Nor does one that is named but does not answer.
    let ran = farm.run(["--coordinator", "http://127.0.0.1:1", "--token", "x", "ls"]).await;
    ran.expect_code(3);
}

#[tokio::test]
async fn wrong_usage_has_code_2() {
    let farm = Farm::new("usage");
    for args in [
        &["frobnicate"] as &[&str],
        &["ls", "--no-such-flag"],
        &["show", "not-a-number"],
        &["submit"],
        &["submit", "a.png", "--set", "no-equals-sign"],
        &["serve", "--listen", "not-an-address"],
        &["replay"],
        &["replay", "--where", "colour=red", "--reason", "x"],
        &["replay", "--where", "stage=render"],
        &["replay", "17"],
        &["replay", "17", "--reason", " "],
        &["replay", "--missing", "3"],
        &["replay", "17", "--reason", "x", "--needs", "colour=red"],
        &["audit", "--job", "1", "--pipeline", "1"],
        &["dismiss", "17"],
        &["forgive", "render-03"],
    ] {
        let ran = farm.run(args).await.expect_code(2);
        assert!(!ran.stderr.is_empty() && ran.stdout.is_empty(), "{ran:#?}");
    }
}

#[tokio::test]
async fn wrong_settings_have_code_2_whatever_the_command() {
    for (key, value, word) in [
        ("SAWAH_LEASE_MS", "soon", "lease_ms"),
        ("SAWAH_LEASE_MS", "1", "lease_ms"),
        ("SAWAH_HEARTBEAT_MS", "29999", "heartbeat_ms"),
        ("SAWAH_LISTEN", "here", "listen"),
        ("SAWAH_WORKER_SLOTS", "0", "worker.slots"),
        ("SAWAH_WORKER_NAME", "a\u{7}b", "worker.name"),
        ("SAWAH_LOG", "loud=very", "log.level"),
        ("SAWAH_LOG_FORMAT", "xml", "log.format"),
    ] {
        let farm = Farm::new("wrong-setting").with(key, value);
        for command in [
            &["serve", "--listen", "127.0.0.1:0"] as &[&str],
            &["worker"],
            &["submit", "leaf.png"],
            &["ls", "--json"],
            &["why", "1"],
            &["doctor"],
        ] {
            // The flag wins, so what the variable says does not matter.
            if key == "SAWAH_LISTEN" && command.contains(&"--listen") {
                continue;
            }
            let ran = farm.run(command).await.expect_code(2);
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(said.contains(word), "{key}={value}: {word} is missing: {ran:#?}");
        }
        assert!(!farm.folder().exists(), "{key}={value}: a farm was made");
    }
}

#[tokio::test]
async fn help_tells_every_command() {
    let farm = Farm::new("help");
    let help = farm.run(["--help"]).await.expect_code(0).stdout;
    for command in [
        "demo",
        "serve",
        "worker",
        "submit",
        "ls",
        "show",
        "logs",
        "cancel",
        "replay",
        "why",
        "pause",
        "resume",
        "drain",
        "limits",
        "status",
        "audit",
        "workers",
        "dead",
        "dismiss",
        "forgive",
        "doctor",
        "bench",
        "renderers",
    ] {
        assert!(help.contains(command), "{command} is missing in\n{help}");
        let own = farm.run([command, "--help"]).await.expect_code(0).stdout;
        assert!(own.contains("--json"), "{command} has --json:\n{own}");
    }
    assert!(!help.contains("stage-host"), "what people do not use is hidden:\n{help}");
    let version = farm.run(["--version"]).await.expect_code(0).stdout;
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
}

#[tokio::test]
async fn an_unknown_key_of_the_settings_is_refused_with_its_line() {
    let farm = Farm::new("settings");
    let config = farm.new_folder("own-config");
    fs::write(config.join("settings.toml"), "listen = \"127.0.0.1:0\"\ncolour = \"green\"\n")
        .expect("settings can be written");
    let mut command = farm.command();
    let output = command.env("SAWAH_CONFIG", &config).args(["ls"]).output().await;
    let output = output.expect("the program can be started");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    for word in ["line 2", "colour", "settings.toml"] {
        assert!(stderr.contains(word), "{word} is missing in\n{stderr}");
    }
}

#[tokio::test]
async fn every_listing_is_one_json_document() {
    let mut farm = Farm::new("listings");
    let serve = farm.serve().await;
    let worker = farm.worker("render-01");
    let folder = farm.new_folder("source");
    let good = picture(&folder.join("leaf.png"), 32, 32);
    let broken = truncate(&picture(&folder.join("cut.png"), 64, 64), 50);
    let pipeline = farm.try_submit([good], &["--wait"]).await.expect_code(0).pipeline();
    let dead = farm.try_submit([broken], &["--wait"]).await.expect_code(1).pipeline();

    for (args, word) in [
        (&["ls", "--json"] as &[&str], "leaf"),
        (&["workers", "--json"], "render-01"),
        (&["dead", "--json"], "input.truncated"),
        (&["show", "--json", &dead.to_string()], "dead_lettered"),
    ] {
        let ran = farm.run(args).await.expect_code(0);
        assert!(ran.json().to_string().contains(word), "{word} is missing: {ran:#?}");
        let plain: Vec<&str> = args.iter().copied().filter(|arg| *arg != "--json").collect();
        let text = farm.run(plain).await.expect_code(0).stdout;
        assert!(!text.trim().is_empty(), "{args:?} tells people nothing");
    }
    let detail = farm.pipeline(pipeline).await;
    let job = detail.jobs.first().expect("it has jobs").job.id.to_string();
    farm.run(["logs", job.as_str()]).await.expect_code(0);
    farm.run(["logs", "--json", job.as_str()]).await.expect_code(0).json();
    // No such thing: the work asked for cannot be done.
    farm.run(["show", "999999"]).await.expect_code(1);
    farm.run(["replay", "999999", "--reason", "mended"]).await.expect_code(1);

    // A second coordinator on the same farm is refused and harms nothing.
    let second = farm.run(["serve", "--listen", "127.0.0.1:0"]).await;
    assert!(second.code != 0 && !second.stderr.is_empty(), "{second:#?}");
    farm.run(["ls", "--json"]).await.expect_code(0);
    #[cfg(unix)]
    {
        assert_eq!(worker.stop().await, Some(0), "a worker ends orderly");
        assert_eq!(serve.stop().await, Some(0), "a coordinator ends orderly");
        assert!(!farm.folder().join("runtime.json").exists());
    }
    #[cfg(not(unix))]
    drop((worker, serve));
}

#[tokio::test]
async fn doctor_looks_at_everything() {
    let farm = Farm::new("doctor");
    let ran = farm.run(["doctor", "--json"]).await;
    assert!(matches!(ran.code, 0 | 1), "{ran:#?}");
    let said = ran.json().to_string().to_lowercase();
    for word in ["sqlite", "ffmpeg", "adapter"] {
        assert!(said.contains(word), "{word} is missing in {said}");
    }
}

#[cfg(all(target_os = "linux", feature = "desktop"))]
#[tokio::test]
async fn without_a_display_the_window_says_what_to_use_instead() {
    let farm = Farm::new("no-display");
    let ran = farm.run([] as [&str; 0]).await;
    assert_ne!(ran.code, 0, "{ran:#?}");
    assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
    for words in ["sawah serve", "demo --headless"] {
        assert!(ran.stderr.contains(words), "'{words}' is missing: {ran:#?}");
    }
}

#[tokio::test]
async fn bench_measures_the_farm_beside_the_machine_and_cleans_up() {
    let farm = Farm::new("bench");
    let folder = farm.new_folder("measured");
    let path = folder.to_string_lossy().into_owned();
    let args = ["bench", "--quick", "--jobs", "50", "--json", "--folder", &path];
    let figures = farm.run(args).await.expect_code(0).json()["figures"].clone();
    let figures = figures.as_array().expect("a list of figures");
    for area in ["disk", "sqlite", "http", "store", "coordinator"] {
        let of_area = figures.iter().filter(|figure| figure["area"] == area);
        assert!(of_area.count() > 1, "nothing of {area}: {figures:#?}");
    }
    for figure in figures {
        let value = figure["value"].as_f64().expect("a number");
        let may_be_zero = matches!(figure["unit"].as_str(), Some("% of a core" | "bytes"));
        assert!(value > 0.0 || may_be_zero, "{figure:#?}");
    }
    let compared = figures.iter().filter(|figure| figure["ratio"]["value"].is_number());
    assert!(compared.count() > 10, "ratios to the machine's own limits: {figures:#?}");
    assert_eq!(fs::read_dir(folder).expect("it is there").count(), 0, "nothing is left behind");
}

#[tokio::test]
async fn a_log_is_judged_by_a_renderer_profile_without_a_farm() {
    let farm = Farm::new("renderers");
    let logs = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/renderers/blender");
    let test = |log: &str| {
        ["renderers", "test", "blender"]
            .map(str::to_owned)
            .into_iter()
            .chain([format!("{logs}/{log}.log"), "--json".to_owned()])
            .collect::<Vec<_>>()
    };
    let good = farm.run(test("healthy-3")).await.expect_code(0).json();
    assert_eq!(good["verdict"]["ok"], true, "{good:#?}");
    assert_eq!(good["frames_done"].as_array().map(Vec::len), Some(3), "{good:#?}");
    // It ended with 0 all the same.
    let bad = farm.run(test("script-error-rc0")).await.expect_code(1).json();
    assert_eq!(bad["verdict"]["reason"], "script.error", "{bad:#?}");
    farm.run(test("no-such-log")).await.expect_code(1);
    let unknown = farm.run(["renderers", "test", "brush", "x.log"]).await.expect_code(2);
    assert!(unknown.stderr.contains("povray"), "the known ones are named: {unknown:#?}");
    let all = farm.run(["renderers", "--json"]).await.expect_code(0).json();
    assert!(all["renderers"].as_array().is_some_and(|rows| rows.len() >= 14), "{all:#?}");

    let config = farm.new_folder("own-config");
    fs::create_dir_all(config.join("renderers")).expect("the folder can be made");
    fs::write(config.join("renderers/mine.toml"), "name = \"mine\"\ncolour = 1\n")
        .expect("a profile can be written");
    let mut command = farm.command();
    let output = command.env("SAWAH_CONFIG", &config).arg("renderers").output().await;
    let output = output.expect("the program can be started");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("line 2") && stderr.contains("mine.toml"), "{stderr}");
}
