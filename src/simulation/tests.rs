use super::{Options, run};

/// Twenty virtual minutes, three workers.
fn short(seed: u64) -> Options {
    Options { seed, length_ms: 20 * 60_000, workers: 3, log: false }
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
fn a_few_seeds_keep_every_rule() {
    for seed in 0..20 {
        let mut options = short(seed);
        options.log = true;
        let report = run(&options).unwrap();
        if let Some(why) = &report.violation {
            let tail = report.log.len().saturating_sub(60);
            panic!("{why}\n{}\n{}", report.log[tail..].concat(), report.command);
        }
    }
}
