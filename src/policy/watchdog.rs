//! Looks after what was asked for: what has no effect after a while is asked for again.

use crate::model::{Intent, limits};
use std::collections::BTreeMap;

/// When each intent was applied again last.
#[derive(Debug, Clone, Default)]
pub struct Watchdog {
    applied_ms: BTreeMap<Intent, u64>,
}

/// An intent whose effect is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overdue {
    /// Which.
    pub intent: Intent,
    /// How long it has waited.
    pub waited_ms: u64,
}

/// How long an intent may wait for its effect, and from one more try to the next.
pub const fn patience_ms(intent: &Intent) -> u64 {
    match intent {
        Intent::Cancel { .. } => limits::CANCEL_PATIENCE_MS,
        Intent::Stop { .. } => limits::STOP_PATIENCE_MS,
        Intent::Drain { .. } => limits::DRAIN_PATIENCE_MS,
    }
}

impl Watchdog {
    /// Of the intents without an effect (with how long each has waited) those that are to be
    /// applied again now, on the monotonic clock. Those that are not named have had their effect.
    pub fn due(&mut self, pending: &[Overdue], now_ms: u64) -> Vec<Overdue> {
        self.applied_ms.retain(|known, _| pending.iter().any(|one| one.intent == *known));
        let mut due = Vec::new();
        for one in pending {
            let patience_ms = patience_ms(&one.intent);
            let last_ms = self.applied_ms.get(&one.intent);
            let rested = last_ms.is_none_or(|last| now_ms.saturating_sub(*last) >= patience_ms);
            if one.waited_ms >= patience_ms && rested {
                self.applied_ms.insert(one.intent.clone(), now_ms);
                due.push(one.clone());
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{JobId, Target};

    #[test]
    fn an_intent_is_applied_again_after_its_patience_and_no_more_often() {
        let mut watchdog = Watchdog::default();
        let stop = |waited_ms| Overdue {
            intent: Intent::Stop { job: JobId(1), worker: "w".into() },
            waited_ms,
        };
        let patience_ms = limits::STOP_PATIENCE_MS;
        assert!(watchdog.due(&[stop(patience_ms - 1)], 1_000).is_empty());
        assert_eq!(watchdog.due(&[stop(patience_ms)], 1_001), [stop(patience_ms)]);
        assert!(watchdog.due(&[stop(patience_ms + 5)], 1_006).is_empty(), "just done");
        let later_ms = 1_001 + patience_ms;
        assert_eq!(watchdog.due(&[stop(9_999_999)], later_ms).len(), 1);
        assert!(watchdog.due(&[], later_ms + 1).is_empty());
        assert_eq!(watchdog.due(&[stop(patience_ms)], later_ms + 2).len(), 1, "asked for anew");
        let drain = Overdue { intent: Intent::Drain { target: Target::Farm }, ..stop(patience_ms) };
        assert!(watchdog.due(&[drain], later_ms).is_empty(), "a drain takes its time");
    }
}
