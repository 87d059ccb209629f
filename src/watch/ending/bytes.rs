//! A file of which only some pieces are read.

use super::TAIL_BYTES;
use std::io::{self, Read, Seek, SeekFrom};

/// Something that can be read from any place.
pub trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// The bytes of a file of known length.
pub struct Bytes<'a> {
    source: &'a mut dyn ReadSeek,
    size_bytes: u64,
}

impl std::fmt::Debug for Bytes<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Bytes").field("size_bytes", &self.size_bytes).finish_non_exhaustive()
    }
}

impl<'a> Bytes<'a> {
    /// `size_bytes` is what the file counts as, also where it is longer or shorter by now.
    pub fn new(source: &'a mut dyn ReadSeek, size_bytes: u64) -> Self {
        Self { source, size_bytes }
    }

    /// How many there are.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Up to `count` bytes from `offset` on; fewer where the file ends before.
    pub(super) fn at(&mut self, offset: u64, count: usize) -> io::Result<Vec<u8>> {
        let left = self.size_bytes.saturating_sub(offset).min(count as u64);
        let mut bytes = Vec::new();
        if left > 0 {
            self.source.seek(SeekFrom::Start(offset))?;
            (&mut *self.source).take(left).read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    }

    /// The last bytes, as many as an end mark is searched in.
    pub(super) fn tail(&mut self) -> io::Result<Vec<u8>> {
        self.last(TAIL_BYTES)
    }

    /// The last `count` bytes.
    pub(super) fn last(&mut self, count: usize) -> io::Result<Vec<u8>> {
        self.at(self.size_bytes.saturating_sub(count as u64), count)
    }
}

/// Which end of a number comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

/// The number of `count` bytes (up to 8) at `offset`; nothing where the bytes end before.
pub(super) fn number(bytes: &[u8], offset: usize, count: usize, order: Order) -> Option<u64> {
    let digits = bytes.get(offset..offset.checked_add(count)?)?;
    let add = |sum: u64, digit: &u8| (sum << 8) | u64::from(*digit);
    Some(match order {
        Order::Little => digits.iter().rev().fold(0, add),
        Order::Big => digits.iter().fold(0, add),
    })
}

/// The number of 4 bytes, the small end first.
pub(super) fn u32_at(bytes: &[u8], offset: usize) -> Option<u64> {
    number(bytes, offset, 4, Order::Little)
}

/// The number of 8 bytes, the small end first.
pub(super) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    number(bytes, offset, 8, Order::Little)
}

/// Where `mark` stands last.
pub(super) fn last_of(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).rposition(|window| window == mark)
}
