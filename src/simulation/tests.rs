use super::{Options, faults, run};
use std::collections::BTreeMap;

/// Seeds that once broke a rule, with the length in virtual milliseconds and the number of workers.
const CORPUS: [(u64, u64, usize); 3] = [
    // Content handed in again after a cancel was exported into the folder of its first time.
    (5_128, 1_209_600, 3),
    // Letters of a pipeline whose other parts were cancelled were replayed, and it never ended.
    (103_015, 432_000, 3),
    // A worker that was frozen twice at once was taken for awake.
    (105_259, 432_000, 3),
];

/// Twenty virtual minutes, three workers.
fn short(seed: u64) -> Options {
    Options { seed, length_ms: 20 * 60_000, workers: 3, log: false }
}

/// Runs a seed that must keep every rule; says what happened, by kind.
fn kept(options: &Options) -> BTreeMap<&'static str, u64> {
    let report = run(&Options { log: true, ..options.clone() }).unwrap();
    if let Some(why) = &report.violation {
        let tail = report.log.len().saturating_sub(60);
        panic!("{why}\n{}\n{}", report.log[tail..].concat(), report.command);
    }
    report.faults
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let (first, again) = (run(&short(7)).unwrap(), run(&short(7)).unwrap());
    assert_eq!(first.violation, None);
    assert_eq!(first.trace_hash, again.trace_hash);
    assert_eq!((first.steps, &first.faults), (again.steps, &again.faults));
    assert_ne!(first.trace_hash, run(&short(8)).unwrap().trace_hash);
}

#[test]
fn seeds_that_once_broke_a_rule_keep_every_rule() {
    for (seed, length_ms, workers) in CORPUS {
        kept(&Options { seed, length_ms, workers, log: true });
    }
}

#[test]
fn a_few_seeds_keep_every_rule_and_nothing_that_can_go_wrong_is_left_out() {
    let mut counts = faults::counters();
    for seed in 0..16 {
        for (kind, count) in kept(&short(seed)) {
            *counts.entry(kind).or_default() += count;
        }
    }
    let never: Vec<_> = counts.iter().filter(|(_, count)| **count == 0).collect();
    assert!(never.is_empty(), "{never:?}");
    assert_eq!(counts.len(), faults::counters().len(), "a kind is not listed: {counts:?}");
}
