//! How long things took.

use crate::clock::Stopwatch;
use std::time::Duration;

/// The times of many equal calls.
#[derive(Debug, Default)]
pub(super) struct Times(Vec<Duration>);

impl Times {
    /// One more.
    pub(super) fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// What `percent` of the calls took at most, in milliseconds.
    pub(super) fn percentile_ms(&mut self, percent: usize) -> f64 {
        self.0.sort_unstable();
        let last = self.0.len().saturating_sub(1);
        let time = self.0.get((self.0.len() * percent / 100).min(last));
        time.map_or(0.0, |time| time.as_secs_f64() * 1_000.0)
    }
}

/// How often in a second.
pub(super) fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(1e-9)
}

/// Runs `work` until `budget` is spent, at least once; returns how much it counted a second.
pub(super) fn repeat<E>(
    budget: Duration,
    mut work: impl FnMut() -> Result<usize, E>,
) -> Result<f64, E> {
    let watch = Stopwatch::start();
    let mut count = 0;
    loop {
        count += work()?;
        let time = watch.elapsed();
        if time >= budget {
            return Ok(rate(count, time));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let mut times = Times::default();
        assert!(times.percentile_ms(50) < 1e-9);
        for ms in (1..=100).rev() {
            times.push(Duration::from_millis(ms));
        }
        assert!((times.percentile_ms(50) - 51.0).abs() < 1e-9);
        assert!((times.percentile_ms(99) - 100.0).abs() < 1e-9);
        assert!((times.percentile_ms(100) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn repeating_ends_with_the_budget() {
        let counted = repeat(Duration::ZERO, || Ok::<_, ()>(7));
        assert!(counted.is_ok_and(|rate| rate > 0.0));
        assert_eq!(repeat(Duration::ZERO, || Err::<usize, _>("no")), Err("no"));
    }
}
