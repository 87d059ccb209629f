//! Simulated workers: session, heartbeat, claims, work and reports as the real ones do them, with
//! the real arithmetic of the lease.

mod attempts;

use super::message::{Answer, Party, Reply, Request};
use super::time::START_WALL_MS;
use super::world::{Event, World};
use crate::model::{Epoch, JobId, Now, SessionId, limits};
use crate::protocol::work::{Capabilities, Completion, Failure, Fence, Progress, RunningJob};
use crate::store::StoreError;
use crate::worker::bounds;
use crate::worker::lease::{Lease, LeaseCheck};
use std::collections::BTreeMap;

/// One claim.
pub(super) type Key = (JobId, Epoch);

/// One machine with its worker process.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) name: String,
    pub(super) capabilities: Capabilities,
    pub(super) up: bool,
    /// Which process this is; events of older ones are void.
    pub(super) life: u64,
    pub(super) born_ms: u64,
    pub(super) frozen_until_ms: u64,
    pub(super) wall_offset_ms: i64,
    pub(super) session: Option<Session>,
    calls: BTreeMap<u64, Call>,
    failures: u32,
}

/// An open session of a worker.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: SessionId,
    lease: Lease,
    pub(super) running: BTreeMap<Key, Attempt>,
    claiming: bool,
    /// The timers that count; those set before are void.
    claim_timer: u64,
    beat_timer: u64,
}

/// One attempt.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) phase: Phase,
    publishes: bool,
    outcome: Outcome,
    /// Faults of the coordinator on the report.
    faults: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Starting,
    Working,
    Reporting,
}

#[derive(Debug, Clone)]
enum Outcome {
    Result(Box<Completion>),
    Failure(Failure),
}

#[derive(Debug)]
struct Call {
    kind: Kind,
    sent: Now,
    session: Option<SessionId>,
}

#[derive(Debug)]
enum Kind {
    Open,
    Beat(Vec<RunningJob>),
    Claim,
    Report(Key),
    Farewell,
}

/// What a worker's timers say.
#[derive(Debug, Clone)]
pub(super) enum Tick {
    Open,
    Beat(SessionId, u64),
    Claim(SessionId, u64),
    Guard(SessionId),
    /// The work of the attempt is done, or its report is sent again.
    Report(SessionId, Key),
    Timeout(u64),
}

impl Worker {
    pub(super) fn new(index: usize) -> Self {
        let slots = 1 + u32::try_from(index % 2).unwrap_or(0);
        let gpus = if index % 3 == 1 { vec!["card".to_owned()] } else { Vec::new() };
        let capabilities = Capabilities {
            host: format!("host-{index}"),
            os: "linux".into(),
            version: "0".into(),
            cores: 4,
            memory_bytes: 8 << 30,
            slots,
            gpus,
            programs: Vec::new(),
            paths: Vec::new(),
        };
        Self {
            name: format!("w{index}"),
            capabilities,
            up: false,
            life: 0,
            born_ms: 0,
            frozen_until_ms: 0,
            wall_offset_ms: 0,
            session: None,
            calls: BTreeMap::new(),
            failures: 0,
        }
    }

    fn now(&self, now_ms: u64) -> Now {
        let wall_ms = START_WALL_MS
            .saturating_add(i64::try_from(now_ms).unwrap_or(i64::MAX))
            .saturating_add(self.wall_offset_ms);
        Now { wall_ms, mono_ms: now_ms.saturating_sub(self.born_ms) }
    }

    /// The process is gone with all it knew.
    pub(super) fn die(&mut self) {
        self.up = false;
        self.life += 1;
        self.session = None;
        self.calls.clear();
        self.failures = 0;
    }

    fn own(&mut self, session: &SessionId) -> Option<&mut Session> {
        self.session.as_mut().filter(|own| own.id == *session)
    }
}

impl Session {
    fn fence(&self, key: Key) -> Fence {
        Fence { session: self.id.clone(), epoch: key.1 }
    }

    /// What the attempt tells the coordinator now.
    fn report(&self, key: Key) -> Option<Request> {
        let attempt = self.running.get(&key)?;
        let fence = self.fence(key);
        Some(match (attempt.phase, &attempt.outcome) {
            (Phase::Starting, _) => Request::Start(key.0, fence),
            (_, Outcome::Result(result)) => Request::Complete(key.0, fence, result.clone()),
            (_, Outcome::Failure(failure)) => Request::Fail(key.0, fence, failure.clone()),
        })
    }

    /// The reports of all that is being worked on, as a process sends them that never looked at
    /// its lease.
    pub(super) fn careless_reports(&self) -> Vec<Request> {
        let done = |outcome: &Outcome, key: Key| match outcome {
            Outcome::Result(result) => Request::Complete(key.0, self.fence(key), result.clone()),
            Outcome::Failure(failure) => Request::Fail(key.0, self.fence(key), failure.clone()),
        };
        self.running
            .iter()
            .filter(|(_, attempt)| attempt.phase != Phase::Starting)
            .map(|(key, attempt)| done(&attempt.outcome, *key))
            .collect()
    }
}

