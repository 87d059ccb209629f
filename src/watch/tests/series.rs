//! Numbered pictures.

use super::bench::{Bench, SETTLE_MS, png};
use crate::model::limits;
use crate::protocol::watch::{WatchFileState, WatchRules};

fn frames(bench: &Bench, shot: &str, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        bench.write(format!("{shot}.{number:04}.png"), png(number));
    }
}

#[test]
pub(super) fn two_versions_with_gaps_in_one_folder_are_two_sequences() {
    let mut bench = Bench::new();
    frames(&bench, "shot_v001", (1..=12).filter(|number| *number != 5));
    frames(&bench, "shot_v002", 101..=110);
    bench.write("poster.png", png(900));
    bench.run_ms(limits::SIDE_WAIT_MS + 3 * SETTLE_MS);
    assert_eq!(bench.pipelines(), 3, "{:?}", bench.states());
    let (one, two) = (bench.file("shot_v001.0001.png"), bench.file("shot_v002.0101.png"));
    let (one, two) = (one.drop.unwrap(), two.drop.unwrap());
    assert_eq!(one.main, "shot_v001.####.png");
    let why = bench.file("shot_v001.0001.png").why.unwrap();
    assert!(why.contains("5-5"), "the gap is said: {why}");
    assert_eq!(bench.file("shot_v002.0101.png").why, None);
    assert_ne!(one.pipeline, two.pipeline);
    assert_ne!(one.asset, two.asset);
    let of_one = bench.files();
    let of_one = of_one.iter().filter_map(|file| file.drop.as_ref());
    assert_eq!(of_one.filter(|drop| drop.pipeline == one.pipeline).count(), 11);
}

#[test]
pub(super) fn a_frame_that_comes_late_or_is_drawn_again_makes_a_new_version_of_its_sequence() {
    let mut bench = Bench::new();
    frames(&bench, "shot", 1..=4);
    bench.run_ms(limits::SIDE_WAIT_MS + 3 * SETTLE_MS);
    assert_eq!(bench.asset("shot.0001.png").1, 1);
    frames(&bench, "shot", [5]);
    bench.run_ms(limits::SIDE_WAIT_MS + 3 * SETTLE_MS);
    for name in ["shot.0001.png", "shot.0005.png"] {
        assert_eq!(bench.asset(name).1, 2, "{name}");
    }
    bench.write("shot.0002.png", png(77));
    bench.run_ms(limits::SIDE_WAIT_MS + 3 * SETTLE_MS);
    assert_eq!(bench.asset("shot.0002.png").1, 3);
    assert_eq!(bench.pipelines(), 3);
}

#[test]
pub(super) fn a_sequence_waits_while_a_frame_is_written() {
    let mut bench = Bench::new();
    frames(&bench, "shot", 1..=3);
    let whole = png(4);
    bench.write("shot.0004.png", &whole[..20]);
    bench.run_ms(limits::SIDE_WAIT_MS + 3 * SETTLE_MS);
    assert_eq!(bench.pipelines(), 0);
    assert_eq!(bench.state("shot.0001.png"), WatchFileState::Waiting);
    bench.write("shot.0004.png", &whole);
    bench.run_ms(limits::SIDE_WAIT_MS + 3 * SETTLE_MS);
    assert_eq!(bench.pipelines(), 1);
    assert_eq!(bench.state("shot.0004.png"), WatchFileState::Accepted);
}

#[test]
pub(super) fn numbered_pictures_stay_single_where_the_rules_say_so() {
    let mut bench = Bench::with(WatchRules { separate: true, ..WatchRules::default() });
    frames(&bench, "shot", 1..=4);
    bench.run_ms(3 * SETTLE_MS);
    assert_eq!(bench.pipelines(), 4);
}
