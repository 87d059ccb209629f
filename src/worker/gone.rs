//! What an attempt has started is gone before the attempt is.

use crate::programs::Mark;
use crate::programs::tree::{self, Process, Swept};

/// All that a stage host has started, also with sessions of their own.
#[derive(Debug, Clone)]
pub(super) struct Kin {
    host: Option<Process>,
    mark: Mark,
}

impl Kin {
    /// Of a host that was just started and has not been waited for.
    pub(super) fn new(host: Option<u32>, mark: &Mark) -> Self {
        Self { host: host.and_then(tree::identify), mark: mark.clone() }
    }

    /// Kills all that is below the host; the host, if it lives, stands still from now on. To be
    /// called before the host is killed: then nobody knows any more what was below it.
    pub(super) async fn end_below(&self) {
        if let Some(host) = self.host {
            self.sweep(move |_| tree::end_below(host)).await;
        }
    }

    /// Kills all that carries the mark.
    pub(super) async fn end_marked(&self) {
        self.sweep(Mark::end).await;
    }

    /// Kills all of it, as far as it is seen now, without waiting.
    pub(super) fn strike(&self) {
        if let Some(host) = self.host {
            tree::strike_below(host);
        }
        self.mark.strike();
    }

    async fn sweep(&self, end: impl FnOnce(&Mark) -> Swept + Send + 'static) {
        let mark = self.mark.clone();
        let swept = tokio::task::spawn_blocking(move || end(&mark)).await;
        match swept {
            Ok(Swept { left: 0, .. }) => {}
            Ok(Swept { left, .. }) => {
                tracing::error!(mark = %self.mark, left, "killed processes of an attempt do not end");
            }
            Err(error) => {
                tracing::error!(mark = %self.mark, %error, "processes of an attempt may be left");
                self.strike();
            }
        }
    }
}
