//! What an attempt has started is gone before the attempt is.

use crate::programs::Mark;
use crate::programs::mark::{end_marked, strike_marked};
use crate::programs::tree::{self, Process, Swept};

/// All that a stage host has started, also with sessions of their own.
#[derive(Debug, Clone)]
pub(super) struct Kin {
    host: Option<Process>,
    /// The host's own mark, and that of its attempt where it is another one.
    marks: Vec<Mark>,
}

impl Kin {
    /// Of a host that was just started and has not been waited for.
    pub(super) fn new(host: Option<u32>, mark: &Mark) -> Self {
        Self { host: host.and_then(tree::identify), marks: vec![mark.clone()] }
    }

    /// The attempt that the host serves from now on.
    pub(super) fn set_attempt(&mut self, mark: &Mark) {
        self.marks.truncate(1);
        if !self.marks.contains(mark) {
            self.marks.push(mark.clone());
        }
    }

    /// Kills all that is below the host; the host, if it lives, stands still from now on. To be
    /// called before the host is killed: then nobody knows any more what was below it.
    pub(super) async fn end_below(&self) {
        if let Some(host) = self.host {
            self.sweep(move |_| tree::end_below(host)).await;
        }
    }

    /// Kills all that carries one of the marks.
    pub(super) async fn end_marked(&self) {
        self.sweep(end_marked).await;
    }

    /// Kills all of it, as far as it is seen now, without waiting.
    pub(super) fn strike(&self) {
        if let Some(host) = self.host {
            tree::strike_below(host);
        }
        strike_marked(&self.marks);
    }

    async fn sweep(&self, end: impl FnOnce(&[Mark]) -> Swept + Send + 'static) {
        let marks = self.marks.clone();
        let swept = tokio::task::spawn_blocking(move || end(&marks)).await;
        match swept {
            Ok(Swept { left: 0, .. }) => {}
            Ok(Swept { left, .. }) => {
                tracing::error!(marks = ?self.marks, left, "killed processes of an attempt do not end");
            }
            Err(error) => {
                tracing::error!(marks = ?self.marks, %error, "processes of an attempt may be left");
                self.strike();
            }
        }
    }
}
