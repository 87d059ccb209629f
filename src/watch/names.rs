//! Names as systems and people see them: when two collide, how one is shown, which one says that
//! another is complete.

pub use super::ignore::{BadPattern, IgnoreList};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};
use unicode_normalization::UnicodeNormalization;

/// The ending of a file that says that the file beside it is complete.
const DONE: &str = ".done";

/// The key under which relative names are the same file on some system: Windows and macOS ignore
/// case, and macOS the way in which an accent is written.
///
/// The formula, for each part of the path: NFC(lower(upper(lower(NFD(name))))), each letter by itself
/// and with the full mappings of Unicode; the first `lower` is for `ẞ`, which is its own capital. Bytes that are no UTF-8 stay as they are. `/` stands between
/// the parts on every system.
///
/// Its limits: it finds more collisions than any single system has (`ß` and `ss`, `ı` and `i`),
/// never fewer among letters; it knows nothing of what Windows cuts off (dots and spaces at the
/// end) nor of short names (`TREE~1.PNG`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameKey(Vec<u8>);

impl NameKey {
    /// The key of a path below the watch folder.
    pub fn of(relative: &Path) -> Self {
        let mut key = Vec::new();
        for part in relative.components() {
            if part == Component::CurDir {
                continue;
            }
            if !key.is_empty() {
                key.push(b'/');
            }
            fold(part.as_os_str().as_encoded_bytes(), &mut key);
        }
        Self(key)
    }

