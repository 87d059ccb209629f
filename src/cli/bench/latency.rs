//! From handing in to the worker's start, with a worker that waits in a long poll.

use super::book::{Book, Unit};
use super::samples::{BYTES, open_session, submission};
use super::timing::Times;
use super::wire::{Line, Wire};
use super::{BenchError, Plan};
use crate::clock::Stopwatch;
use crate::model::Checksum;
use crate::protocol::submit::{CancelReply, Order, Submitted};
use crate::protocol::work::{ClaimReply, ClaimRequest, Fence, FenceRequest, SessionOpened};
use std::time::Duration;

/// Submissions that are timed at most.
const SHOTS: usize = 300;
/// The worker has begun to wait by then.
const PAUSE: Duration = Duration::from_millis(15);

pub(super) async fn measure(plan: &Plan, book: &mut Book, line: &Line) -> Result<(), BenchError> {
    let mut studio = Wire::open(line).await?;
    let mut worker = Wire::open(line).await?;
    upload(&mut studio).await?;
    let opened: SessionOpened = worker.call("POST", "/v1/sessions", &open_session(0)).await?;
    let mut times = Times::default();
    let whole = Stopwatch::start();
    for number in 0..SHOTS {
        let shot = submission(&format!("latency-{number}"))?;
        let hand_in = async {
            tokio::time::sleep(PAUSE).await;
            let watch = Stopwatch::start();
            let submitted: Submitted = studio.call("POST", "/v1/pipelines", &shot).await?;
            Ok::<_, BenchError>((watch, submitted))
        };
        let begin = begin(&mut worker, &opened);
        let ((watch, submitted), ended) = tokio::try_join!(hand_in, begin)?;
        times.push(watch.elapsed().saturating_sub(ended.elapsed()));
        let path = format!("/v1/pipelines/{}/cancel", submitted.pipeline);
        let order = Order { actor: "bench".to_owned(), reason: "measured".to_owned() };
        let _: CancelReply = studio.call("POST", &path, &order).await?;
        if whole.elapsed() > plan.budget {
            break;
        }
    }
    let path = format!("/v1/sessions/{}", opened.session);
    let () = worker.call("DELETE", &path, &()).await?;
    for percent in [50, 99] {
        let name = format!("from submit to start p{percent}");
        let disk = format!("fdatasync of 4 KiB p{percent}");
        let value = times.percentile_ms(percent);
        book.compare("coordinator", &name, value, Unit::Milliseconds, ("disk", &disk));
    }
    Ok(())
}

/// Claims one job and starts it; the watch runs from the answer to the start.
async fn begin(worker: &mut Wire, opened: &SessionOpened) -> Result<Stopwatch, BenchError> {
    let path = format!("/v1/sessions/{}/claim", opened.session);
    let request = ClaimRequest { max_jobs: 1, wait_ms: 10_000 };
    let reply: ClaimReply = worker.call("POST", &path, &request).await?;
    let job = reply.jobs.first();
    let job = job.ok_or_else(|| BenchError::Nothing("no job came in time".to_owned()))?;
    let fence = Fence { session: opened.session.clone(), epoch: job.epoch };
    let path = format!("/v1/jobs/{}/start", job.job_id);
    let () = worker.call("POST", &path, &FenceRequest { fence }).await?;
    Ok(Stopwatch::start())
}

/// Puts the bytes of all shots into the content store.
pub(super) async fn upload(wire: &mut Wire) -> Result<(), BenchError> {
    let path = format!("/v1/artifacts/{}", Checksum::of(BYTES));
    match wire.exchange("PUT", &path, BYTES).await? {
        (200..300, _) => Ok(()),
        (status, body) => {
            let why = format!("status {status}: {}", String::from_utf8_lossy(&body));
            Err(BenchError::Answer { path, why })
        }
    }
}
