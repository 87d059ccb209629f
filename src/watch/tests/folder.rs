//! The folder itself: how deep it is, where links lead, what lay there before.

use super::bench::{Bench, SETTLE_MS, png};
use crate::protocol::watch::{Existing, WatchFileState, WatchRules, WatchWord};
use std::os::unix::fs::symlink;

#[test]
pub(super) fn a_deep_tree_is_looked_through() {
    let mut bench = Bench::new();
    let deep = format!("{}leaf.png", "d/".repeat(60));
    bench.write(&deep, png(1));
    bench.run_ms(3 * SETTLE_MS);
    assert_eq!(bench.state(&deep), WatchFileState::Accepted);
    let mut alone = Bench::with(WatchRules { subfolders: false, ..WatchRules::default() });
    alone.write(&deep, png(1));
    alone.write("root.png", png(2));
    alone.run_ms(3 * SETTLE_MS);
    assert_eq!(alone.states(), [("root.png".to_owned(), WatchFileState::Accepted)]);
}

#[test]
pub(super) fn a_tree_that_is_too_deep_is_said_and_ends_nothing() {
    let mut bench = Bench::new();
    let depth = crate::watch::scan::DEPTH + 5;
    bench.write(format!("{}leaf.png", "d/".repeat(depth)), png(1));
    bench.write("root.png", png(2));
    bench.run_ms(3 * SETTLE_MS);
    assert_eq!(bench.state("root.png"), WatchFileState::Accepted);
    let ignored: Vec<_> =
        bench.files().into_iter().filter(|it| it.state == WatchFileState::Ignored).collect();
    assert!(ignored.len() == 1 && ignored[0].why.as_deref().unwrap().contains("too deep"));
}

#[test]
pub(super) fn links_in_a_circle_out_of_the_folder_and_to_nothing_are_left_alone() {
    for follow_links in [false, true] {
        let mut bench = Bench::with(WatchRules { follow_links, ..WatchRules::default() });
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret.png"), png(9)).unwrap();
        bench.write("a/b/leaf.png", png(1));
        symlink(bench.path("a"), bench.path("a/b/circle")).unwrap();
        symlink(outside.path(), bench.path("out")).unwrap();
        symlink(outside.path().join("secret.png"), bench.path("secret.png")).unwrap();
        symlink("nowhere", bench.path("broken.png")).unwrap();
        bench.run_ms(4 * SETTLE_MS);
        assert_eq!(bench.pipelines(), 1, "{follow_links}: {:?}", bench.states());
        assert!(!bench.is_stored(&png(9)));
        for link in ["secret.png", "broken.png"] {
            assert_eq!(bench.state(link), WatchFileState::Ignored, "{link}, {follow_links}");
        }
    }
}

#[test]
pub(super) fn what_lay_there_before_is_left_alone_where_the_rules_say_so_until_it_changes() {
    let mut bench = Bench::with(WatchRules { existing: Existing::Leave, ..WatchRules::default() });
    bench.write("old.png", png(1));
    bench.write("older.png", png(2));
    bench.run_ms(5 * SETTLE_MS);
    assert_eq!(bench.state("old.png"), WatchFileState::Ignored);
    bench.write("new.png", png(3));
    bench.run_ms(3 * SETTLE_MS);
    bench.restart();
    bench.write("old.png", png(4));
    bench.run_ms(3 * SETTLE_MS);
    assert_eq!(bench.state("new.png"), WatchFileState::Accepted);
    assert_eq!(bench.state("old.png"), WatchFileState::Accepted);
    assert_eq!(bench.state("older.png"), WatchFileState::Ignored);
    assert_eq!(bench.pipelines(), 2);
}

#[test]
pub(super) fn a_folder_that_is_removed_and_returns_is_gone_meanwhile_and_nothing_is_taken_twice() {
    let mut bench = Bench::new();
    bench.write("hero.png", png(1));
    bench.run_ms(3 * SETTLE_MS);
    let (here, away) = (bench.drop_in.path().to_owned(), bench.farm.path().join("away"));
    std::fs::rename(&here, &away).unwrap();
    bench.run_ms(5 * SETTLE_MS);
    let view = bench.runtime.block_on(bench.store.watch_folder(bench.view.id)).unwrap();
    assert_eq!(view.health.word, WatchWord::Gone);
    assert!(view.health.why.is_some());
    assert_eq!(bench.state("hero.png"), WatchFileState::Accepted, "nothing is forgotten");
    std::fs::rename(&away, &here).unwrap();
    bench.write("late.png", png(2));
    bench.run_ms(5 * SETTLE_MS);
    let view = bench.runtime.block_on(bench.store.watch_folder(bench.view.id)).unwrap();
    assert_eq!(view.health.word, WatchWord::Watching);
    assert_eq!(bench.pipelines(), 2);
}

#[test]
pub(super) fn a_paused_folder_sees_and_takes_nothing_until_it_goes_on() {
    let mut bench = Bench::new();
    bench.engine.as_mut().unwrap().paused = true;
    bench.write("hero.png", png(1));
    bench.run_ms(5 * SETTLE_MS);
    assert_ne!(bench.state("hero.png"), WatchFileState::Accepted);
    assert_eq!(bench.pipelines(), 0);
    bench.engine.as_mut().unwrap().paused = false;
    bench.run_ms(SETTLE_MS);
    assert_eq!(bench.state("hero.png"), WatchFileState::Accepted);
}

#[test]
pub(super) fn without_room_on_the_disk_the_folder_is_held_and_says_so_until_there_is_room() {
    let mut bench = Bench::new();
    bench.free_floor_bytes = u64::MAX / 2;
    bench.restart();
    bench.write("hero.png", png(1));
    bench.run_ms(4 * SETTLE_MS);
    let view = bench.runtime.block_on(bench.store.watch_folder(bench.view.id)).unwrap();
    assert_eq!(view.health.word, WatchWord::Held);
    assert!(view.health.why.unwrap().contains("free"));
    assert_eq!((bench.pipelines(), bench.stored().len()), (0, 0));
    bench.engine.as_mut().unwrap().tools.free_floor_bytes = 0;
    bench.run_ms(10 * SETTLE_MS);
    assert_eq!(bench.state("hero.png"), WatchFileState::Accepted);
}
