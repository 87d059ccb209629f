//! Watch folders in the real program: what artists drop, what they get back, and that nothing is
//! lost or taken twice whatever happens to the coordinator meanwhile.

use crate::events::Events;
use crate::farm::{Farm, bounded};
use crate::inputs::{glb, obj, picture, stl};
use crate::small_disk::{Mounts, SmallDisk, mounts};
use sawah::client::http::{Client, Token};
use sawah::client::live::{Fetched, LiveFarm, WatchList};
use sawah::model::WatchFolderId;
use sawah::protocol::event::Change;
use sawah::protocol::view::PipelineView;
use sawah::protocol::watch::{WatchFileState, WatchFileView, WatchFolderView, WatchWord};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Small work for each drop.
const QUICK: [&str; 6] =
    ["--recipe", "quick", "--set", "still_px=32", "--set", "thumbnails_px=[32]"];

async fn watch(farm: &Farm, folder: &Path, more: &[&str]) -> WatchFolderView {
    let mut words = vec!["watch", "add", folder.to_str().expect("a test's folder is Unicode")];
    words.extend(["--json", "--side-wait", "900ms"]);
    if !more.contains(&"--settle") {
        words.extend(["--settle", "300ms"]);
    }
    words.extend(QUICK);
    words.extend(more);
    let ran = farm.run(words).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("one document")
}

async fn files(farm: &Farm) -> Vec<WatchFileView> {
    farm.get("/v1/watch/1/files?limit=1000").await
}

/// Waits until a file is in a state, as the audit says.
async fn until(events: &mut Events, wanted: WatchFileState, name: &str) -> String {
    let what = format!("{name} {}", wanted.as_str());
    let event = events.until(&what, |event| {
        matches!(&event.change, Change::WatchFileChanged { path, state, .. }
            if path == name && *state == wanted)
    });
    match event.await.change {
        Change::WatchFileChanged { why, .. } => why.unwrap_or_default(),
        _ => String::new(),
    }
}

/// Waits until the results of a drop are where they belong.
async fn until_delivered(events: &mut Events, name: &str) -> String {
    let what = format!("the results of {name}");
    let event = events.until(&what, |event| {
        matches!(&event.change, Change::WatchFileChanged { path, why: Some(why), .. }
            if path == name && why.starts_with("its results are"))
    });
    match event.await.change {
        Change::WatchFileChanged { why: Some(why), .. } => why,
        _ => String::new(),
    }
}

#[tokio::test]
async fn what_is_dropped_comes_back_as_results_and_the_source_is_put_aside() {
    let mut farm = Farm::new("watch");
    let serve = farm.serve().await;
    let worker = farm.worker("render-01");
    let drop_in = farm.new_folder("drop");
    watch(&farm, &drop_in, &["--results", "beside", "--after", "move"]).await;
    let mut events = farm.events(0).await;

    obj(&drop_in.join("box.obj"), None);
    let frames = farm.new_folder("drop/rain");
    for number in 1..=3 {
        picture(&frames.join(format!("rain_{number:04}.png")), 16, 16);
    }
    let results = until_delivered(&mut events, "box.obj").await;
    assert!(results.ends_with("_results/box_v1_quick"), "{results}");
    assert!(drop_in.join("_results/box_v1_quick/still.png").is_file());
    let mut events = farm.events(0).await;
    until_delivered(&mut events, "rain/rain_####.png").await;
    assert!(frames.join("_results").is_dir());

    let moved = files(&farm).await;
    for file in &moved {
        let why = file.why.clone().unwrap_or_default();
        assert!(why.starts_with("moved to _done/"), "{file:?}");
        let day = why.trim_start_matches("moved to ");
        assert!(drop_in.join(day).is_file(), "{day}");
        assert!(!drop_in.join(&file.path).exists(), "{}", file.path);
    }
    assert_eq!(moved.len(), 4);
    worker.stop().await;
    serve.stop().await;
}

#[tokio::test]
async fn the_window_sees_a_file_settle_before_it_is_taken() {
    let mut farm = Farm::new("watch-window");
    let serve = farm.serve().await;
    let drop_in = farm.new_folder("drop");
    watch(&farm, &drop_in, &["--settle", "3s"]).await;
    let client = Client::new(farm.url(), Token::new(farm.token())).expect("an address");
    let (ring, mut bell) = tokio::sync::watch::channel(());
    let clock = Arc::new(sawah::clock::SystemClock::start());
    let handle = tokio::runtime::Handle::current();
    let live = LiveFarm::connect(client, Arc::new(move || _ = ring.send(())), &handle, clock);
    let list = WatchList { folder: WatchFolderId(1), state: None };
    let mut seen = Vec::new();
    let watching = async {
        loop {
            // As the window does when it draws.
            let folders = live.watch_folders();
            let files = live.watch_files(list);
            if let (Fetched::Ready(_), Fetched::Ready(files)) = (folders, files) {
                match files.first() {
                    None if seen.is_empty() => {
                        picture(&drop_in.join("leaf.png"), 8, 8);
                        seen.push(None);
                    }
                    None => {}
                    Some(file) if seen.last() == Some(&Some(file.state)) => {}
                    Some(file) => seen.push(Some(file.state)),
                }
            }
            if seen.last() == Some(&Some(WatchFileState::Accepted)) {
                return;
            }
            bell.changed().await.expect("the view lives");
        }
    };
    bounded("the file is seen", watching).await;
    assert_eq!(seen, [None, Some(WatchFileState::Settling), Some(WatchFileState::Accepted)]);
    serve.stop().await;
}

