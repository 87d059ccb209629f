//! When a failed job runs again, and when it is given up.

use crate::model::{ErrorClass, JobId, Reason, limits};
use crate::recipes::StageRule;
use crate::recipes::retry::{RetryRule, RetryRules};

/// What becomes of a job whose attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Runs again after this long.
    RetryIn {
        /// Milliseconds from now.
        delay_ms: u64,
    },
    /// Runs again after this long, and the attempt is not counted: the job was never at fault.
    WaitFor {
        /// Milliseconds from now.
        delay_ms: u64,
    },
    /// Becomes a dead letter.
    GiveUp,
}

/// What is known of a job beside its number of attempts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct History {
    /// Different workers that were lost on it, this time included.
    pub workers_lost: u32,
    /// How long it has waited for licences so far.
    pub licence_waited_ms: u64,
}

/// The policy of a stage: the farm's own, with what the recipe changes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Policy<'a> {
    rules: Option<&'a RetryRules>,
}

/// Attempts that the default policy allows when failures are of this class.
pub const fn max_attempts(class: ErrorClass) -> u32 {
    match class {
        ErrorClass::Transient => 4,
        ErrorClass::Intervention => 2,
        ErrorClass::Unknown => 3,
        ErrorClass::Permanent => 1,
    }
}

/// Waits before the second, third … attempt, in milliseconds. A lost lease has waited already, so
/// its first retry comes at once.
fn schedule(class: ErrorClass, reason: Reason) -> &'static [u64] {
    match (class, reason) {
        (_, Reason::LeaseLost) => &[1_000, 30_000],
        (ErrorClass::Transient, _) => &[30_000, 120_000, 600_000],
        (ErrorClass::Intervention, _) => &[60_000],
        (ErrorClass::Unknown, _) => &[10_000, 60_000],
        (ErrorClass::Permanent, _) => &[],
    }
}

impl<'a> Policy<'a> {
    /// The policy of a stage; without a rule the farm's own.
    pub fn of(rule: Option<&'a StageRule>) -> Self {
        Self { rules: rule.and_then(|rule| rule.retry.as_ref()) }
    }

    fn rule(self, class: ErrorClass) -> Option<&'a RetryRule> {
        let rules = self.rules?;
        match class {
            ErrorClass::Transient => rules.transient.as_ref(),
            ErrorClass::Intervention => rules.intervention.as_ref(),
            ErrorClass::Unknown => rules.unknown.as_ref(),
            ErrorClass::Permanent => None,
        }
    }

    /// Attempts allowed when failures are of this class.
    pub fn max_attempts(self, class: ErrorClass) -> u32 {
        self.rule(class).and_then(|rule| rule.attempts).unwrap_or_else(|| max_attempts(class))
    }

    /// The most attempts any class allows; what a job shows before it has failed.
    pub fn most_attempts(self) -> u32 {
        ErrorClass::ALL.into_iter().map(|class| self.max_attempts(class)).max().unwrap_or(1)
    }

    /// The wait after attempt number `attempt`. A job whose worker was lost has waited already:
    /// a recipe's waits begin with the second loss.
    fn wait_ms(self, class: ErrorClass, reason: Reason, attempt: u32) -> u64 {
        let step = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
        let own = self.rule(class).and_then(|rule| rule.waits_s.as_deref());
        match own {
            Some(waits_s) if !(reason == Reason::LeaseLost && step == 0) => {
                let seconds = waits_s.get(step).or(waits_s.last()).copied().unwrap_or_default();
                seconds.saturating_mul(1_000)
            }
            _ => {
                let waits = schedule(class, reason);
                waits.get(step).or(waits.last()).copied().unwrap_or_default()
            }
        }
    }

    /// How long a job may wait for licences in all.
    fn licence_wait_ms(self) -> u64 {
        let own_s = self.rules.and_then(|rules| rules.licence_wait_s);
        own_s.unwrap_or(limits::LICENCE_WAIT_DEFAULT_S).saturating_mul(1_000)
    }

    /// Decides about a job whose attempt number `attempt` (from 1) failed. The same inputs give
    /// the same answer.
    pub fn decide(
        self,
        job: JobId,
        attempt: u32,
        class: ErrorClass,
        reason: Reason,
        history: History,
    ) -> Decision {
        if waits_without_an_attempt(class, reason) {
            let waited_ms = history.licence_waited_ms;
            if waited_ms >= self.licence_wait_ms() {
                return Decision::GiveUp;
            }
            let delay_ms = jittered(limits::LICENCE_RETRY_MS, job, attempt, waited_ms);
            return Decision::WaitFor { delay_ms };
        }
        if history.workers_lost >= limits::POISON_WORKERS || attempt >= self.max_attempts(class) {
            return Decision::GiveUp;
        }
        let wait_ms = self.wait_ms(class, reason, attempt);
        Decision::RetryIn { delay_ms: jittered(wait_ms, job, attempt, 0) }
    }
}

/// Whether a failure says nothing about the job: it waits for something that others hold.
pub fn waits_without_an_attempt(class: ErrorClass, reason: Reason) -> bool {
    class == ErrorClass::Transient && reason == Reason::LicenceUnavailable
}

