//! How large the write-ahead log grows while some read all the time and others write.

use super::book::{Book, Unit};
use super::shots::Studio;
use super::{BenchError, Plan};
use crate::clock::Stopwatch;
use crate::store::Page;

/// Readers at once.
const READERS: usize = 3;
/// Submissions in one commit.
const BATCH: usize = 100;
/// Pipelines that each read lists.
const PIPELINES: u32 = 200;

pub(super) async fn measure(
    plan: &Plan,
    book: &mut Book,
    studio: &Studio,
) -> Result<(), BenchError> {
    let wal = plan.folder.join("store").join("sawah.db-wal");
    let budget = plan.budget * 2;
    let watch = Stopwatch::start();
    let read = async {
        while watch.elapsed() < budget {
            studio.store.pipelines(Page { before: None, limit: PIPELINES }).await?;
            studio.store.status().await?;
        }
        Ok::<_, BenchError>(())
    };
    let readers = futures_util::future::try_join_all((0..READERS).map(|_| async {
        while watch.elapsed() < budget {
            studio.store.pipelines(Page { before: None, limit: PIPELINES }).await?;
        }
        Ok::<_, BenchError>(())
    }));
    let mut largest_bytes = 0;
    let write = async {
        while watch.elapsed() < budget {
            studio.submit_together(BATCH).await?;
            largest_bytes = std::fs::metadata(&wal).map_or(0, |file| file.len()).max(largest_bytes);
        }
        Ok::<_, BenchError>(())
    };
    tokio::try_join!(read, readers, write)?;
    let mebibytes = largest_bytes as f64 / f64::from(1 << 20);
    book.add("store", "write-ahead log with readers, largest", mebibytes, Unit::Mebibytes);
    Ok(())
}