#[tokio::test]
async fn a_refused_file_has_a_note_that_goes_away_once_it_is_mended() {
    let mut farm = Farm::new("watch-note");
    let serve = farm.serve().await;
    let worker = farm.worker("render-01");
    let drop_in = farm.new_folder("drop");
    watch(&farm, &drop_in, &["--give-up", "1s"]).await;
    let mut events = farm.events(0).await;

    fs::write(drop_in.join("scene.max"), b"not ours").expect("it can be written");
    until(&mut events, WatchFileState::Refused, "scene.max").await;
    let note = fs::read_to_string(drop_in.join("scene.max.sawah.txt")).expect("there is a note");
    assert!(note.contains("scene.max") && note.contains("input.unsupported"), "{note}");

    // The copy broke off; the rest comes later.
    let whole = fs::read(glb(&farm.root().join("crate.glb"))).expect("it was made");
    let half = whole.get(..whole.len() / 2).expect("it has two halves");
    fs::write(drop_in.join("crate.glb"), half).expect("it can be written");
    let why = until(&mut events, WatchFileState::Refused, "crate.glb").await;
    assert!(why.contains("not complete"), "{why}");
    assert!(drop_in.join("crate.glb.sawah.txt").is_file());
    fs::write(drop_in.join("crate.glb"), &whole).expect("it can be written");
    until_delivered(&mut events, "crate.glb").await;
    assert!(!drop_in.join("crate.glb.sawah.txt").exists());

    // What only the farm's own look can tell comes back as a note too.
    let mut broken = whole.clone();
    broken.get_mut(12..20).expect("a chunk begins there").fill(0xff);
    fs::write(drop_in.join("broken.glb"), &broken).expect("it can be written");
    until(&mut events, WatchFileState::Accepted, "broken.glb").await;
    events
        .until("the end of its work", |event| {
            matches!(&event.change, Change::WatchFileChanged { path, why: Some(why), .. }
                if path == "broken.glb" && why.contains("given up"))
        })
        .await;
    let note = fs::read_to_string(drop_in.join("broken.glb.sawah.txt")).expect("there is a note");
    assert!(note.contains("input."), "{note}");
    worker.stop().await;
    serve.stop().await;
}

#[tokio::test]
async fn a_coordinator_killed_at_any_moment_takes_each_file_once() {
    const FILES: u32 = 40;
    let mut farm = Farm::new("watch-kill");
    let mut serve = farm.serve().await;
    let worker = farm.worker("render-01");
    let drop_in = farm.new_folder("drop");
    watch(&farm, &drop_in, &["--results", "beside", "--seeing", "polling", "--poll", "300ms"])
        .await;
    for number in 0..FILES {
        // Letters: a digit would make it a frame of a series.
        let name: String =
            number.to_string().bytes().map(|digit| char::from(digit + b'a' - b'0')).collect();
        picture(&drop_in.join(format!("leaf-{name}.png")), 8 + number, 8);
    }
    for moment in [3, 12, 25, 45, 80, 140] {
        let mut events = farm.events(0).await;
        events.until(&format!("event {moment}"), |event| event.seq >= moment).await;
        serve.kill_hard().await;
        serve = farm.serve_again().await;
    }
    let mut delivered = BTreeSet::new();
    let mut events = farm.events(0).await;
    events
        .until("the results of all", |event| {
            if let Change::WatchFileChanged { path, why: Some(why), .. } = &event.change
                && why.starts_with("its results are")
            {
                delivered.insert(path.clone());
            }
            delivered.len() == FILES as usize
        })
        .await;
    let pipelines: Vec<PipelineView> = farm.get("/v1/pipelines?limit=1000").await;
    assert_eq!(pipelines.len(), FILES as usize, "none twice");
    let seen = files(&farm).await;
    assert_eq!(seen.len(), FILES as usize);
    assert!(seen.iter().all(|file| file.state == WatchFileState::Accepted), "{seen:#?}");
    let results = fs::read_dir(drop_in.join("_results")).expect("there are results").count();
    assert_eq!(results, FILES as usize);
    worker.stop().await;
    serve.stop().await;
}

#[tokio::test]
async fn without_watches_left_the_folder_is_polled_and_says_so() {
    let limited = "echo 4 > /proc/sys/user/max_inotify_watches && exec \"$0\" \"$@\"";
    let mut farm =
        Farm::new("watch-limit").through(&["unshare", "--map-root-user", "sh", "-c", limited]);
    let serve = farm.serve().await;
    let drop_in = farm.new_folder("drop");
    for number in 0..8 {
        farm.new_folder(&format!("drop/shots-{number}"));
    }
    watch(&farm, &drop_in, &["--poll", "300ms"]).await;
    let mut events = farm.events(0).await;
    picture(&drop_in.join("shots-5/leaf.png"), 8, 8);
    until(&mut events, WatchFileState::Accepted, "shots-5/leaf.png").await;
    let folder: WatchFolderView = farm.get("/v1/watch/1").await;
    assert_eq!((folder.health.word, folder.health.events), (WatchWord::Trouble, false));
    let why = folder.health.why.expect("it says why");
    assert!(why.contains("max_user_watches") && why.contains("looked through"), "{why}");
    serve.stop().await;
}

