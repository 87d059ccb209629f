//! When a worker is given no more work: it failed jobs of several pipelines, one after the other.

use crate::model::{ErrorClass, limits};

/// Whether a failure may be the worker's fault: not where it goes away by itself, and not where
/// the file is at fault.
pub const fn counts_against_worker(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Intervention | ErrorClass::Unknown)
}

/// Whether a worker that failed jobs of so many different pipelines since its last success is to
/// be given no more work.
pub const fn is_due(pipelines_failed: u32) -> bool {
    pipelines_failed >= limits::QUARANTINE_PIPELINES
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
        assert!(!is_due(2) && is_due(3) && is_due(u32::MAX));
    }
}
