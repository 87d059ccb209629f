//! A listener that takes a bounded number of connections; the others wait in the system's queue.
//!
//! A connection must send its first header in time: otherwise silent strangers would take all the
//! room. Later silence is allowed, since long polls and event streams live on it; a call without
//! the token ends its connection.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

/// Connections open at once.
pub(super) const CONNECTIONS: usize = 2_048;
/// Time for the first header of a connection.
pub(super) const FIRST_HEADER: Duration = Duration::from_secs(15);

pub(super) struct BoundedListener {
    listener: TcpListener,
    room: Arc<Semaphore>,
    first_header: Duration,
}

impl BoundedListener {
    pub(super) fn new(listener: TcpListener, connections: usize, first_header: Duration) -> Self {
        Self { listener, room: Arc::new(Semaphore::new(connections)), first_header }
    }
}

impl axum::serve::Listener for BoundedListener {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        // The semaphore is never closed; without a permit the connection would only be uncounted.
        let permit = self.room.clone().acquire_owned().await.ok();
        let (stream, address) = axum::serve::Listener::accept(&mut self.listener).await;
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "answers on this connection may be slow");
        }
        let first_header = Some(FirstHeader::within(self.first_header));
        (Connection { stream, first_header, _permit: permit }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that makes room for the next one when it ends.
pub(super) struct Connection {
    stream: TcpStream,
    /// Until the first header is there.
    first_header: Option<FirstHeader>,
    _permit: Option<OwnedSemaphorePermit>,
}

/// Watches for the empty line that ends a header.
struct FirstHeader {
    deadline: Pin<Box<Sleep>>,
    /// How much of the end was just seen.
    seen: usize,
}

impl FirstHeader {
    const END: &[u8] = b"\r\n\r\n";

    fn within(time: Duration) -> Self {
        Self { deadline: Box::pin(tokio::time::sleep(time)), seen: 0 }
    }

    /// Whether the header ends within `bytes`.
    fn ends_in(&mut self, bytes: &[u8]) -> bool {
        for byte in bytes {
            self.seen = match Self::END.get(self.seen) {
                Some(next) if next == byte => self.seen + 1,
                _ => usize::from(*byte == b'\r'),
            };
            if self.seen == Self::END.len() {
                return true;
            }
        }
        false
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let Some(header) = &mut self.first_header else { return read };
        match read {
            Poll::Pending if header.deadline.as_mut().poll(context).is_ready() => {
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            Poll::Ready(Ok(())) => {
                if header.ends_in(buffer.filled().get(before..).unwrap_or_default()) {
                    self.first_header = None;
                }
                read
            }
            _ => read,
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::serve::Listener as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn the_end_of_a_header_is_found_however_it_is_cut() {
        let text = b"GET / HTTP/1.1\r\nhost: a\r\r\n\r\n";
        for cut in 0..text.len() {
            let mut header =
                FirstHeader { deadline: Box::pin(tokio::time::sleep(Duration::ZERO)), seen: 0 };
            let (first, rest) = text.split_at(cut);
            assert!(!header.ends_in(first) && header.ends_in(rest), "cut at {cut}");
        }
    }

    /// What the server's side reads of a client that sends `text` and then nothing.
    async fn read_of(text: &[u8]) -> io::Result<usize> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut listener = BoundedListener::new(listener, 1, Duration::from_millis(50));
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        client.write_all(text).await.unwrap();
        let (mut connection, _) = listener.accept().await;
        let mut read = vec![0; text.len()];
        connection.read_exact(&mut read).await?;
        tokio::time::timeout(Duration::from_millis(200), connection.read(&mut read))
            .await
            .unwrap_or(Ok(usize::MAX))
    }

    #[tokio::test]
    async fn half_a_header_is_not_waited_for_but_a_long_poll_is() {
        for half in [b"".as_slice(), b"GET /v1/status HTTP/1.1\r\n"] {
            let error = read_of(half).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        }
        assert_eq!(read_of(b"GET / HTTP/1.1\r\n\r\n").await.unwrap(), usize::MAX, "still open");
    }
}
