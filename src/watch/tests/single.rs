//! Single files: when they are taken, and that no half of one ever is.

use super::bench::{Bench, SETTLE_MS, png};
use crate::model::Reason;
use crate::protocol::watch::{WatchFileState, WatchRules};
use std::io::Write as _;

#[test]
pub(super) fn a_file_is_taken_once_it_was_still_and_never_twice() {
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
pub(super) fn a_slow_writer_is_waited_for_as_long_as_it_writes() {
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

#[test]
pub(super) fn a_copy_that_stalls_is_waited_for_and_taken_when_it_goes_on() {
    let mut bench = Bench::new();
    let whole = png(7);
    let (first, rest) = whole.split_at(whole.len() / 2);
    bench.write("plate.png", first);
    bench.run_ms(20 * SETTLE_MS);
    let stalled = bench.file("plate.png");
    assert_eq!(stalled.state, WatchFileState::Settling);
    assert!(stalled.why.unwrap().contains("end"), "it says that its end is missing");
    assert!(bench.stored().is_empty());
    let mut file = std::fs::OpenOptions::new().append(true).open(bench.path("plate.png")).unwrap();
    file.write_all(rest).unwrap();
    drop(file);
    bench.run_ms(3 * SETTLE_MS);
    assert!(bench.is_stored(&whole));
    assert_eq!((bench.pipelines(), bench.stored().len()), (1, 1));
}

#[test]
pub(super) fn a_copy_that_never_ends_is_refused_with_a_note_until_it_is_mended() {
    let mut bench = Bench::with(WatchRules { give_up_ms: 8_000, ..WatchRules::default() });
    let whole = png(7);
    bench.write("plate.png", &whole[..whole.len() / 2]);
    bench.run_ms(10_000);
    assert_eq!(bench.file("plate.png").reason, Some(Reason::InputTruncated));
    let note = std::fs::read_to_string(bench.path("plate.png.sawah.txt")).unwrap();
    assert!(note.contains(Reason::InputTruncated.remedy()), "{note}");
    bench.write("plate.png", &whole);
    bench.run_ms(3 * SETTLE_MS);
    assert_eq!(bench.state("plate.png"), WatchFileState::Accepted);
    assert!(!bench.path("plate.png.sawah.txt").exists());
    assert_eq!(bench.files().len(), 1, "a note is no file of its own");
}

#[test]
pub(super) fn a_rename_into_place_hands_in_the_last_name_alone() {
    let mut bench = Bench::new();
    for (temporary, last) in
        [("a.part", "a.png"), ("b.png.crdownload", "b.png"), (".c.swp", "c.png")]
    {
        bench.write(temporary, png(1));
        bench.run_ms(5 * SETTLE_MS);
        assert_eq!(bench.state(temporary), WatchFileState::Ignored);
        bench.write(temporary, png(u32::from(last.as_bytes()[0])));
        std::fs::rename(bench.path(temporary), bench.path(last)).unwrap();
        bench.run_ms(3 * SETTLE_MS);
        assert_eq!(bench.state(last), WatchFileState::Accepted);
    }
    let states = bench.states();
    assert_eq!(states.len(), 3, "the temporary names are forgotten: {states:?}");
    assert_eq!(bench.stored().len(), 3);
}

#[test]
pub(super) fn a_done_mark_says_at_once_that_a_file_is_complete() {
    let mut bench = Bench::new();
    bench.write("hero.png", png(3));
    bench.settle_now();
    assert_eq!(bench.state("hero.png"), WatchFileState::Settling);
    bench.write("hero.png.done", "");
    bench.run_ms(250);
    assert_eq!(bench.state("hero.png"), WatchFileState::Accepted);
    assert_eq!(bench.state("hero.png.done"), WatchFileState::Ignored, "the mark is no file");
}

#[test]
pub(super) fn an_empty_file_is_taken_once_it_is_filled_and_refused_after_a_while() {
    let mut bench = Bench::new();
    bench.write("late.png", "");
    bench.write("never.png", "");
    bench.run_ms(30 * SETTLE_MS);
    assert_eq!(bench.state("late.png"), WatchFileState::Settling);
    bench.write("late.png", png(4));
    bench.run_ms(3 * SETTLE_MS);
    assert_eq!(bench.state("late.png"), WatchFileState::Accepted);
    bench.pass_ms(crate::model::limits::GIVE_UP_MS);
    bench.run_ms(2 * SETTLE_MS);
    assert_eq!(bench.file("never.png").reason, Some(Reason::InputEmpty));
    assert!(bench.path("never.png.sawah.txt").exists());
    assert_eq!((bench.pipelines(), bench.stored().len()), (1, 1));
}

#[test]
pub(super) fn what_the_farm_cannot_read_is_refused_by_its_kind() {
    let mut bench = Bench::new();
    bench.write("notes.docx", "words");
    bench.run_ms(3 * SETTLE_MS);
    assert_eq!(bench.file("notes.docx").reason, Some(Reason::InputUnsupported));
}
