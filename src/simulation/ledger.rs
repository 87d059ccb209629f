//! What must be true, followed event by event: the audit is read after each step and every change
//! is checked against the rules; every answer is checked against the audit.

use super::gates::{Claim, Gates};
use super::message::{Answer, Reply, Request};
use super::work::SEMAPHORE;
use crate::model::{
    AssetName, Epoch, JobId, JobState, PipelineId, PipelineStatus, Reason, SessionId, Stage, Verb,
    state,
};
use crate::policy::flow;
use crate::policy::retry::{Decision, History, Policy};
use crate::protocol::event::{Change, Event};
use crate::protocol::work::{Failure, Fence};
use std::collections::{BTreeMap, BTreeSet};

/// The rules that are checked here, in words.
pub(super) const RULES: [&str; 16] = [
    "the audit has no gap",
    "a job goes from state to state by the table only",
    "its epoch rises by one with each claim and never else",
    "no job has more attempts than its class allows",
    "a retry comes when the policy says",
    "a job is claimed by an open session, of a worker that is not in quarantine",
    "nothing that is paused, draining or full gives out work",
    "a held job is changed by its own session only",
    "a session begins and ends once, and its worker has stopped before its jobs are handed on",
    "a stale report is refused, a repeated one gets the same answer, and neither changes a row",
    "every answer is true, also after a crash",
    "a submission repeated under its key gets the same answer",
    "a pipeline is published and exported at most once, into a folder of its own",
    "the pointers of an asset move by one, and never to an older version",
    "a crash takes nothing that was committed, and changes nothing",
    "after the faults every job and every pipeline ends",
];

/// A job as the audit tells it.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) pipeline: PipelineId,
    stage: Stage,
    pub(super) state: JobState,
    pub(super) epoch: Epoch,
    pub(super) session: Option<SessionId>,
    max_attempts: u32,
}

/// A pipeline as the audit tells it.
#[derive(Debug, Clone)]
pub(super) struct Pipeline {
    asset: AssetName,
    version: u32,
    pub(super) status: PipelineStatus,
    published: bool,
    exported: bool,
}

/// Everything that the audit has told.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) seq: u64,
    pub(super) jobs: BTreeMap<JobId, Job>,
    pub(super) pipelines: BTreeMap<PipelineId, Pipeline>,
    sessions: BTreeMap<SessionId, bool>,
    /// What ended or began with each claim.
    verbs: BTreeSet<(JobId, u32, &'static str)>,
    /// The session of each claim.
    claims: BTreeMap<(JobId, u32), SessionId>,
    assets: BTreeMap<AssetName, (u64, u32)>,
    settled: BTreeSet<JobId>,
    /// The pipeline that each key of a submission was answered with.
    keys: BTreeMap<String, PipelineId>,
    /// What operators shut and limited.
    pub(super) gates: Gates,
    /// Workers in quarantine.
    pub(super) barred: BTreeSet<String>,
    /// Checks made.
    pub(super) checks: u64,
    hash: blake3::Hasher,
}

/// What a worker's report should come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// The claim is held: the report changes the job.
    Taken,
    /// It was taken before: the same answer, and nothing changes.
    Repeated,
    /// The claim is over: refused, and nothing changes.
    Stale,
}

/// Why a rule is broken, if it is.
pub(super) type Broken = Result<(), String>;

