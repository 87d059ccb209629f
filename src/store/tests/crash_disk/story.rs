//! A life of a farm on the disk that remembers: verbs in common commits, and the moment of each
//! answer.

use super::disk::{Chance, Disk};
use super::{ALL, clock, events, now, vfs};
use crate::clock::Clock;
use crate::model::{Epoch, JobId, Mode, PipelineId, PipelineStatus, Reason, SessionId, Target};
use crate::protocol::event::Event;
use crate::protocol::view::AttemptOutcome;
use crate::protocol::work::{Assignment, Failure, Fence};
use crate::store::check::Background;
use crate::store::reader::Readers;
use crate::store::tests::{TestClock, capabilities, recipe, result_of, submission};
use crate::store::writer::Writer;
use crate::store::{InlineControl, Store, StoreError, connection};
use rusqlite::{Connection, OpenFlags};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use tempfile::TempDir;

/// Commits of a story.
const COMMITS: usize = 70;

/// What an answer said.
#[derive(Debug, Clone, Copy)]
pub(super) enum Said {
    Submitted(PipelineId),
    Claimed(JobId, Epoch),
    Ended(JobId, Epoch, AttemptOutcome),
    Cancelled(PipelineId),
    Settled(JobId),
    /// No more than that it was done: the audit has it.
    Done,
}

/// An answer, when it was given, and how far the audit was then.
#[derive(Debug)]
pub(super) struct Promise {
    pub(super) moment: usize,
    pub(super) seq: u64,
    pub(super) said: Said,
}

/// What somebody asks of the store.
#[derive(Debug, Clone)]
enum Order {
    Submit(usize),
    Claim(SessionId),
    Start(Assignment, Fence),
    Complete(Assignment, Fence),
    Fail(Assignment, Fence, Reason),
    Release(Assignment, Fence),
    Cancel(PipelineId),
    Replay(JobId),
    Dismiss(JobId),
    Export(i64, String),
    Control(Mode),
    Lose(SessionId),
    Promote,
}

/// A life that was lived, with all that is needed to cut it off anywhere.
pub(super) struct Story {
    pub(super) disk: Arc<Disk>,
    pub(super) promises: Vec<Promise>,
    pub(super) events: Vec<Event>,
    store: Store,
    control: InlineControl,
    clock: Arc<TestClock>,
    chance: Chance,
    sessions: Vec<SessionId>,
    opened: u8,
    held: Vec<(Assignment, Fence)>,
    folder: TempDir,
}

/// Notes when the answer came.
struct Noted {
    disk: Arc<Disk>,
    moment: Mutex<Option<usize>>,
}

