//! Names of files that came over the wire, as safe relative paths.

use crate::model::limits;
use std::path::PathBuf;

/// The relative path of a name with `/`; none where it is empty, too long or could leave its
/// folder on this system.
pub fn relative_path(name: &str) -> Option<PathBuf> {
    if name.is_empty() || name.len() > limits::FILE_NAME_BYTES {
        return None;
    }
    let forbidden =
        |letter: char| letter == '\\' || letter.is_control() || (cfg!(windows) && letter == ':');
    let mut path = PathBuf::new();
    for part in name.split('/') {
        if part.is_empty() || part == "." || part == ".." || part.contains(forbidden) {
            return None;
        }
        path.push(part);
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        assert_eq!(relative_path("a/ä.png"), Some(PathBuf::from("a").join("ä.png")));
        let long = "x".repeat(limits::FILE_NAME_BYTES + 1);
        for bad in ["", "/a", "a/", "../a", "a/../b", "./a", "a//b", "a\\b", "a\0b", "a\nb", &long]
        {
            assert_eq!(relative_path(bad), None, "{bad:?}");
        }
    }
}
