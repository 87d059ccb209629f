//! The store without threads, for the simulation: the same verbs and commits, run where they are
//! called, and the faults that only a simulation may cause.

use super::batch::{Batches, CrashPoint, Verb};
use super::check::Background;
use super::connection::{self, DATABASE};
use super::reader::Readers;
use super::writer::Writer;
use super::{Store, StoreError};
use crate::clock::Clock;
use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Runs verbs in the caller's own thread.
pub(super) struct Inline {
    state: Mutex<State>,
}

struct State {
    /// None after a crash or a close.
    open: Option<(Batches, File)>,
    /// Verbs that wait for their common commit, while they are gathered.
    gathered: Option<VecDeque<Verb>>,
}

impl Inline {
    pub(super) fn new(batches: Batches, lock: File) -> Self {
        Self { state: Mutex::new(State { open: Some((batches, lock)), gathered: None }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the verb in a commit of its own, or keeps it for the common one.
    pub(super) fn run(&self, verb: Verb) -> Result<(), StoreError> {
        let mut state = self.state();
        if let Some(gathered) = &mut state.gathered {
            gathered.push_back(verb);
            return Ok(());
        }
        let (batches, _) = state.open.as_ref().ok_or(StoreError::Closed)?;
        batches.run(verb, || None);
        Ok(())
    }

    pub(super) fn close(&self) {
        if let Some((batches, lock)) = self.state().open.take() {
            batches.close();
            drop(lock);
        }
    }
}

/// What the simulation does to a store besides calling its verbs.
pub struct InlineControl {
    inline: Arc<Inline>,
}

impl InlineControl {
    pub(super) fn new(inline: Arc<Inline>) -> Self {
        Self { inline }
    }

    /// From now on verbs wait for [`InlineControl::commit`].
    pub fn gather(&self) {
        self.inline.state().gathered = Some(VecDeque::new());
    }

    /// Commits together what waits; returns how many verbs that were.
    pub fn commit(&self) -> usize {
        let mut state = self.inline.state();
        let mut waiting = state.gathered.replace(VecDeque::new()).unwrap_or_default();
        let verbs = waiting.len();
        if let Some((batches, _)) = &state.open {
            // A batch that a full disk ended leaves the rest to the next one.
            while let Some(first) = waiting.pop_front() {
                batches.run(first, || waiting.pop_front());
            }
        }
        verbs
    }

    /// Verbs run at once again.
    pub fn scatter(&self) {
        self.inline.state().gathered = None;
    }

    /// The process will end at this point of the next commit.
    pub fn crash_at(&self, point: CrashPoint) {
        if let Some((batches, _)) = &self.inline.state().open {
            batches.crash_at(point);
        }
    }

    /// The disk takes no more pages, or as many as it likes again.
    pub fn fill_disk(&self, full: bool) -> Result<(), StoreError> {
        if let Some((batches, _)) = &self.inline.state().open {
            let db = batches.db();
            let pages: i64 = db.query_row("PRAGMA page_count", [], |row| row.get(0))?;
            let most = if full { pages } else { i64::from(u32::MAX - 1) };
            db.query_row(&format!("PRAGMA max_page_count = {most}"), [], |_| Ok(()))?;
        }
        Ok(())
    }

    /// The process is gone: what lies on the disk at this moment is copied into `survives`.
    /// Nothing is rolled back, checkpointed or closed before.
    pub fn crash(&self, farm: &Path, survives: &Path) -> Result<(), StoreError> {
        let mut state = self.inline.state();
        for suffix in ["", "-wal"] {
            let name = format!("{DATABASE}{suffix}");
            let from = farm.join(&name);
            if from.exists() {
                std::fs::copy(from, survives.join(name)).map_err(|error| {
                    StoreError::Unusable(format!("the crashed database cannot be kept: {error}"))
                })?;
            }
        }
        state.open = None;
        state.gathered = None;
        Ok(())
    }
}

impl Store {
    /// Opens a farm without threads: each call's future is ready at its first poll, unless verbs
    /// are gathered. A simulated crash ends the process, not the machine, so nothing is flushed.
    pub fn open_inline(
        farm: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, InlineControl), StoreError> {
        let lock = connection::lock(farm)?;
        let db = connection::unflushed_writer(farm)?;
        let readers = Readers::open_inline(farm)?;
        let (writer, inline) = Writer::inline(db, lock, farm, Arc::clone(&clock))?;
        let check = Background::start(farm)?;
        Ok((Self { clock, writer, readers, check }, InlineControl::new(inline)))
    }
}

impl std::fmt::Debug for InlineControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InlineControl").finish_non_exhaustive()
    }
}
