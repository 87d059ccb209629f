//! The farm in plain words: what each verb must answer and change, with nothing but vectors. It
//! shares no code with the store or the policy.

use crate::model::{JobState, PipelineStatus, Reason};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Parts of the stages ingest, inspect, render (a still and a run of frames), publish (a job and
/// the export) and cleanup.
pub(super) const PARTS: [u32; 5] = [1, 1, 2, 2, 1];
const JOBS: [u32; 5] = [1, 1, 2, 1, 1];
pub(super) const PUBLISH: usize = 3;
const HALF_AN_HOUR_MS: i64 = 1_800_000;

/// What a verb answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    Done,
    State(JobState),
    Pipeline(usize),
    Claimed(Option<(usize, u32, u32)>),
    Job(usize),
    Count(u32),
    Refused(Refusal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    UnknownSession,
    Superseded,
    Cancelled,
    Finished,
    Conflict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Running,
    Succeeded,
    Failed,
    /// Given back with a reason: it waits for a licence.
    Waits,
    Over,
}

/// Jobs of one flight never run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Flight {
    /// Stage, part and content: the same result.
    Result(usize, u32, usize),
    Publish,
}

const SHARED: [usize; 2] = [1, 2];
const CLAIM_ROUNDS: u32 = 8;

#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) pipeline: usize,
    pub(super) stage: usize,
    part: u32,
    pub(super) state: JobState,
    pub(super) attempt: u32,
    pub(super) epoch: u32,
    pub(super) session: Option<usize>,
    /// When a retry is due: first between two times, then exactly as the store chose.
    pub(super) due_ms: (i64, i64),
    ready_ms: i64,
    flight: Option<Flight>,
    builder: Option<usize>,
    failed_on: Option<usize>,
    lost_on: BTreeSet<usize>,
    claims: BTreeMap<u32, (usize, Outcome)>,
    /// Whether it is a dead letter; dismissed; the job that replays it.
    letter: Option<(bool, Option<usize>)>,
}

#[derive(Debug, Clone)]
pub(super) struct Pipeline {
    content: usize,
    profile: usize,
    pub(super) status: PipelineStatus,
    pub(super) done: [u32; 5],
}

/// The whole farm. Ids are places in these vectors.
#[derive(Debug, Default)]
pub(super) struct Reference {
    pub(super) now_ms: i64,
    pub(super) jobs: Vec<Job>,
    pub(super) pipelines: Vec<Pipeline>,
    /// Worker, and whether it is open.
    pub(super) sessions: Vec<(usize, bool)>,
    pub(super) exports: Vec<usize>,
    pub(super) paused: BTreeSet<usize>,
    failures: BTreeMap<usize, BTreeSet<usize>>,
    pub(super) barred: BTreeSet<usize>,
    versions: Vec<usize>,
    results: BTreeSet<Flight>,
    pub(super) generation: u64,
    published_version: usize,
}

fn is_live(state: JobState) -> bool {
    use JobState::{Claimed, Processing, Queued, RetryScheduled};
    matches!(state, Queued | Claimed | Processing | RetryScheduled)
}

fn is_leased(state: JobState) -> bool {
    matches!(state, JobState::Claimed | JobState::Processing)
}

/// Attempts allowed, and the wait after each, in milliseconds; a lost worker has its own waits.
fn budget(reason: Option<Reason>) -> (u32, &'static [i64]) {
    match reason {
        None => (3, &[1_000, 30_000]),
        Some(Reason::NetworkError) => (4, &[30_000, 120_000, 600_000]),
        Some(Reason::DiskFull) => (2, &[60_000]),
        Some(Reason::ProcessCrashed) => (3, &[10_000, 60_000]),
        _ => (1, &[]),
    }
}

impl Reference {
    pub(super) fn begin_at(now_ms: i64) -> Self {
        Self { now_ms, ..Self::default() }
    }

