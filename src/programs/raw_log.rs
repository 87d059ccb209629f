//! The raw log: what a program wrote, byte for byte, up to a bound.

use super::program::ProgramError;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

#[derive(Debug)]
pub(super) struct RawLog {
    file: File,
    left_bytes: u64,
    bound_bytes: u64,
    cut: bool,
}

impl RawLog {
    /// Goes on where an earlier program of the same attempt ended.
    pub(super) fn open(path: &Path, bound_bytes: u64) -> Result<Self, ProgramError> {
        let open = || {
            let file = File::options().create(true).append(true).open(path)?;
            let length = file.metadata()?.len();
            io::Result::Ok((file, length))
        };
        let (file, length) =
            open().map_err(|error| ProgramError::Log { error, path: path.to_owned() })?;
        let left_bytes = bound_bytes.saturating_sub(length);
        Ok(Self { file, left_bytes, bound_bytes, cut: false })
    }

    /// A log that cannot be written does not end a render: it counts as cut.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        if self.cut {
            return;
        }
        let room = usize::try_from(self.left_bytes).unwrap_or(usize::MAX);
        let (kept, rest) = bytes.split_at(bytes.len().min(room));
        self.left_bytes -= kept.len() as u64;
        let mut written = self.file.write_all(kept);
        if !rest.is_empty() {
            self.cut = true;
            let bound = self.bound_bytes;
            let note = format!("\n[the log is longer than {bound} bytes: the rest is left out]\n");
            written = written.and_then(|()| self.file.write_all(note.as_bytes()));
        }
        self.cut |= written.is_err();
    }

    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }
}
