use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder for the test")
}

fn none() -> IgnoreList {
    IgnoreList::new(&[]).expect("no pattern is fine")
}

fn walk(root: &Path, options: &ScanOptions<'_>) -> (Vec<Entry>, Scanned) {
    let mut entries = Vec::new();
    let scanned = scan(root, options, &mut |entry| entries.push(entry)).expect("it can be walked");
    assert_eq!(scanned.entries, entries.len() as u64);
    (entries, scanned)
}

/// Everything in the folder and its subfolders.
fn everything(root: &Path) -> Vec<Entry> {
    let ignore = none();
    walk(root, &ScanOptions { subfolders: true, ..ScanOptions::new(&ignore) }).0
}

/// The same, with links followed.
fn followed(root: &Path) -> Vec<Entry> {
    let ignore = none();
    let options = ScanOptions { subfolders: true, follow_links: true, ..ScanOptions::new(&ignore) };
    walk(root, &options).0
}

fn files(entries: &[Entry]) -> BTreeSet<&Path> {
    let file = |entry: &'_ Entry| matches!(entry, Entry::File { .. });
    let found: Vec<&Path> = entries.iter().filter(|entry| file(entry)).map(path_of).collect();
    let once: BTreeSet<&Path> = found.iter().copied().collect();
    assert_eq!(once.len(), found.len(), "a file is reported twice");
    once
}

fn path_of(entry: &Entry) -> &Path {
    match entry {
        Entry::File { path, .. }
        | Entry::Folder { path }
        | Entry::Ignored { path, .. }
        | Entry::Link { path, .. }
        | Entry::Special { path, .. }
        | Entry::Unreadable { path, .. }
        | Entry::TooDeep { path } => path,
    }
}

fn link(path: &str, why: LinkWhy) -> Entry {
    Entry::Link { path: path.into(), why }
}

#[test]
fn one_folder_is_listed_without_its_subfolders() {
    let root = folder();
    fs::create_dir(root.path().join("sub")).unwrap();
    fs::write(root.path().join("sub/b.png"), "b").unwrap();
    fs::write(root.path().join("a.png"), "abc").unwrap();
    let ignore = none();
    let (entries, scanned) = walk(root.path(), &ScanOptions::new(&ignore));
    assert_eq!(files(&entries), BTreeSet::from([Path::new("a.png")]));
    assert!(entries.contains(&Entry::Folder { path: "sub".into() }));
    assert_eq!((entries.len(), scanned.stop), (2, None));
    assert_eq!(files(&everything(root.path())).len(), 2);
}

#[test]
fn a_sight_changes_with_every_change_of_the_file() {
    let root = folder();
    let path = root.path().join("a.png");
    fs::write(&path, "abc").unwrap();
    let look = || match everything(root.path()).as_slice() {
        [Entry::File { sight, .. }] => *sight,
        other => panic!("one file, not {other:?}"),
    };
    let first = look();
    assert_eq!(first, look());
    assert_eq!(first.size_bytes, 3);
    assert_eq!(
        first,
        crate::artifacts::sight_of(&fs::File::open(&path).unwrap().metadata().unwrap())
    );
    let file = fs::File::options().append(true).open(&path).unwrap();
    let later = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(1_234_567_891);
    file.set_modified(later).unwrap();
    let touched = look();
    assert_eq!(touched.modified_ns, 1_234_567_891);
    assert_eq!(touched.inode, first.inode);
    fs::write(root.path().join("b"), "abc").unwrap();
    fs::rename(root.path().join("b"), &path).unwrap();
    assert_ne!(look().inode, first.inode);
}

