//! Whole lives of jobs in the store: claim, start, complete, one verb at a time by each worker.

use super::book::{Book, Unit};
use super::raw::GROUPS;
use super::shots::Studio;
use super::timing::rate;
use super::{BenchError, Plan};
use crate::clock::Stopwatch;
use crate::model::Stage;
use futures_util::future::try_join_all;

pub(super) async fn measure(
    plan: &Plan,
    book: &mut Book,
    studio: &Studio,
) -> Result<(), BenchError> {
    for group in GROUPS {
        let mut workers = Vec::new();
        for _ in 0..group {
            workers.push(studio.worker().await?);
        }
        if let Some(worker) = workers.first() {
            studio.prepare_frames(worker, plan.shots()).await?;
        }
        let watch = Stopwatch::start();
        let lives = workers.iter().map(|worker| async {
            let mut lived = 0_usize;
            while watch.elapsed() < plan.budget {
                // The frames are used up where another stage comes.
                if studio.live(worker, 1).await? != Some(Stage::Render) {
                    break;
                }
                lived += 1;
            }
            Ok::<_, BenchError>(lived)
        });
        let count: usize = try_join_all(lives).await?.into_iter().sum();
        let rate = rate(count, watch.elapsed());
        let name = format!("lives in groups of {group}");
        book.compare("store", &name, rate, Unit::PerSecond, ("sqlite", &name));
        for worker in workers {
            studio.store.close_session(&worker.id, false).await?;
        }
    }
    Ok(())
}
