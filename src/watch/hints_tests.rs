use super::*;
use notify::event::{Flag, MetadataKind, RemoveKind};
use std::fs;
use std::process::Command;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

/// Long enough for the slowest machine; reached only by a failing test.
const PATIENCE: Duration = Duration::from_secs(30);
/// Set for the process in which almost nothing may be watched.
const FEW_WATCHES: &str = "SAWAH_TEST_FEW_WATCHES";

/// A watched folder and everything heard of it.
struct Ear {
    root: PathBuf,
    hints: Hints,
    woken: Receiver<()>,
    heard: Taken,
}

impl Ear {
    fn on(root: &Path, subfolders: bool) -> Self {
        let (wake, woken) = sync_channel(64);
        // A full channel is enough of a wake.
        let hints = Hints::watch(root, subfolders, move || {
            let _ = wake.try_send(());
        })
        .expect("the folder can be watched");
        Self { root: root.to_owned(), hints, woken, heard: Taken::default() }
    }

    /// Takes at each wake until what was heard is as wished.
    fn until(&mut self, wished: impl Fn(&Taken) -> bool) -> &Taken {
        while !wished(&self.heard) {
            let woken = self.woken.recv_timeout(PATIENCE);
            assert!(woken.is_ok(), "never heard; only {:?}", self.heard);
            self.take();
        }
        &self.heard
    }

    fn take(&mut self) {
        let taken = self.hints.take();
        self.heard.dirty.extend(taken.dirty);
        self.heard.dirty_trees.extend(taken.dirty_trees);
        self.heard.everything |= taken.everything;
        self.heard.root_gone |= taken.root_gone;
        self.heard.trouble = self.heard.trouble.take().or(taken.trouble);
    }

    fn forget(&mut self) {
        self.heard = Taken::default();
    }

