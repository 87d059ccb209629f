//! Copies a file and hashes what it copies, at the speed of the slower of the two.
//!
//! The calling thread reads and hashes, a second one writes, a third one has the disk write what is
//! there already, so that the last flush finds little to do. A few buffers go round between them.

use crate::model::Checksum;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

/// Bytes read at once.
const BUFFER_BYTES: usize = 2 << 20;
/// Buffers that go round.
const BUFFERS: usize = 4;
/// Smaller files are copied by the calling thread alone.
const SMALL_BYTES: u64 = 1 << 20;
/// Bytes after which the disk is told to write.
const FLUSH_BYTES: usize = 64 << 20;

/// What was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hashed {
    pub(super) checksum: Checksum,
    /// More than the file was said to have where it grew; how much more is not known then.
    pub(super) size_bytes: u64,
}

/// Why a copy ended early.
#[derive(Debug)]
pub(super) enum Broken {
    Read(io::Error),
    Write(io::Error),
    /// It was told to end.
    Cancelled,
}

/// A file that is read once from its beginning.
pub(super) struct Source<'a> {
    pub(super) file: &'a File,
    /// Its size when it was opened; what it has more is not read to its end.
    pub(super) size_bytes: u64,
    /// Asked between two buffers.
    pub(super) is_cancelled: &'a dyn Fn() -> bool,
}

/// Hashes without writing anything.
pub(super) fn hash(source: &Source<'_>) -> Result<Hashed, Broken> {
    let mut reading = Reading::new(source);
    let mut buffer = Buffer::for_size(source.size_bytes);
    while reading.fill(&mut buffer)? {}
    Ok(reading.hashed())
}

/// Copies into `to`, which is empty.
pub(super) fn copy(source: &Source<'_>, to: &File) -> Result<Hashed, Broken> {
    if source.size_bytes < SMALL_BYTES { copy_alone(source, to) } else { copy_together(source, to) }
}

fn copy_alone(source: &Source<'_>, mut to: &File) -> Result<Hashed, Broken> {
    let mut reading = Reading::new(source);
    let mut buffer = Buffer::for_size(source.size_bytes);
    while reading.fill(&mut buffer)? {
        to.write_all(buffer.filled()).map_err(Broken::Write)?;
    }
    Ok(reading.hashed())
}

fn copy_together(source: &Source<'_>, to: &File) -> Result<Hashed, Broken> {
    let (full, arriving) = sync_channel::<Buffer>(BUFFERS);
    let (empty, returning) = sync_channel::<Buffer>(BUFFERS);
    let (tell, told) = sync_channel::<()>(1);
    for _ in 0..BUFFERS {
        // There is room for all of them.
        let _ = empty.try_send(Buffer::for_size(source.size_bytes));
    }
    thread::scope(|scope| {
        let flusher = thread::Builder::new()
            .name("adopt-flush".to_owned())
            .spawn_scoped(scope, move || flush(to, &told))
            .map_err(Broken::Write)?;
        let writer = thread::Builder::new()
            .name("adopt-write".to_owned())
            .spawn_scoped(scope, move || write(to, &arriving, &empty, &tell))
            .map_err(Broken::Write)?;
        let read = read(source, full, &returning);
        let stopped = |_| io::Error::other("a thread of the copy stopped");
        // A failed write is why reading ended early, so it is told before what reading says; a
        // failed flush is told by the system once only, so it must not be passed over.
        writer.join().map_err(stopped).flatten().map_err(Broken::Write)?;
        flusher.join().map_err(stopped).flatten().map_err(Broken::Write)?;
        read
    })
}

/// Ends when the file ends, or when nobody writes any more.
fn read(
    source: &Source<'_>,
    full: SyncSender<Buffer>,
    returning: &Receiver<Buffer>,
) -> Result<Hashed, Broken> {
    let mut reading = Reading::new(source);
    while let Ok(mut buffer) = returning.recv() {
        if !reading.fill(&mut buffer)? || full.send(buffer).is_err() {
            break;
        }
    }
    drop(full);
    Ok(reading.hashed())
}

fn write(
    mut to: &File,
    arriving: &Receiver<Buffer>,
    empty: &SyncSender<Buffer>,
    tell: &SyncSender<()>,
) -> io::Result<()> {
    let mut unflushed_bytes = 0;
    for buffer in arriving {
        to.write_all(buffer.filled())?;
        unflushed_bytes += buffer.filled().len();
        if unflushed_bytes >= FLUSH_BYTES {
            match tell.try_send(()) {
                Ok(()) => unflushed_bytes = 0,
                // One is at work and one waits, which takes these bytes too.
                Err(TrySendError::Full(())) => {}
                // It failed, and says why.
                Err(TrySendError::Disconnected(())) => break,
            }
        }
        // Nobody takes it any more where reading has ended.
        let _ = empty.send(buffer);
    }
    Ok(())
}

fn flush(to: &File, told: &Receiver<()>) -> io::Result<()> {
    told.iter().try_for_each(|()| to.sync_data())
}

/// Bytes on their way from one thread to the other.
struct Buffer {
    bytes: Vec<u8>,
    filled: usize,
}

impl Buffer {
    /// No larger than a file of this size needs, with one byte more to see its end.
    fn for_size(size_bytes: u64) -> Self {
        let wanted = usize::try_from(size_bytes.saturating_add(1)).unwrap_or(BUFFER_BYTES);
        Self { bytes: vec![0; wanted.min(BUFFER_BYTES)], filled: 0 }
    }

    fn filled(&self) -> &[u8] {
        self.bytes.get(..self.filled).unwrap_or_default()
    }
}

/// How far a file is read.
struct Reading<'a> {
    source: &'a Source<'a>,
    hasher: blake3::Hasher,
    size_bytes: u64,
}

impl<'a> Reading<'a> {
    fn new(source: &'a Source<'a>) -> Self {
        Self { source, hasher: blake3::Hasher::new(), size_bytes: 0 }
    }

    /// Reads and hashes the next bytes; false where there are none.
    fn fill(&mut self, buffer: &mut Buffer) -> Result<bool, Broken> {
        if (self.source.is_cancelled)() {
            return Err(Broken::Cancelled);
        }
        buffer.filled = 0;
        // A file that grows is not followed: that it grew is all there is to know.
        while self.size_bytes <= self.source.size_bytes {
            let Some(rest) = buffer.bytes.get_mut(buffer.filled..).filter(|it| !it.is_empty())
            else {
                break;
            };
            let mut file = self.source.file;
            match file.read(rest) {
                Ok(0) => break,
                Ok(count) => {
                    buffer.filled += count;
                    self.size_bytes += count as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Broken::Read(error)),
            }
        }
        self.hasher.update(buffer.filled());
        Ok(buffer.filled > 0)
    }

    fn hashed(self) -> Hashed {
        let checksum = Checksum::from_bytes(*self.hasher.finalize().as_bytes());
        Hashed { checksum, size_bytes: self.size_bytes }
    }
}
