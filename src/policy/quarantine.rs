//! When a worker is given no more work: it failed jobs of several pipelines, one after the other.

use crate::model::{ErrorClass, Reason, limits};

/// Whether a failure may be the worker's fault: not where it goes away by itself, and not where
/// the file is at fault.
pub const fn counts_against_worker(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Intervention | ErrorClass::Unknown)
}

/// Whether a failure speaks of the job first: a job that needs more memory than its recipe allows
/// needs it on every worker.
pub const fn is_too_big(reason: Reason) -> bool {
    matches!(reason, Reason::LimitMemory)
}

/// Different pipelines of which a worker failed jobs since its last success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failures {
    /// In all.
    pub pipelines: u32,
    /// Of these only for being too big.
    pub too_big: u32,
}

/// Whether a worker is to be given no more work. Jobs that were too big count only beside a
/// pipeline that failed for another reason: a night of large assets says nothing of the worker.
pub const fn is_due(failures: Failures) -> bool {
    failures.pipelines >= limits::QUARANTINE_PIPELINES && failures.pipelines > failures.too_big
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_that_may_be_the_workers_fault_count() {
        let counted = ErrorClass::ALL.map(|class| (class.as_str(), counts_against_worker(class)));
        assert_eq!(
            counted,
            [("transient", false), ("intervention", true), ("permanent", false), ("unknown", true)]
        );
        let plain = |pipelines| Failures { pipelines, too_big: 0 };
        assert!(!is_due(plain(2)) && is_due(plain(3)) && is_due(plain(u32::MAX)));
    }

    #[test]
    fn jobs_that_are_too_big_count_only_beside_another_failure() {
        let due = |pipelines, too_big| is_due(Failures { pipelines, too_big });
        assert!(!due(3, 3) && !due(9, 9), "only large assets");
        assert!(due(3, 2) && due(9, 8), "another pipeline failed too");
        assert!(is_too_big(Reason::LimitMemory) && !is_too_big(Reason::GpuOutOfMemory));
    }
}