impl World {
    /// A worker's process begins.
    pub(super) fn boot(&mut self, index: usize) {
        let now_ms = self.now_ms;
        if let Some(worker) = self.workers.get_mut(index) {
            worker.up = true;
            worker.life += 1;
            worker.born_ms = now_ms;
            worker.frozen_until_ms = 0;
        }
        self.worker_timer(index, 0, Tick::Open);
    }

    pub(super) fn worker_timer(&mut self, index: usize, in_ms: u64, tick: Tick) {
        let Some(worker) = self.workers.get(index) else { return };
        let event = Event::Worker { index, life: worker.life, tick };
        self.queue.push(self.now_ms.saturating_add(in_ms), event);
    }

    fn beat_in(&mut self, index: usize, id: &SessionId, in_ms: u64) {
        let Some(session) = self.workers.get_mut(index).and_then(|worker| worker.own(id)) else {
            return;
        };
        session.beat_timer += 1;
        let tick = Tick::Beat(id.clone(), session.beat_timer);
        self.worker_timer(index, in_ms, tick);
    }

    fn claim_in(&mut self, index: usize, id: &SessionId, in_ms: u64) {
        let Some(session) = self.workers.get_mut(index).and_then(|worker| worker.own(id)) else {
            return;
        };
        session.claim_timer += 1;
        let tick = Tick::Claim(id.clone(), session.claim_timer);
        self.worker_timer(index, in_ms, tick);
    }

    fn call(&mut self, index: usize, kind: Kind, request: Request, timeout_ms: u64) {
        let (number, now_ms) = (self.next_call(), self.now_ms);
        let Some(worker) = self.workers.get_mut(index) else { return };
        let session = worker.session.as_ref().map(|session| session.id.clone());
        worker.calls.insert(number, Call { kind, sent: worker.now(now_ms), session });
        let life = worker.life;
        self.worker_timer(index, timeout_ms, Tick::Timeout(number));
        self.send(Party::Worker(index), life, number, request);
    }

    pub(super) fn worker_tick(&mut self, index: usize, tick: Tick) {
        match tick {
            Tick::Open => self.open_session(index),
            Tick::Beat(session, timer) => self.beat(index, &session, timer),
            Tick::Claim(session, timer) => self.ask_for_work(index, &session, timer),
            Tick::Guard(session) => {
                self.lease_holds(index, &session);
            }
            Tick::Report(session, key) => self.report(index, &session, key),
            Tick::Timeout(number) => self.answered(index, number, Err(StoreError::Closed)),
        }
    }

    fn open_session(&mut self, index: usize) {
        let Some(worker) = self.workers.get(index).filter(|worker| worker.session.is_none()) else {
            return;
        };
        let request = Request::Open {
            worker: worker.name.clone(),
            instance: format!("folder of {}", worker.name),
            capabilities: Box::new(worker.capabilities.clone()),
        };
        self.call(index, Kind::Open, request, bounds::CALL_MS);
    }

    fn beat(&mut self, index: usize, id: &SessionId, timer: u64) {
        let Some(session) = self.workers.get_mut(index).and_then(|worker| worker.own(id)) else {
            return;
        };
        if session.beat_timer != timer {
            return;
        }
        let progress = Progress { percent: 50.0, ..Progress::default() };
        let running: Vec<RunningJob> = session
            .running
            .keys()
            .map(|(job, epoch)| RunningJob { job: *job, epoch: *epoch, progress: progress.clone() })
            .collect();
        let request = Request::Beat { session: id.clone(), running: running.clone() };
        self.call(index, Kind::Beat(running), request, bounds::BEAT_CALL_MS);
    }

    fn ask_for_work(&mut self, index: usize, id: &SessionId, timer: u64) {
        let Some(worker) = self.workers.get_mut(index) else { return };
        let slots = worker.capabilities.slots;
        let Some(session) = worker.own(id) else { return };
        let running = u32::try_from(session.running.len()).unwrap_or(u32::MAX);
        let max_jobs = slots.saturating_sub(running);
        if max_jobs == 0 || session.claiming || session.claim_timer != timer {
            return;
        }
        session.claiming = true;
        let request = Request::Claim { session: id.clone(), max_jobs };
        self.call(index, Kind::Claim, request, bounds::CALL_MS);
    }

    /// Looks at the lease as the real worker does; a lost one ends the session.
    fn lease_holds(&mut self, index: usize, id: &SessionId) -> bool {
        let now_ms = self.now_ms;
        let Some(worker) = self.workers.get_mut(index) else { return false };
        let now = worker.now(now_ms);
        let Some(session) = worker.own(id) else { return false };
        match session.lease.check(now) {
            LeaseCheck::Held { .. } => true,
            LeaseCheck::Doubted => {
                self.beat_in(index, id, 0);
                self.worker_timer(index, 500, Tick::Guard(id.clone()));
                false
            }
            LeaseCheck::Lost => {
                self.count("worker_fenced_itself");
                self.end_session(index);
                false
            }
        }
    }

