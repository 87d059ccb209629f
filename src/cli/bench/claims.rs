//! How long one claim takes, its commit included, with few and with many jobs waiting.

use super::book::{Book, Unit};
use super::shots::Studio;
use super::timing::Times;
use super::{BenchError, Context, Plan};
use crate::clock::Stopwatch;
use crate::protocol::work::Fence;

/// Jobs that wait in the small farm.
const FEW: usize = 1_000;
/// Claims that are timed at most.
const CLAIMS: usize = 3_000;

pub(super) async fn measure(
    context: &Context,
    plan: &Plan,
    book: &mut Book,
    many: &Studio,
) -> Result<(), BenchError> {
    let few = Studio::open(context, &plan.folder.join("few"))?;
    few.fill(FEW).await?;
    let mut times = claims(plan, &few).await?;
    few.close().await;
    for percent in [50, 99] {
        let name = format!("claim with {FEW} queued p{percent}");
        let disk = format!("fdatasync of 4 KiB p{percent}");
        let value = times.percentile_ms(percent);
        book.compare("store", &name, value, Unit::Milliseconds, ("disk", &disk));
    }
    many.fill(plan.jobs).await?;
    let mut times = claims(plan, many).await?;
    for percent in [50, 99] {
        let name = format!("claim with {} queued p{percent}", plan.jobs);
        let small = format!("claim with {FEW} queued p{percent}");
        let value = times.percentile_ms(percent);
        book.compare("store", &name, value, Unit::Milliseconds, ("store", &small));
    }
    Ok(())
}

async fn claims(plan: &Plan, studio: &Studio) -> Result<Times, BenchError> {
    let worker = studio.worker().await?;
    let mut times = Times::default();
    let whole = Stopwatch::start();
    for _ in 0..CLAIMS {
        let watch = Stopwatch::start();
        let job = studio.claim(&worker).await?;
        times.push(watch.elapsed());
        let job = job.ok_or_else(|| BenchError::Nothing("no job waits".to_owned()))?;
        let fence = Fence { session: worker.id.clone(), epoch: job.epoch };
        studio.store.release(job.job_id, &fence).await?;
        if whole.elapsed() > plan.budget {
            break;
        }
    }
    studio.store.close_session(&worker.id, false).await?;
    Ok(times)
}
