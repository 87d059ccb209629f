//! What travels between workers, operators and the coordinator.

use crate::model::{JobId, JobState, Mode, PipelineId, SessionId, Target};
use crate::protocol::control::Limit;
use crate::protocol::submit::Submission;
use crate::protocol::work::{Assignment, Capabilities, Completion, Failure, Fence, RunningJob};
use crate::recipes::Recipe;
use crate::store::{StoreError, SubmissionKey};

/// Who speaks with the coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Party {
    /// The worker of this index.
    Worker(usize),
    /// Whoever submits, cancels and replays.
    Operator,
}

/// What somebody hands in, under a key of its own.
#[derive(Debug, Clone)]
pub(super) struct Handed {
    pub(super) key: SubmissionKey,
    pub(super) submission: Submission,
    pub(super) recipe: Recipe,
}

/// A call, as the HTTP routes take it.
#[derive(Debug, Clone)]
pub(super) enum Request {
    Open { worker: String, instance: String, capabilities: Box<Capabilities> },
    Goodbye(SessionId),
    Beat { session: SessionId, running: Vec<RunningJob> },
    Claim { session: SessionId, max_jobs: u32 },
    Start(JobId, Fence),
    Complete(JobId, Fence, Box<Completion>),
    Fail(JobId, Fence, Failure),
    Release(JobId, Fence),
    Submit(Box<Handed>),
    Cancel(PipelineId),
    Replay(JobId),
    Dismiss(JobId),
    Forgive(String),
    Control(Target, Mode),
    Limit(Limit),
}

impl Request {
    /// The job and the claim that a worker's report names.
    pub(super) fn fence(&self) -> Option<(JobId, &Fence)> {
        match self {
            Self::Start(job, fence)
            | Self::Complete(job, fence, _)
            | Self::Fail(job, fence, _)
            | Self::Release(job, fence) => Some((*job, fence)),
            _ => None,
        }
    }

    /// How an order of the operator is counted; none of a worker's calls.
    pub(super) fn order(&self) -> Option<&'static str> {
        Some(match self {
            Self::Submit(_) => "order_submit",
            Self::Cancel(_) => "order_cancel",
            Self::Replay(_) => "order_replay",
            Self::Dismiss(_) => "order_dismiss",
            Self::Forgive(_) => "order_forgive",
            Self::Control(_, Mode::Running) => "order_resume",
            Self::Control(_, Mode::Paused) => "order_pause",
            Self::Control(_, Mode::Draining) => "order_drain",
            Self::Limit(_) => "order_limit",
            _ => return None,
        })
    }

    /// For the trace.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Open { worker, .. } => format!("open {worker}"),
            Self::Goodbye(session) => format!("goodbye {session}"),
            Self::Beat { session, running } => format!("beat {session} {}", running.len()),
            Self::Claim { session, max_jobs } => format!("claim {session} {max_jobs}"),
            Self::Start(job, fence) => format!("start {job} {} {}", fence.epoch, fence.session),
            Self::Complete(job, fence, _) => {
                format!("complete {job} {} {}", fence.epoch, fence.session)
            }
            Self::Fail(job, fence, failure) => {
                format!("fail {job} {} {} {}", fence.epoch, fence.session, failure.reason)
            }
            Self::Release(job, fence) => format!("release {job} {} {}", fence.epoch, fence.session),
            Self::Submit(work) => {
                format!("submit {} {} {}", work.key.key, work.submission.asset, work.recipe.name)
            }
            Self::Cancel(pipeline) => format!("cancel {pipeline}"),
            Self::Replay(job) => format!("replay {job}"),
            Self::Dismiss(job) => format!("dismiss {job}"),
            Self::Forgive(worker) => format!("forgive {worker}"),
            Self::Control(target, mode) => format!("control {target} {mode}"),
            Self::Limit(limit) => format!("limit {limit:?}"),
        }
    }
}

/// What came of a call.
#[derive(Debug)]
pub(super) enum Answer {
    Opened { session: SessionId, lease_ms: u64 },
    Beaten { stop: Vec<JobId>, lease_ms: u64 },
    Claimed(Vec<Assignment>),
    Done,
    Reported(JobState),
    Submitted(PipelineId),
    Cancelled,
    Replayed(JobId),
}

/// The answer, or why the store refused.
pub(super) type Reply = Result<Answer, StoreError>;

/// For the trace.
pub(super) fn reply_label(reply: &Reply) -> String {
    match reply {
        Ok(Answer::Opened { session, .. }) => format!("opened {session}"),
        Ok(Answer::Beaten { stop, .. }) => format!("beaten {}", stop.len()),
        Ok(Answer::Claimed(jobs)) => format!("claimed {}", jobs.len()),
        Ok(Answer::Done) => "done".into(),
        Ok(Answer::Reported(state)) => format!("now {state}"),
        Ok(Answer::Submitted(pipeline)) => format!("submitted {pipeline}"),
        Ok(Answer::Cancelled) => "cancelled".into(),
        Ok(Answer::Replayed(job)) => format!("replayed {job}"),
        Err(error) => format!("refused: {error}"),
    }
}
