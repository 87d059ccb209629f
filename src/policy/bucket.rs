//! Token buckets in whole numbers: a rate refills by `per_minute` a millisecond, and a token is
//! 60 000 of that.

/// One token, in the bucket's own unit.
pub const TOKEN: u64 = 60_000;

/// How often something may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Tokens that come in a minute.
    pub per_minute: u32,
    /// Tokens that the bucket holds at most.
    pub burst: u32,
}

/// What is in a bucket, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// In 60 000ths of a token.
    pub level: u64,
    /// Unix milliseconds.
    pub at_ms: i64,
}

impl Rate {
    /// A bucket of this rate that is full.
    pub fn full(self, at_ms: i64) -> Bucket {
        Bucket { level: self.most(), at_ms }
    }

    fn most(self) -> u64 {
        u64::from(self.burst).saturating_mul(TOKEN)
    }
}

/// The bucket after the time since it was last looked at. A clock that was set back adds nothing.
pub fn refilled(rate: Rate, bucket: Bucket, now_ms: i64) -> Bucket {
    let passed_ms = u64::try_from(now_ms.saturating_sub(bucket.at_ms)).unwrap_or(0);
    let came = u64::from(rate.per_minute).saturating_mul(passed_ms);
    Bucket { level: bucket.level.saturating_add(came).min(rate.most()), at_ms: now_ms }
}

/// Takes a token, if there is one.
pub fn take(rate: Rate, bucket: Bucket, now_ms: i64) -> (Bucket, bool) {
    let full = refilled(rate, bucket, now_ms);
    match full.level.checked_sub(TOKEN) {
        Some(level) => (Bucket { level, ..full }, true),
        None => (full, false),
    }
}

/// When the next token is there; none means never, since nothing comes.
pub fn next_token_ms(rate: Rate, bucket: Bucket, now_ms: i64) -> Option<i64> {
    let missing = TOKEN.saturating_sub(refilled(rate, bucket, now_ms).level);
    if missing == 0 {
        return Some(now_ms);
    }
    if rate.per_minute == 0 || rate.burst == 0 {
        return None;
    }
    let wait_ms = missing.div_ceil(u64::from(rate.per_minute));
    Some(now_ms.saturating_add(i64::try_from(wait_ms).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { per_minute: 7, burst: 3 };

    #[test]
    fn no_more_than_the_burst_and_then_the_rate() {
        let mut bucket = RATE.full(0);
        let mut taken = 0;
        for now_ms in 0..600_000 {
            let (after, allowed) = take(RATE, bucket, now_ms);
            bucket = after;
            taken += u32::from(allowed);
        }
        assert_eq!(taken, 3 + 69, "a burst of 3, and 7 a minute for ten minutes less a moment");
    }

    #[test]
    fn the_next_token_is_there_when_it_is_said_and_not_before() {
        let empty = Bucket { level: 0, at_ms: 1_000 };
        let at = next_token_ms(RATE, empty, 1_000).unwrap();
        assert!(!take(RATE, empty, at - 1).1 && take(RATE, empty, at).1, "{at}");
        assert_eq!(next_token_ms(RATE, RATE.full(5), 5), Some(5));
        let never = Rate { per_minute: 0, burst: 1 };
        assert_eq!(next_token_ms(never, empty, 1_000), None);
    }

    #[test]
    fn clocks_that_jump_and_the_largest_numbers_do_no_harm() {
        let bucket = Bucket { level: 5, at_ms: 10_000 };
        assert_eq!(refilled(RATE, bucket, 0), Bucket { level: 5, at_ms: 0 });
        let most = Rate { per_minute: u32::MAX, burst: u32::MAX };
        let full = refilled(most, Bucket { level: u64::MAX, at_ms: i64::MIN }, i64::MAX);
        assert_eq!(full, most.full(i64::MAX));
    }
}
