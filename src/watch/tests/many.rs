//! Ten thousand files at once.

use super::bench::{Bench, SETTLE_MS, png};
use crate::protocol::watch::WatchFileState;
use crate::watch::engine::JOBS_AT_ONCE;
use std::collections::BTreeSet;

const FILES: u32 = 10_000;

/// Steps as a folder's thread does, which looks at everything only when that is due.
fn work_all(bench: &mut Bench) {
    loop {
        let now = crate::clock::Clock::now(&*bench.clock);
        let engine = bench.engine.as_mut().unwrap();
        let step = engine.step(now).unwrap();
        assert!(engine.running <= JOBS_AT_ONCE, "what is read at once is bounded");
        if step.jobs.is_empty() && step.wake_at_ms > now.mono_ms {
            return;
        }
        bench.work(step.jobs);
    }
}

/// A name without digits: numbered pictures are one series.
fn letters(number: u32) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

#[test]
fn ten_thousand_files_dropped_at_once_are_ten_thousand_records_and_none_twice() {
    let mut bench = Bench::new();
    for number in 0..FILES {
        let shelf = char::from(b'a' + u8::try_from(number % 3).unwrap());
        bench.write(format!("shelf-{shelf}/{}.png", letters(number)), png(number));
    }
    for _ in 0..8 {
        work_all(&mut bench);
        bench.pass_ms(SETTLE_MS / 4);
    }
    let files = bench.files();
    assert_eq!(files.len(), FILES as usize);
    let accepted =
        |it: &&crate::protocol::watch::WatchFileView| it.state != WatchFileState::Accepted;
    assert_eq!(files.iter().find(accepted), None);
    let pipelines: BTreeSet<_> =
        files.iter().filter_map(|file| file.drop.as_ref()).map(|drop| drop.pipeline).collect();
    assert_eq!(pipelines.len(), FILES as usize, "one pipeline each");
    assert_eq!(bench.stored().len(), FILES as usize);
    bench.restart();
    bench.run_ms(2 * SETTLE_MS);
    assert_eq!(bench.files().len(), FILES as usize);
    assert_eq!(bench.stored().len(), FILES as usize);
}
