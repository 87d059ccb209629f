//! Whole lives of jobs over HTTP: one verb in a call, and many.

use super::book::{Book, Unit};
use super::latency::upload;
use super::raw::GROUPS;
use super::samples::{completion, open_session, submission};
use super::timing::rate;
use super::wire::{Line, Wire};
use super::{BenchError, Plan};
use crate::clock::Stopwatch;
use crate::model::{JobId, Mode, SessionId, Stage, Target, limits};
use crate::policy::flow;
use crate::protocol::batch::{
    BatchSubmission, BatchSubmitted, Report, ReportEvent, Reports, ReportsReply, SubmissionOutcome,
};
use crate::protocol::control::{ControlView, SetControl};
use crate::protocol::view::JobView;
use crate::protocol::work::{
    Assignment, ClaimReply, ClaimRequest, CompleteRequest, Fence, FenceRequest, SessionOpened,
};
use futures_util::future::try_join_all;
use std::time::Duration;

/// Submissions and jobs in one call.
const BATCH: usize = 100;
/// Sessions that report many jobs in one call.
const BATCH_SESSIONS: usize = 8;

pub(super) async fn measure(plan: &Plan, book: &mut Book, line: &Line) -> Result<(), BenchError> {
    let mut studio = Wire::open(line).await?;
    upload(&mut studio).await?;
    submissions(plan, book, &mut studio).await?;
    for group in GROUPS {
        let sessions = usize::try_from(group).unwrap_or(1);
        let rate = lives(plan, line, sessions, How::OneByOne).await?;
        let name = format!("lives over HTTP, {sessions} sessions");
        let bare = format!("lives in groups of {group}");
        book.compare("coordinator", &name, rate, Unit::PerSecond, ("sqlite", &bare));
    }
    let rate = lives(plan, line, BATCH_SESSIONS, How::Batched).await?;
    let name = format!("lives over HTTP in batches, {BATCH_SESSIONS} sessions");
    book.compare("coordinator", &name, rate, Unit::PerSecond, ("sqlite", "lives in groups of 256"));
    Ok(())
}

async fn submissions(plan: &Plan, book: &mut Book, wire: &mut Wire) -> Result<(), BenchError> {
    let watch = Stopwatch::start();
    let mut count = 0;
    while watch.elapsed() < plan.budget {
        let shots = (count..count + BATCH).map(|number| submission(&format!("wire-{number}")));
        let batch = BatchSubmission { submissions: shots.collect::<Result<_, _>>()? };
        let reply: BatchSubmitted = wire.call("POST", "/v1/pipelines/batch", &batch).await?;
        let refused = reply.outcomes.into_iter().find_map(|outcome| match outcome {
            SubmissionOutcome::Refused(problem) => Some(problem.message),
            SubmissionOutcome::Submitted(_) => None,
        });
        if let Some(why) = refused {
            return Err(BenchError::Answer { path: "/v1/pipelines/batch".to_owned(), why });
        }
        count += BATCH;
    }
    let name = format!("submit over HTTP in batches of {BATCH}");
    let value = rate(count, watch.elapsed());
    let bare = format!("inserts in batches of {BATCH}");
    book.compare("coordinator", &name, value, Unit::PerSecond, ("sqlite", &bare));
    Ok(())
}

/// How many verbs travel in one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    OneByOne,
    Batched,
}

/// Sessions that each bring jobs from claim to end until the budget is spent; lives a second.
async fn lives(plan: &Plan, line: &Line, sessions: usize, how: How) -> Result<f64, BenchError> {
    let mut workers = Vec::new();
    for number in 0..sessions {
        workers.push(Worker::open(line, number).await?);
    }
    if let Some(worker) = workers.first_mut() {
        worker.prepare_frames(plan.shots()).await?;
    }
    let watch = Stopwatch::start();
    let budget = plan.budget;
    let tasks = workers.into_iter().map(|worker| tokio::spawn(worker.live(watch, budget, how)));
    let ended = try_join_all(tasks).await.map_err(std::io::Error::other)?;
    let time = watch.elapsed();
    let mut lived = 0;
    for ended in ended {
        let (mut worker, count) = ended?;
        lived += count;
        worker.goodbye().await?;
    }
    Ok(rate(lived, time))
}

struct Worker {
    wire: Wire,
    session: SessionId,
}