    pub(super) fn submit(&mut self, content: usize, profile: usize) -> Reply {
        if !self.versions.contains(&content) {
            self.versions.push(content);
        }
        let same = |one: &&usize| {
            let row = &self.pipelines[**one];
            let live = self.jobs.iter().any(|job| job.pipeline == **one && is_live(job.state));
            let works = matches!(row.status, PipelineStatus::Running | PipelineStatus::Succeeded);
            (row.content, row.profile) == (content, profile) && (works || live)
        };
        let all: Vec<usize> = (0..self.pipelines.len()).rev().collect();
        if let Some(found) = all.iter().find(same) {
            return Reply::Pipeline(*found);
        }
        let status = PipelineStatus::Running;
        self.pipelines.push(Pipeline { content, profile, status, done: [0; 5] });
        let new = self.pipelines.len() - 1;
        self.begin(new, 0);
        Reply::Pipeline(new)
    }

    fn begin(&mut self, pipeline: usize, stage: usize) {
        if stage == PARTS.len() {
            self.pipelines[pipeline].status = PipelineStatus::Succeeded;
            return;
        }
        let new: Vec<usize> =
            (0..JOBS[stage]).map(|part| self.create(pipeline, stage, part)).collect();
        for job in new {
            self.board(job);
        }
    }

    /// Whether a queued job may be handed out; otherwise an alike one made its result or runs.
    fn board(&mut self, job: usize) -> bool {
        let Some(flight) = self.jobs[job].flight else { return true };
        if self.results.contains(&flight) {
            self.reuse(job);
            return false;
        }
        let runs = |one: &Job| one.flight == Some(flight) && is_leased(one.state);
        self.jobs[job].builder = self.jobs.iter().position(runs);
        self.jobs[job].builder.is_none()
    }

    fn reuse(&mut self, job: usize) {
        self.leave(job, JobState::Succeeded, Outcome::Over);
        self.part_done(self.jobs[job].pipeline, self.jobs[job].stage);
    }

    fn create(&mut self, pipeline: usize, stage: usize, part: u32) -> usize {
        let content = self.pipelines[pipeline].content;
        let result = SHARED.contains(&stage).then_some(Flight::Result(stage, part, content));
        self.jobs.push(Job {
            flight: result.or((stage == PUBLISH).then_some(Flight::Publish)),
            builder: None,
            pipeline,
            stage,
            part,
            state: JobState::Queued,
            attempt: 0,
            epoch: 0,
            session: None,
            due_ms: (0, 0),
            ready_ms: self.now_ms,
            failed_on: None,
            lost_on: BTreeSet::new(),
            claims: BTreeMap::new(),
            letter: None,
        });
        self.jobs.len() - 1
    }

    fn part_done(&mut self, pipeline: usize, stage: usize) {
        let done = &mut self.pipelines[pipeline].done[stage];
        *done += 1;
        if *done == PARTS[stage] {
            self.begin(pipeline, stage + 1);
        }
    }

    pub(super) fn open(&mut self, worker: usize) -> Reply {
        let before = self.sessions.iter().position(|session| *session == (worker, true));
        if let Some(before) = before {
            self.close(before, true);
        }
        self.sessions.push((worker, true));
        Reply::Done
    }

    pub(super) fn close(&mut self, session: usize, lost: bool) -> Reply {
        if !self.sessions[session].1 {
            return Reply::Refused(Refusal::UnknownSession);
        }
        let held: Vec<usize> =
            (0..self.jobs.len()).filter(|job| self.jobs[*job].session == Some(session)).collect();
        for job in &held {
            if lost {
                self.end(*job, None);
            } else {
                self.give_back(*job);
            }
        }
        self.sessions[session].1 = false;
        Reply::Count(held.len() as u32)
    }

    fn leave(&mut self, job: usize, state: JobState, outcome: Outcome) {
        let row = &mut self.jobs[job];
        if is_leased(row.state)
            && let Some(claim) = row.claims.get_mut(&row.epoch)
        {
            claim.1 = outcome;
        }
        row.state = state;
        row.session = None;
        row.builder = None;
        for other in &mut self.jobs {
            other.builder = other.builder.filter(|builder| *builder != job);
        }
    }

