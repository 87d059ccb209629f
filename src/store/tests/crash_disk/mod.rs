//! The power may go at any moment: the farm opens again, whole, and every answer that was given
//! before is still true.
//!
//! The real store runs on a file system that remembers what was written and what was flushed
//! (`vfs`). From that any moment can be cut off (`disk`): of what was not flushed then, each write
//! survives, is torn, or is lost.

#![cfg(unix)]

mod disk;
mod story;
mod vfs;

use super::TestClock;
use crate::clock::Clock;
use crate::model::{Now, PipelineStatus};
use crate::protocol::event::Event;
use crate::store::{Page, Store, connection};
use disk::Chance;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use story::{Promise, Said, Story};

/// Power cuts of one story.
const CUTS: usize = 60;
const ALL: Page = Page { before: None, limit: 1_000 };

/// The result of a call to a store without threads.
fn now<T>(call: impl Future<Output = T>) -> T {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("a store without threads answers at once"),
    }
}

fn clock() -> Arc<TestClock> {
    Arc::new(TestClock(Mutex::new(Now { wall_ms: 1_800_000_000_000, mono_ms: 0 })))
}

/// What is not true after the power went at one moment of the story; none is right.
fn after_power_cut(story: &Story, moment: usize, chance: &mut Chance) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in story.disk.after_power_cut(moment, chance) {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let opened = Store::open_inline(folder.path(), clock() as Arc<dyn Clock>);
    let (farm, _control) = match opened {
        Ok(opened) => opened,
        Err(error) => return Some(format!("the farm does not open: {error}")),
    };
    let db = rusqlite::Connection::open(folder.path().join(connection::DATABASE)).unwrap();
    let whole: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    if whole != "ok" {
        return Some(format!("the database is damaged: {whole}"));
    }
    let broken = now(farm.verify()).unwrap();
    if !broken.is_empty() {
        return Some(broken.join("; "));
    }
    let told = events(&farm);
    if story.events.get(..told.len()) != Some(told.as_slice()) {
        return Some("the audit is not the beginning of what it was".into());
    }
    let mut given = story.promises.iter().filter(|promise| promise.moment <= moment);
    given.find_map(|promise| untrue(&farm, promise, told.len() as u64))
}

fn untrue(store: &Store, promise: &Promise, seq: u64) -> Option<String> {
    let job = |id| now(store.job(id)).ok();
    let holds = seq >= promise.seq
        && match promise.said {
            Said::Done => true,
            Said::Submitted(pipeline) => now(store.pipeline(pipeline)).is_ok(),
            Said::Cancelled(pipeline) => now(store.pipeline(pipeline))
                .is_ok_and(|found| found.pipeline.status == PipelineStatus::Cancelled),
            Said::Claimed(id, epoch) => job(id).is_some_and(|found| found.job.epoch >= epoch),
            Said::Ended(id, epoch, outcome) => job(id).is_some_and(|found| {
                found.attempts.iter().any(|one| one.epoch == epoch && one.outcome == outcome)
            }),
            Said::Settled(id) => now(store.dead_letter(id))
                .is_ok_and(|found| found.letter.dismissed || found.letter.replayed_as.is_some()),
        };
    (!holds).then(|| format!("{promise:?} was answered, but {seq} events survived"))
}

fn events(store: &Store) -> Vec<Event> {
    let mut all: Vec<Event> = Vec::new();
    loop {
        let more = now(store.events_after(all.len() as u64, 1_000)).unwrap();
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}

/// Cuts the power at answers and anywhere else; says what was not true and how often.
fn cut_often(story: &Story, seed: u64) -> Vec<String> {
    let mut chance = Chance::new(seed << 32);
    let mut found = Vec::new();
    for cut in 0..CUTS {
        let moment = match story.promises.get(chance.below(story.promises.len())) {
            Some(promise) if cut % 2 == 0 => promise.moment,
            _ => chance.below(story.disk.moment() + 1),
        };
        if let Some(why) = after_power_cut(story, moment, &mut chance) {
            found.push(format!("seed {seed}, power cut at {moment}: {why}"));
        }
    }
    found
}

#[test]
fn every_answer_is_still_true_after_the_power_went_at_any_moment() {
    for seed in 0..4 {
        let story = Story::tell(seed, "FULL");
        assert!(story.promises.len() > 60, "{} answers", story.promises.len());
        assert_eq!(cut_often(&story, seed), Vec::<String>::new());
    }
}

#[test]
fn a_store_that_does_not_flush_is_found_out() {
    let story = Story::tell(0, "OFF");
    assert!(!cut_often(&story, 0).is_empty(), "answers were lost and nobody noticed");
}
