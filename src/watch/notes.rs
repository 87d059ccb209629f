//! The note beside a file that was refused: why, and what to do, in words for artists.

use super::names;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The ending of every note.
pub const SUFFIX: &str = ".sawah.txt";
/// The first line of every note: only files that begin with it are ever replaced or removed.
pub const FIRST_LINE: &str =
    "Sawah could not use a file in this folder. This note goes away when the file is mended.";
/// Longest name of a file, in bytes: what Linux takes; Windows and macOS count no stricter.
const NAME_BYTES: usize = 255;
/// Digits of the hash in the note of a name that is too long to be repeated.
const HASH_DIGITS: usize = 16;
/// Longest text of one line of a note, in bytes.
const TEXT_BYTES: usize = 4_096;
/// Lines end as Windows wants them: every editor of every system shows these rightly, older
/// ones of Windows no others.
const LINE_END: &str = "\r\n";

/// What stands in a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note<'a> {
    /// The file, as [`names::shown`] writes it.
    pub file_shown: String,
    /// What is wrong with it.
    pub what: String,
    /// What to do now.
    pub remedy: String,
    /// The reason code, for whoever looks after the farm.
    pub code: &'a str,
    /// When it was refused, as people write a time.
    pub when: String,
}

/// The note that belongs to the file `beside`. A name that would become too long is cut and gets a
/// hash of the whole name.
pub fn note_path(beside: &Path) -> PathBuf {
    let name = beside.file_name().unwrap_or_default();
    beside.with_file_name(note_name(name))
}

fn note_name(name: &OsStr) -> OsString {
    let bytes = name.as_encoded_bytes();
    if bytes.len() + SUFFIX.len() <= NAME_BYTES {
        let mut note = name.to_owned();
        note.push(SUFFIX);
        return note;
    }
    let hash = blake3::hash(bytes).to_hex();
    let room = NAME_BYTES - SUFFIX.len() - HASH_DIGITS - 1;
    // Shown, since half a letter could not be written on every system.
    let mut start = names::shown(name);
    start.truncate(start.floor_char_boundary(room));
    let hash = hash.as_str().get(..HASH_DIGITS).unwrap_or_default();
    OsString::from(format!("{start}~{hash}{SUFFIX}"))
}

/// Writes the note that belongs to the file `beside`, or replaces the one that is there, and says
/// where it lies. It appears at once and whole.
///
/// Fails with `AlreadyExists` when something of its name is there that is no note of ours; that is
/// left as it is.
pub fn write(beside: &Path, note: &Note<'_>) -> io::Result<PathBuf> {
    let path = note_path(beside);
    let text = text(note);
    let replace = match standing(&path)? {
        Standing::Nothing => false,
        Standing::Ours => true,
        Standing::Foreign => return Err(foreign(&path)),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".sawah-note-").suffix(".tmp");
    // A temporary file is its owner's alone unless said; a note is for everybody.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    if replace {
        file.persist(&path).map_err(|error| error.error)?;
        return Ok(path);
    }
    match file.persist_noclobber(&path) {
        Ok(_) => Ok(path),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(foreign(&path)),
        // Some disks and shares cannot rename without replacing.
        Err(error) => match standing(&path)? {
            Standing::Foreign => Err(foreign(&path)),
            _ => error.file.persist(&path).map(|_| path).map_err(|error| error.error),
        },
    }
}

/// Removes the note that belongs to the file `beside`, and says whether there was one. What is no
/// note of ours stays.
pub fn remove(beside: &Path) -> io::Result<bool> {
    let path = note_path(beside);
    match standing(&path)? {
        Standing::Ours => fs::remove_file(&path).map(|()| true),
        Standing::Nothing | Standing::Foreign => Ok(false),
    }
}

/// What stands where a note belongs.
enum Standing {
    Nothing,
    Ours,
    Foreign,
}

fn standing(path: &Path) -> io::Result<Standing> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Ok(Standing::Foreign),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Standing::Nothing),
        Err(error) => return Err(error),
    }
    let mut head = Vec::new();
    fs::File::open(path)?.take(FIRST_LINE.len() as u64 + 1).read_to_end(&mut head)?;
    let rest = head.strip_prefix(FIRST_LINE.as_bytes());
    let ours = rest.is_some_and(|rest| matches!(rest, [] | [b'\r' | b'\n']));
    Ok(if ours { Standing::Ours } else { Standing::Foreign })
}

fn foreign(path: &Path) -> io::Error {
    let name = names::shown(path.file_name().unwrap_or_default());
    io::Error::new(
        io::ErrorKind::AlreadyExists,
        format!(
            "the note cannot be written, as a file that is not Sawah's has its name. Rename or remove {name}"
        ),
    )
}

