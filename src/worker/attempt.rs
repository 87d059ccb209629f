//! One attempt: fetch, start, run, verify, upload, report. Or stop, and leave nothing.

use super::api::ApiError;
use super::bounds;
use super::host::HostProgram;
use super::keep::{self, KeepBuffer};
use super::logs::LogBuffer;
use super::names::relative_path;
use super::outputs::{self, Verified};
use super::process::{HostEnd, HostRun, run_host, run_in_pool};
use super::running::{Slot, Stop, StopSignal};
use super::session::{Session, SessionEnd, pause};
use super::slots::Place;
use super::staging::AttemptFolder;
use super::transfer::{disk_reason, upload};
use crate::clock::Stopwatch;
use crate::model::{JobId, Reason, Stage, limits};
use crate::programs::Mark;
use crate::protocol::batch::{Report, ReportEvent};
use crate::protocol::problem::{Problem, ProblemCode};
use crate::protocol::work::{Assignment, Completion, Failure, Fence, InputFile};
use crate::stages::message::cut;
use crate::stages::{Produced, Reporter, StageOutput, StageRequest, may_share};
use futures_util::{StreamExt, TryStreamExt, stream};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

/// Transfers of one attempt at once.
const TRANSFERS: usize = 4;

/// Why an attempt brought no result.
enum End {
    /// It failed: the coordinator hears why.
    Failed(Failure),
    /// It was told to stop.
    Stopped(Stop),
    /// It was fetched ahead, and no slot became free soon: it goes back.
    NoSlot,
    /// The coordinator says that the job is not ours: nothing more is reported.
    NotOurs,
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Stop> for End {
    fn from(stop: Stop) -> Self {
        Self::Stopped(stop)
    }
}

pub(super) struct Attempt {
    pub(super) session: Arc<Session>,
    request: StageRequest,
    folder: AttemptFolder,
    pub(super) fence: Fence,
    log: Arc<LogBuffer>,
    pub(super) kept: KeepBuffer,
    slot: Slot,
    /// It runs, and the coordinator has not said that it heard so.
    owes_start: AtomicBool,
}

/// Begins the attempt as a task of its own.
pub(super) fn begin(session: &Arc<Session>, assignment: Assignment, tasks: &TaskTracker) {
    let (job, epoch) = (assignment.job_id, assignment.epoch);
    // Closed: the session ends, and with it the claim.
    let Some((slot, stop)) = session.running.add(job, epoch) else { return };
    let session = Arc::clone(session);
    tasks.spawn(async move {
        let fence = Fence { session: session.id.clone(), epoch };
        tracing::info!(%job, %epoch, stage = %assignment.stage, trace = %assignment.trace_id, "attempt begins");
        let (work, pipeline) = (&session.worker.work, assignment.pipeline_id);
        let folder = if may_share(&assignment) {
            work.attempt_again(pipeline, job, epoch)
        } else {
            work.attempt(pipeline, job, epoch)
        };
        match folder {
            Ok(folder) => {
                let request = StageRequest {
                    input_dir: folder.input(),
                    output_dir: folder.output(),
                    workshop: session.worker.workshop.clone(),
                    stay: None,
                    assignment,
                };
                let (log, kept) = (Arc::default(), KeepBuffer::default());
                let owes_start = AtomicBool::new(false);
                Attempt { session, request, folder, fence, log, kept, slot, owes_start }.run(stop).await;
            }
            Err(error) => {
                let place = session.worker.work.root().display();
                let message = format!("the attempt's folder cannot be made: {error}: {place}");
                let failure = Failure::new(disk_reason(&error), message);
                let tells = |event| vec![Report { job, epoch, event }];
                report_failure(&session, job, &fence, failure, &tells, stop).await;
            }
        }
    });
}

impl Attempt {
    pub(super) fn job(&self) -> JobId {
        self.request.assignment.job_id
    }