impl Worker {
    async fn open(line: &Line, number: usize) -> Result<Self, BenchError> {
        let mut wire = Wire::open(line).await?;
        let opened: SessionOpened =
            wire.call("POST", "/v1/sessions", &open_session(number)).await?;
        Ok(Self { wire, session: opened.session })
    }

    async fn claim(&mut self, max_jobs: u32) -> Result<Vec<Assignment>, BenchError> {
        let path = format!("/v1/sessions/{}/claim", self.session);
        let request = ClaimRequest { max_jobs, wait_ms: 0 };
        let reply: ClaimReply = self.wire.call("POST", &path, &request).await?;
        Ok(reply.jobs)
    }

    fn fence(&self, job: &Assignment) -> Fence {
        Fence { session: self.session.clone(), epoch: job.epoch }
    }

    /// Starts and completes one job, a call each.
    async fn finish(&mut self, job: &Assignment, frames: u32) -> Result<(), BenchError> {
        let path = |verb: &str, job: JobId| format!("/v1/jobs/{job}/{verb}");
        let fence = self.fence(job);
        let start = FenceRequest { fence: fence.clone() };
        let () = self.wire.call("POST", &path("start", job.job_id), &start).await?;
        let complete = CompleteRequest { fence, completion: completion(job, frames) };
        let _: JobView = self.wire.call("POST", &path("complete", job.job_id), &complete).await?;
        Ok(())
    }

    /// Starts and completes many jobs in two calls.
    async fn finish_all(&mut self, jobs: &[Assignment]) -> Result<(), BenchError> {
        let starts = jobs.iter().map(|job| (job, ReportEvent::Start));
        let ends =
            jobs.iter().map(|job| (job, ReportEvent::Complete { completion: completion(job, 1) }));
        self.report(starts.collect()).await?;
        self.report(ends.collect()).await
    }

    async fn report(&mut self, events: Vec<(&Assignment, ReportEvent)>) -> Result<(), BenchError> {
        let path = format!("/v1/sessions/{}/reports", self.session);
        let report =
            |(job, event): (&Assignment, _)| Report { job: job.job_id, epoch: job.epoch, event };
        let reports = Reports { reports: events.into_iter().map(report).collect() };
        let _: ReportsReply = self.wire.call("POST", &path, &reports).await?;
        Ok(())
    }

    /// Brings this many shots so far that their frames wait to be drawn.
    async fn prepare_frames(&mut self, shots: usize) -> Result<(), BenchError> {
        // Frames that are left over would come first.
        self.set_frames(Mode::Paused).await?;
        let mut prepared = 0;
        while prepared < shots {
            let jobs = self.claim(1).await?;
            let job = jobs.first();
            let job = job.ok_or_else(|| BenchError::Nothing("no shot waits".to_owned()))?;
            self.finish(job, limits::FRAMES).await?;
            prepared += usize::from(job.stage == Stage::Transform);
        }
        self.set_frames(Mode::Running).await
    }

    async fn set_frames(&mut self, mode: Mode) -> Result<(), BenchError> {
        let order = SetControl {
            target: Target::Queue { queue: flow::queue(Stage::Render).to_owned() },
            mode,
            actor: "bench".to_owned(),
            reason: "frames are prepared".to_owned(),
        };
        let _: ControlView = self.wire.call("PUT", "/v1/controls", &order).await?;
        Ok(())
    }

    async fn live(
        mut self,
        watch: Stopwatch,
        budget: Duration,
        how: How,
    ) -> Result<(Self, usize), BenchError> {
        let mut lived = 0;
        let max_jobs = if how == How::Batched { limits::JOBS_PER_CLAIM } else { 1 };
        while watch.elapsed() < budget {
            let jobs = self.claim(max_jobs).await?;
            if jobs.is_empty() || jobs.iter().any(|job| job.stage != Stage::Render) {
                break;
            }
            match (how, jobs.as_slice()) {
                (How::OneByOne, [job]) => self.finish(job, 1).await?,
                _ => self.finish_all(&jobs).await?,
            }
            lived += jobs.len();
        }
        Ok((self, lived))
    }

    async fn goodbye(&mut self) -> Result<(), BenchError> {
        let path = format!("/v1/sessions/{}", self.session);
        self.wire.call("DELETE", &path, &()).await
    }
}
