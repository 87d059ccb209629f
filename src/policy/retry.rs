//! When a failed job runs again, and when it is given up.

use crate::model::{ErrorClass, JobId, Reason, limits};

/// What becomes of a job whose attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Runs again after this long.
    RetryIn {
        /// Milliseconds from now.
        delay_ms: u64,
    },
    /// Becomes a dead letter.
    GiveUp,
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

/// The most attempts any class allows; what a job shows before it has failed.
pub const MOST_ATTEMPTS: u32 = 4;

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

/// Decides about a job whose attempt number `attempt` (from 1) failed. `workers_lost` counts the
/// different workers that were lost on it, this time included.
pub fn decide(
    class: ErrorClass,
    reason: Reason,
    job: JobId,
    attempt: u32,
    workers_lost: u32,
) -> Decision {
    if workers_lost >= limits::POISON_WORKERS || attempt >= max_attempts(class) {
        return Decision::GiveUp;
    }
    let step = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
    let waits = schedule(class, reason);
    match waits.get(step).or(waits.last()) {
        Some(wait_ms) => Decision::RetryIn { delay_ms: jittered(*wait_ms, job, attempt) },
        None => Decision::GiveUp,
    }
}

/// ±10 %, the same for the same job and attempt.
fn jittered(wait_ms: u64, job: JobId, attempt: u32) -> u64 {
    let mut seed = [0; 12];
    seed[..8].copy_from_slice(&job.0.to_le_bytes());
    seed[8..].copy_from_slice(&attempt.to_le_bytes());
    let [a, b, ..] = *blake3::hash(&seed).as_bytes();
    let permille = 900 + u64::from(u16::from_le_bytes([a, b])) % 201;
    wait_ms.saturating_mul(permille) / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permanent_failures_are_never_tried_again() {
        let decision = decide(ErrorClass::Permanent, Reason::InputCorrupt, JobId(1), 1, 0);
        assert_eq!(decision, Decision::GiveUp);
    }

    #[test]
    fn each_class_has_its_budget() {
        for class in ErrorClass::ALL {
            let retries = (1..=20)
                .filter(|attempt| {
                    decide(class, Reason::Unexpected, JobId(7), *attempt, 0) != Decision::GiveUp
                })
                .count();
            assert_eq!(retries, usize::try_from(max_attempts(class)).unwrap() - 1, "{class}");
            assert!(max_attempts(class) <= MOST_ATTEMPTS);
        }
    }

    #[test]
    fn jitter_stays_within_a_tenth_and_repeats() {
        for job in 0..500 {
            let Decision::RetryIn { delay_ms } =
                decide(ErrorClass::Transient, Reason::NetworkError, JobId(job), 1, 0)
            else {
                panic!("the first failure is retried");
            };
            assert!((27_000..=33_000).contains(&delay_ms), "{delay_ms}");
            assert_eq!(jittered(30_000, JobId(job), 1), delay_ms);
        }
    }

    #[test]
    fn the_largest_numbers_saturate() {
        assert_eq!(
            decide(ErrorClass::Unknown, Reason::LeaseLost, JobId(i64::MAX), u32::MAX, 0),
            Decision::GiveUp
        );
        assert!(jittered(u64::MAX, JobId(1), 1) > 0);
    }

    #[test]
    fn two_workers_lost_on_one_job_are_poison() {
        let one = decide(ErrorClass::Unknown, Reason::LeaseLost, JobId(1), 1, 1);
        let two = decide(ErrorClass::Unknown, Reason::LeaseLost, JobId(1), 2, 2);
        assert!(matches!(one, Decision::RetryIn { .. }));
        assert_eq!(two, Decision::GiveUp);
    }
}
