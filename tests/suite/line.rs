//! A line between a worker and the coordinator that can swallow bytes without closing: half-open
//! TCP, as after a pulled cable or a firewall that forgot the connection.

use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

/// What the line swallows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swallow {
    Nothing,
    /// What the coordinator says.
    Answers,
    /// What either side says.
    Everything,
}

/// The line; cut when dropped.
pub(crate) struct Line {
    address: SocketAddr,
    swallow: watch::Sender<Swallow>,
    _accepting: AbortOnDropHandle<()>,
}

impl Line {
    /// A line that leads to `url`.
    pub(crate) async fn to(url: &str) -> Self {
        let target = url.strip_prefix("http://").expect("a plain address").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let (swallow, told) = watch::channel(Swallow::Nothing);
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((near, _)) = listener.accept().await {
                let Ok(far) = TcpStream::connect(&target).await else { continue };
                let ((near_in, near_out), (far_in, far_out)) =
                    (near.into_split(), far.into_split());
                let calls = |told| told == Swallow::Everything;
                let answers = |told| told != Swallow::Nothing;
                connections.spawn(carry(near_in, far_out, told.clone(), calls));
                connections.spawn(carry(far_in, near_out, told.clone(), answers));
            }
        });
        Self { address, swallow, _accepting: AbortOnDropHandle::new(accepting) }
    }

    /// The address for the worker.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on swallows this. Connections that lost bytes stay dead; new ones are whole.
    pub(crate) fn swallow(&self, what: Swallow) {
        self.swallow.send_replace(what);
    }
}

/// Carries bytes one way until the line swallows some: from then on all of them, the end included.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    told: watch::Receiver<Swallow>,
    is_swallowed: fn(Swallow) -> bool,
) {
    let mut buffer = vec![0; 64 << 10];
    let mut dead = false;
    while let Ok(count) = from.read(&mut buffer).await {
        dead |= is_swallowed(*told.borrow());
        if dead && count > 0 {
            continue;
        }
        if dead {
            // Open for ever, as nobody tells the other side.
            std::future::pending::<()>().await;
        }
        if count == 0 || to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