impl Ledger {
    /// Takes in one event.
    pub(super) fn take(&mut self, event: &Event) -> Broken {
        self.seq += 1;
        self.checks += 1;
        ensure(event.seq == self.seq, || format!("the audit has a gap before {}", event.seq))?;
        let text = serde_json::to_string(event).map_err(|error| error.to_string())?;
        self.hash.update(text.as_bytes());
        match &event.change {
            Change::PipelineCreated { pipeline } => {
                let new = Pipeline {
                    asset: pipeline.asset.clone(),
                    version: pipeline.asset_version,
                    status: pipeline.status,
                    published: false,
                    exported: false,
                };
                let twice = self.pipelines.insert(pipeline.id, new).is_some();
                ensure(!twice, || format!("pipeline {} was created twice", pipeline.id))
            }
            Change::PipelineChanged { pipeline, status, .. } => {
                self.pipeline_to(*pipeline, *status)
            }
            Change::JobCreated { job, pipeline, stage, max_attempts, .. } => {
                self.job_created(*job, *pipeline, *stage, *max_attempts)
            }
            Change::JobChanged { .. } => self.job_changed(&event.change, event.at_ms),
            Change::DeadLetterSettled { job, replayed_as, .. } => {
                self.settled.insert(*job);
                let known = replayed_as.is_none_or(|new| self.jobs.contains_key(&new));
                ensure(known, || format!("job {job} is replayed by a job that is not there"))
            }
            Change::Published { pipeline, generation, .. } => {
                self.published(*pipeline, *generation)
            }
            Change::Exported { pipeline, .. } => {
                let row = self.pipelines.get_mut(pipeline).ok_or("an unknown pipeline exports")?;
                let twice = std::mem::replace(&mut row.exported, true);
                ensure(!twice, || format!("pipeline {pipeline} was exported twice"))
            }
            Change::WorkerJoined { worker } => {
                let twice = self.sessions.insert(worker.session.clone(), true).is_some();
                ensure(!twice, || format!("session {} began twice", worker.session))
            }
            Change::WorkerLeft { session, .. } => {
                let open = self.sessions.insert(session.clone(), false);
                ensure(open == Some(true), || format!("session {session} ended twice"))
            }
            Change::WorkerQuarantined { worker, .. } => {
                let twice = !self.barred.insert(worker.clone());
                ensure(!twice, || format!("worker {worker} went into quarantine twice"))
            }
            Change::WorkerForgiven { worker, .. } => {
                let was = self.barred.remove(worker);
                ensure(was, || format!("worker {worker} was forgiven, but had done nothing"))
            }
            Change::ControlChanged { target, from, mode, .. } => {
                self.gates.control(target, *from, *mode)
            }
            Change::LimitChanged { limit, .. } => {
                self.gates.limit(limit);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn pipeline_to(&mut self, id: PipelineId, to: PipelineStatus) -> Broken {
        use PipelineStatus::{Cancelled, DeadLettered, Running};
        let row = self.pipelines.get_mut(&id).ok_or("an unknown pipeline changes")?;
        let from = std::mem::replace(&mut row.status, to);
        let revived = from == DeadLettered && matches!(to, Running | Cancelled);
        let legal = from == to || from == Running || revived;
        ensure(legal, || format!("pipeline {id} went from {from} to {to}"))
    }

    fn job_created(
        &mut self,
        job: JobId,
        pipeline: PipelineId,
        stage: Stage,
        max_attempts: u32,
    ) -> Broken {
        let row = self.pipelines.get(&pipeline).ok_or("a job of an unknown pipeline")?;
        let ended = matches!(row.status, PipelineStatus::Cancelled | PipelineStatus::Succeeded);
        ensure(!ended, || format!("job {job} was created for pipeline {pipeline}, which ended"))?;
        let new = Job {
            pipeline,
            stage,
            state: JobState::Queued,
            epoch: Epoch(0),
            session: None,
            max_attempts,
        };
        let twice = self.jobs.insert(job, new).is_some();
        ensure(!twice, || format!("job {job} was created twice"))
    }

    fn job_changed(&mut self, change: &Change, at_ms: i64) -> Broken {
        let Change::JobChanged {
            job: id,
            from,
            to,
            verb,
            attempt,
            epoch,
            worker,
            session,
            run_at_ms,
            failure,
            ..
        } = change
        else {
            return Ok(());
        };
        let open = session.as_ref().map(|session| self.sessions.get(session) == Some(&true));
        let job = self.jobs.get_mut(id).ok_or("an unknown job changes")?;
        let was = job.state;
        ensure(was == *from, || format!("job {id} was {was}, the audit says {from}"))?;
        let legal = state::next(*from, *verb) == Some(*to);
        ensure(legal, || format!("job {id} went from {from} to {to} by {}", verb.as_str()))?;
        let rise = u32::from(*verb == Verb::Claim);
        let rises = epoch.0 == job.epoch.0 + rise;
        ensure(rises, || format!("job {id} went from epoch {} to {epoch}", job.epoch))?;
        let budget = *attempt <= job.max_attempts;
        ensure(budget, || format!("job {id} has begun attempt {attempt}"))?;
        if *verb == Verb::Claim {
            let barred = worker.as_ref().is_some_and(|worker| self.barred.contains(worker));
            ensure(!barred, || format!("job {id} went to a worker in quarantine"))?;
            ensure(open == Some(true), || format!("job {id} was claimed by no open session"))?;
        } else if from.is_leased() {
            let own = *session == job.session;
            ensure(own, || format!("job {id} is held by {:?}, not {session:?}", job.session))?;
        }
        if let (Some(run_at_ms), Some(failure)) = (run_at_ms, failure) {
            ensure(due(*id, *attempt, failure, run_at_ms - at_ms), || {
                format!("the retry of job {id} is due {} ms after it failed", run_at_ms - at_ms)
            })?;
        }
        job.state = *to;
        job.epoch = *epoch;
        job.session = if to.is_leased() { session.clone() } else { None };
        let lost = failure.as_ref().is_some_and(|failure| {
            matches!(failure.reason, Reason::LeaseLost | Reason::WorkerPoisoned)
        });
        self.verbs.insert((*id, epoch.0, if lost { "lost" } else { verb.as_str() }));
        if let (Verb::Claim, Some(session)) = (verb, session) {
            self.claims.insert((*id, epoch.0), session.clone());
            return self.passed_the_gates(*id, worker.as_deref().unwrap_or_default());
        }
        Ok(())
    }

    /// Whether a job that was just claimed may run.
    fn passed_the_gates(&self, id: JobId, worker: &str) -> Broken {
        let Some(job) = self.jobs.get(&id) else { return Ok(()) };
        let held = || self.jobs.values().filter(|job| job.state.is_leased());
        let drawing = held().filter(|job| job.stage == Stage::Render).count();
        self.gates.passed(Claim {
            queue: flow::queue(job.stage),
            worker,
            semaphore: (job.stage == Stage::Render).then_some((SEMAPHORE, drawing)),
            held: held().count(),
        })
    }

    fn published(&mut self, id: PipelineId, generation: u64) -> Broken {
        let row = self.pipelines.get_mut(&id).ok_or("an unknown pipeline publishes")?;
        let twice = std::mem::replace(&mut row.published, true);
        ensure(!twice, || format!("pipeline {id} was published twice"))?;
        let before = self.assets.insert(row.asset.clone(), (generation, row.version));
        let (last, version) = before.unwrap_or_default();
        ensure(generation == last + 1, || {
            format!("the pointers of {} went from generation {last} to {generation}", row.asset)
        })?;
        ensure(row.version >= version, || {
            format!("the pointers of {} went back from v{version} to v{}", row.asset, row.version)
        })
    }

    /// A hash of every event so far.
    pub(super) fn hash(&self) -> [u8; 32] {
        *self.hash.finalize().as_bytes()
    }

    /// What should come of a worker's report.
    pub(super) fn expect(&self, request: &Request) -> Option<Expected> {
        let (job, fence) = request.fence()?;
        let row = self.jobs.get(&job)?;
        let held = row.state.is_leased()
            && row.epoch == fence.epoch
            && row.session.as_ref() == Some(&fence.session);
        if held && self.sessions.get(&fence.session) == Some(&true) {
            return Some(Expected::Taken);
        }
        let taken = match request {
            Request::Complete(..) => self.was(job, fence, &["complete"]),
            Request::Fail(..) => self.was(job, fence, &["retry", "give_up"]),
            _ => false,
        };
        Some(if taken { Expected::Repeated } else { Expected::Stale })
    }

    fn was(&self, job: JobId, fence: &Fence, verbs: &[&'static str]) -> bool {
        self.claims.get(&(job, fence.epoch.0)) == Some(&fence.session)
            && verbs.iter().any(|verb| self.verbs.contains(&(job, fence.epoch.0, verb)))
    }

    /// Whether an answer is true: what it says has been committed.
    pub(super) fn acknowledged(&mut self, request: &Request, reply: &Reply) -> Broken {
        self.checks += 1;
        let Ok(answer) = reply else { return Ok(()) };
        let holds = match (request, answer) {
            (Request::Open { .. }, Answer::Opened { session, .. }) => {
                self.sessions.contains_key(session)
            }
            (Request::Goodbye(session), _) => self.sessions.get(session) == Some(&false),
            (Request::Claim { session, .. }, Answer::Claimed(jobs)) => {
                jobs.iter().all(|job| self.claims.get(&(job.job_id, job.epoch.0)) == Some(session))
            }
            (Request::Start(job, fence), _) => self.was(*job, fence, &["start"]),
            (Request::Complete(job, fence, _), _) => self.was(*job, fence, &["complete"]),
            (Request::Fail(job, fence, _), _) => self.was(*job, fence, &["retry", "give_up"]),
            (Request::Release(job, fence), _) => self.was(*job, fence, &["release", "interrupt"]),
            (Request::Submit(work), Answer::Submitted(pipeline)) => {
                let before = self.keys.insert(work.key.key.clone(), *pipeline);
                self.pipelines.contains_key(pipeline)
                    && before.is_none_or(|before| before == *pipeline)
            }
            (Request::Cancel(pipeline), _) => self
                .pipelines
                .get(pipeline)
                .is_some_and(|row| row.status != PipelineStatus::Running),
            (Request::Replay(job), Answer::Replayed(new)) => {
                self.jobs.contains_key(new) && self.settled.contains(job)
            }
            (Request::Dismiss(job), _) => self.settled.contains(job),
            _ => true,
        };
        ensure(holds, || format!("'{}' was answered, but is not true", request.label()))
    }

    /// Jobs in these states.
    pub(super) fn jobs_in(&self, states: &[JobState]) -> Vec<JobId> {
        self.jobs.iter().filter(|(_, job)| states.contains(&job.state)).map(|(id, _)| *id).collect()
    }

    /// Pipelines of this status.
    pub(super) fn pipelines_in(&self, status: PipelineStatus) -> Vec<PipelineId> {
        self.pipelines.iter().filter(|(_, row)| row.status == status).map(|(id, _)| *id).collect()
    }

    /// Dead letters that nobody has settled.
    pub(super) fn dead_letters(&self) -> Vec<JobId> {
        let dead = self.jobs_in(&[JobState::FailedTerminal]);
        dead.into_iter().filter(|job| !self.settled.contains(job)).collect()
    }

    /// After the faults: everything has ended, what was published was exported.
    pub(super) fn unfinished(&self) -> Option<String> {
        let jobs = self.jobs.iter().find(|(_, job)| !job.state.is_terminal());
        if let Some((id, job)) = jobs {
            return Some(format!("job {id} of pipeline {} is {}", job.pipeline, job.state));
        }
        let running = self.pipelines.iter().find(|(_, row)| {
            row.status == PipelineStatus::Running || (row.published && !row.exported)
        });
        running.map(|(id, row)| {
            format!(
                "pipeline {id} is {}, published {}, exported {}",
                row.status, row.published, row.exported
            )
        })
    }
}

/// Whether the retry comes when the policy says. A wait that uses no attempt depends on those
/// before it and is only known to be about a minute.
fn due(job: JobId, attempt: u32, failure: &Failure, wait_ms: i64) -> bool {
    let (class, reason) = (failure.class, failure.reason);
    match Policy::default().decide(job, attempt, class, reason, History::default()) {
        Decision::RetryIn { delay_ms } => u64::try_from(wait_ms) == Ok(delay_ms),
        Decision::WaitFor { .. } => (54_000..=66_000).contains(&wait_ms),
        Decision::GiveUp => false,
    }
}

/// Says why, unless it holds.
pub(super) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Broken {
    if holds { Ok(()) } else { Err(why()) }
}
