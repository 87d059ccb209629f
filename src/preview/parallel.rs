//! Splits rows over named threads.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most threads one picture uses.
const MAX_THREADS: usize = 16;

/// Runs `work` for each band of at most `band` rows below `rows`, in parallel, and returns the
/// results from the top. A thread that cannot be started only costs speed.
pub(crate) fn bands<T: Send>(
    rows: usize,
    band: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let band = band.max(1);
    let count = rows.div_ceil(band);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(count));
    let run = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let start = index * band;
            let result = work(start..rows.min(start + band));
            lock(&done).push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for number in 1..threads().min(count) {
            let name = format!("sawah-draw-{number}");
            if std::thread::Builder::new().name(name).spawn_scoped(scope, run).is_err() {
                break;
            }
        }
        run();
    });
    let mut results = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get().min(MAX_THREADS))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_visited_once_and_in_order() {
        let rows: Vec<usize> = bands(103, 10, Iterator::collect::<Vec<_>>).concat();
        assert_eq!(rows, (0..103).collect::<Vec<_>>());
        assert!(bands(0, 10, |rows| rows).is_empty());
    }
}