    fn give_back(&mut self, job: usize) {
        self.leave(job, JobState::Queued, Outcome::Over);
        self.jobs[job].attempt -= 1;
        self.jobs[job].ready_ms = self.now_ms;
    }

    /// The attempt ends without a result: by a reported reason, or because its worker is lost.
    fn end(&mut self, job: usize, reason: Option<Reason>) {
        let row = &mut self.jobs[job];
        let Some(session) = row.session else { return };
        let (worker, pipeline, attempt) = (self.sessions[session].0, row.pipeline, row.attempt);
        if reason.is_none() {
            row.lost_on.insert(worker);
        }
        let poison = reason.is_none() && row.lost_on.len() >= 2;
        let counts = matches!(reason, Some(Reason::DiskFull | Reason::ProcessCrashed));
        if counts && !self.barred.contains(&worker) {
            let failed = self.failures.entry(worker).or_default();
            failed.insert(pipeline);
            if failed.len() >= 3 {
                self.barred.insert(worker);
            }
        }
        let around = |wait_ms: i64| {
            (self.now_ms + wait_ms * 9 / 10 - 1, self.now_ms + wait_ms * 11 / 10 + 1)
        };
        if reason == Some(Reason::LicenceUnavailable) {
            let due_ms = around(60_000);
            self.leave(job, JobState::RetryScheduled, Outcome::Waits);
            self.jobs[job].attempt -= 1;
            self.jobs[job].due_ms = due_ms;
            return;
        }
        let (attempts, waits) = budget(reason);
        let outcome = if reason.is_some() { Outcome::Failed } else { Outcome::Over };
        if poison || attempt >= attempts {
            self.leave(job, JobState::FailedTerminal, outcome);
            self.jobs[job].letter = Some((false, None));
            self.pipelines[pipeline].status = PipelineStatus::DeadLettered;
            return;
        }
        let due_ms = around(waits[(attempt as usize - 1).min(waits.len() - 1)]);
        self.leave(job, JobState::RetryScheduled, outcome);
        self.jobs[job].failed_on = Some(worker);
        self.jobs[job].due_ms = due_ms;
    }

    /// Queues are targets 0 to 4, the farm is 5, workers are from 6.
    pub(super) fn claim(&mut self, session: usize) -> Reply {
        let (worker, open) = self.sessions[session];
        if !open {
            return Reply::Refused(Refusal::UnknownSession);
        }
        for _ in 0..CLAIM_ROUNDS {
            let Some(job) = self.best(worker) else { break };
            if self.board(job) {
                return Reply::Claimed(Some(self.hand_out(job, session)));
            }
        }
        Reply::Claimed(None)
    }

    fn best(&self, worker: usize) -> Option<usize> {
        let is_off = |target: usize| self.paused.contains(&target);
        let open: Vec<_> = self.sessions.iter().filter(|session| session.1).collect();
        let others =
            open.iter().filter(|one| one.0 != worker && !self.barred.contains(&one.0)).count();
        let retries_at_once = (open.len() / 2).max(1);
        let best = (0..self.jobs.len())
            .filter(|job| {
                let row = &self.jobs[*job];
                let running = self.jobs.iter().filter(|one| {
                    one.stage == row.stage && is_leased(one.state) && one.failed_on.is_some()
                });
                let fresh = self.now_ms - row.ready_ms < 30_000;
                let left_to_another = row.failed_on == Some(worker) && others > 0 && fresh;
                let retry_fits = row.failed_on.is_none() || running.count() < retries_at_once;
                row.state == JobState::Queued
                    && row.builder.is_none()
                    && !is_off(row.stage)
                    && retry_fits
                    && !left_to_another
            })
            .min_by_key(|job| {
                let row = &self.jobs[*job];
                let level = (5 + (self.now_ms - row.ready_ms) / HALF_AN_HOUR_MS).min(9);
                (Reverse(level), Reverse(row.stage), row.ready_ms, *job)
            });
        let idle = is_off(5) || is_off(6 + worker) || self.barred.contains(&worker);
        best.filter(|_| !idle)
    }

