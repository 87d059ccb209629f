//! The bytes of a `.blend` file, decompressed, read forward with bounds.

use super::error::BlendError;
use super::{bounds, header, zstd};
use flate2::bufread::MultiGzDecoder;
use serde::Serialize;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

/// How a whole `.blend` file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// Not at all.
    None,
    /// By gzip: Blender to 2.93.
    Gzip,
    /// By zstd: Blender from 3.0.
    Zstd,
}

impl Compression {
    /// What the first bytes of a file say; none where they say neither gzip nor zstd.
    pub(super) fn of(head: &[u8]) -> Self {
        if head.starts_with(&[0x1f, 0x8b]) {
            Self::Gzip
        } else if zstd::has_magic(head) {
            Self::Zstd
        } else {
            Self::None
        }
    }
}

/// A file, or bytes that stand for one.
pub(super) trait Source: Read + Seek {}
impl<T: Read + Seek> Source for T {}

/// The decompressed bytes from the start on.
pub(super) struct Stream<'a> {
    bytes: Bytes<'a>,
    pub(super) left: u64,
    pub(super) compression: Compression,
}

enum Bytes<'a> {
    /// Blocks can be jumped over; nothing lies behind `size`.
    Plain {
        source: BufReader<&'a mut dyn Source>,
        at: u64,
        size: u64,
    },
    Packed(Box<dyn Read + 'a>),
}

impl<'a> Stream<'a> {
    /// Starts at the first byte of `source`.
    pub(super) fn open(source: &'a mut dyn Source) -> Result<Self, BlendError> {
        let mut head = Vec::new();
        let size = source.seek(SeekFrom::End(0)).map_err(BlendError::Unreadable)?;
        source.rewind().map_err(BlendError::Unreadable)?;
        (&mut *source).take(4).read_to_end(&mut head).map_err(BlendError::Unreadable)?;
        source.rewind().map_err(BlendError::Unreadable)?;
        let compression = Compression::of(&head);
        let source = BufReader::with_capacity(64 << 10, source);
        let bytes = match compression {
            Compression::None => Bytes::Plain { source, at: 0, size },
            Compression::Gzip => Bytes::Packed(Box::new(MultiGzDecoder::new(source))),
            Compression::Zstd => Bytes::Packed(Box::new(zstd::ZstdFrames::new(source))),
        };
        Ok(Self { bytes, left: bounds::DECOMPRESSED_BYTES, compression })
    }

    /// The file header; the stream then stands at the first block.
    pub(super) fn header(&mut self) -> Result<header::Header, BlendError> {
        // The short header is read first: a small file may have no more bytes than that.
        let mut head = vec![0; 12];
        let count = self.read_up_to(&mut head)?;
        head.truncate(count);
        if header::has_magic(&head) && head.get(7).is_some_and(u8::is_ascii_digit) {
            let mut rest = [0; header::HEADER_BYTES - 12];
            let count = self.read_up_to(&mut rest)?;
            head.extend(rest.iter().take(count));
        }
        header::Header::parse(&head)
    }

    fn read_up_to(&mut self, out: &mut [u8]) -> Result<usize, BlendError> {
        let mut filled = 0;
        while let Some(rest) = out.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.read_some(rest) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failure(error, "its header is not complete")),
            }
        }
        self.spend(filled as u64)?;
        Ok(filled)
    }

    fn read_some(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match &mut self.bytes {
            Bytes::Plain { source, at, .. } => {
                let count = source.read(out)?;
                *at += count as u64;
                Ok(count)
            }
            Bytes::Packed(source) => source.read(out),
        }
    }

    /// Fills all of `out`; `what` says what would be missing.
    pub(super) fn read(&mut self, out: &mut [u8], what: &'static str) -> Result<(), BlendError> {
        let wanted = out.len();
        if self.read_up_to(out)? < wanted {
            return Err(BlendError::Truncated { what });
        }
        Ok(())
    }

    /// Goes past `count` bytes, without reading them where the file is not compressed.
    pub(super) fn skip(&mut self, count: u64) -> Result<(), BlendError> {
        const WHAT: &str = "a block is longer than what is left";
        self.spend(count)?;
        match &mut self.bytes {
            Bytes::Plain { source, at, size } => {
                let end = at.checked_add(count).filter(|end| end <= size);
                *at = end.ok_or(BlendError::Truncated { what: WHAT })?;
                let offset = i64::try_from(count)
                    .map_err(|_| BlendError::corrupt("a block has an impossible length"))?;
                source.seek_relative(offset).map_err(BlendError::Unreadable)
            }
            Bytes::Packed(source) => {
                let skipped = io::copy(&mut source.by_ref().take(count), &mut io::sink());
                match skipped {
                    Ok(skipped) if skipped == count => Ok(()),
                    Ok(_) => Err(BlendError::Truncated { what: WHAT }),
                    Err(error) => Err(failure(error, WHAT)),
                }
            }
        }
    }

    /// Uncompressed files cost nothing to go past, whatever their size.
    fn spend(&mut self, count: u64) -> Result<(), BlendError> {
        if self.compression == Compression::None {
            return Ok(());
        }
        let left = self.left.checked_sub(count);
        self.left = left.ok_or(BlendError::TooLarge {
            what: "decompressed bytes",
            limit: bounds::DECOMPRESSED_BYTES,
        })?;
        Ok(())
    }
}

fn failure(error: io::Error, what: &'static str) -> BlendError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => BlendError::Truncated { what },
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            BlendError::corrupt("its compressed bytes make no sense")
        }
        _ => BlendError::Unreadable(error),
    }
}