#[test]
fn a_tree_deeper_than_the_bound_ends_there_and_says_so() {
    let root = folder();
    let mut path = PathBuf::new();
    for level in 1..=200 {
        path.push("d");
        fs::create_dir(root.path().join(&path)).unwrap();
        fs::write(root.path().join(&path).join(format!("{level}.png")), "x").unwrap();
    }
    let entries = everything(root.path());
    assert_eq!(files(&entries).len(), DEPTH);
    let deep: PathBuf = std::iter::repeat_n("d", DEPTH + 1).collect();
    assert!(entries.contains(&Entry::TooDeep { path: deep }));
}

#[test]
fn links_are_not_followed_unless_asked() {
    let root = folder();
    let outside = folder();
    fs::write(outside.path().join("secret"), "s").unwrap();
    fs::create_dir_all(root.path().join("a/b")).unwrap();
    fs::write(root.path().join("a/b/tree.png"), "t").unwrap();
    symlink(root.path().join("a"), root.path().join("a/b/up")).unwrap();
    symlink("a/b/tree.png", root.path().join("same.png")).unwrap();
    symlink(outside.path(), root.path().join("out")).unwrap();
    symlink("/etc/passwd", root.path().join("a/passwd")).unwrap();
    symlink("nothing", root.path().join("broken")).unwrap();
    symlink("me", root.path().join("me")).unwrap();

    let entries = everything(root.path());
    assert_eq!(files(&entries), BTreeSet::from([Path::new("a/b/tree.png")]));
    for path in ["a/b/up", "same.png", "out", "a/passwd", "broken", "me"] {
        assert!(entries.contains(&link(path, LinkWhy::NotWanted)), "{path}: {entries:?}");
    }

    let entries = followed(root.path());
    let inside = ["a/b/tree.png", "same.png"].map(Path::new);
    assert_eq!(files(&entries), BTreeSet::from(inside));
    for (path, why) in [
        ("a/b/up", LinkWhy::Again),
        ("out", LinkWhy::Outside),
        ("a/passwd", LinkWhy::Outside),
        ("broken", LinkWhy::Broken),
        ("me", LinkWhy::Again),
    ] {
        assert!(entries.contains(&link(path, why)), "{path}: {entries:?}");
    }
}

#[test]
fn a_link_to_a_folder_that_is_not_entered_otherwise_is_followed_once() {
    let root = folder();
    fs::create_dir_all(root.path().join(".cache/x/y")).unwrap();
    fs::write(root.path().join(".cache/x/y/tree.png"), "t").unwrap();
    symlink(".cache/x", root.path().join("one")).unwrap();
    symlink(".cache/x", root.path().join("two")).unwrap();
    symlink("..", root.path().join(".cache/x/y/round")).unwrap();
    let ignore = IgnoreList::new(&[".*".to_owned()]).unwrap();
    let options = ScanOptions { subfolders: true, follow_links: true, ..ScanOptions::new(&ignore) };
    let (entries, _) = walk(root.path(), &options);
    assert_eq!(files(&entries).len(), 1, "{entries:?}");
    assert!(
        path_of(entries.iter().find(|e| matches!(e, Entry::File { .. })).unwrap())
            .ends_with("y/tree.png")
    );
    let again =
        entries.iter().filter(|entry| matches!(entry, Entry::Link { why: LinkWhy::Again, .. }));
    assert_eq!(again.count(), 2, "{entries:?}");
}

