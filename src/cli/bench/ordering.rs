//! Handing in: submissions singly and in batches that share a commit.

use super::book::{Book, Unit};
use super::shots::Studio;
use super::timing::rate;
use super::{BenchError, Plan};
use crate::clock::Stopwatch;

/// Submissions in one commit.
const BATCHES: [usize; 3] = [1, 100, 1_000];

pub(super) async fn measure(
    plan: &Plan,
    book: &mut Book,
    studio: &Studio,
) -> Result<(), BenchError> {
    for batch in BATCHES {
        let watch = Stopwatch::start();
        let mut count = 0;
        while watch.elapsed() < plan.budget {
            studio.submit_together(batch).await?;
            count += batch;
        }
        let name = format!("submit in batches of {batch}");
        let bare = format!("inserts in batches of {batch}");
        let rate = rate(count, watch.elapsed());
        book.compare("store", &name, rate, Unit::PerSecond, ("sqlite", &bare));
    }
    Ok(())
}
