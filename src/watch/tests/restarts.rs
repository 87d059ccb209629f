//! A restart as after `kill -9`, in the middle of each phase: nothing twice, nothing forgotten.

use super::bench::{Bench, MTL, OBJ, SETTLE_MS, png};
use crate::model::limits;
use crate::protocol::watch::WatchFileState;

/// One picture and one set are taken whole, each once.
fn ends_well(mut bench: Bench) {
    bench.write("wood.mtl", MTL);
    bench.write("wood.png", png(7));
    bench.run_ms(limits::SIDE_WAIT_MS + 5 * SETTLE_MS);
    let states = bench.states();
    assert!(states.iter().all(|it| it.1 == WatchFileState::Accepted), "{states:?}");
    assert_eq!(states.len(), 4);
    assert_eq!((bench.pipelines(), bench.stored().len()), (2, 4));
    assert_eq!(bench.asset("crate.obj"), ("crate".to_owned(), 1));
    bench.restart();
    bench.run_ms(5 * SETTLE_MS);
    assert_eq!((bench.pipelines(), bench.stored().len()), (2, 4));
}

fn begun() -> Bench {
    let bench = Bench::new();
    bench.write("hero.png", png(1));
    bench.write("crate.obj", OBJ);
    bench
}

#[test]
pub(super) fn before_the_first_look_with_files_that_came_while_it_was_off() {
    let mut bench = begun();
    bench.restart();
    ends_well(bench);
}

#[test]
pub(super) fn while_files_settle_and_while_they_wait_for_side_files() {
    for wait_ms in [0, SETTLE_MS / 2, SETTLE_MS, 2 * SETTLE_MS, 10 * SETTLE_MS] {
        let mut bench = begun();
        bench.run_ms(wait_ms);
        bench.restart();
        ends_well(bench);
    }
}

#[test]
pub(super) fn with_jobs_that_were_given_out_and_never_begun_and_with_answers_that_never_came() {
    for is_done in [false, true] {
        let mut bench = begun();
        for _ in 0..12 {
            let jobs = bench.step();
            let has_jobs = !jobs.is_empty();
            for job in jobs {
                if is_done {
                    // Its bytes are stored and it is handed in, but the engine never hears of it.
                    bench.engine.as_ref().unwrap().tools.run(job);
                }
            }
            if has_jobs {
                bench.restart();
            }
            bench.pass_ms(250);
        }
        bench.restart();
        ends_well(bench);
    }
}

#[test]
pub(super) fn after_a_change_while_it_was_off_the_new_content_is_the_next_version() {
    let mut bench = Bench::new();
    bench.write("hero.png", png(1));
    bench.write("gone.png", png(2));
    bench.run_ms(3 * SETTLE_MS);
    bench.engine = None;
    bench.write("hero.png", png(3));
    bench.write("new.png", png(4));
    std::fs::remove_file(bench.path("gone.png")).unwrap();
    bench.restart();
    bench.run_ms(4 * SETTLE_MS);
    assert_eq!(bench.asset("hero.png"), ("hero".to_owned(), 2));
    assert_eq!(bench.asset("new.png").1, 1);
    assert_eq!(bench.pipelines(), 4);
}