    fn hand_out(&mut self, job: usize, session: usize) -> (usize, u32, u32) {
        let row = &mut self.jobs[job];
        row.state = JobState::Claimed;
        row.attempt += 1;
        row.epoch += 1;
        row.session = Some(session);
        row.claims.insert(row.epoch, (session, Outcome::Running));
        let (flight, told) = (row.flight, (job, row.epoch, row.attempt));
        for other in &mut self.jobs {
            if flight.is_some() && other.flight == flight && other.state == JobState::Queued {
                other.builder.get_or_insert(job);
            }
        }
        told
    }

    fn fenced(&self, session: usize, job: usize, epoch: u32) -> Result<(), Reply> {
        let row = &self.jobs[job];
        let held = row.session == Some(session) && row.epoch == epoch && is_leased(row.state);
        Err(Reply::Refused(match row.state {
            _ if !self.sessions[session].1 => Refusal::UnknownSession,
            _ if held => return Ok(()),
            JobState::Cancelled => Refusal::Cancelled,
            JobState::Succeeded | JobState::FailedTerminal => Refusal::Finished,
            _ => Refusal::Superseded,
        }))
    }

    pub(super) fn start(&mut self, session: usize, job: usize, epoch: u32) -> Reply {
        if let Err(refused) = self.fenced(session, job, epoch) {
            return refused;
        }
        self.jobs[job].state = JobState::Processing;
        Reply::Done
    }

    pub(super) fn release(&mut self, session: usize, job: usize, epoch: u32) -> Reply {
        if let Err(refused) = self.fenced(session, job, epoch) {
            return refused;
        }
        self.give_back(job);
        Reply::Done
    }

    fn outcome(&self, session: usize, job: usize, epoch: u32) -> Option<Outcome> {
        let (owner, outcome) = self.jobs[job].claims.get(&epoch)?;
        (*owner == session).then_some(*outcome)
    }

    /// `seen` is the generation of the pointers that the worker was told with its claim.
    pub(super) fn complete(&mut self, session: usize, job: usize, epoch: u32, seen: u64) -> Reply {
        if self.outcome(session, job, epoch) == Some(Outcome::Succeeded) {
            return Reply::State(JobState::Succeeded);
        }
        if let Err(refused) = self.fenced(session, job, epoch) {
            return refused;
        }
        let (pipeline, stage) = (self.jobs[job].pipeline, self.jobs[job].stage);
        if self.jobs[job].state == JobState::Claimed {
            return Reply::Refused(Refusal::Conflict);
        }
        if stage == PUBLISH {
            let content = self.pipelines[pipeline].content;
            let version = 1 + self.versions.iter().position(|one| *one == content).unwrap();
            if version >= self.published_version {
                if seen != self.generation {
                    return Reply::Refused(Refusal::Conflict);
                }
                self.generation += 1;
                self.published_version = version;
            }
            self.exports.push(pipeline);
        }
        let worker = self.sessions[session].0;
        if !self.barred.contains(&worker) {
            self.failures.remove(&worker);
        }
        self.leave(job, JobState::Succeeded, Outcome::Succeeded);
        self.part_done(pipeline, stage);
        if let Some(flight @ Flight::Result(..)) = self.jobs[job].flight {
            self.results.insert(flight);
            let alike = |one: &usize| {
                self.jobs[*one].flight == Some(flight) && self.jobs[*one].state == JobState::Queued
            };
            let waiting: Vec<usize> = (0..self.jobs.len()).filter(alike).collect();
            for one in waiting {
                self.reuse(one);
            }
        }
        Reply::State(JobState::Succeeded)
    }

