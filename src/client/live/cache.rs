//! Values fetched in the background: kept by last use, refreshed when stale, bounded by weight.

use super::Fetched;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// A failed fetch is tried again after this long, if somebody still looks.
const RETRY_MS: u64 = 5_000;
/// Fetches that wait or run at once; more begin when somebody looks again.
const FETCHING: usize = 256;

struct Entry<V> {
    value: Fetched<V>,
    weight: usize,
    stale: bool,
    fetching: bool,
    fetched_at_ms: u64,
    used: u64,
}

/// What a look found, and whether the caller must start a fetch.
pub(super) struct Look<V> {
    pub(super) value: Fetched<V>,
    /// Fetch it after this many milliseconds, then call [`Cache::finish`].
    pub(super) fetch_in_ms: Option<u64>,
}

pub(super) struct Cache<K, V> {
    entries: HashMap<K, Entry<V>>,
    capacity: usize,
    /// Shortest time between two fetches of one key.
    pause_ms: u64,
    fetching: usize,
    uses: u64,
}

impl<K: Eq + Hash + Copy, V> Cache<K, V> {
    pub(super) fn new(capacity: usize, pause_ms: u64) -> Self {
        Self { entries: HashMap::new(), capacity, pause_ms, fetching: 0, uses: 0 }
    }

    /// `moving`: the value changes by itself, so that each look asks for a new one.
    pub(super) fn look(&mut self, key: K, moving: bool, now_ms: u64) -> Look<V> {
        self.uses += 1;
        let entry = self.entries.entry(key).or_insert_with(|| Entry {
            value: Fetched::Pending,
            weight: 0,
            stale: true,
            fetching: false,
            fetched_at_ms: 0,
            used: 0,
        });
        entry.used = self.uses;
        let age_ms = now_ms.saturating_sub(entry.fetched_at_ms);
        let wanted = match entry.value {
            Fetched::Pending => Some(0),
            Fetched::Failed(_) => (age_ms >= RETRY_MS || entry.stale).then_some(0),
            Fetched::Ready(_) => {
                (entry.stale || moving).then(|| self.pause_ms.saturating_sub(age_ms))
            }
        };
        let fetch_in_ms = wanted.filter(|_| !entry.fetching && self.fetching < FETCHING);
        if fetch_in_ms.is_some() {
            entry.fetching = true;
            self.fetching += 1;
        }
        Look { value: entry.value.clone(), fetch_in_ms }
    }

    /// The last answer, without asking for another.
    pub(super) fn peek(&self, key: &K) -> Option<Arc<V>> {
        match &self.entries.get(key)?.value {
            Fetched::Ready(value) => Some(Arc::clone(value)),
            Fetched::Pending | Fetched::Failed(_) => None,
        }
    }

    /// The fetch begins: what changes from now on is not in its answer.
    pub(super) fn begin(&mut self, key: K) {
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.stale = false;
        }
    }

    /// The fetch ended. A failed refresh keeps the old value.
    pub(super) fn finish(&mut self, key: K, result: Result<(V, usize), String>, now_ms: u64) {
        self.fetching = self.fetching.saturating_sub(1);
        let Some(entry) = self.entries.get_mut(&key) else { return };
        entry.fetching = false;
        entry.fetched_at_ms = now_ms;
        match result {
            Ok((value, weight)) => {
                entry.value = Fetched::Ready(Arc::new(value));
                entry.weight = weight;
            }
            Err(why) => {
                if !matches!(entry.value, Fetched::Ready(_)) {
                    entry.value = Fetched::Failed(why);
                }
            }
        }
        self.shrink(key);
    }

    /// The value of one key has changed at its source.
    pub(super) fn mark_stale(&mut self, key: K) {
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.stale = true;
        }
    }

    /// Every value may have changed.
    pub(super) fn mark_all_stale(&mut self) {
        self.entries.values_mut().for_each(|entry| entry.stale = true);
    }

    /// Drops what was not used for longest until the rest fits; never `kept`.
    fn shrink(&mut self, kept: K) {
        let mut weight: usize = self.entries.values().map(|entry| entry.weight.max(1)).sum();
        while weight > self.capacity {
            let oldest = self
                .entries
                .iter()
                .filter(|(key, entry)| **key != kept && !entry.fetching)
                .min_by_key(|(_, entry)| entry.used)
                .map(|(key, _)| *key);
            let Some(gone) = oldest.and_then(|key| self.entries.remove(&key)) else { return };
            weight = weight.saturating_sub(gone.weight.max(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetch(cache: &mut Cache<u32, u32>, key: u32, weight: usize, now_ms: u64) {
        assert!(cache.look(key, false, now_ms).fetch_in_ms.is_some(), "{key} is fetched");
        cache.begin(key);
        cache.finish(key, Ok((key, weight)), now_ms);
    }

    fn is_ready(cache: &mut Cache<u32, u32>, key: u32) -> bool {
        matches!(cache.look(key, false, 0).value, Fetched::Ready(_))
    }

    #[test]
    fn one_fetch_at_a_time_and_again_only_when_stale() {
        let mut cache = Cache::new(100, 250);
        assert_eq!(cache.look(1, false, 0).fetch_in_ms, Some(0));
        assert_eq!(cache.look(1, false, 0).fetch_in_ms, None, "one is on its way");
        cache.begin(1);
        cache.finish(1, Ok((7, 1)), 1_000);
        assert_eq!(cache.look(1, false, 1_100).fetch_in_ms, None);
        assert_eq!(cache.look(1, true, 1_100).fetch_in_ms, Some(150), "moving, after a pause");
        cache.begin(1);
        cache.mark_stale(1);
        cache.finish(1, Err("gone".to_owned()), 1_300);
        assert!(is_ready(&mut cache, 1), "a failed refresh keeps the old value");
        cache.finish(1, Ok((8, 1)), 1_400);
        assert_eq!(cache.look(1, false, 9_000).fetch_in_ms, Some(0), "it changed meanwhile");
    }

    #[test]
    fn failures_wait_before_they_are_tried_again() {
        let mut cache = Cache::<u32, u32>::new(100, 0);
        cache.look(1, false, 0);
        cache.begin(1);
        cache.finish(1, Err("no".to_owned()), 1_000);
        assert_eq!(cache.look(1, false, 1_001).fetch_in_ms, None);
        assert_eq!(cache.look(1, false, 1_000 + RETRY_MS).fetch_in_ms, Some(0));
    }

    #[test]
    fn the_least_used_leave_when_the_weight_is_too_much() {
        let mut cache = Cache::new(10, 0);
        fetch(&mut cache, 1, 4, 0);
        fetch(&mut cache, 2, 4, 0);
        assert!(is_ready(&mut cache, 1));
        fetch(&mut cache, 3, 4, 0);
        assert!(is_ready(&mut cache, 1) && is_ready(&mut cache, 3));
        assert!(!cache.entries.contains_key(&2));
        fetch(&mut cache, 4, 99, 0);
        assert!(is_ready(&mut cache, 4), "one that is too large stays while it is looked at");
        assert_eq!(cache.entries.len(), 1);
    }
}
