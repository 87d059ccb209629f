//! The machine's own limits: the disk, and SQLite with the same rows.

use super::book::{Book, Unit};
use super::timing::{Times, repeat};
use super::{BenchError, Plan};
use crate::clock::Stopwatch;
use crate::store::Yardstick;
use std::fs::File;
use std::io::Write as _;

/// Writes of one page that are timed at most.
const WRITES: usize = 2_000;
const PAGE: [u8; 4_096] = [7; 4_096];
/// Jobs in one commit, for inserts.
const BATCHES: [u32; 3] = [1, 100, 1_000];
/// Jobs that share their commits, for lives.
pub(super) const GROUPS: [u32; 4] = [1, 8, 64, 256];

pub(super) fn measure(plan: &Plan, book: &mut Book) -> Result<(), BenchError> {
    disk(plan, book)?;
    sqlite(plan, book)
}

fn disk(plan: &Plan, book: &mut Book) -> Result<(), BenchError> {
    let path = plan.folder.join("appends");
    let mut file = File::create(&path)?;
    let mut times = Times::default();
    let whole = Stopwatch::start();
    for _ in 0..WRITES {
        let watch = Stopwatch::start();
        file.write_all(&PAGE)?;
        file.sync_data()?;
        times.push(watch.elapsed());
        if whole.elapsed() > plan.budget {
            break;
        }
    }
    drop(file);
    std::fs::remove_file(path)?;
    book.add("disk", "fdatasync of 4 KiB p50", times.percentile_ms(50), Unit::Milliseconds);
    book.add("disk", "fdatasync of 4 KiB p99", times.percentile_ms(99), Unit::Milliseconds);
    Ok(())
}

fn sqlite(plan: &Plan, book: &mut Book) -> Result<(), BenchError> {
    let mut yardstick = Yardstick::open(&plan.folder.join("yardstick"))?;
    for batch in BATCHES {
        let rate = repeat(plan.budget, || {
            yardstick.insert(batch).map(|()| usize::try_from(batch).unwrap_or(0))
        })?;
        book.add("sqlite", &format!("inserts in batches of {batch}"), rate, Unit::PerSecond);
    }
    for group in GROUPS {
        let rate = repeat(plan.budget, || {
            let lived = yardstick.live(group)?;
            // The inserts before have left more than a budget's worth on all but odd machines.
            if lived == 0 {
                yardstick.insert(10_000)?;
            }
            Ok::<_, BenchError>(lived)
        })?;
        book.add("sqlite", &format!("lives in groups of {group}"), rate, Unit::PerSecond);
    }
    Ok(())
}
