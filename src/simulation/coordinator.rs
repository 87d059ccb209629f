//! The coordinator of a simulated farm: the real store, leases and policy; HTTP alone is absent.

use super::message::{Answer, Handed, Reply, Request};
use super::time::VirtualClock;
use crate::coordinator::keeping;
use crate::coordinator::leases::Leases;
use crate::model::{SessionId, limits};
use crate::store::{CrashPoint, InlineControl, Store, StoreError};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

/// One life of the coordinator's process.
#[derive(Debug)]
pub(super) struct Coordinator {
    pub(super) store: Store,
    pub(super) control: InlineControl,
    pub(super) leases: Mutex<Leases>,
    /// When it began, in virtual milliseconds; its monotonic clock starts there.
    pub(super) born_ms: u64,
    pub(super) crash: Option<CrashPoint>,
    folder: PathBuf,
}

/// A call with the random bytes that answering it may need.
pub(super) struct Call {
    pub(super) request: Request,
    pub(super) chance: [u8; 16],
}

type Answering<'a> = Pin<Box<dyn Future<Output = Reply> + 'a>>;

impl Coordinator {
    /// Opens the farm in `folder` as the process does: every stored session gets a full lease.
    pub(super) fn open(
        folder: &Path,
        clock: &VirtualClock,
        born_ms: u64,
    ) -> Result<Self, StoreError> {
        let (store, control) = Store::open_inline(folder, clock.shared())?;
        let period_ms = keeping::sweep_period(limits::LEASE_MS).as_millis();
        let mut leases = Leases::new(limits::LEASE_MS, u64::try_from(period_ms).unwrap_or(1_000));
        for record in ready(store.sessions())? {
            leases.open(record.id, record.worker, record.capabilities, 0);
        }
        let leases = Mutex::new(leases);
        Ok(Self { store, control, leases, born_ms, crash: None, folder: folder.to_owned() })
    }

    /// Answers calls whose verbs share commits.
    pub(super) fn answer(&self, calls: &[Call], mono_ms: u64) -> Vec<Reply> {
        self.control.gather();
        let futures = calls.iter().map(|call| {
            let answering: Answering<'_> = Box::pin(self.answer_one(call, mono_ms));
            answering
        });
        let replies = together(futures.collect(), &self.control);
        self.control.scatter();
        replies
    }

    async fn answer_one(&self, call: &Call, mono_ms: u64) -> Reply {
        let store = &self.store;
        let actor = "operator";
        match call.request.clone() {
            Request::Open { worker, instance, capabilities } => {
                let session = SessionId::from_random(call.chance);
                let record = store.open_session(session, worker, instance, *capabilities).await?;
                let session = record.id.clone();
                let mut leases = keeping::locked(&self.leases);
                leases.open(record.id, record.worker, record.capabilities, mono_ms);
                Ok(Answer::Opened { session, lease_ms: leases.lease_ms() })
            }
            Request::Goodbye(session) => {
                store.close_session(&session, false).await?;
                keeping::locked(&self.leases).close(&session);
                Ok(Answer::Done)
            }
            Request::Beat { session, running } => {
                let told = keeping::beat(store, &self.leases, &session, &running, mono_ms).await?;
                Ok(Answer::Beaten { stop: told.stop, lease_ms: limits::LEASE_MS })
            }
            Request::Claim { session, max_jobs } => {
                let live = {
                    let mut leases = keeping::locked(&self.leases);
                    if !leases.is_live(&session) {
                        return Err(StoreError::UnknownSession);
                    }
                    leases.live()
                };
                Ok(Answer::Claimed(store.claim(&session, max_jobs, live).await?))
            }
            Request::Start(job, fence) => store.start(job, &fence).await.map(|()| Answer::Done),
            Request::Complete(job, fence, completion) => {
                store.complete(job, &fence, *completion).await.map(Answer::Reported)
            }
            Request::Fail(job, fence, failure) => {
                store.fail(job, &fence, failure).await.map(Answer::Reported)
            }
            Request::Release(job, fence) => store.release(job, &fence).await.map(|()| Answer::Done),
            Request::Submit(work) => {
                let Handed { key, submission, recipe } = *work;
                let submitted = store.submit_once(key, submission, recipe, call.chance).await?;
                Ok(Answer::Submitted(submitted.pipeline))
            }
            Request::Cancel(pipeline) => {
                store.cancel_pipeline(pipeline, actor, "").await.map(|_| Answer::Cancelled)
            }
            Request::Replay(job) => {
                store.replay(job, actor, "corrected").await.map(Answer::Replayed)
            }
            Request::Forgive(worker) => {
                store.forgive(&worker, actor, "").await.map(|()| Answer::Done)
            }
            Request::Dismiss(job) => {
                store.dismiss(job, actor, "given up").await.map(|()| Answer::Done)
            }
            Request::Control(target, mode) => {
                store.set_control(target, mode, actor, "").await.map(|_| Answer::Done)
            }
            Request::Limit(limit) => store.set_limit(limit, actor, "").await.map(|()| Answer::Done),
        }
    }

    /// Ends sessions whose lease ran out; says which.
    pub(super) fn sweep(&self, mono_ms: u64) -> Result<Vec<SessionId>, StoreError> {
        ready(keeping::sweep(&self.store, &self.leases, mono_ms))
    }

    /// The process dies; what is on the disk survives in `into`.
    pub(super) fn die(self, into: &Path) -> Result<(), StoreError> {
        self.control.crash(&self.folder, into)?;
        drop(self.store);
        drop(self.control);
        // An old life's folder that stays is removed with the farm.
        drop(std::fs::remove_dir_all(&self.folder));
        Ok(())
    }
}

/// The result of a call to an inline store.
pub(super) fn ready<T>(call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let mut call = std::pin::pin!(call);
    match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(StoreError::Unusable("an inline call had to wait".into())),
    }
}

/// Runs calls side by side: what they ask of the writer in one round is one commit.
fn together(mut calls: Vec<Answering<'_>>, control: &InlineControl) -> Vec<Reply> {
    let mut replies: Vec<Option<Reply>> = calls.iter().map(|_| None).collect();
    loop {
        let mut waiting = false;
        for (call, reply) in calls.iter_mut().zip(&mut replies) {
            if reply.is_none() {
                match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(answer) => *reply = Some(answer),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if !waiting || control.commit() == 0 {
            let lost = || Err(StoreError::Unusable("a call waits for nothing".into()));
            return replies.into_iter().map(|reply| reply.unwrap_or_else(lost)).collect();
        }
    }
}
