//! PURE: until when each session lives, what it said about its jobs, and who must stop what.
//!
//! Deadlines stand on the monotonic clock and in memory only. After a start every stored session
//! gets one full lease, and so it does when the coordinator itself was late.

use crate::model::{JobId, SessionId};
use crate::protocol::work::{Capabilities, Progress, RunningJob};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The sessions of the farm.
#[derive(Debug)]
pub struct Leases {
    lease_ms: u64,
    period_ms: u64,
    last_tick_ms: Option<u64>,
    sessions: BTreeMap<SessionId, Session>,
    /// What [`Leases::live`] answered, until a session comes or goes.
    live: Option<Arc<[Capabilities]>>,
}

#[derive(Debug)]
struct Session {
    worker: String,
    capabilities: Capabilities,
    deadline_ms: u64,
    /// Its lease ran out and its jobs are being handed on: nothing brings it back.
    ending: bool,
    progress: BTreeMap<JobId, Marker>,
    /// Jobs that it was told to stop and names all the same, and since when.
    ignored_since_ms: BTreeMap<(JobId, u32), u64>,
    /// Claims that the session holds but does not know of, and since when.
    unknown_since_ms: BTreeMap<(JobId, u32), u64>,
}

/// The last sign of progress of one claim.
#[derive(Debug)]
struct Marker {
    epoch: u32,
    progress: Progress,
    since_ms: u64,
}

/// A job that a worker was told to stop and still names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// The worker.
    pub worker: String,
    /// The job.
    pub job: JobId,
    /// For how long.
    pub waited_ms: u64,
}

/// What follows from a heartbeat.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Beat {
    /// Jobs the session runs without holding them.
    pub stop: Vec<JobId>,
    /// Claims the session has held for a whole lease without ever naming them: the answer that
    /// carried them was lost, so they go back to their queues.
    pub orphans: Vec<(JobId, u32)>,
}

impl Leases {
    /// No sessions yet. `period_ms` is how often [`Leases::tick`] will be called.
    pub fn new(lease_ms: u64, period_ms: u64) -> Self {
        Self { lease_ms, period_ms, last_tick_ms: None, sessions: BTreeMap::new(), live: None }
    }

    /// How long a lease lasts.
    pub fn lease_ms(&self) -> u64 {
        self.lease_ms
    }

    /// A session begins or is found at the start; an older one of the same worker is forgotten.
    pub fn open(
        &mut self,
        session: SessionId,
        worker: String,
        capabilities: Capabilities,
        now_ms: u64,
    ) {
        self.live = None;
        self.sessions.retain(|_, other| other.worker != worker);
        let deadline_ms = now_ms.saturating_add(self.lease_ms);
        let entry = Session {
            worker,
            capabilities,
            deadline_ms,
            ending: false,
            progress: BTreeMap::new(),
            ignored_since_ms: BTreeMap::new(),
            unknown_since_ms: BTreeMap::new(),
        };
        self.sessions.insert(session, entry);
    }

    /// The session has ended in the store.
    pub fn close(&mut self, session: &SessionId) {
        self.live = None;
        self.sessions.remove(session);
    }

    /// Whether the session is known and not ending.
    pub fn is_live(&self, session: &SessionId) -> bool {
        self.sessions.get(session).is_some_and(|entry| !entry.ending)
    }

    /// The session said that it lives. False: it is not known any more.
    #[must_use]
    pub fn renew(&mut self, session: &SessionId, now_ms: u64) -> bool {
        let deadline_ms = now_ms.saturating_add(self.lease_ms);
        match self.sessions.get_mut(session) {
            Some(entry) if !entry.ending => {
                entry.deadline_ms = entry.deadline_ms.max(deadline_ms);
                true
            }
            _ => false,
        }
    }