    fn until_dirty(&mut self, folder: &str) {
        let folder = if folder.is_empty() { self.root.clone() } else { self.root.join(folder) };
        self.until(|heard| heard.dirty.contains(&folder));
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder for the test")
}

#[test]
fn whatever_changes_is_heard_as_its_folder() {
    let outside = folder();
    let root = folder();
    fs::create_dir_all(root.path().join("a/b")).unwrap();
    let mut ear = Ear::on(root.path(), true);

    let file = root.path().join("a/b/tree.png");
    fs::File::create(&file).unwrap();
    ear.until_dirty("a/b");
    ear.forget();
    fs::write(&file, "t").unwrap();
    ear.until_dirty("a/b");
    ear.forget();
    fs::write(outside.path().join("in.png"), "i").unwrap();
    fs::rename(outside.path().join("in.png"), root.path().join("in.png")).unwrap();
    ear.until_dirty("");
    ear.forget();
    fs::remove_file(&file).unwrap();
    ear.until_dirty("a/b");
    assert_eq!(ear.heard.dirty, BTreeSet::from([root.path().join("a/b")]));
    assert!(!ear.heard.everything && !ear.heard.root_gone && ear.heard.trouble.is_none());
}

#[test]
fn reading_wakes_nobody() {
    let root = folder();
    fs::create_dir(root.path().join("sub")).unwrap();
    fs::write(root.path().join("sub/tree.png"), "t").unwrap();
    let mut ear = Ear::on(root.path(), true);
    assert_eq!(fs::read(root.path().join("sub/tree.png")).unwrap(), b"t");
    assert_eq!(fs::read_dir(root.path().join("sub")).unwrap().count(), 1);
    // What is heard in order: when this one is, the reading was heard before.
    fs::write(root.path().join("fence"), "f").unwrap();
    ear.until_dirty("");
    assert_eq!(ear.heard.dirty, BTreeSet::from([root.path().to_owned()]));
}

#[test]
fn a_new_folder_is_a_tree_and_what_comes_into_it_later_is_heard() {
    let outside = folder();
    let root = folder();
    let mut ear = Ear::on(root.path(), true);
    for round in 0..50 {
        let new = root.path().join(format!("new {round}"));
        fs::create_dir_all(new.join("x/y")).unwrap();
        fs::write(new.join("x/y/at once.png"), "t").unwrap();
        ear.until(|heard| heard.dirty_trees.contains(&new));
        // A walk of the tree now finds what is there; what comes from now on must be heard.
        ear.forget();
        fs::write(new.join("later.png"), "l").unwrap();
        ear.until(|heard| heard.dirty.contains(&new));
    }
    fs::create_dir(outside.path().join("moved")).unwrap();
    fs::write(outside.path().join("moved/in.png"), "i").unwrap();
    let moved = root.path().join("moved");
    fs::rename(outside.path().join("moved"), &moved).unwrap();
    ear.until(|heard| heard.dirty_trees.contains(&moved));
    ear.forget();
    fs::rename(&moved, root.path().join("again")).unwrap();
    let again = root.path().join("again");
    ear.until(|heard| heard.dirty_trees.contains(&again));
    ear.forget();
    fs::write(again.join("late.png"), "l").unwrap();
    ear.until(|heard| heard.dirty.contains(&again));
}

#[test]
fn without_subfolders_only_the_folder_itself_is_heard() {
    let root = folder();
    fs::create_dir(root.path().join("sub")).unwrap();
    let mut ear = Ear::on(root.path(), false);
    fs::write(root.path().join("sub/unheard.png"), "u").unwrap();
    fs::create_dir(root.path().join("new")).unwrap();
    ear.until_dirty("");
    fs::write(root.path().join("new/unheard.png"), "u").unwrap();
    fs::write(root.path().join("fence"), "f").unwrap();
    ear.forget();
    ear.until_dirty("");
    assert_eq!(ear.heard.dirty, BTreeSet::from([root.path().to_owned()]));
    assert_eq!(ear.heard.dirty_trees, BTreeSet::new());
}

#[test]
fn a_folder_behind_a_link_is_heard_under_the_name_it_was_given() {
    let parent = folder();
    fs::create_dir(parent.path().join("real")).unwrap();
    let root = parent.path().join("link");
    std::os::unix::fs::symlink("real", &root).unwrap();
    let mut ear = Ear::on(&root, true);
    fs::write(root.join("tree.png"), "t").unwrap();
    ear.until_dirty("");
    assert_eq!(ear.heard.dirty, BTreeSet::from([root]));
}

#[test]
fn a_root_that_was_removed_moved_or_replaced_is_gone_and_stays_gone() {
    for case in ["removed", "moved", "replaced"] {
        let parent = folder();
        let root = parent.path().join("watched");
        fs::create_dir(&root).unwrap();
        let mut ear = Ear::on(&root, true);
        if case == "removed" {
            fs::remove_dir(&root).unwrap();
        } else {
            fs::rename(&root, parent.path().join("other")).unwrap();
        }
        if case == "replaced" {
            fs::create_dir(&root).unwrap();
        }
        ear.until(|heard| heard.root_gone);
        assert!(ear.hints.take().root_gone, "{case}");
    }
    let missing = Hints::watch(Path::new("/nowhere/at/all"), true, || {});
    assert!(matches!(missing, Err(HintError::Gone { .. })), "{missing:?}");
}

/// Events that cannot be brought about at will.
fn shared(wake: impl Fn() + Send + Sync + 'static) -> Shared {
    Shared {
        root: "/watched".into(),
        real_root: "/real".into(),
        subfolders: true,
        heard: Mutex::default(),
        wake: Box::new(wake),
    }
}

#[test]
fn lost_events_and_too_many_folders_mean_everything() {
    let hears = shared(|| {});
    hears.hear(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
    let taken = hears.heard().take();
    assert_eq!(taken, Taken { everything: true, ..Taken::default() });
    assert!(hears.heard().take().is_empty());

    let write = |number: usize| {
        let kind = EventKind::Access(AccessKind::Close(AccessMode::Write));
        Event::new(kind).add_path(format!("/real/{number}/tree.png").into())
    };
    for number in 0..DIRTY_FOLDERS {
        hears.hear(Ok(write(number)));
    }
    assert_eq!(hears.heard().taken.dirty.len(), DIRTY_FOLDERS);
    assert!(!hears.heard().taken.everything);
    for number in 0..3 * DIRTY_FOLDERS {
        hears.hear(Ok(write(number)));
        assert!(hears.heard().taken.dirty.len() <= DIRTY_FOLDERS);
    }
    assert!(hears.heard().take().everything);

    hears.hear(Ok(Event::new(EventKind::Any)));
    assert!(hears.heard().take().everything, "an event without a path");
    let elsewhere = Event::new(EventKind::Any).add_path("/elsewhere/x".into());
    hears.hear(Ok(elsewhere));
    assert!(hears.heard().take().everything, "a path outside");
}

#[test]
fn one_wake_is_enough_until_somebody_takes_and_a_panic_in_it_is_no_end() {
    let count = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&count);
    let hears = shared(move || {
        *counted.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        panic!("a wake that fails");
    });
    let change = || {
        let kind = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
        Event::new(kind).add_path("/real/a/x".into())
    };
    let wakes = || *count.lock().unwrap_or_else(PoisonError::into_inner);
    hears.hear(Ok(change()));
    hears.hear(Ok(change()));
    assert_eq!(wakes(), 1);
    hears.heard().take();
    hears.hear(Ok(Event::new(EventKind::Access(AccessKind::Open(AccessMode::Any)))));
    assert_eq!(wakes(), 1, "reading is no news");
    hears.hear(Ok(change()));
    assert_eq!(wakes(), 2);
    let gone = Event::new(EventKind::Remove(RemoveKind::Folder)).add_path("/real".into());
    hears.hear(Ok(gone));
    assert!(hears.heard().take().root_gone);
}

#[test]
fn the_limits_of_the_system_are_told_with_the_remedy() {
    for (errno, limit, remedy) in [
        (rustix::io::Errno::NOSPC, WatchLimit::Folders, "max_user_watches"),
        (rustix::io::Errno::MFILE, WatchLimit::Programs, "max_user_instances"),
        (rustix::io::Errno::NFILE, WatchLimit::OpenFiles, "file-max"),
    ] {
        let error = from_io(&errno.into(), Path::new("/x"));
        assert_eq!(error, HintError::LimitReached { limit });
        assert!(error.to_string().contains(remedy), "{error}");
    }
    let other = from_io(&rustix::io::Errno::IO.into(), Path::new("/x"));
    assert!(matches!(other, HintError::Failed { .. }));
}

/// Runs the test that calls it once more, in a namespace of its own in which eight folders may be
/// watched; true there. Each such test has its own: watches that were given back count for a while.
fn has_few_watches() -> bool {
    if std::env::var_os(FEW_WATCHES).is_some() {
        return true;
    }
    let name = std::thread::current().name().expect("a test has a name").to_owned();
    let set = "echo 8 > /proc/sys/user/max_inotify_watches && exec \"$0\" \"$@\"";
    let output = Command::new("unshare")
        .args(["-Ur", "sh", "-c", set])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env(FEW_WATCHES, "1")
        .output()
        .expect("`unshare` is missing: install util-linux");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "the test needs user namespaces (try: unshare -Ur id): {said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}

#[test]
fn the_watch_limit_is_told_at_the_start() {
    if !has_few_watches() {
        return;
    }
    let root = folder();
    for number in 0..20 {
        fs::create_dir(root.path().join(number.to_string())).unwrap();
    }
    let error = Hints::watch(root.path(), true, || {}).expect_err("it has 21 folders");
    assert_eq!(error, HintError::LimitReached { limit: WatchLimit::Folders });
    assert!(error.to_string().contains("fs.inotify.max_user_watches"), "{error}");
}

#[test]
fn the_watch_limit_is_told_when_it_is_reached_later() {
    if !has_few_watches() {
        return;
    }
    let small = folder();
    let mut ear = Ear::on(small.path(), true);
    for number in 0..20 {
        fs::create_dir(small.path().join(number.to_string())).unwrap();
    }
    let heard = ear.until(|heard| heard.trouble.is_some());
    assert!(heard.everything);
    assert!(heard.trouble.as_deref().unwrap().contains("max_user_watches"));
    assert!(ear.hints.take().trouble.is_some(), "it stays until somebody watches anew");
}
