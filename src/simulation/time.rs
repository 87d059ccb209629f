//! Virtual time: what happens next, and the clock that the store reads.

use crate::clock::Clock;
use crate::model::Now;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::{Arc, Mutex, PoisonError};

/// When the simulation begins, Unix milliseconds.
pub(super) const START_WALL_MS: i64 = 1_800_000_000_000;

/// The coordinator's clocks, moved by the simulation.
#[derive(Debug, Clone)]
pub(super) struct VirtualClock(Arc<Mutex<Now>>);

impl VirtualClock {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Now { wall_ms: START_WALL_MS, mono_ms: 0 })))
    }

    pub(super) fn set(&self, now: Now) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    pub(super) fn shared(&self) -> Arc<dyn Clock> {
        Arc::new(self.clone())
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Now {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Events by time; those of one moment in the order in which they were put in.
#[derive(Debug)]
pub(super) struct Queue<E> {
    order: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, E>,
    count: u64,
}

impl<E> Queue<E> {
    pub(super) fn new() -> Self {
        Self { order: BinaryHeap::new(), events: BTreeMap::new(), count: 0 }
    }

    pub(super) fn push(&mut self, at_ms: u64, event: E) {
        self.count += 1;
        self.order.push(Reverse((at_ms, self.count)));
        self.events.insert(self.count, event);
    }

    pub(super) fn pop(&mut self) -> Option<(u64, E)> {
        let Reverse((at_ms, number)) = self.order.pop()?;
        self.events.remove(&number).map(|event| (at_ms, event))
    }

    /// The next event, if it comes no later than `until_ms` and is wanted.
    pub(super) fn pop_if(
        &mut self,
        until_ms: u64,
        wanted: impl Fn(&E) -> bool,
    ) -> Option<(u64, E)> {
        let Reverse((at_ms, number)) = *self.order.peek()?;
        let fits = at_ms <= until_ms && self.events.get(&number).is_some_and(wanted);
        if fits { self.pop() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_in_order() {
        let mut queue = Queue::new();
        for (at_ms, name) in [(5, "c"), (1, "a"), (1, "b"), (9, "d")] {
            queue.push(at_ms, name);
        }
        assert_eq!(queue.pop(), Some((1, "a")));
        assert_eq!(queue.pop_if(1, |name| *name == "x"), None);
        assert_eq!(queue.pop_if(1, |name| *name == "b"), Some((1, "b")));
        assert_eq!(queue.pop_if(4, |_| true), None);
        assert_eq!((queue.pop(), queue.pop()), (Some((5, "c")), Some((9, "d"))));
        assert_eq!(queue.pop(), None);
    }
}
