//! Looks at a path without reading it.

use super::Refusal;
use crate::model::Reason;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::path::Path;

/// Suffixes of pictures that can be frames, in lower case.
const PICTURES: [&str; 12] =
    ["png", "jpg", "jpeg", "tif", "tiff", "exr", "hdr", "tga", "bmp", "webp", "gif", "dds"];

pub(super) fn is_picture(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| is_one_of(suffix, &PICTURES))
}

/// Whether a suffix is one of these, in whatever case.
pub(super) fn is_one_of(suffix: &OsStr, known: &[&str]) -> bool {
    known.iter().any(|known| suffix.eq_ignore_ascii_case(known))
}

/// What lies at a path; links are followed.
pub(super) fn look(path: &Path) -> Result<Metadata, Refusal> {
    std::fs::metadata(path).map_err(|error| unreadable(&error, path))
}

/// A regular file of at most `limit_bytes`, or why not.
pub(crate) fn regular(path: &Path, limit_bytes: u64) -> Result<Metadata, Refusal> {
    let metadata = look(path)?;
    if !metadata.is_file() {
        let what = "this is no regular file";
        return Err(Refusal::at(Reason::InputNotAFile, what, path));
    }
    if metadata.len() > limit_bytes {
        let what =
            format!("the file has {} bytes, but at most {limit_bytes} are taken", metadata.len());
        return Err(Refusal::at(Reason::InputTooLarge, &what, path));
    }
    Ok(metadata)
}

/// The system's refusal to read, in words for people.
pub(crate) fn unreadable(error: &io::Error, path: &Path) -> Refusal {
    let what = match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "you may not read this".to_owned(),
        _ => format!("it cannot be read ({error})"),
    };
    Refusal::at(Reason::InputUnreadable, &what, path)
}

/// A file name that every machine of the farm can write: letters that are no Unicode, separators
/// and control characters become `_`.
pub(super) fn portable_name(name: &OsStr) -> String {
    name.to_string_lossy()
        .chars()
        .map(|letter| match letter {
            '\u{fffd}' | '\\' | '/' | ':' | '*' | '?' | '"' | '<' | '>' | '|' => '_',
            control if control.is_control() => '_',
            other => other,
        })
        .collect()
}
