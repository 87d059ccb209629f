//! The worker's own view of its lease: when it must stop before the coordinator hands on its jobs.
//!
//! Pure: time is an argument. The lease counts from when the successful heartbeat was *sent*; the
//! coordinator counts from when it *arrived*, which is later, so the worker stops first.

use crate::model::{Now, limits};

/// The lease of one session.
#[derive(Debug)]
pub struct Lease {
    /// On the monotonic clock.
    fenced_at_ms: u64,
    length_ms: u64,
    seen: Now,
    /// A beat sent before this moment proves nothing.
    doubted_at_ms: Option<u64>,
}

/// What the lease allows now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseCheck {
    /// The jobs are ours for at least this long.
    Held {
        /// Until the worker must stop, if no beat succeeds.
        left_ms: u64,
    },
    /// The machine slept for longer than the lease: beat before anything is reported.
    Doubted,
    /// Stop everything.
    Lost,
}

impl Lease {
    /// A lease that a call sent at `sent` has begun.
    pub fn begin(sent: Now, lease_ms: u64) -> Self {
        Self {
            fenced_at_ms: fence(sent, lease_ms),
            length_ms: lease_ms,
            seen: sent,
            doubted_at_ms: None,
        }
    }

    /// A heartbeat sent at `sent` succeeded.
    pub fn renew(&mut self, sent: Now, lease_ms: u64) {
        if self.doubted_at_ms.is_some_and(|doubted| sent.mono_ms < doubted) {
            return;
        }
        self.doubted_at_ms = None;
        self.length_ms = lease_ms;
        self.fenced_at_ms = self.fenced_at_ms.max(fence(sent, lease_ms));
    }

    /// Looks at both clocks. The monotonic clock may stand still while the machine sleeps; the
    /// wall clock does not.
    pub fn check(&mut self, now: Now) -> LeaseCheck {
        let wall_ms = u64::try_from(now.wall_ms.saturating_sub(self.seen.wall_ms)).unwrap_or(0);
        let mono_ms = now.mono_ms.saturating_sub(self.seen.mono_ms);
        self.seen = now;
        if now.mono_ms >= self.fenced_at_ms {
            return LeaseCheck::Lost;
        }
        if wall_ms.saturating_sub(mono_ms) > self.length_ms {
            self.doubted_at_ms = Some(now.mono_ms);
            let soon = now.mono_ms.saturating_add(margin_ms(self.length_ms));
            self.fenced_at_ms = self.fenced_at_ms.min(soon);
        }
        if self.doubted_at_ms.is_some() {
            return LeaseCheck::Doubted;
        }
        LeaseCheck::Held { left_ms: self.fenced_at_ms - now.mono_ms }
    }
}

fn fence(sent: Now, lease_ms: u64) -> u64 {
    sent.mono_ms.saturating_add(lease_ms.saturating_sub(margin_ms(lease_ms)))
}

/// A fifth of the lease, at most [`limits::LEASE_MARGIN_MS`].
pub(super) fn margin_ms(lease_ms: u64) -> u64 {
    (lease_ms / 5).min(limits::LEASE_MARGIN_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mono_ms: u64) -> Now {
        slept(mono_ms, 0)
    }

    fn slept(mono_ms: u64, asleep_ms: u64) -> Now {
        let wall_ms = i64::try_from(1_000_000 + mono_ms + asleep_ms).unwrap();
        Now { wall_ms, mono_ms }
    }

    #[test]
    fn the_worker_stops_before_the_coordinator_may_hand_on() {
        let mut lease = Lease::begin(at(100), 30_000);
        assert_eq!(lease.check(at(100)), LeaseCheck::Held { left_ms: 24_000 });
        assert_eq!(lease.check(at(24_099)), LeaseCheck::Held { left_ms: 1 });
        lease.renew(at(10_100), 30_000);
        assert_eq!(lease.check(at(24_100)), LeaseCheck::Held { left_ms: 10_000 });
        assert_eq!(lease.check(at(34_100)), LeaseCheck::Lost);
    }

    #[test]
    fn a_late_answer_to_an_old_beat_does_not_shorten_the_lease() {
        let mut lease = Lease::begin(at(0), 30_000);
        lease.renew(at(10_000), 30_000);
        lease.renew(at(5_000), 30_000);
        assert_eq!(lease.check(at(10_000)), LeaseCheck::Held { left_ms: 24_000 });
    }

    #[test]
    fn after_a_sleep_only_a_new_beat_proves_the_lease() {
        let mut lease = Lease::begin(at(0), 30_000);
        lease.check(at(1_000));
        assert_eq!(lease.check(slept(1_500, 40_000)), LeaseCheck::Doubted);
        lease.renew(slept(1_400, 0), 30_000);
        assert_eq!(lease.check(slept(1_600, 40_000)), LeaseCheck::Doubted);
        lease.renew(slept(1_600, 40_000), 30_000);
        assert_eq!(lease.check(slept(1_700, 40_000)), LeaseCheck::Held { left_ms: 23_900 });
    }

    #[test]
    fn a_doubted_lease_is_lost_when_no_beat_succeeds_soon() {
        let mut lease = Lease::begin(at(0), 30_000);
        assert_eq!(lease.check(slept(500, 3_600_000)), LeaseCheck::Doubted);
        assert_eq!(lease.check(slept(6_499, 3_600_000)), LeaseCheck::Doubted);
        assert_eq!(lease.check(slept(6_500, 3_600_000)), LeaseCheck::Lost);
    }

    #[test]
    fn steps_of_the_wall_clock_back_change_nothing() {
        let mut lease = Lease::begin(at(0), 30_000);
        let back = Now { wall_ms: 0, mono_ms: 500 };
        assert_eq!(lease.check(back), LeaseCheck::Held { left_ms: 23_500 });
    }
}