    /// Compares what a session runs with what it holds, and keeps the progress of its jobs.
    pub fn beat(
        &mut self,
        session: &SessionId,
        running: &[RunningJob],
        held: &[(JobId, u32)],
        now_ms: u64,
    ) -> Beat {
        let lease_ms = self.lease_ms;
        let Some(entry) = self.sessions.get_mut(session) else {
            return Beat { stop: running.iter().map(|run| run.job).collect(), orphans: Vec::new() };
        };
        let (kept, stopped): (Vec<_>, Vec<_>) =
            running.iter().partition(|run| held.contains(&(run.job, run.epoch.0)));
        entry.progress = kept.iter().map(|run| (run.job, entry.marker(run, now_ms))).collect();
        entry.ignored_since_ms = stopped
            .iter()
            .map(|run| (run.job, run.epoch.0))
            .map(|claim| (claim, *entry.ignored_since_ms.get(&claim).unwrap_or(&now_ms)))
            .collect();
        let known =
            |claim: &(JobId, u32)| running.iter().any(|run| (run.job, run.epoch.0) == *claim);
        entry.unknown_since_ms = held
            .iter()
            .filter(|claim| !known(claim))
            .map(|claim| (*claim, *entry.unknown_since_ms.get(claim).unwrap_or(&now_ms)))
            .collect();
        let orphans = entry
            .unknown_since_ms
            .iter()
            .filter(|(_, since_ms)| now_ms.saturating_sub(**since_ms) >= lease_ms)
            .map(|(claim, _)| *claim)
            .collect();
        Beat { stop: stopped.iter().map(|run| run.job).collect(), orphans }
    }

    /// The sweep's regular look: which sessions are over. They stay in the answer until
    /// [`Leases::close`] says that the store knows. A tick that came late by more than half a
    /// lease means that heartbeats may have been missed here, not there: every lease is extended.
    pub fn tick(&mut self, now_ms: u64) -> Vec<SessionId> {
        let expected_ms =
            self.last_tick_ms.map_or(now_ms, |last| last.saturating_add(self.period_ms));
        let late_ms = now_ms.saturating_sub(expected_ms);
        self.last_tick_ms = Some(now_ms);
        let extended_ms = now_ms.saturating_add(self.lease_ms);
        for entry in self.sessions.values_mut() {
            if late_ms > self.lease_ms / 2 {
                entry.deadline_ms = entry.deadline_ms.max(extended_ms);
            }
            if entry.deadline_ms <= now_ms && !entry.ending {
                entry.ending = true;
                self.live = None;
            }
        }
        self.sessions
            .iter()
            .filter(|(_, entry)| entry.ending)
            .map(|(session, _)| session.clone())
            .collect()
    }

    /// Until the session's lease ends.
    pub fn left_ms(&self, session: &SessionId, now_ms: u64) -> u64 {
        self.sessions.get(session).map_or(0, |entry| entry.deadline_ms.saturating_sub(now_ms))
    }

    /// How far a session said that a job is, and for how long that has not changed.
    pub fn progress(
        &self,
        session: &SessionId,
        job: JobId,
        epoch: u32,
        now_ms: u64,
    ) -> Option<Progress> {
        let marker = self.sessions.get(session)?.progress.get(&job)?;
        let quiet_ms = Some(now_ms.saturating_sub(marker.since_ms));
        (marker.epoch == epoch).then(|| Progress { quiet_ms, ..marker.progress.clone() })
    }

    /// Jobs that workers were told to stop and still name.
    pub fn ignored(&self, now_ms: u64) -> Vec<Ignored> {
        let of = |entry: &Session| {
            let jobs = entry.ignored_since_ms.iter();
            let jobs = jobs.map(|((job, _), since_ms)| Ignored {
                worker: entry.worker.clone(),
                job: *job,
                waited_ms: now_ms.saturating_sub(*since_ms),
            });
            jobs.collect::<Vec<_>>()
        };
        self.sessions.values().flat_map(of).collect()
    }

    /// What the live sessions can do.
    pub fn live(&mut self) -> Arc<[Capabilities]> {
        let sessions = &self.sessions;
        let live = self.live.get_or_insert_with(|| {
            let live = sessions.values().filter(|entry| !entry.ending);
            live.map(|entry| entry.capabilities.clone()).collect()
        });
        Arc::clone(live)
    }
}

