//! The life of a job: one table that every change of state goes through.

use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::ToSchema;

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Ready to be claimed.
    Queued,
    /// A session holds it, work has not begun.
    Claimed,
    /// A session works on it.
    Processing,
    /// Failed; waits for its next attempt.
    RetryScheduled,
    /// Its result is committed.
    Succeeded,
    /// Given up: a dead letter holds the reason.
    FailedTerminal,
    /// An operator stopped it.
    Cancelled,
}

/// What can happen to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// A session takes it.
    Claim,
    /// The session begins the work.
    Start,
    /// The session gives it back unstarted: no attempt is used.
    Release,
    /// The work was stopped for reasons outside the job (drain, suspend): no attempt is used.
    Interrupt,
    /// The result is accepted.
    Complete,
    /// Failed or lease lost, with budget left.
    Retry,
    /// Failed or lease lost, with no budget left.
    GiveUp,
    /// The time of the next attempt has come.
    Due,
    /// An alike job made its result: no attempt is needed.
    Reuse,
    /// An operator stops it.
    Cancel,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// State before.
    pub from: JobState,
    /// What happened.
    pub verb: Verb,
    /// State after.
    pub to: JobState,
}

const fn row(from: JobState, verb: Verb, to: JobState) -> Transition {
    Transition { from, verb, to }
}

/// Every legal change of state. What is not here cannot happen.
pub const TRANSITIONS: &[Transition] = &[
    row(JobState::Queued, Verb::Claim, JobState::Claimed),
    row(JobState::Claimed, Verb::Start, JobState::Processing),
    row(JobState::Claimed, Verb::Release, JobState::Queued),
    row(JobState::Processing, Verb::Interrupt, JobState::Queued),
    row(JobState::Processing, Verb::Complete, JobState::Succeeded),
    row(JobState::Claimed, Verb::Retry, JobState::RetryScheduled),
    row(JobState::Processing, Verb::Retry, JobState::RetryScheduled),
    row(JobState::Claimed, Verb::GiveUp, JobState::FailedTerminal),
    row(JobState::Processing, Verb::GiveUp, JobState::FailedTerminal),
    row(JobState::RetryScheduled, Verb::Due, JobState::Queued),
    row(JobState::Queued, Verb::Reuse, JobState::Succeeded),
    row(JobState::Queued, Verb::Cancel, JobState::Cancelled),
    row(JobState::RetryScheduled, Verb::Cancel, JobState::Cancelled),
    row(JobState::Claimed, Verb::Cancel, JobState::Cancelled),
    row(JobState::Processing, Verb::Cancel, JobState::Cancelled),
];

/// The state after `verb`, or `None` where the verb is not legal.
pub fn next(from: JobState, verb: Verb) -> Option<JobState> {
    TRANSITIONS.iter().find(|row| row.from == from && row.verb == verb).map(|row| row.to)
}

impl JobState {
    /// All states.
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Claimed,
        Self::Processing,
        Self::RetryScheduled,
        Self::Succeeded,
        Self::FailedTerminal,
        Self::Cancelled,
    ];

    /// The name used in the API and the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Claimed => "claimed",
            Self::Processing => "processing",
            Self::RetryScheduled => "retry_scheduled",
            Self::Succeeded => "succeeded",
            Self::FailedTerminal => "failed_terminal",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Succeeded, failed for good or cancelled: nothing changes it any more.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::FailedTerminal | Self::Cancelled)
    }

    /// A session holds it.
    pub const fn is_leased(self) -> bool {
        matches!(self, Self::Claimed | Self::Processing)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Verb {
    /// All verbs.
    pub const ALL: [Self; 10] = [
        Self::Claim,
        Self::Start,
        Self::Release,
        Self::Interrupt,
        Self::Complete,
        Self::Retry,
        Self::GiveUp,
        Self::Due,
        Self::Reuse,
        Self::Cancel,
    ];

    /// The name used in the audit.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Start => "start",
            Self::Release => "release",
            Self::Interrupt => "interrupt",
            Self::Complete => "complete",
            Self::Retry => "retry",
            Self::GiveUp => "give_up",
            Self::Due => "due",
            Self::Reuse => "reuse",
            Self::Cancel => "cancel",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_states_absorb_and_every_other_state_can_end() {
        for state in JobState::ALL {
            let leaves = Verb::ALL.iter().filter(|verb| next(state, **verb).is_some()).count();
            assert_eq!(leaves == 0, state.is_terminal(), "{state}");
            assert_eq!(next(state, Verb::Cancel).is_some(), !state.is_terminal(), "{state}");
        }
    }

    #[test]
    fn no_state_has_two_ways_for_one_verb() {
        for state in JobState::ALL {
            for verb in Verb::ALL {
                let ways =
                    TRANSITIONS.iter().filter(|row| row.from == state && row.verb == verb).count();
                assert!(ways <= 1, "{state} {}", verb.as_str());
            }
        }
    }

    #[test]
    fn names_read_back() {
        for state in JobState::ALL {
            assert_eq!(JobState::parse(state.as_str()), Some(state));
        }
    }
}