    /// The next look at the lease: when it would be lost, late by up to a look's period.
    fn watch_lease(&mut self, index: usize, id: &SessionId) {
        let now_ms = self.now_ms;
        let late_ms = self.random.range(0, 500);
        let Some(worker) = self.workers.get_mut(index) else { return };
        let now = worker.now(now_ms);
        let Some(session) = worker.own(id) else { return };
        if let LeaseCheck::Held { left_ms } = session.lease.check(now) {
            self.worker_timer(index, left_ms + late_ms, Tick::Guard(id.clone()));
        }
    }

    fn end_session(&mut self, index: usize) {
        if let Some(worker) = self.workers.get_mut(index) {
            worker.session = None;
        }
        self.worker_timer(index, bounds::REOPEN_GAP_MS, Tick::Open);
    }

    /// An answer came, or none in time.
    pub(super) fn answered(&mut self, index: usize, number: u64, reply: Reply) {
        let Some(worker) = self.workers.get_mut(index) else { return };
        let Some(call) = worker.calls.remove(&number) else { return };
        let own = worker.session.as_ref().map(|session| session.id.clone());
        if call.session != own {
            return;
        }
        if matches!(reply, Err(StoreError::UnknownSession)) && own.is_some() {
            return self.end_session(index);
        }
        match (call.kind, own) {
            (Kind::Open, _) => self.opened(index, call.sent, reply),
            (Kind::Beat(reported), Some(id)) => {
                self.beaten(index, &id, call.sent, &reported, reply);
            }
            (Kind::Claim, Some(id)) => self.given(index, &id, reply),
            (Kind::Report(key), Some(id)) => self.reported(index, &id, key, reply),
            _ => {}
        }
    }

    fn failed_wait_ms(&mut self, index: usize) -> u64 {
        let Some(worker) = self.workers.get_mut(index) else { return 0 };
        worker.failures += 1;
        bounds::backoff_ms(worker.failures)
    }

    fn opened(&mut self, index: usize, sent: Now, reply: Reply) {
        let Ok(Answer::Opened { session: id, lease_ms }) = reply else {
            let wait_ms = self.failed_wait_ms(index);
            return self.worker_timer(index, wait_ms, Tick::Open);
        };
        if let Some(worker) = self.workers.get_mut(index) {
            worker.failures = 0;
            worker.session = Some(Session {
                id: id.clone(),
                lease: Lease::begin(sent, lease_ms),
                running: BTreeMap::new(),
                claiming: false,
                claim_timer: 0,
                beat_timer: 0,
            });
        }
        self.watch_lease(index, &id);
        self.beat_in(index, &id, limits::HEARTBEAT_MS);
        self.claim_in(index, &id, 0);
    }

    fn beaten(
        &mut self,
        index: usize,
        id: &SessionId,
        sent: Now,
        reported: &[RunningJob],
        reply: Reply,
    ) {
        let Ok(Answer::Beaten { stop, lease_ms }) = reply else {
            return self.beat_in(index, id, bounds::BEAT_GAP_MS);
        };
        let Some(session) = self.workers.get_mut(index).and_then(|worker| worker.own(id)) else {
            return;
        };
        session.lease.renew(sent, lease_ms);
        for run in reported.iter().filter(|run| stop.contains(&run.job)) {
            session.running.remove(&(run.job, run.epoch));
        }
        self.watch_lease(index, id);
        self.beat_in(index, id, limits::HEARTBEAT_MS);
        self.claim_in(index, id, 0);
    }

    fn given(&mut self, index: usize, id: &SessionId, reply: Reply) {
        let wait_ms = match &reply {
            Ok(_) => self.random.range(4_000, 9_000),
            Err(_) => self.failed_wait_ms(index),
        };
        let jobs = match reply {
            Ok(Answer::Claimed(jobs)) => jobs,
            _ => Vec::new(),
        };
        for assignment in jobs {
            self.begin_attempt(index, id, &assignment);
        }
        if let Some(session) = self.workers.get_mut(index).and_then(|worker| worker.own(id)) {
            session.claiming = false;
        }
        self.claim_in(index, id, wait_ms);
    }

    /// Ends orderly: gives the jobs back and closes the session, without waiting for answers.
    pub(super) fn farewell(&mut self, index: usize) {
        let Some(session) = self.workers.get_mut(index).and_then(|worker| worker.session.take())
        else {
            return;
        };
        for key in session.running.keys() {
            let request = Request::Release(key.0, session.fence(*key));
            self.call(index, Kind::Farewell, request, bounds::GOODBYE_MS);
        }
        self.call(index, Kind::Farewell, Request::Goodbye(session.id), bounds::GOODBYE_MS);
    }
}