impl Session {
    /// What a beat says of a claim. The same words again are no progress.
    fn marker(&self, run: &RunningJob, now_ms: u64) -> Marker {
        let before = self.progress.get(&run.job).filter(|before| before.epoch == run.epoch.0);
        let before = before.filter(|before| before.progress == run.progress);
        let since_ms = before.map_or(now_ms, |before| before.since_ms);
        Marker { epoch: run.epoch.0, progress: run.progress.clone(), since_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Epoch;

    const LEASE_MS: u64 = 30_000;
    const PERIOD_MS: u64 = 1_000;

    fn id(number: u8) -> SessionId {
        SessionId::from_random([number; 16])
    }

    fn capabilities() -> Capabilities {
        Capabilities {
            host: "h".into(),
            os: "linux".into(),
            version: "0".into(),
            cores: 1,
            memory_bytes: 0,
            slots: 1,
            gpus: Vec::new(),
            programs: Vec::new(),
            paths: Vec::new(),
        }
    }

    fn leases(count: u8) -> Leases {
        let mut leases = Leases::new(LEASE_MS, PERIOD_MS);
        for number in 0..count {
            leases.open(id(number), format!("worker-{number}"), capabilities(), 0);
        }
        leases
    }

    fn run(job: i64, epoch: u32) -> RunningJob {
        let progress = Progress { percent: 50.0, message: "half".into(), ..Progress::default() };
        RunningJob { job: JobId(job), epoch: Epoch(epoch), progress }
    }

    /// Ticks every period from `from_ms` to `to_ms`; returns what the last tick said.
    fn tick_through(leases: &mut Leases, from_ms: u64, to_ms: u64) -> Vec<SessionId> {
        let mut expired = Vec::new();
        for now_ms in (from_ms..=to_ms).step_by(PERIOD_MS as usize) {
            expired = leases.tick(now_ms);
        }
        expired
    }

    #[test]
    fn a_silent_session_ends_after_its_lease_and_a_beating_one_lives() {
        let mut leases = leases(2);
        assert!(tick_through(&mut leases, 0, 20_000).is_empty());
        assert!(leases.renew(&id(0), 20_000));
        assert!(tick_through(&mut leases, 21_000, 29_000).is_empty());
        assert_eq!(tick_through(&mut leases, 30_000, 30_000), [id(1)]);
        assert!(leases.is_live(&id(0)) && !leases.is_live(&id(1)));
        assert_eq!(leases.live().len(), 1);
    }

    #[test]
    fn a_late_heartbeat_does_not_steal_the_lease_back() {
        let mut leases = leases(1);
        tick_through(&mut leases, 0, 30_000);
        assert!(!leases.renew(&id(0), 30_500));
        assert_eq!(leases.tick(31_000), [id(0)], "told again until the store has closed it");
        leases.close(&id(0));
        assert!(leases.tick(32_000).is_empty());
        assert!(!leases.renew(&id(0), 32_500));
    }

    #[test]
    fn a_stall_of_the_coordinator_extends_every_lease_once() {
        let mut leases = leases(2);
        tick_through(&mut leases, 0, 10_000);
        assert!(leases.tick(60_000).is_empty(), "the tick came 49 s late");
        assert_eq!(leases.left_ms(&id(0), 60_000), LEASE_MS);
        assert!(tick_through(&mut leases, 61_000, 89_000).is_empty());
        assert_eq!(leases.tick(90_000).len(), 2);
    }

    #[test]
    fn a_small_delay_extends_nothing() {
        let mut leases = leases(1);
        tick_through(&mut leases, 0, 20_000);
        assert_eq!(leases.tick(35_000), [id(0)], "14 s late is less than half a lease");
    }

    #[test]
    fn a_worker_that_comes_back_replaces_its_old_session() {
        let mut leases = leases(1);
        leases.open(id(9), "worker-0".into(), capabilities(), 5_000);
        assert!(!leases.is_live(&id(0)) && leases.is_live(&id(9)));
    }

    #[test]
    fn jobs_that_are_not_held_are_stopped_and_progress_is_kept_by_epoch() {
        let mut leases = leases(1);
        let held = [(JobId(1), 1), (JobId(2), 2)];
        let beat = leases.beat(&id(0), &[run(1, 1), run(2, 1), run(3, 1)], &held, 0);
        assert_eq!(beat.stop, [JobId(2), JobId(3)]);
        assert!(leases.progress(&id(0), JobId(1), 1, 0).is_some());
        assert!(leases.progress(&id(0), JobId(1), 2, 0).is_none());
        assert!(leases.progress(&id(0), JobId(2), 2, 0).is_none());
        let beat = leases.beat(&id(7), &[run(1, 1)], &held, 0);
        assert_eq!(beat.stop, [JobId(1)], "an unknown session holds nothing");
    }

    #[test]
    fn a_claim_whose_answer_was_lost_goes_back_after_a_lease() {
        let mut leases = leases(1);
        let held = [(JobId(1), 1)];
        for now_ms in [0, 10_000, 20_000] {
            assert_eq!(leases.beat(&id(0), &[], &held, now_ms), Beat::default());
        }
        assert_eq!(leases.beat(&id(0), &[], &held, 30_000).orphans, held);
        leases.beat(&id(0), &[run(1, 1)], &held, 31_000);
        assert!(leases.beat(&id(0), &[], &held, 40_000).orphans.is_empty(), "counted anew");
    }

    #[test]
    fn the_time_since_the_last_progress_is_kept_and_the_same_words_are_none() {
        let mut leases = leases(1);
        let held = [(JobId(1), 1)];
        let said = |percent, frame, line: &str| RunningJob {
            progress: Progress { percent, frame, line: line.into(), ..Progress::default() },
            ..run(1, 1)
        };
        let mut beat = |run: RunningJob, now_ms| {
            leases.beat(&id(0), &[run], &held, now_ms);
            leases.progress(&id(0), JobId(1), 1, now_ms + 5).unwrap()
        };
        assert_eq!(beat(said(1.0, Some(1), "a"), 1_000).quiet_ms, Some(5));
        assert_eq!(beat(said(1.0, Some(1), "a"), 61_000).quiet_ms, Some(60_005));
        let moved = beat(said(1.0, Some(2), "a"), 71_000);
        assert_eq!((moved.quiet_ms, moved.frame), (Some(5), Some(2)), "a frame is progress");
        assert_eq!(beat(said(1.0, Some(2), "b"), 81_000).quiet_ms, Some(5), "so is a line");
        assert_eq!(beat(said(1.0, Some(2), "b"), 82_000).quiet_ms, Some(1_005));
    }

    #[test]
    fn a_job_that_is_named_though_it_was_to_be_stopped_is_remembered_until_it_is_gone() {
        let mut leases = leases(1);
        leases.beat(&id(0), &[run(3, 1)], &[], 1_000);
        assert_eq!(leases.beat(&id(0), &[run(3, 1)], &[], 61_000).stop, [JobId(3)], "told again");
        let ignored = leases.ignored(62_000);
        assert_eq!((ignored[0].job, ignored[0].waited_ms), (JobId(3), 61_000));
        assert_eq!(ignored[0].worker, "worker-0");
        leases.beat(&id(0), &[], &[], 63_000);
        assert!(leases.ignored(64_000).is_empty());
    }

    #[test]
    fn times_saturate() {
        let mut leases = Leases::new(u64::MAX, PERIOD_MS);
        leases.open(id(0), "w".into(), capabilities(), u64::MAX - 1);
        assert!(leases.renew(&id(0), u64::MAX - 1));
        leases.tick(u64::MAX - 1);
        assert_eq!(leases.left_ms(&id(0), u64::MAX - 1), 1);
    }
}
