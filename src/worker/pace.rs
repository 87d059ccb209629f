//! How many jobs a worker asks for beyond its slots: short ones wait at its door, so that a slot does
//! not stand still while the coordinator is told of one job and asked for the next.

use super::bounds;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long attempts took of late.
#[derive(Debug)]
pub struct Pace {
    /// A mean in which the latest attempt counts a quarter.
    mean: Mutex<Duration>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { mean: Mutex::new(Duration::from_millis(bounds::AHEAD_MS)) }
    }
}

impl Pace {
    /// An attempt has left its slot after this long.
    pub fn took(&self, time: Duration) {
        let mut mean = self.mean.lock().unwrap_or_else(PoisonError::into_inner);
        *mean = (*mean * 3 + time) / 4;
    }

    /// Whether attempts are so short that some are fetched ahead.
    pub fn is_short(&self) -> bool {
        self.ahead(1) > 0
    }

    /// Jobs to hold beyond the slots: what is worked off in [`bounds::AHEAD_MS`], none where one
    /// attempt alone takes longer.
    pub fn ahead(&self, slots: usize) -> usize {
        let mean = *self.mean.lock().unwrap_or_else(PoisonError::into_inner);
        let rounds = Duration::from_millis(bounds::AHEAD_MS).as_micros() / mean.as_micros().max(1);
        let rounds = usize::try_from(rounds).unwrap_or(usize::MAX).saturating_sub(1);
        slots.saturating_mul(rounds.min(bounds::AHEAD_ROUNDS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_attempts_are_fetched_ahead_and_one_long_one_ends_it() {
        let pace = Pace::default();
        assert_eq!(pace.ahead(2), 0);
        for _ in 0..20 {
            pace.took(Duration::from_millis(3));
        }
        assert_eq!(pace.ahead(2), 2 * bounds::AHEAD_ROUNDS);
        pace.took(Duration::from_secs(10));
        assert_eq!(pace.ahead(2), 0);
        for _ in 0..40 {
            pace.took(Duration::from_millis(bounds::AHEAD_MS * 2 / 5));
        }
        assert_eq!(pace.ahead(2), 2);
    }
}