    async fn run(self, mut stop: StopSignal) {
        let job = self.job();
        let ship = {
            let (session, log, fence) =
                (Arc::clone(&self.session), Arc::clone(&self.log), self.fence.clone());
            async move { log.ship(&session.worker.api, job, &fence).await }
        };
        let ship = AbortOnDropHandle::new(tokio::spawn(ship));
        let result = self.work(&mut stop).await;
        if let Err(End::Failed(failure)) = &result {
            self.log.push(&format!("{}: {}", failure.reason, failure.message));
        }
        let ends_here = matches!(result, Ok(_) | Err(End::Failed(_)));
        let log = if ends_here { self.log.take_short() } else { None };
        self.log.close();
        if log.is_none() && !matches!(result, Err(End::Stopped(Stop::Lost) | End::NotOurs)) {
            // After the report the coordinator takes no more lines of this attempt.
            let wait = Duration::from_millis(bounds::LOG_FINISH_MS);
            let _ = stop.guard(tokio::time::timeout(wait, ship)).await;
        }
        self.report(result, log, stop).await;
        // The next job need not wait until the files are gone.
        drop(self.slot);
        let (work, folder) = (Arc::clone(&self.session.worker.work), self.folder);
        let removed = tokio::task::spawn_blocking(move || work.put_back(&folder)).await;
        if !matches!(removed, Ok(Ok(()))) {
            tracing::warn!(%job, ?removed, "the attempt's folder stays until the next start");
        }
    }

    async fn work(&self, stop: &mut StopSignal) -> Result<Completion, End> {
        self.slot.progress(0.0, "fetching files");
        stop.guard(self.fetch_inputs()).await??;
        let output = {
            let place = self.enter(stop).await?;
            self.log.push(&format!(
                "attempt {} of job {} ({} {}) on {}",
                self.request.assignment.attempt,
                self.job(),
                self.request.assignment.stage,
                self.request.assignment.chunk,
                self.session.worker.config.name,
            ));
            let watch = Stopwatch::start();
            let output = self.start_and_run(&place, stop).await;
            self.session.pace.took(watch.elapsed());
            output?
        };
        self.slot.progress(100.0, "storing files");
        let verified = stop.guard(self.verify(output.clone())).await??;
        stop.guard(self.upload(&verified)).await??;
        Ok(Completion {
            outputs: keep::together(&self.request.assignment.kept, verified),
            report: outputs::bounded(output.report),
            pointer_generation: self.request.assignment.pointer_generation,
        })
    }

    async fn fetch_inputs(&self) -> Result<(), Failure> {
        stream::iter(self.request.assignment.dependencies.iter().map(Ok))
            .try_for_each_concurrent(TRANSFERS, |file| self.fetch(file))
            .await
    }

    async fn fetch(&self, file: &InputFile) -> Result<(), Failure> {
        let name = relative_path(&file.name).ok_or_else(|| {
            let name = cut(&file.name, limits::FILE_NAME_BYTES);
            Failure::new(
                Reason::ReferenceOutside,
                format!("an input has a name that is not allowed: {name}"),
            )
        })?;
        let stage = file.made_by.map_or("source", Stage::as_str);
        let target = self.folder.input().join(stage).join(name);
        if let Some(folder) = target.parent() {
            tokio::fs::create_dir_all(folder).await.map_err(|error| {
                let message =
                    format!("an input folder cannot be made: {error}: {}", folder.display());
                Failure::new(disk_reason(&error), message)
            })?;
        }
        let worker = &self.session.worker;
        worker
            .cache
            .fetch(&worker.api, file.checksum, file.size_bytes, &target)
            .await
            .map_err(|error| error.into_failure(&format!("cannot fetch {stage}/{}", file.name)))
    }

