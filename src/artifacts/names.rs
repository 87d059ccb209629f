//! Relative file names that stay inside their folder on every system.

use crate::model::limits;

/// Longest part of a name between two `/`, in bytes: what file systems take.
const PART_BYTES: usize = 255;
/// Longest piece of a bad name that a message repeats, in characters.
const SHOWN_CHARS: usize = 120;

/// A name that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the file name '{name}' cannot be used: {why}")]
pub struct BadName {
    /// The name, cut to a readable length.
    pub name: String,
    /// What is wrong with it.
    pub why: &'static str,
}

/// Checks a relative name with `/`: no way out of the folder, no device, no control character.
pub fn check(name: &str) -> Result<(), BadName> {
    let bad = |why| {
        let shown = name.chars().filter(|letter| !letter.is_control()).take(SHOWN_CHARS).collect();
        Err(BadName { name: shown, why })
    };
    if name.is_empty() {
        return bad("it is empty");
    }
    if name.len() > limits::FILE_NAME_BYTES {
        return bad("it is longer than 512 bytes");
    }
    if name.chars().any(char::is_control) {
        return bad("it has a control character");
    }
    if name.starts_with('/') {
        return bad("it must be relative");
    }
    if name.contains('\\') {
        return bad("it has a backslash; folders are separated by '/'");
    }
    if name.contains(':') {
        return bad("it has a colon, which Windows keeps for drives and streams");
    }
    for part in name.split('/') {
        match part {
            "" => return bad("it has an empty part"),
            "." | ".." => return bad("it has a '.' or '..' part"),
            _ if part.len() > PART_BYTES => {
                return bad("one of its parts is longer than 255 bytes");
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_stay_inside_are_taken() {
        for good in ["a", "textures/wood.png", "龍/..a", "a b", "turntable/0001.png"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn names_that_leave_or_confuse_are_refused() {
        let long = "a".repeat(limits::FILE_NAME_BYTES + 1);
        let long_part = "a".repeat(PART_BYTES + 1);
        for bad in [
            "", "/a", "..", "a/../b", "a/./b", "a//b", "a/", "a\0b", "a\nb", "a\\b", "C:/a",
            "shot:1", &long, &long_part,
        ] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
    }
}
