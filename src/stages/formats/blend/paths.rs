//! Paths as Blender writes them.

use serde::Serialize;

/// Where a written path leads, seen from the folder of a scene set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "place", content = "path")]
pub enum Target {
    /// Below the folder, with `/` and without `.` and `..`.
    Inside(String),
    /// It climbs out of the folder, or does not say from where it is meant: without `//` Blender
    /// takes it from wherever it was started.
    Outside(String),
    /// From the root of a disk or of a server; as written.
    Absolute(String),
}

/// Where `written` leads when it stands in the `.blend` file `blend_name`.
///
/// `//` at the start means the folder of that file; both slashes separate, on every system. A
/// `blend_name` with folders (`lib/props.blend`) is counted from the set's own folder, and so is
/// the answer. Patterns (`<UDIM>`, `##`) are kept: see [`is_pattern`].
pub fn relative(written: &str, blend_name: &str) -> Target {
    let Some(rest) = written.strip_prefix("//") else {
        return if is_absolute(written) {
            Target::Absolute(written.to_owned())
        } else {
            Target::Outside(written.to_owned())
        };
    };
    let separators = ['/', '\\'];
    let mut parts: Vec<&str> = blend_name.split(separators).filter(|part| counts(part)).collect();
    parts.pop();
    let mut climbed = 0_usize;
    for part in rest.split(separators).filter(|part| counts(part)) {
        if part.contains(':') {
            // A drive or a stream of Windows: joined to a folder it would leave it.
            return Target::Absolute(written.to_owned());
        }
        if part != ".." {
            parts.push(part);
        } else if parts.pop().is_none() {
            climbed += 1;
        }
    }
    let inside = parts.join("/");
    if climbed > 0 {
        Target::Outside(format!("{}{inside}", "../".repeat(climbed)))
    } else if inside.is_empty() {
        Target::Outside(written.to_owned())
    } else {
        Target::Inside(inside)
    }
}

fn counts(part: &str) -> bool {
    !part.is_empty() && part != "."
}

fn is_absolute(written: &str) -> bool {
    let has_drive =
        matches!(written.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    written.starts_with(['/', '\\']) || has_drive
}

/// Whether the name stands for several files: tiles (`<UDIM>`, `<UVTILE>`) or a place for numbers
/// (`##`).
pub fn is_pattern(written: &str) -> bool {
    let name = written.rsplit(['/', '\\']).next().unwrap_or(written);
    ["<UDIM>", "<UVTILE>", "##"].iter().any(|mark| name.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_paths_are_placed() {
        let inside = |path: &str| Target::Inside(path.to_owned());
        let outside = |path: &str| Target::Outside(path.to_owned());
        let absolute = |path: &str| Target::Absolute(path.to_owned());
        let cases = [
            ("//wood.png", "a.blend", inside("wood.png")),
            ("//tex/./wood.png", "a.blend", inside("tex/wood.png")),
            ("//tex\\sub\\..\\wood.png", "a.blend", inside("tex/wood.png")),
            ("//tex//wood.<UDIM>.exr", "a.blend", inside("tex/wood.<UDIM>.exr")),
            ("//../lib.blend", "a.blend", outside("../lib.blend")),
            ("//..\\..\\lib.blend", "a.blend", outside("../../lib.blend")),
            ("//tex/../../lib.blend", "a.blend", outside("../lib.blend")),
            ("//../tex/a.png", "lib/props.blend", inside("tex/a.png")),
            ("//a.png", "lib\\props.blend", inside("lib/a.png")),
            ("//../../a.png", "lib/props.blend", outside("../a.png")),
            ("//", "a.blend", outside("//")),
            ("//C:/x.png", "a.blend", absolute("//C:/x.png")),
            ("C:\\x\\y.png", "a.blend", absolute("C:\\x\\y.png")),
            ("\\\\server\\share\\y.png", "a.blend", absolute("\\\\server\\share\\y.png")),
            ("/srv/y.png", "a.blend", absolute("/srv/y.png")),
            ("tex/y.png", "a.blend", outside("tex/y.png")),
        ];
        for (written, blend, target) in cases {
            assert_eq!(relative(written, blend), target, "{written} in {blend}");
        }
    }

    #[test]
    fn patterns_are_told_from_names() {
        for name in ["//a.<UDIM>.exr", "//a/b.<UVTILE>.png", "//cache/f_####.vdb"] {
            assert!(is_pattern(name), "{name}");
        }
        for name in ["//a.1001.exr", "//##/b.png", "//a#1.png"] {
            assert!(!is_pattern(name), "{name}");
        }
    }
}