    /// Runs the stage once the coordinator knows that it begins. Where such jobs are over before it
    /// could answer they are not kept waiting for it: the claim is ours, and the report of the end
    /// says again what was not answered yet.
    async fn start_and_run(
        &self,
        place: &Place<'_>,
        stop: &mut StopSignal,
    ) -> Result<StageOutput, End> {
        if !self.session.pace.is_short() {
            self.start(stop).await?;
            return self.run_and_keep(place, stop).await;
        }
        self.owes_start.store(true, Ordering::Relaxed);
        let mut stop_starting = stop.clone();
        let start = async {
            if let Err(End::NotOurs) = self.start(&mut stop_starting).await {
                self.slot.stop();
            }
            std::future::pending().await
        };
        tokio::select! {
            output = self.run_and_keep(place, stop) => output,
            never = start => never,
        }
    }

    async fn start(&self, stop: &mut StopSignal) -> Result<(), End> {
        let start = || self.session.reports.send(self.tells(ReportEvent::Start, None));
        match until_answered(&self.session, stop, start).await? {
            Ok(()) => {
                self.owes_start.store(false, Ordering::Relaxed);
                Ok(())
            }
            Err(problem) => Err(refused("the start", &problem).into()),
        }
    }

    /// A report, and what the coordinator must have heard before it.
    fn tells(&self, event: ReportEvent, log: Option<String>) -> Vec<Report> {
        let is_start = event == ReportEvent::Start;
        let is_owed = !is_start && self.owes_start.load(Ordering::Relaxed);
        let start = is_owed.then_some(ReportEvent::Start);
        let log = log.map(|text| ReportEvent::Log { text });
        let events = start.into_iter().chain(log).chain([event]);
        let (job, epoch) = (self.job(), self.fence.epoch);
        events.map(|event| Report { job, epoch, event }).collect()
    }

    /// Waits for a slot; only what was fetched ahead has to.
    async fn enter(&self, stop: &mut StopSignal) -> Result<Place<'_>, End> {
        let slots = &self.session.slots;
        if let Some(place) = slots.try_enter() {
            return Ok(place);
        }
        self.slot.progress(0.0, "waits for a slot");
        let wait = Duration::from_millis(bounds::AHEAD_WAIT_MS);
        match stop.guard(tokio::time::timeout(wait, slots.enter())).await? {
            Ok(Some(place)) => Ok(place),
            Ok(None) | Err(_) => Err(End::NoSlot),
        }
    }

    /// Runs the stage, and sends what it says is right while it runs.
    async fn run_and_keep(
        &self,
        place: &Place<'_>,
        stop: &mut StopSignal,
    ) -> Result<StageOutput, End> {
        let mut stop_keeping = stop.clone();
        let run = async {
            let ended = self.run_stage(place, stop).await;
            self.kept.close();
            ended
        };
        let keeping = async {
            // The frames of an attempt that is not ours any more are nobody's.
            let _ = stop_keeping.guard(keep::send(self)).await;
        };
        tokio::join!(run, keeping).0
    }

    async fn run_stage(
        &self,
        place: &Place<'_>,
        stop: &mut StopSignal,
    ) -> Result<StageOutput, End> {
        let worker = &self.session.worker;
        let mut request = Cow::Borrowed(&self.request);
        if let Some(mask) = place.gpu_mask(&worker.config.gpu_masks) {
            request.to_mut().workshop.gpu_mask = Some(mask.clone());
        }
        let run = HostRun {
            program: HostProgram {
                path: &worker.config.stage_host,
                adapter: &worker.config.adapter,
                turn: place.number(),
            },
            request: &request,
            temporary: &self.folder.temporary(),
            reporter: self,
            mark: &Mark::new(worker.work.instance(), self.job(), self.fence.epoch),
            lost_grace: self.session.lost_grace(),
        };
        let ended = if may_share(&self.request.assignment) {
            run_in_pool(run, &worker.hosts, stop).await
        } else {
            worker.hosts.make_room(self.session.running.count());
            run_host(run, stop).await
        };
        match ended {
            HostEnd::Done(output) => Ok(output),
            HostEnd::Failed(failure) => Err(self.with_frames(failure).into()),
            HostEnd::Stopped(stop) => Err(stop.into()),
        }
    }

