//! Single files: when they are taken, and that no half of one ever is.

use super::bench::{Bench, SETTLE_MS, png};
use crate::protocol::watch::WatchFileState;
use std::io::Write as _;

#[test]
fn a_file_is_taken_once_it_was_still_and_never_twice() {
    let mut bench = Bench::new();
    bench.write("hero.png", png(1));
    bench.settle_now();
    assert_eq!(bench.state("hero.png"), WatchFileState::Settling);
    bench.run_ms(SETTLE_MS - 250);
    assert_eq!(bench.state("hero.png"), WatchFileState::Settling);
    bench.run_ms(500);
    assert_eq!(bench.state("hero.png"), WatchFileState::Accepted);
    assert_eq!(bench.asset("hero.png"), ("hero".to_owned(), 1));
    assert!(bench.is_stored(&png(1)));
    bench.run_ms(5_000);
    bench.restart();
    bench.run_ms(5_000);
    assert_eq!((bench.pipelines(), bench.stored().len()), (1, 1));
}

#[test]
fn a_slow_writer_is_waited_for_as_long_as_it_writes() {
    let mut bench = Bench::new();
    let whole: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut file = std::fs::File::create(bench.path("slow.stl")).unwrap();
    for (number, piece) in whole.chunks(whole.len() / 25).enumerate() {
        file.write_all(piece).unwrap();
        // Twenty seconds in pauses that are shorter than the settle time, but for the last.
        bench.run_ms(if number == 12 { 750 } else { 800 });
        assert_eq!(bench.state("slow.stl"), WatchFileState::Settling, "piece {number}");
        assert!(bench.stored().is_empty());
    }
    bench.run_ms(10 * SETTLE_MS);
    let waiting = bench.file("slow.stl");
    assert_eq!(waiting.state, WatchFileState::Settling, "it is still open for writing");
    drop(file);
    bench.run_ms(2 * SETTLE_MS);
    assert!(bench.is_stored(&whole), "{:?}", bench.file("slow.stl"));
    assert_eq!(bench.stored().len(), 1);
}
