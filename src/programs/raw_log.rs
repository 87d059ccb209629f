//! The raw log: what a program wrote, byte for byte, up to a bound.

use super::program::ProgramError;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct RawLog {
    path: PathBuf,
    /// Made with the first byte: many programs say nothing.
    file: Option<File>,
    left_bytes: u64,
    bound_bytes: u64,
    cut: bool,
}

impl RawLog {
    /// Goes on where an earlier program of the same attempt ended.
    pub(super) fn open(path: &Path, bound_bytes: u64) -> Result<Self, ProgramError> {
        let failed = |error| ProgramError::Log { error, path: path.to_owned() };
        let length = match path.metadata() {
            Ok(found) if found.is_file() => found.len(),
            Ok(_) => return Err(failed(io::ErrorKind::IsADirectory.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                path.parent()
                    .map_or(Ok(()), |folder| folder.metadata().map(drop))
                    .map_err(failed)?;
                0
            }
            Err(error) => return Err(failed(error)),
        };
        let left_bytes = bound_bytes.saturating_sub(length);
        Ok(Self { path: path.to_owned(), file: None, left_bytes, bound_bytes, cut: false })
    }

    /// A log that cannot be written does not end a render: it counts as cut.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        if self.cut {
            return;
        }
        let room = usize::try_from(self.left_bytes).unwrap_or(usize::MAX);
        let (kept, rest) = bytes.split_at(bytes.len().min(room));
        self.left_bytes -= kept.len() as u64;
        let mut written = self.append(kept);
        if !rest.is_empty() {
            self.cut = true;
            let bound = self.bound_bytes;
            let note = format!("\n[the log is longer than {bound} bytes: the rest is left out]\n");
            written = written.and_then(|()| self.append(note.as_bytes()));
        }
        self.cut |= written.is_err();
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(File::options().create(true).append(true).open(&self.path)?);
        }
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes))
    }

    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }
}
