//! Decides when a file that was dropped is complete: it has been quiet, nobody writes it, and its
//! format ends where it should. Pure: what was seen and the time are arguments.

use super::ending::Ending;
use crate::model::Sight;
use std::fmt;

/// How long to wait, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettleRules {
    /// A file must look the same on two looks that are this far apart.
    pub settle_ms: u64,
    /// A file that is empty or has no end is refused after this long without a change.
    pub give_up_ms: u64,
}

/// What one look at a file found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Which file, how long, and when it was changed.
    pub sight: Sight,
    /// Somebody on this machine has it open for writing.
    pub open_elsewhere: bool,
    /// A `.done` mark stands beside it.
    pub marked_done: bool,
}

/// Whether a file may be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// Not yet.
    Waiting {
        /// What it waits for.
        why: SettleWhy,
        /// When the wait ends if nothing changes any more; `None` where it has no limit.
        until_ms: Option<u64>,
    },
    /// It is complete.
    Ready,
    /// It will not become complete by itself. A later change begins anew.
    GiveUp {
        /// What is wrong with it.
        why: GiveUpWhy,
    },
}

/// Why a file is not taken yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettleWhy {
    /// It is longer than at the last look.
    Growing {
        /// Its length at the last look.
        from_bytes: u64,
        /// Its length now.
        to_bytes: u64,
    },
    /// It is another than at the last look, but not longer.
    Changed(Change),
    /// It must stay as it is for a while.
    Quiet {
        /// For so long.
        left_ms: u64,
    },
    /// It has no bytes yet.
    Empty,
    /// Its end is not there; the text says how that was seen.
    Unfinished(String),
    /// A program has it open for writing.
    OpenElsewhere,
}

/// What changed in a file that did not grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Another file of this name took its place.
    Replaced,
    /// It is shorter.
    Shorter,
    /// Its content, name or rights were changed.
    Touched,
}

/// Why a file is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GiveUpWhy {
    /// It never got a byte.
    StillEmpty,
    /// It has no end and nobody writes it; the text says how that was seen.
    Incomplete(String),
}

/// What is remembered of a file between two looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settling {
    sight: Sight,
    since_ms: u64,
    zero_since_ms: Option<u64>,
    looks: u64,
}

impl Settling {
    /// A file that was never seen before; call [`Settling::look`] with the same sight next.
    pub fn new(sight: Sight, now_ms: u64) -> Self {
        let zero_since_ms = (sight.size_bytes == 0).then_some(now_ms);
        Self { sight, since_ms: now_ms, zero_since_ms, looks: 0 }
    }

    /// The file at its last look.
    pub fn sight(&self) -> &Sight {
        &self.sight
    }

    /// Since when it has looked as it does.
    pub fn since_ms(&self) -> u64 {
        self.since_ms
    }

    /// Judges by one more look. `ending` reads the file's ends; it is asked only when everything
    /// else is fine, as it costs a few reads.
    pub fn look(
        &mut self,
        look: &Look,
        rules: SettleRules,
        now_ms: u64,
        ending: impl FnOnce() -> Ending,
    ) -> Settled {
        let changed = self.remember(look.sight, now_ms);
        let quiet_at_ms = self.since_ms.saturating_add(rules.settle_ms);
        if let Some(why) = changed
            && !look.marked_done
            && look.sight.size_bytes > 0
        {
            return Settled::Waiting { why, until_ms: Some(quiet_at_ms) };
        }
        if look.open_elsewhere {
            return Settled::Waiting { why: SettleWhy::OpenElsewhere, until_ms: None };
        }
        if let Some(zero_since_ms) = self.zero_since_ms {
            return Self::empty(zero_since_ms.saturating_add(rules.give_up_ms), now_ms);
        }
        let quiet = self.looks > 1 && now_ms >= quiet_at_ms;
        if !quiet && !look.marked_done {
            let left_ms = quiet_at_ms.saturating_sub(now_ms);
            return Settled::Waiting {
                why: SettleWhy::Quiet { left_ms },
                until_ms: Some(quiet_at_ms),
            };
        }
        let Ending::Unfinished(how) = ending() else { return Settled::Ready };
        let give_up_at_ms = self.since_ms.saturating_add(rules.give_up_ms);
        if now_ms >= give_up_at_ms && self.looks > 1 {
            return Settled::GiveUp { why: GiveUpWhy::Incomplete(how) };
        }
        Settled::Waiting { why: SettleWhy::Unfinished(how), until_ms: Some(give_up_at_ms) }
    }