    /// What ends a host from outside knows nothing of frames; people want to know which.
    fn with_frames(&self, mut failure: Failure) -> Failure {
        let assignment = &self.request.assignment;
        let ended = [Reason::LimitTime, Reason::LimitStall].contains(&failure.reason);
        let frames = assignment.settings.frames_of(assignment.stage, assignment.chunk);
        if let Some(frames) = frames.filter(|_| ended) {
            failure.message = format!("{}; its frames were {frames}", failure.message);
        }
        failure
    }

    pub(super) async fn verify(&self, output: StageOutput) -> Result<Vec<Verified>, Failure> {
        let folder = self.folder.output();
        tokio::task::spawn_blocking(move || outputs::verify(&folder, &output)).await.unwrap_or_else(
            |error| {
                let message = format!("the outputs could not be verified: {error}");
                Err(Failure::new(Reason::Unexpected, message))
            },
        )
    }

    pub(super) async fn upload(&self, verified: &[Verified]) -> Result<(), Failure> {
        stream::iter(verified)
            .map(Ok)
            .try_for_each_concurrent(TRANSFERS, |output| self.upload_one(output))
            .await
    }

    async fn upload_one(&self, output: &Verified) -> Result<(), Failure> {
        let worker = &self.session.worker;
        let (checksum, size_bytes) = (output.file.checksum, output.file.size_bytes);
        upload(&worker.api, &output.path, checksum, size_bytes)
            .await
            .map_err(|error| error.into_failure(&format!("cannot store {}", output.file.name)))?;
        // The next stage likely runs here: it need not fetch what was made here.
        let (cache, path) = (Arc::clone(&worker.cache), output.path.clone());
        let adopt = move || cache.adopt(checksum, size_bytes, &path);
        let _ = tokio::task::spawn_blocking(adopt).await;
        Ok(())
    }

    async fn report(
        &self,
        result: Result<Completion, End>,
        log: Option<String>,
        mut stop: StopSignal,
    ) {
        let job = self.job();
        let end = match result {
            Ok(completion) => match self.complete(completion, log.clone(), &mut stop).await {
                Ok(()) => {
                    tracing::info!(%job, epoch = %self.fence.epoch, "attempt succeeded");
                    return;
                }
                Err(end) => end,
            },
            Err(end) => end,
        };
        match end {
            End::Failed(failure) => {
                let tells = |event| self.tells(event, log.clone());
                report_failure(&self.session, job, &self.fence, failure, &tells, stop).await;
            }
            End::Stopped(Stop::Shutdown) => release(&self.session, job, &self.fence).await,
            End::NoSlot => {
                let call = || self.session.reports.send(self.tells(ReportEvent::Release, None));
                let told = until_answered(&self.session, &mut stop, call).await;
                tracing::info!(%job, ok = told.is_ok(), "no slot became free: job given back");
                if matches!(told, Err(End::Stopped(Stop::Shutdown))) {
                    release(&self.session, job, &self.fence).await;
                }
            }
            End::Stopped(Stop::Lost) | End::NotOurs => {
                tracing::info!(%job, epoch = %self.fence.epoch, "attempt stopped, nothing reported");
            }
        }
    }

    async fn complete(
        &self,
        completion: Completion,
        log: Option<String>,
        stop: &mut StopSignal,
    ) -> Result<(), End> {
        let reports = self.tells(ReportEvent::Complete { completion }, log);
        let call = || self.session.reports.send(reports.clone());
        match until_answered(&self.session, stop, call).await? {
            Ok(()) => Ok(()),
            Err(problem) => {
                let mut failure = refused("the result", &problem);
                let publish = self.request.assignment.stage == Stage::Publish;
                if publish && problem.code == ProblemCode::Conflict && problem.reason.is_none() {
                    failure = Failure::new(Reason::PublishConflict, failure.message);
                }
                Err(failure.into())
            }
        }
    }
}

