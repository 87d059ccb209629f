//! What the watcher remembers of each file that it sees: small, since there may be a million.

use super::settle::Settling;
use crate::intake::FileKind;
use crate::model::{Reason, Sight};
use crate::protocol::watch::WatchFileState;

/// One file of a watch folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tracked {
    /// How it looked last.
    pub(super) sight: Sight,
    /// What its name says that it is; none where the farm has nothing to do with it.
    pub(super) kind: Option<FileKind>,
    /// How far it is.
    pub(super) stage: Stage,
    /// What the ledger says of it, so that only news is written.
    pub(super) noted: Noted,
}

/// How far a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is not still yet.
    Settling {
        /// What was seen so far.
        settling: Box<Settling>,
        /// When to look again, on the monotonic clock.
        look_at_ms: u64,
    },
    /// It is still, and waits to be handed in.
    Still {
        /// Since when, on the monotonic clock.
        since_ms: u64,
    },
    /// Its bytes are read now. The sight is that with which it was sent.
    Taking(Sight),
    /// Nothing more happens with it until it changes.
    Ended(WatchFileState),
}

/// A state as the ledger has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Noted {
    /// None where it was never noted.
    pub(super) state: Option<WatchFileState>,
    /// For people.
    pub(super) why: Option<String>,
    /// The stable code.
    pub(super) reason: Option<Reason>,
}

impl Tracked {
    /// Whether its bytes may still become part of an asset.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.stage, Stage::Ended(_))
    }

    /// Whether it was handed in and has not changed since.
    pub(super) fn is_taken(&self) -> bool {
        let taken = [WatchFileState::Accepted, WatchFileState::Duplicate];
        matches!(&self.stage, Stage::Ended(state) if taken.contains(state))
    }
}
