use super::*;
use crate::client::Token;
use crate::client::test_server::{Farm, serve};
use crate::intake::LocalFile;
use crate::model::Checksum;
use std::fs;
use std::sync::Arc;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nnot read here";

fn write(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, PNG).expect("write");
    path
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
    assert_eq!(refusal.reason, Reason::InputUnreadable);
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
            matches!(refusal.reason, Reason::InputChanged | Reason::InputUnreadable),
            "{refusal}"
        );
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
