use super::*;
use std::cell::Cell;
use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::time::{Duration, UNIX_EPOCH};

/// Larger than all buffers together, and no multiple of one.
const LARGE_BYTES: usize = (9 << 20) + 12_345;

struct Setup {
    folder: tempfile::TempDir,
    artifacts: Artifacts,
}

impl Setup {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::open(&folder.path().join("farm")).unwrap();
        Self { folder, artifacts }
    }

    /// A file that was left alone for years: a test's writes can fall into one tick of the clock.
    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
        path
    }

    fn adopt(&self, path: &Path) -> Result<Adopted, AdoptError> {
        self.artifacts.adopt(path, &options())
    }

    fn adopt_while(&self, path: &Path, meanwhile: &mut dyn FnMut()) -> Result<Adopted, AdoptError> {
        self.artifacts.adopt_with(path, &options(), meanwhile)
    }

    fn incoming(&self) -> usize {
        fs::read_dir(self.folder.path().join("farm/incoming")).unwrap().count()
    }

    /// All files of the store.
    fn stored(&self) -> usize {
        let folders = fs::read_dir(self.folder.path().join("farm/store")).unwrap();
        folders.map(|folder| fs::read_dir(folder.unwrap().path()).unwrap().count()).sum()
    }
}

fn options() -> AdoptOptions<'static> {
    AdoptOptions { max_bytes: 1 << 30, links: Links::Refuse, is_cancelled: &|| false }
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| ((at * 31) ^ (at >> 11)) as u8).collect()
}

#[test]
fn files_of_every_size_are_taken_whole_and_once() {
    let setup = Setup::new();
    for size in [0, 1, 4_096, (1 << 20) - 1, 1 << 20, 2 << 20, 8 << 20, LARGE_BYTES] {
        let bytes = bytes(size);
        let path = setup.file("a", &bytes);
        let adopted = setup.adopt(&path).unwrap();
        assert_eq!(adopted.checksum, Checksum::of(&bytes), "{size}");
        assert_eq!((adopted.size_bytes, adopted.put), (size as u64, Put::New));
        assert_eq!(adopted.sight, sight_of(&fs::metadata(&path).unwrap()));
        assert!(fs::read(setup.artifacts.path(&adopted.checksum)).unwrap() == bytes, "{size}");
        assert_eq!(fs::read(&path).unwrap().len(), size, "the file stays");
        let again = setup.adopt(&path).unwrap();
        assert_eq!((again.checksum, again.put), (adopted.checksum, Put::Known));
    }
    assert_eq!((setup.stored(), setup.incoming()), (8, 0));
}

#[test]
fn what_is_written_later_does_not_reach_the_store() {
    let setup = Setup::new();
    let path = setup.file("a", b"water");
    let adopted = setup.adopt(&path).unwrap();
    fs::write(&path, b"wader").unwrap();
    assert_eq!(fs::read(setup.artifacts.path(&adopted.checksum)).unwrap(), b"water");
    assert_eq!(setup.adopt(&path).unwrap().checksum, Checksum::of(b"wader"));
}