impl Wake for Noted {
    fn wake(self: Arc<Self>) {
        self.moment.lock().unwrap().get_or_insert(self.disk.moment());
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<(Said, Vec<Assignment>), StoreError>>>>;

impl Story {
    /// Lives a life; `synchronous` is how carefully SQLite flushes.
    pub(super) fn tell(seed: u64, synchronous: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let disk = vfs::watch(folder.path());
        let clock = clock();
        let shared = Arc::clone(&clock) as Arc<dyn Clock>;
        let lock = connection::lock(folder.path()).unwrap();
        let db = connect(&folder, OpenFlags::default());
        let db = connection::prepared(db, folder.path(), synchronous).unwrap();
        let readers = Readers::open_inline(folder.path()).unwrap();
        let (writer, inline) =
            Writer::inline(db, lock, folder.path(), Arc::clone(&shared)).unwrap();
        let check = Background::start(folder.path()).unwrap();
        let mut story = Self {
            disk,
            promises: Vec::new(),
            events: Vec::new(),
            store: Store { clock: shared, writer, readers, check },
            control: InlineControl::new(inline),
            clock,
            chance: Chance::new(seed),
            sessions: Vec::new(),
            opened: 0,
            held: Vec::new(),
            folder,
        };
        for _ in 0..COMMITS {
            story.live();
        }
        story.events = events(&story.store);
        story
    }

    fn live(&mut self) {
        while self.sessions.len() < 2 {
            self.opened += 1;
            let session = SessionId::from_random([self.opened; 16]);
            let name = format!("w{}", self.opened);
            let opened = self.store.open_session(session, name.clone(), name, capabilities(&[]));
            self.sessions.push(now(opened).unwrap().id);
        }
        let orders: Vec<Order> = (0..=self.chance.below(3)).map(|_| self.order()).collect();
        self.carry_out(&orders);
        self.clock.0.lock().unwrap().wall_ms += [500, 20_000, 90_000][self.chance.below(3)];
        if self.chance.below(12) == 0 {
            let mode = ["PASSIVE", "RESTART", "TRUNCATE"][self.chance.below(3)];
            let db = connect(&self.folder, OpenFlags::default());
            db.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(())).unwrap();
        }
    }

    fn order(&mut self) -> Order {
        let session = self.sessions[self.chance.below(2)].clone();
        let letters = now(self.store.dead_letters(false, ALL)).unwrap();
        let pipelines = now(self.store.pipelines(ALL)).unwrap();
        let exports = now(self.store.pending_exports(8)).unwrap();
        let held = self.held.get(self.chance.below(self.held.len())).cloned();
        match (self.chance.below(24), held) {
            (0..=2, _) => Order::Submit(self.chance.below(6)),
            (3, _) if !pipelines.is_empty() => {
                Order::Cancel(pipelines[self.chance.below(pipelines.len())].id)
            }
            (4 | 5, _) if !letters.is_empty() => {
                Order::Replay(letters[self.chance.below(letters.len())].job)
            }
            (6, _) if !letters.is_empty() => {
                Order::Dismiss(letters[self.chance.below(letters.len())].job)
            }
            (7, _) => Order::Control([Mode::Paused, Mode::Running][self.chance.below(2)]),
            (8, _) => Order::Lose(session),
            (4..=9, _) if !exports.is_empty() => {
                Order::Export(exports[0].id, exports[0].folder.clone())
            }
            (10, Some((job, fence))) => Order::Release(job, fence),
            (11, Some((job, fence))) => Order::Fail(job, fence, Reason::InputCorrupt),
            (12, Some((job, fence))) => Order::Fail(job, fence, Reason::NetworkError),
            (13..=15, Some((job, fence))) => Order::Start(job, fence),
            (16..=19, Some((job, fence))) => Order::Complete(job, fence),
            (20, _) => Order::Promote,
            _ => Order::Claim(session),
        }
    }

    /// Carries the orders out in one commit and notes what was answered, and when.
    fn carry_out(&mut self, orders: &[Order]) {
        self.control.gather();
        let mut answers: Vec<(Answering, Arc<Noted>)> = Vec::new();
        for order in orders {
            let noted = Arc::new(Noted { disk: Arc::clone(&self.disk), moment: Mutex::new(None) });
            let mut answer: Answering = Box::pin(call(self.store.clone(), order.clone()));
            let waker = Waker::from(Arc::clone(&noted));
            assert!(answer.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            answers.push((answer, noted));
        }
        self.control.commit();
        self.control.scatter();
        let seq = *self.store.committed().borrow();
        for (order, (mut answer, noted)) in orders.iter().zip(answers) {
            let polled = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            let Poll::Ready(result) = polled else { panic!("{order:?} was not answered") };
            let moment = noted.moment.lock().unwrap().expect("an answer has its moment");
            match result {
                Ok((said, claimed)) => {
                    self.promises.push(Promise { moment, seq, said });
                    self.remember(order, claimed);
                }
                Err(StoreError::Sqlite(why)) => panic!("{order:?}: {why}"),
                Err(StoreError::Conflict(_)) => {}
                // The claim is over.
                Err(_) => self.remember(order, Vec::new()),
            }
        }
    }

    fn remember(&mut self, order: &Order, claimed: Vec<Assignment>) {
        match order {
            Order::Claim(session) => self.held.extend(claimed.into_iter().map(|job| {
                let fence = Fence { session: session.clone(), epoch: job.epoch };
                (job, fence)
            })),
            Order::Complete(job, _) | Order::Fail(job, ..) | Order::Release(job, _) => {
                self.held.retain(|(held, _)| held.job_id != job.job_id);
            }
            Order::Lose(session) => {
                self.sessions.retain(|one| one != session);
                self.held.retain(|(_, fence)| fence.session != *session);
            }
            _ => {}
        }
    }
}

fn connect(folder: &TempDir, flags: OpenFlags) -> Connection {
    let path = folder.path().join(connection::DATABASE);
    Connection::open_with_flags_and_vfs(path, flags, vfs::NAME).unwrap()
}

async fn call(store: Store, order: Order) -> Result<(Said, Vec<Assignment>), StoreError> {
    use AttemptOutcome::{Failed, Returned, Succeeded};
    let said = match order {
        Order::Submit(content) => {
            let submission = submission("dragon", &format!("v{content}"));
            let submitted = store.submit(submission, recipe(), [7; 16]).await?;
            Said::Submitted(submitted.pipeline)
        }
        Order::Claim(session) => {
            let jobs = store.claim(&session, 1, vec![capabilities(&[])]).await?;
            let first = jobs.first().map(|job| Said::Claimed(job.job_id, job.epoch));
            return Ok((first.unwrap_or(Said::Done), jobs));
        }
        Order::Start(job, fence) => {
            store.start(job.job_id, &fence).await?;
            Said::Claimed(job.job_id, job.epoch)
        }
        Order::Complete(job, fence) => {
            store.complete(job.job_id, &fence, result_of(&job)).await?;
            Said::Ended(job.job_id, job.epoch, Succeeded)
        }
        Order::Fail(job, fence, reason) => {
            store.fail(job.job_id, &fence, Failure::new(reason, "it failed")).await?;
            Said::Ended(job.job_id, job.epoch, Failed)
        }
        Order::Release(job, fence) => {
            store.release(job.job_id, &fence).await?;
            Said::Ended(job.job_id, job.epoch, Returned)
        }
        Order::Cancel(pipeline) => {
            store.cancel_pipeline(pipeline, "ana", "").await?;
            // What was a dead letter stays one.
            let status = store.pipeline(pipeline).await?.pipeline.status;
            if status == PipelineStatus::Cancelled { Said::Cancelled(pipeline) } else { Said::Done }
        }
        Order::Replay(job) => {
            store.replay(job, "ana", "again").await?;
            Said::Settled(job)
        }
        Order::Dismiss(job) => {
            store.dismiss(job, "ana", "again").await?;
            Said::Settled(job)
        }
        Order::Export(id, folder) => store.export_done(id, &folder).await.map(|()| Said::Done)?,
        Order::Control(mode) => {
            let queue = Target::Queue { queue: "publish".into() };
            store.set_control(queue, mode, "ana", "").await.map(|_| Said::Done)?
        }
        Order::Lose(session) => store.close_session(&session, true).await.map(|_| Said::Done)?,
        Order::Promote => store.promote_due().await.map(|_| Said::Done)?,
    };
    Ok((said, Vec::new()))
}
