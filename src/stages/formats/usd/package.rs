//! USDZ: a ZIP archive whose files are stored as they are, a USD first
//! (`https://openusd.org/release/spec_usdz.html`).

use super::is_layer;
use crate::protocol::work::Failure;
use crate::stages::formats::{bounds, corrupt, too_large, truncated, unsupported};
use std::collections::BTreeMap;
use std::ops::Range;

/// The files of a USDZ.
#[derive(Debug)]
pub(super) struct Package {
    bytes: Vec<u8>,
    /// Where each lies, by its path.
    files: BTreeMap<String, Range<usize>>,
    /// The path of the USD that begins the scene.
    pub root: String,
}

/// The record at the end of an archive without a comment, in bytes.
const END_BYTES: usize = 22;
/// Most bytes of a comment behind it.
const COMMENT_BYTES: usize = 65_535;

/// The name of the first file, where these are the first bytes of an archive.
pub(in crate::stages::formats) fn first_name(head: &[u8]) -> Option<&str> {
    let length = usize::from(u16_at(head, 26)?);
    let name = head.strip_prefix(b"PK\x03\x04").and_then(|_| head.get(30..30 + length))?;
    std::str::from_utf8(name).ok()
}

impl Package {
    /// Reads the directory of an archive.
    pub(super) fn open(bytes: Vec<u8>, name: &str) -> Result<Self, Failure> {
        let cut = || {
            truncated(format!(
                "{name} has no directory of its files at its end. Copy or export it again"
            ))
        };
        let last = bytes.len().checked_sub(END_BYTES).ok_or_else(cut)?;
        let first = last.saturating_sub(COMMENT_BYTES);
        let end = (first..=last)
            .rev()
            .find(|at| bytes.get(*at..).is_some_and(|rest| rest.starts_with(b"PK\x05\x06")))
            .ok_or_else(cut)?;
        let count = usize::from(u16_at(&bytes, end + 10).ok_or_else(cut)?);
        if count > bounds::USDZ_FILES {
            return Err(too_large(format!("{name} has more than {} files", bounds::USDZ_FILES)));
        }
        let mut at = u32_at(&bytes, end + 16).ok_or_else(cut)?;
        let (mut files, mut root) = (BTreeMap::new(), None);
        for _ in 0..count {
            let entry = entry(&bytes, at, name)?;
            at = entry.next;
            if root.is_none() && is_layer(&entry.name) {
                root = Some(entry.name.clone());
            }
            files.insert(entry.name, entry.place);
        }
        let root = root.ok_or_else(|| {
            unsupported(format!(
                "{name} is an archive without a USD in it. Convert it to GLB or USD"
            ))
        })?;
        Ok(Self { bytes, files, root })
    }

    /// The bytes of a file.
    pub(super) fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).and_then(|place| self.bytes.get(place.clone()))
    }
}

struct Entry {
    name: String,
    place: Range<usize>,
    next: usize,
}

fn entry(bytes: &[u8], at: usize, name: &str) -> Result<Entry, Failure> {
    let bad = || corrupt(format!("{name}: the directory of its files is damaged. Export it again"));
    if !bytes.get(at..).is_some_and(|rest| rest.starts_with(b"PK\x01\x02")) {
        return Err(bad());
    }
    let short = |offset| u16_at(bytes, at + offset).map(usize::from).ok_or_else(bad);
    let long = |offset| u32_at(bytes, at + offset).ok_or_else(bad);
    let length = short(28)?;
    let path = bytes.get(at + 46..at + 46 + length).ok_or_else(bad)?;
    let path = String::from_utf8_lossy(path).into_owned();
    if short(10)? != 0 || short(8)? & 1 != 0 {
        return Err(unsupported(format!(
            "{name}: its file {path} is compressed or encrypted, which a USDZ may not be. Pack it again without"
        )));
    }
    let (size, head) = (long(24)?, long(42)?);
    // The head before each file repeats its name, and may have more behind it.
    let extra = |offset| u16_at(bytes, head.saturating_add(offset)).map(usize::from);
    let start = extra(26).zip(extra(28)).ok_or_else(bad)?;
    let start = head.saturating_add(30 + start.0 + start.1);
    let end = start.checked_add(size).filter(|end| *end <= bytes.len()).ok_or_else(bad)?;
    Ok(Entry { name: path, place: start..end, next: at + 46 + length + short(30)? + short(32)? })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at.checked_add(2)?)?.try_into().ok().map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let field = bytes.get(at..at.checked_add(4)?)?;
    field.try_into().ok().map(|field| u32::from_le_bytes(field) as usize)
}