    pub(super) fn fail(&mut self, session: usize, job: usize, epoch: u32, reason: Reason) -> Reply {
        let before = self.outcome(session, job, epoch);
        if matches!(before, Some(Outcome::Failed | Outcome::Waits)) {
            return Reply::State(self.jobs[job].state);
        }
        if let Err(refused) = self.fenced(session, job, epoch) {
            return refused;
        }
        self.end(job, Some(reason));
        Reply::State(self.jobs[job].state)
    }

    pub(super) fn cancel(&mut self, pipeline: usize) -> Reply {
        let live: Vec<usize> = (0..self.jobs.len())
            .filter(|job| self.jobs[*job].pipeline == pipeline && is_live(self.jobs[*job].state))
            .collect();
        let running = self.pipelines[pipeline].status == PipelineStatus::Running;
        if !running && live.is_empty() {
            return Reply::Refused(Refusal::Conflict);
        }
        for job in &live {
            self.leave(*job, JobState::Cancelled, Outcome::Over);
        }
        self.pipelines[pipeline].status = PipelineStatus::Cancelled;
        Reply::Count(live.len() as u32)
    }

    pub(super) fn replay(&mut self, job: usize) -> Reply {
        let row = self.jobs[job].clone();
        let Some((dismissed, None)) = row.letter else { return Reply::Refused(Refusal::Conflict) };
        let key = |one: &Job| {
            let pipeline = &self.pipelines[one.pipeline];
            (pipeline.content, pipeline.profile, one.stage, one.part)
        };
        let own = &self.pipelines[row.pipeline];
        if own.status == PipelineStatus::Cancelled {
            return Reply::Refused(Refusal::Conflict);
        }
        let twin = self.pipelines.iter().enumerate().any(|(other, twin)| {
            let works = matches!(twin.status, PipelineStatus::Running | PipelineStatus::Succeeded);
            let same = (twin.content, twin.profile) == (own.content, own.profile);
            let live = self.jobs.iter().any(|job| job.pipeline == other && is_live(job.state));
            other != row.pipeline && (works || live) && same
        });
        let live = self.jobs.iter().any(|one| is_live(one.state) && key(one) == key(&row));
        if twin || live {
            return Reply::Refused(Refusal::Conflict);
        }
        let new = self.create(row.pipeline, row.stage, row.part);
        self.jobs[job].letter = Some((dismissed, Some(new)));
        let waits =
            |one: &Job| one.pipeline == row.pipeline && matches!(one.letter, Some((_, None)));
        if !self.jobs.iter().any(waits) {
            self.pipelines[row.pipeline].status = PipelineStatus::Running;
        }
        Reply::Job(new)
    }

    pub(super) fn dismiss(&mut self, job: usize) -> Reply {
        match &mut self.jobs[job].letter {
            Some((dismissed @ false, None)) => {
                *dismissed = true;
                Reply::Done
            }
            _ => Reply::Refused(Refusal::Conflict),
        }
    }

    /// Dead letters that wait for somebody.
    pub(super) fn open_letters(&self) -> usize {
        self.jobs.iter().filter(|job| job.letter == Some((false, None))).count()
    }

    pub(super) fn forgive(&mut self, worker: usize) -> Reply {
        if !self.barred.remove(&worker) {
            return Reply::Refused(Refusal::Conflict);
        }
        self.failures.remove(&worker);
        Reply::Done
    }

    /// The oldest export is written.
    pub(super) fn export(&mut self) -> Reply {
        if self.exports.is_empty() {
            return Reply::Count(0);
        }
        let pipeline = self.exports.remove(0);
        if self.pipelines[pipeline].status == PipelineStatus::Running {
            self.part_done(pipeline, PUBLISH);
        }
        Reply::Count(1)
    }

    pub(super) fn promote(&mut self) -> Reply {
        let mut due = 0;
        for job in &mut self.jobs {
            if job.state == JobState::RetryScheduled && job.due_ms.1 <= self.now_ms {
                (job.state, job.ready_ms) = (JobState::Queued, self.now_ms);
                due += 1;
            }
        }
        Reply::Count(due)
    }
}
