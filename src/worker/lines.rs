//! Lines from a child process, bounded in length.

use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// One line, or what became of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Without its end. Bytes that are not UTF-8 are replaced.
    Text(String),
    /// Longer than the bound.
    TooLong,
}

/// What happens with a line that is longer than the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlong {
    /// Its begin is given, the rest is skipped.
    Cut,
    /// [`Line::TooLong`] is given as soon as the bound is passed.
    Refuse,
}

/// Reads lines. [`Lines::next`] may be dropped at any time and called again.
pub struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    max_bytes: usize,
    overlong: Overlong,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Lines of at most `max_bytes`.
    pub fn new(reader: R, max_bytes: usize, overlong: Overlong) -> Self {
        Self { reader: BufReader::new(reader), line: Vec::new(), max_bytes, overlong }
    }

    /// The next line; none at the end. A last line without an end is given too.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let found = self.reader.fill_buf().await?;
            if found.is_empty() {
                let last = (!self.line.is_empty()).then(|| self.take());
                return Ok(last);
            }
            let end = found.iter().position(|byte| *byte == b'\n');
            let part = found.get(..end.unwrap_or(found.len())).unwrap_or_default();
            let room = self.max_bytes - self.line.len().min(self.max_bytes);
            let fits = part.len() <= room;
            self.line.extend_from_slice(part.get(..part.len().min(room)).unwrap_or_default());
            let used = end.map_or(found.len(), |end| end + 1);
            self.reader.consume(used);
            if !fits && self.overlong == Overlong::Refuse {
                self.line.clear();
                return Ok(Some(Line::TooLong));
            }
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    fn take(&mut self) -> Line {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        Line::Text(String::from_utf8_lossy(line).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8], max: usize, overlong: Overlong) -> Vec<Line> {
        let mut lines = Lines::new(bytes, max, overlong);
        let mut read = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            read.push(line);
        }
        read
    }

    fn text(line: &str) -> Line {
        Line::Text(line.to_owned())
    }

    #[tokio::test]
    async fn lines_are_whole_and_bounded() {
        let read_cut = read(b"one\r\n\nlonger\nlast", 4, Overlong::Cut).await;
        assert_eq!(read_cut, [text("one"), text(""), text("long"), text("last")]);
        let refused = read(b"four\nlonger\n", 4, Overlong::Refuse).await;
        assert_eq!(refused, [text("four"), Line::TooLong]);
        assert_eq!(read(b"\xff\n", 4, Overlong::Cut).await, [text("\u{fffd}")]);
        let across_buffers = vec![b'x'; 20_000];
        assert_eq!(
            read(&across_buffers, 30_000, Overlong::Refuse).await,
            [text(&"x".repeat(20_000))]
        );
    }
}
