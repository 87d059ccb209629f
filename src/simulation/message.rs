//! What travels between workers, operators and the coordinator.

use crate::model::{JobId, JobState, PipelineId, SessionId};
use crate::protocol::submit::Submission;
use crate::protocol::work::{Assignment, Capabilities, Completion, Failure, Fence, RunningJob};
use crate::recipes::Recipe;
use crate::store::StoreError;

/// Who speaks with the coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Party {
    /// The worker of this index.
    Worker(usize),
    /// Whoever submits, cancels and replays.
    Operator,
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
    Submit(Box<(Submission, Recipe)>),
    Cancel(PipelineId),
    Replay(JobId),
    Dismiss(JobId),
    Forgive(String),
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
            Self::Submit(work) => format!("submit {} {}", work.0.asset, work.1.name),
            Self::Cancel(pipeline) => format!("cancel {pipeline}"),
            Self::Replay(job) => format!("replay {job}"),
            Self::Dismiss(job) => format!("dismiss {job}"),
            Self::Forgive(worker) => format!("forgive {worker}"),
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
