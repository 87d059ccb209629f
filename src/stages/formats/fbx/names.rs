//! The files that an FBX names, and where they are looked for.
//!
//! An FBX names a texture by the path it had on its author's machine, so the file is looked for by
//! its own name too: beside the FBX, in `textures`, and in the folder of unpacked media (`.fbm`).

use crate::stages::formats::bounds;
use crate::stages::formats::references::{Lookup, SideRoot};
use std::collections::BTreeSet;

/// Words before a path: in binary files the name of a record, in text files the key of a line.
const KEYS: [&[u8]; 3] = [b"RelativeFilename", b"FileName", b"Filename"];

/// The last part of a path of any system.
pub(super) fn last_part(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Where a named file is. A path that leads outside counts as not found: it was never meant for
/// this machine.
pub(in crate::stages::formats) fn find(root: &SideRoot, main: &str, written: &str) -> Lookup {
    let name = last_part(written);
    let stem = main.rsplit_once('.').map_or(main, |(stem, _)| stem);
    if name.is_empty() {
        return Lookup::NotFound;
    }
    [written.to_owned(), name.to_owned(), format!("textures/{name}"), format!("{stem}.fbm/{name}")]
        .iter()
        .map(|path| root.find(path))
        .find(|lookup| matches!(lookup, Lookup::File { .. }))
        .unwrap_or(Lookup::NotFound)
}

/// What the bytes of an FBX name: each path as written, with where it is. Files that are embedded
/// are not named as missing. The bytes are searched, not parsed, since this runs where an asset is
/// handed in.
pub(in crate::stages::formats) fn scan(
    bytes: &[u8],
    main: &str,
    root: &SideRoot,
) -> Vec<(String, Lookup)> {
    let written = paths(bytes);
    let mut found = Vec::new();
    let mut names = BTreeSet::new();
    for path in &written {
        let lookup = find(root, main, path);
        if matches!(lookup, Lookup::File { .. }) {
            names.insert(last_part(path).to_lowercase());
            found.push((path.clone(), lookup));
        }
    }
    if has_media(bytes) {
        return found;
    }
    for path in &written {
        let name = last_part(path);
        if !name.is_empty() && names.insert(name.to_lowercase()) {
            found.push((name.to_owned(), Lookup::NotFound));
        }
    }
    found
}

fn paths(bytes: &[u8]) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for key in KEYS {
        let mut rest = bytes;
        while let Some(at) = position(rest, key) {
            rest = rest.get(at + key.len()..).unwrap_or_default();
            if let Some(path) = text_after(rest).filter(|path| !path.trim().is_empty()) {
                paths.insert(path);
            }
            if paths.len() >= bounds::REFERENCES {
                return paths;
            }
        }
    }
    paths
}

/// `S`, a length and the text (binary), or `: "text"`.
fn text_after(rest: &[u8]) -> Option<String> {
    let text = match rest {
        [b'S', a, b, c, d, text @ ..] => {
            text.get(..u32::from_le_bytes([*a, *b, *c, *d]) as usize)?
        }
        [b':', line @ ..] => {
            let line = line.split(|byte| matches!(byte, b'\n' | b'\r')).next()?;
            let line = line.trim_ascii().strip_prefix(b"\"")?;
            line.split(|byte| *byte == b'"').next()?
        }
        _ => return None,
    };
    let text = (text.len() <= crate::model::limits::FILE_NAME_BYTES).then_some(text)?;
    String::from_utf8(text.to_vec()).ok()
}

/// Whether a file carries pictures: a record `Content` with bytes in it.
fn has_media(bytes: &[u8]) -> bool {
    let key = b"Content";
    let mut rest = bytes;
    while let Some(at) = position(rest, key) {
        rest = rest.get(at + key.len()..).unwrap_or_default();
        match rest {
            [b'R', a, b, c, d, ..] if u32::from_le_bytes([*a, *b, *c, *d]) > 0 => return true,
            [b':', line @ ..] => {
                let text = line.get(..64.min(line.len())).unwrap_or_default();
                let mut quoted = text.split(|byte| *byte == b'"').skip(1);
                if quoted.next().is_some_and(|content| !content.is_empty()) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

fn position(bytes: &[u8], key: &[u8]) -> Option<usize> {
    let first = *key.first()?;
    let mut from = 0;
    loop {
        let rest = bytes.get(from..)?;
        let at = from + rest.iter().position(|byte| *byte == first)?;
        if bytes.get(at..)?.starts_with(key) {
            return Some(at);
        }
        from = at + 1;
    }
}