#[test]
fn an_ignored_folder_is_named_once_and_not_entered() {
    let root = folder();
    fs::create_dir_all(root.path().join("_done/2026")).unwrap();
    fs::write(root.path().join("_done/2026/tree.png"), "t").unwrap();
    fs::write(root.path().join("tree.png.part"), "t").unwrap();
    let ignore = IgnoreList::new(&IgnoreList::default_patterns()).unwrap();
    let options = ScanOptions { subfolders: true, ..ScanOptions::new(&ignore) };
    let (entries, _) = walk(root.path(), &options);
    let rules: BTreeMap<&Path, &str> = entries
        .iter()
        .map(|entry| match entry {
            Entry::Ignored { path, rule } => (path.as_path(), rule.as_str()),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [("_done", "_done"), ("tree.png.part", "*.part")];
    assert_eq!(rules, expected.map(|(path, rule)| (Path::new(path), rule)).into());

    let mut below = Vec::new();
    let scanned =
        scan_below(root.path(), Path::new("_done/2026"), &options, &mut |entry| below.push(entry));
    assert_eq!(scanned.unwrap().entries, 1);
    assert!(matches!(&below[..], [Entry::Ignored { .. }]), "{below:?}");
}

#[test]
fn a_subfolder_alone_is_reported_with_paths_from_the_root() {
    let root = folder();
    fs::create_dir_all(root.path().join("a/b")).unwrap();
    fs::write(root.path().join("top.png"), "t").unwrap();
    fs::write(root.path().join("a/b/tree.png"), "t").unwrap();
    let ignore = none();
    let options = ScanOptions { subfolders: true, ..ScanOptions::new(&ignore) };
    let mut found = Vec::new();
    scan_below(root.path(), Path::new("a"), &options, &mut |entry| found.push(entry)).unwrap();
    assert_eq!(files(&found), BTreeSet::from([Path::new("a/b/tree.png")]));
    let gone = scan_below(root.path(), Path::new("x"), &options, &mut |_| panic!("nothing"));
    assert_eq!(gone.unwrap().stop, Some(Stop::SubfolderGone));
}

#[test]
fn a_folder_that_cannot_be_listed_stops_nothing() {
    use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
    let root = folder();
    fs::write(root.path().join("tree.png"), "t").unwrap();
    // Longer than any path that the system takes in one piece: not even root can list the end.
    let name = "n".repeat(255);
    let mut at = open(root.path(), OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..18 {
        mkdirat(&at, &name, Mode::RWXU).unwrap();
        at = openat(&at, &name, OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let entries = everything(root.path());
    assert_eq!(files(&entries).len(), 1);
    let unreadable: Vec<&Entry> =
        entries.iter().filter(|entry| matches!(entry, Entry::Unreadable { .. })).collect();
    assert_eq!(unreadable.len(), 1, "{entries:?}");

    let closed = root.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::write(closed.join("in.png"), "i").unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let entries = everything(root.path());
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let refused = entries
        .iter()
        .any(|entry| matches!(entry, Entry::Unreadable { path, .. } if path == "closed"));
    let root_user = rustix::process::geteuid().is_root();
    if root_user {
        eprintln!("run as root, which may read every folder: rights are not tried here");
    }
    assert_eq!(refused, !root_user);
    assert_eq!(files(&entries).len(), if root_user { 2 } else { 1 });
}

#[test]
fn pipes_sockets_and_devices_are_named() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let root = folder();
    let pipe = root.path().join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.path().join("socket")).unwrap();
    let entries = everything(root.path());
    let pipe = Entry::Special { path: "pipe".into(), kind: Special::Pipe };
    let socket = Entry::Special { path: "socket".into(), kind: Special::Socket };
    assert!(entries.contains(&pipe) && entries.contains(&socket), "{entries:?}");
    let ignore = none();
    let mut devices = 0;
    scan(Path::new("/dev"), &ScanOptions::new(&ignore), &mut |entry| {
        devices += u32::from(matches!(entry, Entry::Special { kind: Special::Device, .. }));
    })
    .unwrap();
    assert!(devices > 0, "there is /dev/null at least");
}

#[test]
fn odd_names_are_kept_byte_by_byte() {
    let root = folder();
    let long = "x".repeat(255);
    let names: Vec<&[u8]> = vec![
        b"two words.png",
        b"'quoted' \"twice\" `thrice`.png",
        "👩‍🎨 ツリー.png".as_bytes(),
        b"two\nlines.png",
        b"no \xff\xfe utf-8.png",
        "Cafe\u{301}.png".as_bytes(),
        "Caf\u{e9}.png".as_bytes(),
        b"Tree.png",
        b"tree.png",
        b"-rf",
        b"back\\slash",
        long.as_bytes(),
    ];
    for name in &names {
        fs::write(root.path().join(OsStr::from_bytes(name)), "x").unwrap();
    }
    let entries = everything(root.path());
    let expected: BTreeSet<&Path> =
        names.iter().map(|name| Path::new(OsStr::from_bytes(name))).collect();
    assert_eq!(files(&entries), expected);
}

#[test]
fn ten_thousand_files_are_each_seen_once_and_a_bound_is_said() {
    let root = folder();
    for number in 0..10_000 {
        fs::File::create(root.path().join(format!("{number:05}.png"))).unwrap();
    }
    assert_eq!(files(&everything(root.path())).len(), 10_000);
    let ignore = none();
    let options = ScanOptions { entries: 777, ..ScanOptions::new(&ignore) };
    let (entries, scanned) = walk(root.path(), &options);
    assert_eq!(files(&entries).len(), 777);
    assert_eq!(scanned.stop, Some(Stop::Entries));
}

#[test]
fn what_vanishes_during_the_walk_is_left_out() {
    let root = folder();
    for number in 0..20 {
        fs::write(root.path().join(number.to_string()), "x").unwrap();
        fs::create_dir(root.path().join(format!("folder {number}"))).unwrap();
    }
    let ignore = none();
    let options = ScanOptions { subfolders: true, ..ScanOptions::new(&ignore) };
    let mut seen = Vec::new();
    let scanned = scan(root.path(), &options, &mut |entry| {
        if seen.is_empty() {
            for found in fs::read_dir(root.path()).unwrap() {
                let path = found.unwrap().path();
                if path.strip_prefix(root.path()).unwrap() != path_of(&entry) {
                    let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
                }
            }
        }
        seen.push(entry);
    });
    assert_eq!(scanned.unwrap().stop, None);
    let files_seen = files(&seen).len();
    assert!(files_seen <= 1, "{seen:?}");
    assert!(!seen.iter().any(|entry| matches!(entry, Entry::Unreadable { .. })), "{seen:?}");
}

#[test]
fn a_folder_that_is_gone_unreadable_or_a_file_is_told_apart() {
    let root = folder();
    let ignore = none();
    let options = ScanOptions::new(&ignore);
    let mut nothing = |entry| panic!("{entry:?}");
    let file = root.path().join("tree.png");
    fs::write(&file, "t").unwrap();
    let error = scan(&root.path().join("no"), &options, &mut nothing).unwrap_err();
    assert!(matches!(error, ScanError::Gone { .. }), "{error}");
    for path in [file.clone(), file.join("below")] {
        let error = scan(&path, &options, &mut nothing).unwrap_err();
        assert!(matches!(error, ScanError::NotAFolder { .. }), "{error}");
    }
    let loops = root.path().join("loop");
    symlink("loop", &loops).unwrap();
    let error = scan(&loops, &options, &mut nothing).unwrap_err();
    assert!(matches!(error, ScanError::Unreadable { .. }), "{error}");
    let dead = root_error(root.path(), io::Error::from(io::ErrorKind::NotConnected));
    assert!(matches!(dead, ScanError::Gone { .. }), "a dead mount is gone");
}

#[test]
fn a_folder_that_goes_away_or_is_replaced_during_the_walk_is_gone() {
    let ignore = none();
    let options = ScanOptions { subfolders: true, ..ScanOptions::new(&ignore) };
    for replaced in [false, true] {
        let parent = folder();
        let root = parent.path().join("watched");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("tree.png"), "t").unwrap();
        let error = scan(&root, &options, &mut |_| {
            fs::rename(&root, parent.path().join("moved")).unwrap();
            if replaced {
                fs::create_dir(&root).unwrap();
            }
        })
        .unwrap_err();
        assert!(matches!(error, ScanError::Gone { .. }), "{error}");
    }
}