    /// For keeping; equal bytes are equal keys.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

fn fold(name: &[u8], key: &mut Vec<u8>) {
    for chunk in name.utf8_chunks() {
        let folded: String = chunk
            .valid()
            .nfd()
            .flat_map(char::to_lowercase)
            .flat_map(char::to_uppercase)
            .flat_map(char::to_lowercase)
            .nfc()
            .collect();
        key.extend_from_slice(folded.as_bytes());
        key.extend_from_slice(chunk.invalid());
    }
}

/// One name for people. Control characters, characters that turn or hide others, and bytes that
/// are no UTF-8 are written as `\n`, `\u{202e}` and `\xff`; a backslash as two. So every name is
/// shown, in one line, and no two names are shown alike.
pub fn shown(name: &OsStr) -> String {
    let mut text = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\\' => text.push_str("\\\\"),
                '\n' | '\r' | '\t' => text.extend(letter.escape_default()),
                _ if letter.is_control() || misleads(letter) => {
                    text.extend(letter.escape_unicode());
                }
                _ => text.push(letter),
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// A relative path for people: each part as [`shown`] says, with `/` between them.
pub fn shown_path(path: &Path) -> String {
    let mut text = String::new();
    for part in path.components() {
        if !text.is_empty() && !text.ends_with('/') {
            text.push('/');
        }
        match part {
            Component::RootDir => text.push('/'),
            _ => text.push_str(&shown(part.as_os_str())),
        }
    }
    text
}

/// Breaks lines, changes the direction of writing or has no width. The joiners of emoji and of
/// Indic and Persian words stay.
fn misleads(letter: char) -> bool {
    matches!(letter,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The two files that say that `file` is complete: `NAME.done` and `.NAME.done` beside it.
pub fn done_marks(file: &Path) -> [PathBuf; 2] {
    let name = file.file_name().unwrap_or_default();
    let mut plain = name.to_owned();
    plain.push(DONE);
    let mut hidden = OsString::from(".");
    hidden.push(&plain);
    [file.with_file_name(plain), file.with_file_name(hidden)]
}

/// Whether one of the [`done_marks`] is there as a file.
pub fn is_marked_done(file: &Path) -> bool {
    done_marks(file)
        .iter()
        .any(|mark| std::fs::symlink_metadata(mark).is_ok_and(|found| found.is_file()))
}

/// The names that a file of this name may be the mark of; none for a file that is no mark.
/// `.a.done` may stand for `a` and for `.a`.
pub fn marked_by(mark: &OsStr) -> Vec<&OsStr> {
    let Some(name) = without_done(mark) else { return Vec::new() };
    let mut names = vec![name];
    names.extend(without_dot(name));
    names
}

#[cfg(unix)]
fn without_done(mark: &OsStr) -> Option<&OsStr> {
    use std::os::unix::ffi::OsStrExt;
    let name = mark.as_bytes().strip_suffix(DONE.as_bytes())?;
    (!name.is_empty()).then(|| OsStr::from_bytes(name))
}

#[cfg(unix)]
fn without_dot(name: &OsStr) -> Option<&OsStr> {
    use std::os::unix::ffi::OsStrExt;
    let name = name.as_bytes().strip_prefix(b".")?;
    (!name.is_empty()).then(|| OsStr::from_bytes(name))
}

/// Elsewhere a name that is no Unicode marks nothing.
#[cfg(not(unix))]
fn without_done(mark: &OsStr) -> Option<&OsStr> {
    mark.to_str()?.strip_suffix(DONE).filter(|name| !name.is_empty()).map(OsStr::new)
}

#[cfg(not(unix))]
fn without_dot(name: &OsStr) -> Option<&OsStr> {
    name.to_str()?.strip_prefix('.').filter(|name| !name.is_empty()).map(OsStr::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(text: &str) -> NameKey {
        NameKey::of(Path::new(text))
    }

    #[test]
    fn names_that_differ_in_case_or_in_the_writing_of_an_accent_are_one() {
        for (one, other) in [
            ("Tree.PNG", "tree.png"),
            ("Caf\u{e9}.png", "CAFE\u{301}.PNG"),
            ("\u{212b}.exr", "\u{e5}.exr"),
            ("ΣΊΣΥΦΟΣ", "σίσυφος"),
            ("stra\u{df}e", "STRASSE"),
            ("stra\u{df}e", "STRA\u{1e9e}E"),
            ("\u{1fb3}", "\u{391}\u{345}"),
            ("한글", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"),
            ("a/B", "A/b"),
            ("./a//b", "a/b"),
        ] {
            assert_eq!(key(one), key(other), "{one} and {other}");
        }
        for (one, other) in [("a", "á"), ("a b", "a  b"), ("a/b", "ab"), ("1", "١")] {
            assert_ne!(key(one), key(other), "{one} and {other}");
        }
    }

    #[test]
    fn a_key_is_its_own_key() {
        for letter in (0..=0x10_ffff_u32).filter_map(char::from_u32).filter(|c| *c != '/') {
            let once = key(&format!("a{letter}b"));
            let again = NameKey::of(Path::new(std::str::from_utf8(once.as_bytes()).unwrap()));
            assert_eq!(once, again, "{}", letter.escape_unicode());
        }
    }

    #[test]
    #[cfg(unix)]
    fn bytes_that_are_no_utf_8_are_kept_in_the_key() {
        use std::os::unix::ffi::OsStrExt;
        let of = |bytes: &[u8]| NameKey::of(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(of(b"A\xffB").as_bytes(), b"a\xffb");
        assert_ne!(of(b"A\xffB"), of(b"A\xfeB"));
        assert_ne!(of(b"\xc3"), of(b"\xc3\xa9"));
    }

    #[test]
    fn a_name_is_shown_in_one_line_and_as_it_is() {
        for (name, expected) in [
            ("two\nlines\t.png", r"two\nlines\t.png"),
            ("\u{7f}\u{1}", r"\u{7f}\u{1}"),
            ("gnp.\u{202e}exr", r"gnp.\u{202e}exr"),
            (r"a\b", r"a\\b"),
            ("Bäume 'alt' \"neu\" 👩\u{200d}🎨.png", "Bäume 'alt' \"neu\" 👩\u{200d}🎨.png"),
        ] {
            assert_eq!(shown(OsStr::new(name)), expected);
        }
        assert_eq!(shown_path(Path::new("a/b\n/c")), r"a/b\n/c");
        assert_eq!(shown_path(Path::new("/a/b")), "/a/b");
    }

    #[test]
    #[cfg(unix)]
    fn a_done_mark_stands_beside_its_file() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(OsStr::from_bytes(b"tree\xff.png"));
        assert!(!is_marked_done(&file));
        for mark in done_marks(&file) {
            std::fs::write(&mark, "").unwrap();
            assert!(is_marked_done(&file), "{}", mark.display());
            let found = marked_by(mark.file_name().unwrap());
            assert!(found.contains(&file.file_name().unwrap()));
            std::fs::remove_file(&mark).unwrap();
            std::fs::create_dir(&mark).unwrap();
            assert!(!is_marked_done(&file), "a folder is no mark");
            std::fs::remove_dir(&mark).unwrap();
        }
        assert_eq!(marked_by(OsStr::new("a.png")), Vec::<&OsStr>::new());
        assert_eq!(marked_by(OsStr::new(".done")), Vec::<&OsStr>::new());
        assert_eq!(marked_by(OsStr::new(".a.done")), [".a", "a"].map(OsStr::new));
    }

    #[cfg(unix)]
    proptest! {
        #[test]
        fn no_two_names_are_shown_alike(
            one in proptest::collection::vec(any::<u8>(), 0..6),
            other in proptest::collection::vec(any::<u8>(), 0..6),
        ) {
            use std::os::unix::ffi::OsStrExt;
            let (left, right) = (shown(OsStr::from_bytes(&one)), shown(OsStr::from_bytes(&other)));
            prop_assert_eq!(one == other, left == right);
            prop_assert!(!left.chars().any(char::is_control));
        }
    }
}
