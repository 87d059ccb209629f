//! Files that change while they are read, and after they were taken.

use super::bench::{Bench, SETTLE_MS, png};
use crate::protocol::watch::WatchFileState;
use crate::watch::jobs::Job;

/// The job that reads a file: it is given out, and not done yet.
fn take_job(bench: &mut Bench) -> Vec<Job> {
    for _ in 0..40 {
        let jobs = bench.step();
        if jobs.iter().any(|job| matches!(job, Job::Take(_))) {
            return jobs;
        }
        bench.work(jobs);
        bench.pass_ms(250);
    }
    panic!("nothing is taken: {:?}", bench.states());
}

#[test]
pub(super) fn a_file_that_is_overwritten_before_its_bytes_are_read_is_taken_with_the_new_ones() {
    let mut bench = Bench::new();
    bench.write("hero.png", png(1));
    let jobs = take_job(&mut bench);
    bench.write("hero.png", png(2));
    bench.work(jobs);
    assert!(!bench.is_stored(&png(1)));
    bench.run_ms(3 * SETTLE_MS);
    assert_eq!(bench.asset("hero.png"), ("hero".to_owned(), 1));
    assert!(bench.is_stored(&png(2)));
    assert_eq!(bench.pipelines(), 1);
}

#[test]
pub(super) fn a_file_that_is_replaced_by_another_of_the_same_size_and_date_is_noticed() {
    let mut bench = Bench::new();
    bench.write("hero.png", png(1));
    let jobs = take_job(&mut bench);
    let date = std::fs::metadata(bench.path("hero.png")).unwrap().modified().unwrap();
    bench.write("other.tmp", png(2));
    std::fs::File::open(bench.path("other.tmp")).unwrap().set_modified(date).unwrap();
    std::fs::rename(bench.path("other.tmp"), bench.path("hero.png")).unwrap();
    bench.work(jobs);
    bench.run_ms(3 * SETTLE_MS);
    assert!(bench.is_stored(&png(2)) && bench.pipelines() == 1, "{:?}", bench.files());
}

#[test]
pub(super) fn a_file_that_is_deleted_before_its_bytes_are_read_leaves_nothing() {
    let mut bench = Bench::new();
    bench.write("hero.png", png(1));
    let jobs = take_job(&mut bench);
    std::fs::remove_file(bench.path("hero.png")).unwrap();
    bench.work(jobs);
    bench.run_ms(3 * SETTLE_MS);
    assert_eq!((bench.states().len(), bench.stored().len(), bench.pipelines()), (0, 0, 0));
    assert!(!bench.path("hero.png.sawah.txt").exists(), "nobody is to read a note about it");
}

#[test]
pub(super) fn a_file_that_changes_while_its_bytes_are_read_is_never_taken_with_a_part_of_each() {
    let mut bench = Bench::new();
    let mesh = |number: u8| format!("v {number} {number} {number}\n").repeat(4 << 20).into_bytes();
    let (one, two) = (mesh(1), mesh(2));
    bench.write("big.obj", &one);
    let jobs = take_job(&mut bench);
    let path = bench.path("big.obj");
    std::thread::scope(|threads| {
        threads.spawn(|| std::fs::write(path, &two).unwrap());
        bench.work(jobs);
    });
    bench.run_ms(4 * SETTLE_MS);
    assert!(bench.is_stored(&two), "{:?}", bench.files());
    let whole = 1 + usize::from(bench.is_stored(&one));
    assert_eq!(bench.stored().len(), whole, "a mixture is stored");
}

#[test]
pub(super) fn the_same_path_with_new_content_is_the_next_version_and_old_content_no_new_work() {
    let mut bench = Bench::new();
    bench.write("hero.png", png(1));
    bench.run_ms(3 * SETTLE_MS);
    bench.write("hero.png", png(2));
    bench.run_ms(3 * SETTLE_MS);
    assert_eq!(bench.asset("hero.png"), ("hero".to_owned(), 2));
    assert_eq!(bench.pipelines(), 2);
    // Touched, and copied under another name: the same content is the same work.
    bench.write("hero.png", png(2));
    bench.write("hero copy.png", png(2));
    bench.run_ms(3 * SETTLE_MS);
    assert_eq!(bench.state("hero.png"), WatchFileState::Accepted);
    let copy = bench.file("hero copy.png");
    assert_eq!(copy.state, WatchFileState::Duplicate);
    assert!(copy.why.unwrap().contains("hero"), "it says of what");
    assert_eq!((bench.pipelines(), bench.stored().len()), (2, 2));
}
