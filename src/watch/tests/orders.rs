//! What operators order: take again, take back, take all again with another recipe.

use super::bench::{Bench, SETTLE_MS, png};
use crate::model::PipelineStatus;
use crate::protocol::watch::{DropOutcome, WatchFileState, WatchOrder};

fn recipes(bench: &Bench) -> Vec<String> {
    let page = crate::store::Page { before: None, limit: 100 };
    let rows = bench.runtime.block_on(bench.store.pipelines(page)).unwrap();
    let mut recipes: Vec<_> = rows.into_iter().map(|row| row.recipe).collect();
    recipes.sort();
    recipes
}

#[test]
pub(super) fn a_drop_that_is_taken_back_ends_its_pipeline_and_leaves_the_file() {
    let mut bench = Bench::new();
    bench.write("hero.png", png(1));
    bench.run_ms(3 * SETTLE_MS);
    let file = bench.file("hero.png");
    let pipeline = file.drop.unwrap().pipeline;
    bench.order(WatchOrder::Withdraw { file: file.id });
    bench.run_ms(2 * SETTLE_MS);
    let detail = bench.runtime.block_on(bench.store.pipeline(pipeline)).unwrap();
    assert_eq!(detail.pipeline.status, PipelineStatus::Cancelled);
    assert_eq!(std::fs::read(bench.path("hero.png")).unwrap(), png(1));
    for _ in 0..2 {
        let file = bench.file("hero.png");
        assert_eq!(file.state, WatchFileState::Withdrawn);
        assert_eq!(file.drop.unwrap().outcome, DropOutcome::Withdrawn);
        bench.run_ms(10 * SETTLE_MS);
        bench.restart();
        bench.run_ms(3 * SETTLE_MS);
    }
    assert_eq!(bench.pipelines(), 1, "it is not taken again by itself");
    bench.order(WatchOrder::Retake { file: file.id, recipe: None });
    bench.run_ms(4 * SETTLE_MS);
    assert_eq!(bench.state("hero.png"), WatchFileState::Accepted);
    assert_eq!(bench.pipelines(), 2, "taken back and taken again is new work");
}

#[test]
pub(super) fn all_are_taken_again_with_another_recipe_and_with_the_same_make_no_new_work() {
    let mut bench = Bench::new();
    for number in 1..=3 {
        bench.write(format!("{}.png", ["a", "b", "c"][number as usize - 1]), png(number));
    }
    bench.run_ms(3 * SETTLE_MS);
    let usual = recipes(&bench);
    bench.order(WatchOrder::RetakeAll { recipe: None });
    bench.run_ms(4 * SETTLE_MS);
    assert_eq!(recipes(&bench), usual, "known content with the same recipe");
    bench.order(WatchOrder::RetakeAll { recipe: Some("quick".to_owned()) });
    // Half of it happens after a restart.
    bench.run_ms(SETTLE_MS / 2);
    bench.restart();
    bench.run_ms(4 * SETTLE_MS);
    let quick = recipes(&bench).iter().filter(|recipe| *recipe == "quick").count();
    assert_eq!((quick, bench.pipelines()), (3, 6));
    bench.run_ms(10 * SETTLE_MS);
    assert_eq!(bench.pipelines(), 6, "an order is carried out once");
}

#[test]
pub(super) fn a_refused_file_is_looked_at_again_when_ordered() {
    let mut bench = Bench::new();
    bench.write("notes.docx", "words");
    bench.run_ms(3 * SETTLE_MS);
    let file = bench.file("notes.docx");
    bench.order(WatchOrder::Retake { file: file.id, recipe: None });
    // Orders are looked for twice a second.
    bench.run_ms(750);
    assert_eq!(bench.state("notes.docx"), WatchFileState::Settling);
    bench.run_ms(3 * SETTLE_MS);
    assert_eq!(bench.state("notes.docx"), WatchFileState::Refused);
}