fn text(note: &Note<'_>) -> String {
    let mut lines = vec![FIRST_LINE.to_owned(), String::new()];
    for (title, text) in
        [("File", &note.file_shown), ("What is wrong", &note.what), ("What to do", &note.remedy)]
    {
        lines.push(format!("{title}:"));
        let shortened = text.get(..text.floor_char_boundary(TEXT_BYTES)).unwrap_or_default();
        lines.extend(shortened.lines().map(|line| format!("    {line}")));
        lines.push(String::new());
    }
    lines.push(format!("For whoever looks after the farm: {}, {}", note.code, note.when));
    lines.push(String::new());
    lines.join(LINE_END)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn note() -> Note<'static> {
        Note {
            file_shown: "tree.png".to_owned(),
            what: "Its end is missing.\nThe picture is cut off.".to_owned(),
            remedy: "Copy it here once more.".to_owned(),
            code: "input.incomplete",
            when: "1 December, 10:15".to_owned(),
        }
    }

    fn list(folder: &Path) -> BTreeSet<OsString> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }

    #[test]
    fn a_note_says_why_and_what_to_do_and_goes_away() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tree.png");
        let path = write(&file, &note()).unwrap();
        assert_eq!(path, folder.path().join("tree.png.sawah.txt"));
        let text = fs::read_to_string(&path).unwrap();
        let expected = format!(
            "{FIRST_LINE}\r\n\r\nFile:\r\n    tree.png\r\n\r\nWhat is wrong:\r\n    Its end is missing.\r\n    The picture is cut off.\r\n\r\nWhat to do:\r\n    Copy it here once more.\r\n\r\nFor whoever looks after the farm: input.incomplete, 1 December, 10:15\r\n"
        );
        assert_eq!(text, expected);
        let again = Note { what: "It is still cut off.".to_owned(), ..note() };
        assert_eq!(write(&file, &again).unwrap(), path);
        assert!(fs::read_to_string(&path).unwrap().contains("still cut off"));
        assert_eq!(list(folder.path()).len(), 1, "nothing temporary is left");
        assert!(remove(&file).unwrap());
        assert!(!remove(&file).unwrap());
        assert_eq!(list(folder.path()).len(), 0);
    }

    #[test]
    #[cfg(unix)]
    fn everybody_who_may_read_the_folder_may_read_the_note() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        fs::write(&plain, "p").unwrap();
        let path = write(&plain, &note()).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), mode(&plain));
    }

    #[test]
    fn what_is_not_ours_is_neither_replaced_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tree.png");
        let path = note_path(&file);
        let longer = format!("{FIRST_LINE} Not.");
        for foreign in ["my own notes", "", longer.as_str()] {
            fs::write(&path, foreign).unwrap();
            let error = write(&file, &note()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert!(error.to_string().contains("tree.png.sawah.txt"), "{error}");
            assert!(!remove(&file).unwrap());
            assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(write(&file, &note()).is_err());
        assert!(!remove(&file).unwrap());
        assert_eq!(list(folder.path()).len(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn a_link_is_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        fs::write(&target, FIRST_LINE).unwrap();
        let file = folder.path().join("tree.png");
        std::os::unix::fs::symlink(&target, note_path(&file)).unwrap();
        assert!(write(&file, &note()).is_err());
        assert!(!remove(&file).unwrap());
        assert_eq!(fs::read_to_string(&target).unwrap(), FIRST_LINE);
    }

    #[test]
    #[cfg(unix)]
    fn the_longest_and_the_oddest_names_get_a_note() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        let one = format!("{}a.png", "ü".repeat(125));
        let other = format!("{}b.png", "ü".repeat(125));
        let mut invalid = vec![0xff; 251];
        invalid.extend_from_slice(b".png");
        let names: [&[u8]; 5] =
            [one.as_bytes(), other.as_bytes(), &invalid, b"\xff\xfe\n.png", &[b'x'; 245]];
        let mut notes = BTreeSet::new();
        for name in names {
            let file = folder.path().join(OsStr::from_bytes(name));
            fs::write(&file, "x").unwrap();
            let path = write(&file, &note()).unwrap();
            let note_name = path.file_name().unwrap().to_owned();
            assert!(note_name.len() <= NAME_BYTES && note_name.as_bytes().ends_with(b".sawah.txt"));
            assert_eq!(path.parent(), file.parent());
            notes.insert(note_name);
        }
        assert_eq!(notes.len(), names.len(), "each has its own");
        assert!(notes.contains(OsStr::from_bytes(b"\xff\xfe\n.png.sawah.txt")));
        for name in names {
            assert!(remove(&folder.path().join(OsStr::from_bytes(name))).unwrap());
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_folder_that_takes_no_note_says_so() {
        use std::os::unix::fs::PermissionsExt;
        // Nobody can make files there, not even root.
        let error = write(Path::new("/proc/self/tree.png"), &note()).unwrap_err();
        assert_ne!(error.kind(), io::ErrorKind::AlreadyExists, "{error}");
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).unwrap();
        let written = write(&folder.path().join("tree.png"), &note());
        let root_user = rustix::process::geteuid().is_root();
        if root_user {
            eprintln!("run as root, which may write everywhere: rights are not tried here");
        }
        assert_eq!(written.is_ok(), root_user);
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(list(folder.path()).len(), usize::from(root_user));
    }

    #[test]
    fn a_note_is_bounded() {
        let note = Note { what: "ü".repeat(100_000), ..note() };
        assert!(text(&note).len() < 3 * TEXT_BYTES);
    }
}
