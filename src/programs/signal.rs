//! How another thread makes a program end.

use super::program::EndWhy;
use super::start::Event;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// Makes one program end, or several that run one after the other. The first reason stays.
#[derive(Debug, Clone, Default)]
pub struct EndSignal(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    why: OnceLock<EndWhy>,
    /// Runs that must wake up.
    runs: Mutex<Vec<Weak<SyncSender<Event>>>>,
}

impl EndSignal {
    /// A signal that was not given yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends what runs with this signal now or later: first it is asked, then it is killed.
    pub fn end(&self, why: EndWhy) {
        let _ = self.0.why.set(why);
        for run in self.runs().iter().filter_map(Weak::upgrade) {
            // A full queue wakes the run too.
            let _ = run.try_send(Event::Told);
        }
    }

    /// Why to end, when told to.
    pub fn told(&self) -> Option<EndWhy> {
        self.0.why.get().copied()
    }

    pub(super) fn wakes(&self, run: &Arc<SyncSender<Event>>) {
        let mut runs = self.runs();
        runs.retain(|known| known.strong_count() > 0);
        runs.push(Arc::downgrade(run));
    }

    fn runs(&self) -> MutexGuard<'_, Vec<Weak<SyncSender<Event>>>> {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
