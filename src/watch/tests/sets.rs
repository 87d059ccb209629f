//! Assets of several files.

use super::bench::{Bench, MTL, OBJ, SETTLE_MS, png};
use crate::model::limits;
use crate::protocol::watch::WatchFileState;

#[test]
pub(super) fn a_mesh_waits_for_late_side_files_and_takes_them_along() {
    let mut bench = Bench::new();
    bench.write("crate.obj", OBJ);
    bench.run_ms(2 * SETTLE_MS);
    let waiting = bench.file("crate.obj");
    assert_eq!(waiting.state, WatchFileState::Waiting);
    assert!(waiting.why.unwrap().contains("wood.mtl"));
    bench.write("wood.mtl", MTL);
    bench.run_ms(2 * SETTLE_MS);
    let waiting = bench.file("crate.obj");
    assert!(waiting.why.unwrap().contains("wood.png"), "{:?}", bench.file("crate.obj").why);
    bench.write("wood.png", png(7));
    bench.run_ms(2 * SETTLE_MS);
    let accepted = WatchFileState::Accepted;
    let expected = ["crate.obj", "wood.mtl", "wood.png"].map(|name| (name.to_owned(), accepted));
    assert_eq!(bench.states(), expected);
    assert_eq!((bench.pipelines(), bench.asset("wood.png")), (1, ("crate".to_owned(), 1)));
}

#[test]
pub(super) fn what_lacks_is_stated_and_makes_a_new_version_when_it_comes() {
    let mut bench = Bench::new();
    bench.write("crate.obj", OBJ);
    bench.write("wood.mtl", MTL);
    bench.run_ms(limits::SIDE_WAIT_MS + 3 * SETTLE_MS);
    let drop = bench.file("crate.obj").drop.unwrap();
    assert_eq!((drop.asset_version, drop.missing), (1, vec!["wood.png".to_owned()]));
    bench.restart();
    bench.write("wood.png", png(7));
    bench.run_ms(3 * SETTLE_MS);
    let drop = bench.file("crate.obj").drop.unwrap();
    assert_eq!((drop.asset_version, drop.missing.len()), (2, 0));
    assert_eq!(bench.file("wood.png").drop.unwrap().asset.as_str(), "crate");
    assert_eq!(bench.pipelines(), 2);
}
