//! Looks at the files that are not still yet, each when it is due.

use super::ending::{self, Ending};
use super::engine::Engine;
use super::settle::{GiveUpWhy, Look, SettleWhy, Settled, Settling};
use super::tracked::{Noted, Stage};
use super::{names, writers};
use crate::model::{Reason, Sight};
use crate::protocol::watch::WatchFileState;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// How soon a file that a program has open is looked at again.
const OPEN_AGAIN_MS: u64 = 1_000;
/// Files looked at in one step: what comes in meanwhile is seen too.
const LOOKS_PER_STEP: usize = 2_000;

impl Engine {
    /// A file begins to settle, or begins anew.
    pub(super) fn begin(&mut self, path: &Path, sight: Sight, now_ms: u64) {
        let old = self.get_mut(path).map(|tracked| {
            tracked.sight = sight;
            let settling = Box::new(Settling::new(sight, now_ms));
            std::mem::replace(&mut tracked.stage, Stage::Settling { settling, look_at_ms: now_ms })
        });
        if let Some(Stage::Settling { look_at_ms, .. }) = old {
            self.due.remove(&(look_at_ms, path.to_owned()));
        }
        self.due.insert((now_ms, path.to_owned()));
        self.unplan(path);
    }

    /// A file that settles has changed: look at it now.
    pub(super) fn look_soon(&mut self, path: &Path, now_ms: u64) {
        let Some(tracked) = self.get_mut(path) else { return };
        let Stage::Settling { look_at_ms, .. } = &mut tracked.stage else { return };
        let before_ms = std::mem::replace(look_at_ms, now_ms);
        self.due.remove(&(before_ms, path.to_owned()));
        self.due.insert((now_ms, path.to_owned()));
    }

    /// Looks at all that is due.
    pub(super) fn look_at_due(&mut self, now_ms: u64) {
        let due: Vec<PathBuf> = self
            .due
            .iter()
            .take_while(|(at_ms, _)| *at_ms <= now_ms)
            .take(LOOKS_PER_STEP)
            .map(|(_, path)| path.clone())
            .collect();
        let mut seen = Vec::with_capacity(due.len());
        for path in due {
            self.due.remove(&(self.look_at(&path), path.clone()));
            match std::fs::symlink_metadata(self.root.join(&path)) {
                Ok(found) if self.rules.follow_links && found.is_symlink() => {
                    match std::fs::metadata(self.root.join(&path)) {
                        Ok(target) => seen.push((path, crate::artifacts::sight_of(&target))),
                        Err(_) => self.gone(&path, now_ms),
                    }
                }
                Ok(found) => seen.push((path, crate::artifacts::sight_of(&found))),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    self.gone(&path, now_ms);
                }
                Err(error) => {
                    let why = format!("it cannot be read ({error})");
                    self.refuse(&path, Reason::InputUnreadable, &why);
                }
            }
        }
        let open = self.written_by_others(&seen, now_ms);
        for (path, sight) in seen {
            self.look_at_one(&path, sight, open.contains(&(sight.device, sight.inode)), now_ms);
        }
    }

    fn look_at(&self, path: &Path) -> u64 {
        match self.get(path).map(|tracked| &tracked.stage) {
            Some(Stage::Settling { look_at_ms, .. }) => *look_at_ms,
            _ => 0,
        }
    }

    /// Which of these files a program has open for writing; asked only of those that could be
    /// taken now, since it costs a walk over all processes.
    fn written_by_others(&self, seen: &[(PathBuf, Sight)], now_ms: u64) -> HashSet<(u64, u64)> {
        let ripe = |(path, sight): &&(PathBuf, Sight)| match self.get(path).map(|it| &it.stage) {
            Some(Stage::Settling { settling, .. }) => {
                let quiet_ms = settling.since_ms().saturating_add(self.settle.settle_ms);
                settling.sight() == sight && now_ms >= quiet_ms
                    || names::is_marked_done(&self.root.join(path))
            }
            _ => false,
        };
        let wanted: HashSet<(u64, u64)> =
            seen.iter().filter(ripe).map(|(_, sight)| (sight.device, sight.inode)).collect();
        if wanted.is_empty() { wanted } else { writers::open_for_writing(&wanted) }
    }

    fn look_at_one(&mut self, path: &Path, sight: Sight, open_elsewhere: bool, now_ms: u64) {
        let full = self.root.join(path);
        let rules = self.settle;
        let marked_done = names::is_marked_done(&full);
        let Some(tracked) = self.get_mut(path) else { return };
        let Stage::Settling { settling, look_at_ms } = &mut tracked.stage else { return };
        let look = Look { sight, open_elsewhere, marked_done };
        let end = || ending::check(&full, sight.size_bytes).unwrap_or(Ending::Unknown);
        let settled = settling.look(&look, rules, now_ms, end);
        tracked.sight = sight;
        match settled {
            Settled::Ready => {
                tracked.stage = Stage::Still { since_ms: now_ms };
                self.became_still(path, now_ms);
            }
            Settled::Waiting { why, until_ms } => {
                let at_ms = match why {
                    SettleWhy::OpenElsewhere => now_ms.saturating_add(OPEN_AGAIN_MS),
                    _ => until_ms.unwrap_or(u64::MAX).max(now_ms.saturating_add(1)),
                };
                *look_at_ms = at_ms;
                self.due.insert((at_ms, path.to_owned()));
                self.note(path, settling_note(&why));
            }
            Settled::GiveUp { why } => {
                let reason = match why {
                    GiveUpWhy::StillEmpty => Reason::InputEmpty,
                    GiveUpWhy::Incomplete(_) => Reason::InputTruncated,
                };
                self.refuse(path, reason, &why.to_string());
            }
        }
    }
}

/// What the ledger says of a file that settles. Without numbers that change with each look: the
/// ledger is not written for them.
fn settling_note(why: &SettleWhy) -> Noted {
    let text = match why {
        SettleWhy::Growing { .. } => "it is still growing".to_owned(),
        SettleWhy::Quiet { .. } | SettleWhy::Changed(_) => {
            "it is taken when nothing has changed for a while".to_owned()
        }
        other => other.to_string(),
    };
    Noted { state: Some(WatchFileState::Settling), why: Some(text), reason: None }
}
