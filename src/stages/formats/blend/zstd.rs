//! Decompresses zstd: many frames one after another, and frames to be skipped (Blender appends one
//! with a table for seeking).

use super::bounds;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, Read};

const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const BATCH_BYTES: usize = 256 << 10;

/// Whether these bytes begin a zstd file.
pub(super) fn has_magic(head: &[u8]) -> bool {
    head.starts_with(&FRAME) || is_skippable(head)
}

fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// All frames of a zstd file as one stream of bytes.
pub(super) struct ZstdFrames<R> {
    source: EndNoting<R>,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    pub(super) fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(bounds::ZSTD_WINDOW_BYTES);
        Self { source: EndNoting { source, at_end: false }, decoder, in_frame: false }
    }

    /// Goes to the next frame with content; false at the end of the file.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.source.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            let mut magic = [0; 4];
            self.source.read_exact(&mut magic)?;
            if is_skippable(&magic) {
                let mut length = [0; 4];
                self.source.read_exact(&mut length)?;
                let length = u64::from(u32::from_le_bytes(length));
                let skipped = io::copy(&mut (&mut self.source).take(length), &mut io::sink())?;
                if skipped < length {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            } else {
                let started = self.decoder.reset(magic.chain(&mut self.source));
                started.map_err(|error| self.source.failure(error))?;
                return Ok(true);
            }
        }
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame {
                if !self.next_frame()? {
                    return Ok(0);
                }
                self.in_frame = true;
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(out);
            }
            if self.decoder.is_finished() {
                self.in_frame = false;
                continue;
            }
            let batch = BlockDecodingStrategy::UptoBytes(BATCH_BYTES);
            let decoded = self.decoder.decode_blocks(&mut self.source, batch);
            decoded.map_err(|error| self.source.failure(error))?;
        }
    }
}

/// Notes when the source has no more bytes: the decoder does not tell a cut file from a bad one.
struct EndNoting<R> {
    source: R,
    at_end: bool,
}

impl<R> EndNoting<R> {
    fn failure(&self, error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
        let kind =
            if self.at_end { io::ErrorKind::UnexpectedEof } else { io::ErrorKind::InvalidData };
        io::Error::new(kind, error)
    }
}

impl<R: Read> Read for EndNoting<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(out)?;
        self.at_end |= count == 0 && !out.is_empty();
        Ok(count)
    }
}
