//! What a watched folder's thread is told. Its box is bounded: each kind of letter that may come
//! often lies in it once, until it is read.

use super::jobs::Done;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Letters that may lie unread. A wake and a piece of news lie there once each, and a folder has
/// few jobs running; the rest is for orders of the supervisor.
const UNREAD: usize = 64;

/// What a folder's thread is told.
pub(super) enum Mail {
    /// Look around.
    Wake,
    /// Something was committed, or an order left.
    News,
    /// A job is done.
    Done(Box<Done>),
    /// An operator paused or resumed the folder.
    Paused(bool),
    /// End.
    Stop,
}

/// Where letters for one folder's thread are left.
#[derive(Clone)]
pub(super) struct Letters {
    mail: SyncSender<Mail>,
    unread: Unread,
}

/// Which of the letters that lie there once do so now.
#[derive(Clone, Default)]
struct Unread {
    wake: Arc<AtomicBool>,
    news: Arc<AtomicBool>,
}

/// Where a folder's thread reads its letters.
pub(super) struct Inbox {
    mail: Receiver<Mail>,
    unread: Unread,
}

/// A new box.
pub(super) fn post() -> (Letters, Inbox) {
    let (sender, mail) = sync_channel(UNREAD);
    let unread = Unread::default();
    (Letters { mail: sender, unread: unread.clone() }, Inbox { mail, unread })
}

impl Letters {
    /// Says that something may be to see. Never waits.
    pub(super) fn wake(&self) {
        self.once(&self.unread.wake, Mail::Wake);
    }

    /// Says that something was committed. Never waits.
    pub(super) fn news(&self) {
        self.once(&self.unread.news, Mail::News);
    }

    /// Leaves an order; false where the box is full. Never waits.
    pub(super) fn order(&self, mail: Mail) -> bool {
        self.mail.try_send(mail).is_ok()
    }

    /// Brings the result of a job, waiting for room.
    pub(super) fn done(&self, done: Done) {
        // A folder that is watched no more wants no answer.
        let _ = self.mail.send(Mail::Done(Box::new(done)));
    }

    fn once(&self, unread: &AtomicBool, mail: Mail) {
        if !unread.swap(true, Ordering::Relaxed) && self.mail.try_send(mail).is_err() {
            unread.store(false, Ordering::Relaxed);
        }
    }
}

impl Inbox {
    /// The next letter within `wait`; `None` where none came.
    pub(super) fn next(&self, wait: std::time::Duration) -> Option<Mail> {
        let mail = self.mail.recv_timeout(wait).ok()?;
        match mail {
            Mail::Wake => self.unread.wake.store(false, Ordering::Relaxed),
            Mail::News => self.unread.news.store(false, Ordering::Relaxed),
            Mail::Done(_) | Mail::Paused(_) | Mail::Stop => {}
        }
        Some(mail)
    }
}
