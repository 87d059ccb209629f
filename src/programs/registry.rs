//! The programs that this process runs now.

use super::program::EndWhy;
use super::signal::EndSignal;
use super::tree::Process;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { runs: BTreeMap::new(), next: 0, stopped: None, listener: None });

struct Registry {
    runs: BTreeMap<u64, Run>,
    next: u64,
    stopped: Option<EndWhy>,
    listener: Option<fn(usize)>,
}

struct Run {
    end: EndSignal,
    root: Option<Process>,
}

/// One run; leaves the registry when dropped.
#[derive(Debug)]
pub(super) struct Registered(u64);

/// Tells `listener` from now on how many programs run, each time that it changes.
pub fn listen(listener: fn(usize)) {
    registry().listener = Some(listener);
}

/// Ends every program of this process, also those that are still to be started; how many ran.
pub fn end_all(why: EndWhy) -> usize {
    let mut registry = registry();
    registry.stopped = registry.stopped.or(Some(why));
    registry.runs.values().for_each(|run| run.end.end(why));
    registry.runs.len()
}

/// Whether [`end_all`] was called: nothing can be run any more.
pub fn is_over() -> bool {
    registry().stopped.is_some()
}

/// How many programs run now.
pub fn running() -> usize {
    registry().runs.len()
}

/// The main processes of all runs.
pub(super) fn roots() -> BTreeSet<Process> {
    registry().runs.values().filter_map(|run| run.root).collect()
}

impl Registered {
    /// Adds a run; after [`end_all`] it is told to end at once.
    pub(super) fn new(end: &EndSignal) -> Self {
        let mut registry = registry();
        let id = registry.next;
        registry.next += 1;
        registry.runs.insert(id, Run { end: end.clone(), root: None });
        if let Some(why) = registry.stopped {
            end.end(why);
        }
        tell(registry);
        Self(id)
    }

    pub(super) fn set_root(&self, root: Option<Process>) {
        if let Some(run) = registry().runs.get_mut(&self.0) {
            run.root = root;
        }
    }

    /// The main processes of the other runs.
    pub(super) fn others(&self) -> BTreeSet<Process> {
        let registry = registry();
        let others = registry.runs.iter().filter(|(id, _)| **id != self.0);
        others.filter_map(|(_, run)| run.root).collect()
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut registry = registry();
        registry.runs.remove(&self.0);
        tell(registry);
    }
}

/// The listener may come back to the registry: it is called without it.
fn tell(registry: MutexGuard<'_, Registry>) {
    let (listener, running) = (registry.listener, registry.runs.len());
    drop(registry);
    if let Some(listener) = listener {
        listener(running);
    }
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}