#[tokio::test]
async fn a_file_that_may_not_be_read_is_refused_by_name() {
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let mut farm = Farm::new("watch-unreadable").through(&nobody);
    let drop_in = farm.new_folder("drop");
    farm.new_folder("farm");
    picture(&drop_in.join("secret.png"), 8, 8);
    let stays = Command::new("chown").args(["-R", "65534:65534"]).arg(farm.root()).status();
    assert!(
        stays.is_ok_and(|status| status.success()),
        "this test gives its folder away: run it as root"
    );
    let secret = drop_in.join("secret.png");
    let closed = Command::new("chown").arg("0:0").arg(&secret).status();
    assert!(closed.is_ok_and(|status| status.success()));
    let closed = Command::new("chmod").arg("600").arg(&secret).status();
    assert!(closed.is_ok_and(|status| status.success()));
    let serve = farm.serve().await;
    watch(&farm, &drop_in, &[]).await;
    let mut events = farm.events(0).await;
    until(&mut events, WatchFileState::Refused, "secret.png").await;
    let file = files(&farm).await.into_iter().next().expect("it is known");
    assert_eq!(file.reason, Some(sawah::model::Reason::InputUnreadable), "{file:?}");
    serve.stop().await;
}

#[tokio::test]
async fn a_full_disk_holds_the_folder_and_nothing_partial_is_stored() {
    if let Mounts::PassedInside =
        mounts("watch::a_full_disk_holds_the_folder_and_nothing_partial_is_stored")
    {
        return;
    }
    let mut farm = Farm::new("watch-disk").with("SAWAH_FREE_FLOOR_MIB", "0");
    let disk = SmallDisk::mount(farm.new_folder("farm"), "24m");
    let serve = farm.serve().await;
    let drop_in = farm.new_folder("drop");
    watch(&farm, &drop_in, &[]).await;
    let mut events = farm.events(0).await;
    // As large as what is free now, so that the look before does not hold it back; then others use
    // some of the room.
    let large = drop_in.join("large.stl");
    let corners = 300_000_u32;
    let mut bytes = vec![0; 80];
    bytes.extend(corners.to_le_bytes());
    bytes.resize(84 + 50 * corners as usize, 7);
    fs::write(farm.folder().join("ballast"), vec![1_u8; 16 << 20]).expect("there is room");
    fs::write(&large, &bytes).expect("it can be written");
    let held = async {
        loop {
            let folder: WatchFolderView = farm.get("/v1/watch/1").await;
            if folder.health.word == WatchWord::Held {
                return folder.health.why.unwrap_or_default();
            }
            tokio::task::yield_now().await;
        }
    };
    let why = crate::farm::bounded("a held folder", held).await;
    assert!(why.contains("disk"), "{why}");
    assert_eq!(fs::read_dir(farm.folder().join("incoming")).expect("it is there").count(), 0);
    fs::remove_file(farm.folder().join("ballast")).expect("it can be removed");
    until(&mut events, WatchFileState::Accepted, "large.stl").await;
    let checksum = sawah::model::Checksum::of(&bytes).to_string();
    let stored = farm.folder().join("store").join(&checksum[..2]).join(&checksum);
    assert_eq!(fs::read(stored).expect("it is stored"), bytes);
    serve.stop().await;
    drop(disk);
}

#[tokio::test]
async fn a_folder_that_goes_away_and_comes_back_forgets_nothing() {
    let mut farm = Farm::new("watch-gone");
    let serve = farm.serve().await;
    let drop_in = farm.new_folder("drop");
    watch(&farm, &drop_in, &[]).await;
    let mut events = farm.events(0).await;
    stl(&drop_in.join("stone.stl"));
    until(&mut events, WatchFileState::Accepted, "stone.stl").await;
    let away = farm.root().join("away");
    fs::rename(&drop_in, &away).expect("it can be moved");
    let gone = async {
        loop {
            let folder: WatchFolderView = farm.get("/v1/watch/1").await;
            if folder.health.word == WatchWord::Gone {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    crate::farm::bounded("a folder that is gone", gone).await;
    picture(&away.join("late.png"), 9, 9);
    fs::rename(&away, &drop_in).expect("it can be moved back");
    until(&mut events, WatchFileState::Accepted, "late.png").await;
    let pipelines: Vec<PipelineView> = farm.get("/v1/pipelines?limit=100").await;
    assert_eq!(pipelines.len(), 2, "{pipelines:#?}");
    let folder: WatchFolderView = farm.get("/v1/watch/1").await;
    assert_eq!(folder.health.word, WatchWord::Watching);
    serve.stop().await;
}
