//! What may happen to a farm, chosen at random.

use crate::model::Reason;
use proptest::prelude::*;

/// One thing that happens. Numbers choose among what there is, so that every step means something.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Submit {
        content: usize,
        profile: usize,
    },
    Open(usize),
    Close {
        session: usize,
        lost: bool,
    },
    Claim(usize),
    /// Reports name any claim that ever was: most of them are stale.
    Report {
        claim: usize,
        report: Report,
    },
    /// Claims, starts and completes.
    Finish(usize),
    Cancel(usize),
    Replay(usize),
    Dismiss(usize),
    Forgive(usize),
    Control {
        target: usize,
        paused: bool,
    },
    Export,
    Pass(i64),
    Promote,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Report {
    Start,
    Complete,
    Release,
    Fail(Reason),
}

/// One reason of each class, and the one that uses no attempt.
const REASONS: [Reason; 5] = [
    Reason::NetworkError,
    Reason::DiskFull,
    Reason::ProcessCrashed,
    Reason::InputCorrupt,
    Reason::LicenceUnavailable,
];

const WAITS_MS: [i64; 5] = [1_000, 12_000, 31_000, 130_000, 1_900_000];

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 20..110)
}

fn step() -> impl Strategy<Value = Step> {
    let any = 0..64_usize;
    let reason = proptest::sample::select(&REASONS[..]);
    let report = prop_oneof![
        4 => Just(Report::Start),
        3 => Just(Report::Complete),
        2 => Just(Report::Release),
        4 => reason.prop_map(Report::Fail),
    ];
    prop_oneof![
        3 => (0..3_usize, 0..2_usize).prop_map(|(content, profile)| Step::Submit { content, profile }),
        2 => (0..3_usize).prop_map(Step::Open),
        1 => (any.clone(), any_bool()).prop_map(|(session, lost)| Step::Close { session, lost }),
        8 => any.clone().prop_map(Step::Claim),
        12 => (any.clone(), report).prop_map(|(claim, report)| Step::Report { claim, report }),
        10 => any.clone().prop_map(Step::Finish),
        1 => any.clone().prop_map(Step::Cancel),
        3 => any.clone().prop_map(Step::Replay),
        1 => any.clone().prop_map(Step::Dismiss),
        1 => (0..3_usize).prop_map(Step::Forgive),
        1 => (0..8_usize, any_bool()).prop_map(|(target, paused)| Step::Control { target, paused }),
        2 => Just(Step::Export),
        4 => proptest::sample::select(&WAITS_MS[..]).prop_map(Step::Pass),
        3 => Just(Step::Promote),
    ]
}

fn any_bool() -> impl Strategy<Value = bool> {
    (0..4_u8).prop_map(|number| number == 0)
}