/// ±10 %, the same for the same job, attempt and time waited before.
fn jittered(wait_ms: u64, job: JobId, attempt: u32, waited_ms: u64) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&job.0.to_le_bytes()).update(&attempt.to_le_bytes());
    if waited_ms > 0 {
        hasher.update(&waited_ms.to_le_bytes());
    }
    let [a, b, ..] = *hasher.finalize().as_bytes();
    let permille = 900 + u64::from(u16::from_le_bytes([a, b])) % 201;
    wait_ms.saturating_mul(permille) / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRESH: History = History { workers_lost: 0, licence_waited_ms: 0 };

    fn rules(text: &str) -> RetryRules {
        toml::from_str(text).unwrap()
    }

    fn decide(class: ErrorClass, reason: Reason, job: i64, attempt: u32) -> Decision {
        Policy::default().decide(JobId(job), attempt, class, reason, FRESH)
    }

    fn wait(decision: Decision) -> u64 {
        match decision {
            Decision::RetryIn { delay_ms } | Decision::WaitFor { delay_ms } => delay_ms,
            Decision::GiveUp => panic!("it is given up"),
        }
    }

    #[test]
    fn permanent_failures_are_never_tried_again() {
        let decision = decide(ErrorClass::Permanent, Reason::InputCorrupt, 1, 1);
        assert_eq!(decision, Decision::GiveUp);
    }

    #[test]
    fn each_class_has_its_budget() {
        for class in ErrorClass::ALL {
            let retries = (1..=20)
                .filter(|attempt| {
                    decide(class, Reason::Unexpected, 7, *attempt) != Decision::GiveUp
                })
                .count();
            assert_eq!(retries, usize::try_from(max_attempts(class)).unwrap() - 1, "{class}");
            assert!(max_attempts(class) <= Policy::default().most_attempts());
        }
    }

    #[test]
    fn a_recipe_changes_the_budget_and_the_waits_of_one_class_alone() {
        let rules = rules("[unknown]\nattempts = 6\nwaits_s = [100, 200]");
        let policy = Policy { rules: Some(&rules) };
        let at =
            |attempt, reason| policy.decide(JobId(3), attempt, ErrorClass::Unknown, reason, FRESH);
        for (attempt, wanted_ms) in [(1, 100_000), (2, 200_000), (3, 200_000), (5, 200_000)] {
            let delay_ms = wait(at(attempt, Reason::ProcessCrashed));
            assert!(delay_ms.abs_diff(wanted_ms) <= wanted_ms / 10, "{attempt}: {delay_ms}");
        }
        assert_eq!(at(6, Reason::ProcessCrashed), Decision::GiveUp);
        assert!(wait(at(1, Reason::LeaseLost)) <= 1_100, "the lease was a wait already");
        assert!(wait(at(2, Reason::LeaseLost)) >= 180_000);
        assert_eq!((policy.most_attempts(), policy.max_attempts(ErrorClass::Transient)), (6, 4));
        assert_eq!(policy.max_attempts(ErrorClass::Permanent), 1);
    }

    #[test]
    fn jitter_stays_within_a_tenth_and_repeats() {
        for job in 0..500 {
            let decision = decide(ErrorClass::Transient, Reason::NetworkError, job, 1);
            assert!((27_000..=33_000).contains(&wait(decision)), "{decision:?}");
            assert_eq!(jittered(30_000, JobId(job), 1, 0), wait(decision));
        }
    }

    #[test]
    fn a_wait_for_a_licence_is_a_minute_each_time_until_a_day_is_over() {
        let (class, reason) = (ErrorClass::Transient, Reason::LicenceUnavailable);
        let (mut history, mut rounds) = (FRESH, 0_u64);
        loop {
            let decision = Policy::default().decide(JobId(5), 9, class, reason, history);
            let Decision::WaitFor { delay_ms } = decision else { break };
            assert!((54_000..=66_000).contains(&delay_ms), "{delay_ms}");
            history.licence_waited_ms += delay_ms;
            rounds += 1;
        }
        assert!((1_300..=1_600).contains(&rounds), "a day of minutes: {rounds}");
        assert!(history.licence_waited_ms >= 86_400_000);
        let rules = rules("licence_wait_s = 0");
        let policy = Policy { rules: Some(&rules) };
        assert_eq!(policy.decide(JobId(5), 1, class, reason, FRESH), Decision::GiveUp);
    }

    #[test]
    fn the_largest_numbers_saturate() {
        assert_eq!(
            decide(ErrorClass::Unknown, Reason::LeaseLost, i64::MAX, u32::MAX),
            Decision::GiveUp
        );
        assert!(jittered(u64::MAX, JobId(1), 1, u64::MAX) > 0);
    }

    #[test]
    fn two_workers_lost_on_one_job_are_poison() {
        let lost = |attempt, workers_lost| {
            let history = History { workers_lost, ..FRESH };
            let class = ErrorClass::Unknown;
            Policy::default().decide(JobId(1), attempt, class, Reason::LeaseLost, history)
        };
        assert!(matches!(lost(1, 1), Decision::RetryIn { .. }));
        assert_eq!(lost(2, 2), Decision::GiveUp);
    }
}
