//! Which of two jobs of a project goes first: priority, which rises with the time waited.

use crate::model::limits;

/// The level a job stands at now: its priority, and one more for each half hour that it waited.
pub fn level(priority: u8, ready_ms: i64, now_wall_ms: i64) -> u8 {
    let waited_ms = now_wall_ms.saturating_sub(ready_ms).max(0);
    let risen = u8::try_from(waited_ms / limits::AGEING_MS).unwrap_or(u8::MAX);
    priority.saturating_add(risen).min(limits::HIGHEST_PRIORITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_gained_each_half_hour_up_to_the_highest() {
        let now = 1_800_000_000_000;
        let after = |minutes: i64| level(3, now, now + minutes * 60_000);
        assert_eq!([after(0), after(29), after(30), after(89), after(90)], [3, 3, 4, 5, 6]);
        assert_eq!(after(100_000), limits::HIGHEST_PRIORITY);
        assert_eq!(level(3, now, now - 5), 3, "a clock that was set back makes nobody older");
        assert_eq!(level(9, i64::MIN, i64::MAX), 9);
    }
}
