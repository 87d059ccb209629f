//! Hashes files, and notices when one changes meanwhile.

use crate::intake::{self, LocalFile, Refusal};
use crate::model::{Checksum, Reason};
use crate::protocol::submit::SourceFile;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 1 << 20;

/// Hashes every file; the result is sorted by name.
pub(super) fn all(
    local: &[LocalFile],
    limit_bytes: u64,
) -> Result<Vec<(PathBuf, SourceFile)>, Refusal> {
    let mut hashed = Vec::with_capacity(local.len());
    for file in local {
        let (checksum, size_bytes) = one(&file.path, limit_bytes)?;
        let source = SourceFile { name: file.name.clone(), checksum, size_bytes };
        hashed.push((file.path.clone(), source));
    }
    hashed.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
    Ok(hashed)
}

/// Whether the file still has the size it was hashed with.
pub(super) fn is_as_hashed(path: &Path, size_bytes: u64) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == size_bytes)
}

fn one(path: &Path, limit_bytes: u64) -> Result<(Checksum, u64), Refusal> {
    let failed = |error| intake::unreadable(&error, path);
    let before = intake::regular(path, limit_bytes)?;
    let mut file = File::open(path).map_err(failed)?;
    read_to_end(&mut file, &before, path, &mut || {})
}

/// `meanwhile` runs once the bytes are read, before the second look: tests change the file there.
pub(super) fn read_to_end(
    file: &mut File,
    before: &Metadata,
    path: &Path,
    meanwhile: &mut dyn FnMut(),
) -> Result<(Checksum, u64), Refusal> {
    let failed = |error| intake::unreadable(&error, path);
    let mut hasher = blake3::Hasher::new();
    let mut size_bytes = 0_u64;
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        // One byte past the first size is enough to know that the file grew.
        if size_bytes > before.len() {
            break;
        }
        let count = file.read(&mut buffer).map_err(failed)?;
        if count == 0 {
            break;
        }
        hasher.update(buffer.get(..count).unwrap_or_default());
        size_bytes += count as u64;
    }
    meanwhile();
    let after = std::fs::metadata(path).map_err(failed)?;
    let same_time = match (before.modified(), after.modified()) {
        (Ok(before), Ok(after)) => before == after,
        _ => true,
    };
    if size_bytes != before.len() || after.len() != before.len() || !same_time {
        let what = "the file changed while it was read";
        return Err(Refusal::at(Reason::InputChanged, what, path));
    }
    Ok((Checksum::from_bytes(*hasher.finalize().as_bytes()), size_bytes))
}