    /// Keeps the sight; a change of any part of it sets the clock back.
    fn remember(&mut self, sight: Sight, now_ms: u64) -> Option<SettleWhy> {
        let old = std::mem::replace(&mut self.sight, sight);
        if sight.size_bytes > 0 {
            self.zero_since_ms = None;
        } else if self.zero_since_ms.is_none() {
            self.zero_since_ms = Some(now_ms);
        }
        if old == sight {
            self.looks = self.looks.saturating_add(1);
            return None;
        }
        self.since_ms = now_ms;
        self.looks = 1;
        Some(difference(&old, &sight))
    }

    fn empty(give_up_at_ms: u64, now_ms: u64) -> Settled {
        if now_ms >= give_up_at_ms {
            Settled::GiveUp { why: GiveUpWhy::StillEmpty }
        } else {
            Settled::Waiting { why: SettleWhy::Empty, until_ms: Some(give_up_at_ms) }
        }
    }
}

fn difference(old: &Sight, new: &Sight) -> SettleWhy {
    if (old.device, old.inode) != (new.device, new.inode) {
        SettleWhy::Changed(Change::Replaced)
    } else if new.size_bytes > old.size_bytes {
        SettleWhy::Growing { from_bytes: old.size_bytes, to_bytes: new.size_bytes }
    } else if new.size_bytes < old.size_bytes {
        SettleWhy::Changed(Change::Shorter)
    } else {
        SettleWhy::Changed(Change::Touched)
    }
}

impl fmt::Display for SettleWhy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Growing { from_bytes, to_bytes } => write!(
                out,
                "it is still growing: {} more than a moment ago",
                Amount(to_bytes.saturating_sub(*from_bytes))
            ),
            Self::Changed(Change::Replaced) => out.write_str("it was just replaced"),
            Self::Changed(Change::Shorter) => out.write_str("it was just made shorter"),
            Self::Changed(Change::Touched) => out.write_str("it was just changed"),
            Self::Quiet { left_ms } => write!(
                out,
                "it is taken in {} s if nothing changes any more",
                left_ms.div_ceil(1_000).max(1)
            ),
            Self::Empty => out.write_str("it is empty: its content has not come yet"),
            Self::Unfinished(how) => write!(out, "it is not complete yet: {how}"),
            Self::OpenElsewhere => out.write_str("a program is still writing it"),
        }
    }
}

impl fmt::Display for GiveUpWhy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StillEmpty => out.write_str("it is still empty"),
            Self::Incomplete(how) => write!(out, "it is not complete: {how}"),
        }
    }
}

/// Bytes for people, in the units that file managers show.
struct Amount(u64);

