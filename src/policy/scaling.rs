//! Whether more workers would help a queue, or fewer would do.
//!
//! - *held*: the queue or the farm does not hand out work; workers change nothing.
//! - *idle*: nothing waits and nothing runs.
//! - *add workers*: jobs wait and no slot is there at all; or the oldest has waited for
//!   [`limits::SCALE_WAIT_MS`] while [`limits::SCALE_BUSY_PERCENT`] of the farm's slots are taken.
//!   As many slots are asked for as jobs wait, but no more than there are: doubling is enough
//!   for one look.
//! - *limited*: the oldest has waited that long though slots are free: a limit holds it back.
//! - *enough*: anything else.

use crate::model::{Mode, limits};
use crate::protocol::scaling::Hint;

/// What the hint of one queue is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// What operators want of the queue, or of the farm where that is stricter.
    pub mode: Mode,
    /// Jobs that wait.
    pub queued: u64,
    /// Jobs that run.
    pub running: u64,
    /// How long the oldest has waited.
    pub oldest_ms: u64,
    /// Slots of all workers that are given work.
    pub slots: u64,
    /// Of these taken, by jobs of any queue.
    pub busy: u64,
}

/// The share of slots that is taken, in whole percent; without slots all are.
pub fn utilisation_percent(busy: u64, slots: u64) -> u8 {
    let percent = busy.saturating_mul(100).checked_div(slots).unwrap_or(100);
    u8::try_from(percent.min(100)).unwrap_or(100)
}

/// The hint for one queue.
pub fn hint(load: Load) -> Hint {
    let is_late = load.oldest_ms >= limits::SCALE_WAIT_MS;
    let is_busy = utilisation_percent(load.busy, load.slots) >= limits::SCALE_BUSY_PERCENT;
    match load {
        Load { queued: 0, running: 0, .. } => Hint::Idle,
        Load { queued: 0, .. } => Hint::Enough,
        Load { mode: Mode::Paused | Mode::Draining, .. } => Hint::Held,
        Load { slots: 0, .. } => Hint::AddWorkers { slots: 1 },
        _ if is_late && is_busy => Hint::AddWorkers { slots: load.queued.min(load.slots) },
        _ if is_late => Hint::Limited,
        _ => Hint::Enough,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM: Load =
        Load { mode: Mode::Running, queued: 0, running: 0, oldest_ms: 0, slots: 10, busy: 0 };
    const LATE_MS: u64 = limits::SCALE_WAIT_MS;

    #[test]
    fn each_hint_has_its_threshold() {
        let late = Load { queued: 40, oldest_ms: LATE_MS, busy: 9, ..CALM };
        for (load, expected) in [
            (CALM, Hint::Idle),
            (Load { running: 3, busy: 3, ..CALM }, Hint::Enough),
            (late, Hint::AddWorkers { slots: 10 }),
            (Load { queued: 4, ..late }, Hint::AddWorkers { slots: 4 }),
            (Load { busy: 8, ..late }, Hint::Limited),
            (Load { oldest_ms: LATE_MS - 1, busy: 10, ..late }, Hint::Enough),
            (Load { slots: 0, busy: 0, oldest_ms: 0, ..late }, Hint::AddWorkers { slots: 1 }),
            (Load { mode: Mode::Paused, ..late }, Hint::Held),
            (Load { mode: Mode::Draining, slots: 0, ..late }, Hint::Held),
        ] {
            assert_eq!(hint(load), expected, "{load:?}");
        }
    }

    #[test]
    fn utilisation_is_whole_percent_and_never_over_a_hundred() {
        for (busy, slots, percent) in
            [(0, 10, 0), (1, 3, 33), (10, 10, 100), (11, 10, 100), (0, 0, 100), (u64::MAX, 1, 100)]
        {
            assert_eq!(utilisation_percent(busy, slots), percent, "{busy} of {slots}");
        }
    }
}
