//! The one source of chance: `SplitMix64`. The same seed gives the same numbers on every machine.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From `low` to `high`, both included.
    pub(crate) fn range(&mut self, low: u64, high: u64) -> u64 {
        let span = high.saturating_sub(low).saturating_add(1);
        low.saturating_add(self.next() % span.max(1))
    }

    /// True so many times in a thousand.
    pub(crate) fn permille(&mut self, chance: u64) -> bool {
        self.next() % 1_000 < chance
    }

    /// One of them; none of none.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = self.next() % (from.len() as u64).max(1);
        from.get(usize::try_from(index).unwrap_or(0))
    }

    pub(crate) fn bytes(&mut self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.next().to_le_bytes());
        bytes[8..].copy_from_slice(&self.next().to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn ranges_hold_their_ends() {
        let mut random = Random::new(1);
        let seen: Vec<u64> = (0..200).map(|_| random.range(3, 5)).collect();
        assert!(seen.iter().all(|number| (3..=5).contains(number)));
        assert!(seen.contains(&3) && seen.contains(&5));
        assert!(random.pick::<u8>(&[]).is_none());
    }
}