impl fmt::Display for Amount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
        match UNITS.iter().find(|(size, _)| self.0 >= *size) {
            Some((size, unit)) => write!(out, "{:.1} {unit}", self.0 as f64 / *size as f64),
            None => write!(out, "{} bytes", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: SettleRules = SettleRules { settle_ms: 5_000, give_up_ms: 60_000 };

    fn sight(size_bytes: u64) -> Sight {
        Sight { device: 1, inode: 2, size_bytes, modified_ns: 3, changed_ns: 4 }
    }

    fn seen(sight: Sight) -> Look {
        Look { sight, open_elsewhere: false, marked_done: false }
    }

    /// One file, looked at again and again.
    struct File(Settling);

    impl File {
        fn new(sight: Sight) -> Self {
            Self(Settling::new(sight, 0))
        }

        fn look(&mut self, now_ms: u64, sight: Sight) -> Settled {
            self.0.look(&seen(sight), RULES, now_ms, || Ending::Unknown)
        }

        fn look_unfinished(&mut self, now_ms: u64, sight: Sight) -> Settled {
            self.0.look(&seen(sight), RULES, now_ms, || Ending::Unfinished("no end".to_owned()))
        }
    }

    fn waits(settled: &Settled) -> (&SettleWhy, Option<u64>) {
        match settled {
            Settled::Waiting { why, until_ms } => (why, *until_ms),
            other => panic!("it does not wait: {other:?}"),
        }
    }

    #[test]
    fn a_file_is_ready_when_two_looks_apart_by_the_settle_time_are_the_same() {
        let mut file = File::new(sight(9));
        for (now_ms, left_ms) in [(0, 5_000), (2_000, 3_000), (4_999, 1)] {
            let settled = file.look(now_ms, sight(9));
            assert_eq!(waits(&settled), (&SettleWhy::Quiet { left_ms }, Some(5_000)));
        }
        assert_eq!(file.look(5_000, sight(9)), Settled::Ready);
    }

    #[test]
    fn one_look_is_not_enough_however_late_it_comes() {
        let mut file = File::new(sight(9));
        let settled = file.look(90_000, sight(9));
        assert!(matches!(waits(&settled).0, SettleWhy::Quiet { left_ms: 0 }));
        assert_eq!(file.look(90_000, sight(9)), Settled::Ready);
    }

    #[test]
    fn each_change_sets_the_clock_back_and_growing_has_no_limit() {
        let mut file = File::new(sight(1));
        let mut now_ms = 0;
        for size in 1..1_000 {
            now_ms += 4_000;
            let settled = file.look(now_ms, sight(size + 1));
            let why = SettleWhy::Growing { from_bytes: size, to_bytes: size + 1 };
            assert_eq!(waits(&settled), (&why, Some(now_ms + 5_000)));
        }
        let settled = file.look(now_ms + 4_999, sight(1_000));
        assert!(matches!(waits(&settled).0, SettleWhy::Quiet { .. }));
        assert_eq!(file.look(now_ms + 5_000, sight(1_000)), Settled::Ready);
    }

    #[test]
    fn every_part_of_the_sight_counts() {
        let base = sight(9);
        for (other, change) in [
            (Sight { device: 7, ..base }, Change::Replaced),
            (Sight { inode: 7, ..base }, Change::Replaced),
            (Sight { size_bytes: 7, ..base }, Change::Shorter),
            (Sight { modified_ns: -7, ..base }, Change::Touched),
            (Sight { changed_ns: -7, ..base }, Change::Touched),
        ] {
            let mut file = File::new(base);
            file.look(0, base);
            let settled = file.look(5_000, other);
            assert_eq!(waits(&settled), (&SettleWhy::Changed(change), Some(10_000)));
        }
    }

    #[test]
    fn an_empty_file_waits_for_its_content_and_is_refused_in_the_end() {
        let mut file = File::new(sight(0));
        for now_ms in [0, 5_000, 30_000] {
            assert_eq!(waits(&file.look(now_ms, sight(0))), (&SettleWhy::Empty, Some(60_000)));
        }
        let touched = Sight { modified_ns: 8, ..sight(0) };
        assert_eq!(waits(&file.look(40_000, touched)), (&SettleWhy::Empty, Some(60_000)));
        let refused = Settled::GiveUp { why: GiveUpWhy::StillEmpty };
        assert_eq!(file.look(60_000, touched), refused);
        assert!(matches!(waits(&file.look(61_000, sight(4))).0, SettleWhy::Growing { .. }));
        assert_eq!(file.look(66_000, sight(4)), Settled::Ready);
        assert_eq!(waits(&file.look(70_000, sight(0))).1, Some(130_000));
    }

    #[test]
    fn an_unfinished_file_waits_longer_and_is_refused_in_the_end() {
        let mut file = File::new(sight(9));
        file.look_unfinished(0, sight(9));
        for now_ms in [5_000, 59_999] {
            let settled = file.look_unfinished(now_ms, sight(9));
            let why = SettleWhy::Unfinished("no end".to_owned());
            assert_eq!(waits(&settled), (&why, Some(60_000)));
        }
        let settled = file.look_unfinished(60_000, sight(9));
        assert_eq!(settled, Settled::GiveUp { why: GiveUpWhy::Incomplete("no end".to_owned()) });
        assert_eq!(file.look(61_000, sight(9)), Settled::Ready);
    }

    #[test]
    fn a_change_gives_an_unfinished_file_its_whole_time_again() {
        let mut file = File::new(sight(9));
        file.look_unfinished(0, sight(9));
        file.look_unfinished(59_000, sight(10));
        let settled = file.look_unfinished(64_000, sight(10));
        assert_eq!(waits(&settled).1, Some(119_000));
    }

    #[test]
    fn a_file_that_a_program_writes_waits_without_limit() {
        let mut file = File::new(sight(9));
        let open = Look { open_elsewhere: true, ..seen(sight(9)) };
        for now_ms in [0, 5_000, 5_000_000] {
            let never = || panic!("its end is not read while it is written");
            let settled = file.0.look(&open, RULES, now_ms, never);
            assert_eq!(waits(&settled), (&SettleWhy::OpenElsewhere, None));
        }
        assert_eq!(file.look(5_000_001, sight(9)), Settled::Ready);
        let mut empty = Settling::new(sight(0), 0);
        let open = Look { sight: sight(0), ..open };
        let settled = empty.look(&open, RULES, 5_000_000, || Ending::Unknown);
        assert_eq!(waits(&settled), (&SettleWhy::OpenElsewhere, None));
    }

    #[test]
    fn a_done_mark_spares_the_settle_time_and_nothing_else() {
        let marked = Look { marked_done: true, ..seen(sight(9)) };
        let fresh = || Settling::new(sight(9), 0);
        assert_eq!(fresh().look(&marked, RULES, 0, || Ending::Whole), Settled::Ready);
        assert_eq!(fresh().look(&marked, RULES, 0, || Ending::Unknown), Settled::Ready);
        let unfinished = || Ending::Unfinished("no end".to_owned());
        let settled = fresh().look(&marked, RULES, 0, unfinished);
        assert_eq!(waits(&settled).1, Some(60_000));
        let open = Look { open_elsewhere: true, ..marked };
        let settled = fresh().look(&open, RULES, 0, || Ending::Whole);
        assert_eq!(waits(&settled).0, &SettleWhy::OpenElsewhere);
        let empty = Look { sight: sight(0), ..marked };
        let settled = Settling::new(sight(0), 0).look(&empty, RULES, 0, || Ending::Whole);
        assert_eq!(waits(&settled).0, &SettleWhy::Empty);
        let grown = Look { sight: sight(10), ..marked };
        assert_eq!(fresh().look(&grown, RULES, 1, || Ending::Whole), Settled::Ready);
    }

    #[test]
    fn a_clock_at_its_end_or_running_back_is_no_harm() {
        let mut settling = Settling::new(sight(9), u64::MAX - 1);
        let look = seen(sight(9));
        settling.look(&look, RULES, 0, || Ending::Whole);
        assert!(matches!(
            settling.look(&look, RULES, 5, || Ending::Whole),
            Settled::Waiting { why: SettleWhy::Quiet { .. }, .. }
        ));
        assert_eq!(settling.look(&look, RULES, u64::MAX, || Ending::Whole), Settled::Ready);
    }

    #[test]
    fn the_texts_are_for_artists() {
        for (why, text) in [
            (
                SettleWhy::Growing { from_bytes: 0, to_bytes: 2_500_000 },
                "it is still growing: 2.5 MB more than a moment ago",
            ),
            (
                SettleWhy::Growing { from_bytes: 1, to_bytes: 8 },
                "it is still growing: 7 bytes more than a moment ago",
            ),
            (SettleWhy::Quiet { left_ms: 4_001 }, "it is taken in 5 s if nothing changes any more"),
            (SettleWhy::OpenElsewhere, "a program is still writing it"),
        ] {
            assert_eq!(why.to_string(), text);
        }
        assert_eq!(GiveUpWhy::StillEmpty.to_string(), "it is still empty");
    }
}