impl Reporter for Attempt {
    fn progress(&self, percent: f32, message: &str) {
        let percent = if percent.is_finite() { percent.clamp(0.0, 100.0) } else { 0.0 };
        self.slot.progress(percent, cut(message, limits::MESSAGE_BYTES));
    }

    fn frame(&self, frame: i32, percent: f32, message: &str) {
        self.slot.frame(frame);
        self.progress(percent, message);
    }

    fn keep(&self, file: Produced) {
        self.kept.push(file);
    }

    fn log(&self, line: &str) {
        self.slot.line(cut(line, limits::PROGRESS_LINE_BYTES));
        self.log.push(line);
    }
}

/// Reports a failure for as long as the lease allows.
async fn report_failure(
    session: &Session,
    job: JobId,
    fence: &Fence,
    mut failure: Failure,
    tells: &(dyn Fn(ReportEvent) -> Vec<Report> + Sync),
    mut stop: StopSignal,
) {
    failure.message = cut(&failure.message, limits::MESSAGE_BYTES).to_owned();
    if failure.reason == Reason::DiskFull {
        session.disk_is_full();
    }
    tracing::warn!(%job, epoch = %fence.epoch, reason = %failure.reason, message = failure.message, "attempt failed");
    let reports = tells(ReportEvent::Fail { failure });
    let call = || session.reports.send(reports.clone());
    match until_answered(session, &mut stop, call).await {
        Ok(Ok(()))
        | Err(End::Failed(_) | End::NoSlot | End::NotOurs | End::Stopped(Stop::Lost)) => {}
        Ok(Err(problem)) => {
            tracing::error!(%job, problem = problem.message, "the coordinator refuses a failure");
        }
        Err(End::Stopped(Stop::Shutdown)) => release(session, job, fence).await,
    }
}

/// Gives the job back, once: closing the session does the same.
async fn release(session: &Session, job: JobId, fence: &Fence) {
    let call = session.worker.api.release(job, fence);
    match tokio::time::timeout(Duration::from_millis(bounds::GOODBYE_MS), call).await {
        Ok(Ok(())) => tracing::info!(%job, epoch = %fence.epoch, "job given back"),
        Ok(Err(error)) => tracing::info!(%job, %error, "the job could not be given back"),
        Err(_) => tracing::info!(%job, "the job could not be given back in time"),
    }
}

/// Repeats a call until the coordinator has answered it, for as long as the lease allows.
async fn until_answered<F: Future<Output = Result<(), ApiError>>>(
    session: &Session,
    stop: &mut StopSignal,
    mut call: impl FnMut() -> F,
) -> Result<Result<(), Problem>, End> {
    let (mut failures, mut faults) = (0, 0);
    loop {
        stop.guard(session.proven()).await?;
        let mut calling = std::pin::pin!(call());
        let answer = match stop.guard(&mut calling).await {
            // What is on its way may arrive: otherwise done work would be given back.
            Err(Stop::Shutdown) => {
                let wait = Duration::from_millis(bounds::GOODBYE_MS);
                let answer = tokio::time::timeout(wait, calling).await;
                answer.map_err(|_| Stop::Shutdown)?
            }
            answer => answer?,
        };
        match answer {
            Ok(()) => return Ok(Ok(())),
            Err(error) if error.may_pass() && faults < bounds::REPORT_FAULTS => {
                failures += 1;
                faults += u32::from(error.is_fault());
                tracing::debug!(%error, failures, "a report was not taken, trying on");
                stop.guard(pause(failures)).await?;
            }
            Err(ApiError::Refused(problem)) => return Ok(Err(problem)),
            Err(error) => {
                tracing::info!(%error, "the job is not ours any more");
                if error == ApiError::UnknownSession {
                    session.end(SessionEnd::Unknown);
                }
                return Err(End::NotOurs);
            }
        }
    }
}

fn refused(what: &str, problem: &Problem) -> Failure {
    let reason = problem.reason.unwrap_or(Reason::Unexpected);
    Failure::new(reason, format!("the coordinator refused {what}: {}", problem.message))
}