/// What is done to a file, and its name for people.
type Change = (&'static str, Box<dyn Fn(&Path)>);

/// What writers do to a file that is being read.
fn changes(folder: &Path) -> Vec<Change> {
    let other = folder.join("other");
    let write = |path: &Path| fs::File::options().write(true).open(path).unwrap();
    let mut all: Vec<Change> = vec![
        ("grown", Box::new(move |path| write_at_end(&write(path)))),
        ("truncated", Box::new(move |path| write(path).set_len(3).unwrap())),
        ("emptied", Box::new(move |path| write(path).set_len(0).unwrap())),
        ("overwritten", Box::new(move |path| write(path).write_all(b"W").unwrap())),
        ("deleted", Box::new(|path| fs::remove_file(path).unwrap())),
    ];
    #[cfg(unix)]
    all.push(("overwritten and set back", Box::new(overwrite_and_set_back)));
    all.push((
        "replaced",
        Box::new(move |path| {
            // Equal in all but the file itself.
            fs::copy(path, &other).unwrap();
            let times = fs::metadata(path).unwrap().modified().unwrap();
            write(&other).set_modified(times).unwrap();
            fs::rename(&other, path).unwrap();
        }),
    ));
    all
}

/// Only the time of the last change tells of this one.
#[cfg(unix)]
fn overwrite_and_set_back(path: &Path) {
    use std::os::unix::fs::MetadataExt as _;
    let before = fs::metadata(path).unwrap();
    let mut file = fs::File::options().write(true).open(path).unwrap();
    let changed = |metadata: &Metadata| (metadata.ctime(), metadata.ctime_nsec());
    // Until the system's clock ticks.
    while changed(&file.metadata().unwrap()) == changed(&before) {
        file.write_all(b"W").unwrap();
        file.rewind().unwrap();
        file.set_modified(before.modified().unwrap()).unwrap();
    }
    let after = fs::metadata(path).unwrap();
    assert_eq!(
        (after.modified().unwrap(), after.len()),
        (before.modified().unwrap(), before.len())
    );
}

fn write_at_end(mut file: &fs::File) {
    file.seek(SeekFrom::End(0)).unwrap();
    file.write_all(b"more").unwrap();
}

#[test]
fn a_file_that_changes_while_it_is_hashed_leaves_nothing() {
    let setup = Setup::new();
    for size in [5_000, LARGE_BYTES] {
        for (what, change) in changes(setup.folder.path()) {
            let path = setup.file("a", &bytes(size));
            let taken = setup.adopt_while(&path, &mut || change(&path));
            assert!(matches!(taken, Err(AdoptError::Changed { .. })), "{what}: {taken:?}");
            assert_eq!((setup.stored(), setup.incoming()), (0, 0), "{what}");
        }
    }
}

#[test]
fn a_file_that_changes_in_the_middle_of_the_copy_leaves_nothing() {
    let setup = Setup::new();
    for (what, change) in changes(setup.folder.path()) {
        let path = setup.file("a", &bytes(LARGE_BYTES));
        let asked = Cell::new(0);
        let is_cancelled = || {
            asked.set(asked.get() + 1);
            if asked.get() == 3 {
                change(&path);
            }
            false
        };
        let taken = setup
            .artifacts
            .adopt(&path, &AdoptOptions { is_cancelled: &is_cancelled, ..options() });
        assert!(matches!(taken, Err(AdoptError::Changed { .. })), "{what}: {taken:?}");
        assert!(asked.get() >= 3, "{what}");
        assert_eq!((setup.stored(), setup.incoming()), (0, 0), "{what}");
    }
}

#[test]
fn a_file_that_never_stops_growing_is_not_followed() {
    let setup = Setup::new();
    let path = setup.file("a", &bytes(3 << 20));
    let grow = fs::File::options().append(true).open(&path).unwrap();
    let asked = Cell::new(0);
    let is_cancelled = || {
        asked.set(asked.get() + 1);
        assert!(asked.get() < 10, "it is read no further than its first size");
        (&grow).write_all(&bytes(4 << 20)).unwrap();
        false
    };
    let taken =
        setup.artifacts.adopt(&path, &AdoptOptions { is_cancelled: &is_cancelled, ..options() });
    assert!(matches!(taken, Err(AdoptError::Changed { .. })), "{taken:?}");
    assert_eq!(setup.incoming(), 0);
}

#[test]
fn what_is_no_file_or_too_large_is_refused_before_it_is_read() {
    let setup = Setup::new();
    let asked = Cell::new(false);
    let is_cancelled = || asked.replace(true);
    let options = AdoptOptions { max_bytes: 4, is_cancelled: &is_cancelled, ..options() };
    let adopt = |path: &Path| setup.artifacts.adopt(path, &options).map(|_| ());
    let large = setup.file("large", b"water");
    let text = adopt(&large).unwrap_err().to_string();
    assert!(text.contains("has 5 bytes, but at most 4"), "{text}");
    let folder = adopt(setup.folder.path());
    assert!(matches!(folder, Err(AdoptError::NotAFile { .. })), "{folder:?}");
    let absent = adopt(&setup.folder.path().join("absent")).unwrap_err();
    assert!(matches!(absent, AdoptError::Unreadable { .. }), "{absent}");
    assert_eq!(absent.reason(), Some(Reason::InputUnreadable));
    assert!(!asked.get());
    assert_eq!((setup.stored(), setup.incoming()), (0, 0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_holds_more_than_it_says_is_not_taken() {
    let setup = Setup::new();
    // The kernel's own files say that they are empty.
    let taken = setup.adopt(Path::new("/proc/version"));
    assert!(matches!(taken, Err(AdoptError::Changed { .. })), "{taken:?}");
    assert_eq!((setup.stored(), setup.incoming()), (0, 0));
}

#[cfg(unix)]
#[test]
fn links_are_followed_only_when_told_and_pipes_never_wait() {
    let setup = Setup::new();
    let target = setup.file("target", b"water");
    let link = setup.folder.path().join("link");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let refused = setup.adopt(&link);
    assert!(matches!(refused, Err(AdoptError::Link { .. })), "{refused:?}");
    assert!(is_link(&open_options(Links::Refuse).open(&link).unwrap_err()), "the system's own");
    let follow = AdoptOptions { links: Links::Follow, ..options() };
    let adopted = setup.artifacts.adopt(&link, &follow).unwrap();
    assert_eq!(adopted.checksum, Checksum::of(b"water"));

    // The link leads elsewhere after the copy, or there is one where the file was.
    let other = setup.file("other", b"water");
    let mut turn = || {
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
    };
    let turned = setup.artifacts.adopt_with(&link, &follow, &mut turn);
    assert!(matches!(turned, Err(AdoptError::Changed { .. })), "{turned:?}");
    let mut replace = || {
        fs::rename(&target, setup.folder.path().join("moved")).unwrap();
        std::os::unix::fs::symlink("moved", &target).unwrap();
    };
    let replaced = setup.adopt_while(&target, &mut replace);
    assert!(matches!(replaced, Err(AdoptError::Changed { .. })), "{replaced:?}");

    let socket = setup.folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let refused = setup.adopt(&socket);
    assert!(matches!(refused, Err(AdoptError::NotAFile { .. })), "{refused:?}");
    assert_eq!(setup.incoming(), 0);
}

#[test]
fn a_copy_ends_when_it_is_told_to() {
    let setup = Setup::new();
    for size in [5_000, LARGE_BYTES] {
        let path = setup.file("a", &bytes(size));
        let asked = Cell::new(0);
        let last = if size == LARGE_BYTES { 3 } else { 1 };
        let is_cancelled = || {
            asked.set(asked.get() + 1);
            asked.get() >= last
        };
        let options = AdoptOptions { is_cancelled: &is_cancelled, ..options() };
        let taken = setup.artifacts.adopt(&path, &options);
        assert!(matches!(taken, Err(AdoptError::Cancelled { .. })), "{taken:?}");
        assert_eq!((asked.get(), setup.incoming(), setup.stored()), (last, 0, 0));
    }
}

#[test]
fn files_are_taken_at_the_same_time() {
    let setup = Setup::new();
    let one = setup.file("one", &bytes(LARGE_BYTES));
    let two = setup.file("two", &bytes(LARGE_BYTES));
    let (first, second) = std::thread::scope(|scope| {
        let other = scope.spawn(|| setup.adopt(&two));
        (setup.adopt(&one).unwrap(), other.join().unwrap().unwrap())
    });
    assert_eq!(first.checksum, second.checksum);
    assert_eq!((setup.stored(), setup.incoming()), (1, 0));
}
