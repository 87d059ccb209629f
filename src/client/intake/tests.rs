use super::*;
use crate::client::Token;
use crate::client::test_server::{Farm, serve};
use crate::model::Checksum;
use std::fs;
use std::sync::Arc;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nnot read here";

fn write(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, PNG).expect("write");
    path
}

fn reason_of(planned: &Planned) -> Option<&'static str> {
    planned.plan.as_ref().err().and_then(IntakeError::reason).map(Reason::code)
}

#[test]
fn bad_input_is_refused_with_a_reason_and_what_to_do() {
    let folder = tempfile::tempdir().expect("folder");
    let root = folder.path();
    let large = write(root, "large.glb");
    fs::create_dir(root.join("empty")).expect("folder");
    let mixed = root.join("mixed");
    fs::create_dir(&mixed).expect("folder");
    for name in ["a_1.png", "a_2.png", "b_1.png", "b_2.png", "cover.jpg"] {
        write(&mixed, name);
    }
    let mut table = vec![
        (root.join("absent.glb"), "input.unreadable", "no such file"),
        (root.join("empty"), "input.not_a_file", "holds no pictures"),
        (mixed, "input.mixed_sequence", "a_[1-2].png, b_[1-2].png, cover.jpg"),
        (large, "input.too_large", "at most 8 are taken"),
    ];
    if Path::new("/dev/null").exists() {
        table.push((PathBuf::from("/dev/null"), "input.not_a_file", "no regular file"));
    }
    for (path, code, part) in table {
        let mut handover = Handover::new(vec![path.clone()]);
        handover.file_limit_bytes = 8;
        let planned = plan::plan(&handover);
        let [one] = planned.as_slice() else { panic!("{path:?} is one item") };
        assert_eq!(reason_of(one), Some(code), "{path:?}");
        let text = one.plan.as_ref().expect_err("refused").to_string();
        assert!(text.contains(part) && text.contains(code), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("folder");
    let path = write(folder.path(), "secret.png");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("rights");
    if fs::File::open(&path).is_ok() {
        return; // The superuser may read everything.
    }
    let local = LocalFile { name: "secret.png".to_owned(), path };
    let refusal = hash::all(&[local], 1 << 20).expect_err("refused");
    assert_eq!(refusal.reason(), Some(Reason::InputUnreadable));
}

#[test]
fn a_file_that_changes_while_it_is_read_is_refused() {
    let folder = tempfile::tempdir().expect("folder");
    let path = write(folder.path(), "a.png");
    let before = fs::metadata(&path).expect("metadata");
    let read = |meanwhile: &mut dyn FnMut()| {
        let mut file = fs::File::open(&path).expect("open");
        hash::read_to_end(&mut file, &before, &path, meanwhile)
    };
    assert_eq!(read(&mut || {}).expect("unchanged"), (Checksum::of(PNG), PNG.len() as u64));
    let grow = || fs::write(&path, b"longer than it was before, by a good deal").expect("write");
    for meanwhile in [&grow as &dyn Fn(), &|| fs::remove_file(&path).expect("remove")] {
        let refusal = read(&mut || meanwhile()).expect_err("changed");
        assert!(
            matches!(refusal.reason(), Some(Reason::InputChanged | Reason::InputUnreadable)),
            "{refusal}"
        );
    }
}

#[test]
fn loose_frames_become_a_film_unless_told_otherwise() {
    let folder = tempfile::tempdir().expect("folder");
    let root = folder.path();
    let names = ["rain_0002.png", "rain_0001.png", "gear.stl", "rain_0004.png", "pair_1.png"];
    let paths: Vec<_> = names.iter().map(|name| write(root, name)).collect();
    let planned = plan::plan(&Handover::new([paths.clone(), paths.clone()].concat()));
    let plans: Vec<&Plan> = planned.iter().filter_map(|one| one.plan.as_ref().ok()).collect();
    let [film, gear, pair] = plans.as_slice() else { panic!("{planned:?}") };
    assert_eq!((film.asset.as_str(), film.sequence, film.files.len()), ("rain", true, 3));
    assert_eq!(film.main_file, "rain_0001.png");
    assert!(film.notes[0].contains("3-3"), "{:?}", film.notes);
    assert_eq!((gear.asset.as_str(), pair.asset.as_str()), ("gear", "pair_1"));

    let apart = plan::plan(&Handover { separate: true, ..Handover::new(paths) });
    assert_eq!(apart.len(), 5);
}

#[test]
fn a_folder_is_a_film_and_is_named_by_itself() {
    let folder = tempfile::tempdir().expect("folder");
    let root = folder.path().join("beauty");
    fs::create_dir(&root).expect("folder");
    for name in ["f.0001.exr", "f.0002.exr", "notes.txt", ".hidden.png"] {
        write(&root, name);
    }
    let planned = plan::plan(&Handover::new(vec![root.clone()]));
    let plan = planned[0].plan.as_ref().expect("a film");
    assert_eq!((plan.asset.as_str(), plan.files.len()), ("beauty", 2));
    assert!(plan.notes.iter().any(|note| note.starts_with("1 files")), "{:?}", plan.notes);
    assert_eq!(plan.source_ref, root.to_string_lossy());
}

#[test]
fn one_name_names_one_asset_only() {
    let folder = tempfile::tempdir().expect("folder");
    let paths = vec![write(folder.path(), "a.stl"), write(folder.path(), "b.stl")];
    let name = Some(AssetName::from_any("dragon"));
    let one = Handover { name: name.clone(), ..Handover::new(vec![paths[0].clone()]) };
    assert_eq!(plan::plan(&one)[0].plan.as_ref().expect("named").asset.as_str(), "dragon");
    let two = plan::plan(&Handover { name, ..Handover::new(paths) });
    assert!(two.iter().all(|one| reason_of(one) == Some("setting.invalid")));
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_and_very_long_names_work() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().expect("folder");
    let strange = folder.path().join(std::ffi::OsStr::from_bytes(b"dr\xffgon\\\n.stl"));
    let long = folder.path().join(format!("{}.png", "n".repeat(240)));
    for path in [strange, long] {
        if fs::write(&path, PNG).is_err() {
            continue; // This file system has no such names.
        }
        let planned = plan::plan(&Handover::new(vec![path]));
        let plan = planned[0].plan.as_ref().expect("handed in");
        assert_eq!(plan.notes.len(), 1, "{:?}", plan.notes);
        assert!(plan.main_file.len() <= limits::FILE_NAME_BYTES);
        assert!(!plan.main_file.contains(['\\', '\n', '\u{fffd}']));
    }
}

#[tokio::test]
async fn one_bad_file_does_not_stop_the_others_and_known_bytes_are_not_sent_again() {
    let folder = tempfile::tempdir().expect("folder");
    let farm = Arc::new(Farm::default());
    let client = serve(Arc::clone(&farm)).await;
    let paths = vec![
        write(folder.path(), "a.stl"),
        folder.path().join("absent.stl"),
        write(folder.path(), "b.stl"),
    ];
    let items = hand_in(&client, &Handover::new(paths), &|_| {}).await;
    let good: Vec<_> = items.iter().map(|item| item.outcome.is_ok()).collect();
    assert_eq!(good.iter().filter(|good| **good).count(), 2, "{items:?}");
    assert_eq!(*farm.puts.lock().expect("lock"), 1, "both files hold the same bytes");
    let submissions = farm.submissions.lock().expect("lock");
    assert_eq!(submissions[0].files[0].checksum, Checksum::of(PNG));
    assert!(submissions[0].actor.starts_with("operator "));
}

#[tokio::test]
async fn refusals_and_wrong_tokens_come_through() {
    let folder = tempfile::tempdir().expect("folder");
    let client = serve(Arc::default()).await;
    let path = write(folder.path(), "a.stl");
    let mut handover = Handover::new(vec![path.clone()]);
    handover.recipe = Some("none".to_owned());
    let items = hand_in(&client, &handover, &|_| {}).await;
    let text = items[0].outcome.as_ref().expect_err("refused").to_string();
    assert_eq!(text, "it was refused. Do better.");

    let stranger = Client::new(client.url(), Token::new("wrong")).expect("address");
    let items = hand_in(&stranger, &Handover::new(vec![path]), &|_| {}).await;
    assert!(matches!(items[0].outcome, Err(IntakeError::Call(ClientError::Unauthorized { .. }))));
}

#[tokio::test]
async fn a_download_is_verified_and_leaves_nothing_half_written() {
    let folder = tempfile::tempdir().expect("folder");
    let farm = Arc::new(Farm::default());
    let client = serve(Arc::clone(&farm)).await;
    let (good, bad) = (Checksum::of(b"good"), Checksum::of(b"bad"));
    farm.artifacts.lock().expect("lock").insert(good, "good".into());
    farm.artifacts.lock().expect("lock").insert(bad, "something else".into());
    let path = folder.path().join("out.png");
    assert_eq!(client.download(good, &path).await.expect("good"), 4);
    assert_eq!(fs::read(&path).expect("read"), b"good");
    let other = folder.path().join("other.png");
    assert!(matches!(client.download(bad, &other).await, Err(ClientError::Damaged(_))));
    assert_eq!(fs::read_dir(folder.path()).expect("list").count(), 1);
    assert!(matches!(client.artifact(bad, 100).await, Err(ClientError::Damaged(_))));
    assert!(client.artifact(good, 3).await.is_err(), "over the limit");
}
