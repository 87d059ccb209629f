//! Random sequences of the store's verbs, against a farm in plain words (`reference`): after each
//! step the answers, states, epochs and attempts must be the same.
//!
//! `PROPTEST_CASES=5000 cargo test --lib store::tests::model` runs more of them.

mod reference;
mod step;

use super::{TestClock, capabilities, recipe, result_of, submission};
use crate::clock::Clock;
use crate::model::{Epoch, JobId, JobState, Mode, Now, PipelineId, SessionId, Stage, Target};
use crate::protocol::work::{Assignment, Failure, Fence};
use crate::recipes::Recipe;
use crate::store::{Page, Store, StoreError};
use proptest::prelude::*;
use reference::{Reference, Refusal, Reply};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use step::{Report, Step, steps};
use tempfile::TempDir;

const CASES: u32 = 100;
/// Claims that most reports are about.
const RECENT: usize = 5;
const ALL: Page = Page { before: None, limit: 1_000 };
const STAGES: [Stage; 5] =
    [Stage::Ingest, Stage::Inspect, Stage::Render, Stage::Publish, Stage::Cleanup];
const QUEUES: [&str; 5] = ["ingest", "inspect", "render.preview", "publish", "cleanup"];
const START_MS: i64 = 1_800_000_000_000;

/// A claim that was made once, by its place in the reference.
struct Claim {
    session: usize,
    job: usize,
    assignment: Assignment,
}

/// The real store beside the plain one.
struct Both {
    plain: Reference,
    store: Store,
    clock: Arc<TestClock>,
    recipes: [Recipe; 2],
    claims: Vec<Claim>,
    _folder: TempDir,
}

fn now<T>(call: impl Future<Output = T>) -> T {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("a store without threads answers at once"),
    }
}

/// Ids count from 1, places from 0.
fn id(place: usize) -> i64 {
    i64::try_from(place).unwrap() + 1
}

fn job_id(job: usize) -> JobId {
    JobId(id(job))
}

fn session_id(session: usize) -> SessionId {
    let mut bytes = [7; 16];
    bytes[..8].copy_from_slice(&(session as u64).to_le_bytes());
    SessionId::from_random(bytes)
}

fn place(id: i64) -> usize {
    usize::try_from(id - 1).unwrap()
}

/// Mostly one of the last few, now and then any.
fn recent(number: usize, all: usize) -> Option<usize> {
    let last = number / 4 % RECENT.min(all.max(1));
    let any = number % all.max(1);
    (all > 0).then(|| if number.is_multiple_of(4) { any } else { all - 1 - last })
}

/// A recipe whose stages have the parts that the reference counts.
fn short_recipe(name: &str) -> Recipe {
    let mut short = Recipe { name: name.into(), ..recipe() };
    short.settings.turntable_frames = 1;
    short.stages.retain(|rule| STAGES.contains(&rule.stage));
    short
}

fn reply<T>(result: Result<T, StoreError>, reply: impl FnOnce(T) -> Reply) -> Reply {
    Reply::Refused(match result {
        Ok(value) => return reply(value),
        Err(StoreError::UnknownSession) => Refusal::UnknownSession,
        Err(StoreError::Superseded(_)) => Refusal::Superseded,
        Err(StoreError::Cancelled(_)) => Refusal::Cancelled,
        Err(StoreError::Finished(_)) => Refusal::Finished,
        Err(StoreError::Conflict(_)) => Refusal::Conflict,
        Err(other) => panic!("the store failed: {other}"),
    })
}

impl Both {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let begin = Now { wall_ms: START_MS, mono_ms: 0 };
        let clock = Arc::new(TestClock(Mutex::new(begin)));
        let shared = Arc::clone(&clock) as Arc<dyn Clock>;
        let (store, _control) = Store::open_inline(folder.path(), shared).unwrap();
        let plain = Reference::begin_at(START_MS);
        let recipes = [short_recipe("one"), short_recipe("two")];
        let mut both = Self { plain, store, clock, recipes, claims: Vec::new(), _folder: folder };
        both.take(Step::Open(0));
        both.take(Step::Open(1));
        both
    }

    /// Lets one thing happen to both.
    fn take(&mut self, step: Step) {
        let among = |number: usize, all: usize| (all > 0).then(|| number % all);
        let (jobs, pipelines) = (self.plain.jobs.len(), self.plain.pipelines.len());
        let sessions = self.plain.sessions.len();
        match step {
            Step::Submit { content, profile } => self.submit(content, profile),
            Step::Open(worker) => self.open_session(worker),
            Step::Close { session, lost } => self.close(session % sessions, lost),
            Step::Claim(session) => {
                self.claim(session % sessions);
            }
            Step::Report { claim, report } => {
                if let Some(claim) = recent(claim, self.claims.len()) {
                    self.report(claim, report);
                }
            }
            Step::Finish(session) => {
                if let Some(claim) = self.claim(session % sessions) {
                    self.report(claim, Report::Start);
                    self.report(claim, Report::Complete);
                }
            }
            Step::Cancel(number) => {
                if let Some(pipeline) = among(number, pipelines) {
                    let id = PipelineId(id(pipeline));
                    let real =
                        reply(now(self.store.cancel_pipeline(id, "ana", "again")), Reply::Count);
                    assert_eq!(real, self.plain.cancel(pipeline));
                }
            }
            Step::Replay(number) => {
                if let Some(job) = among(number, jobs) {
                    let done = now(self.store.replay(job_id(job), "ana", "again"));
                    let real = reply(done, |new| Reply::Job(place(new.0)));
                    assert_eq!(real, self.plain.replay(job));
                }
            }
            Step::Dismiss(number) => {
                if let Some(job) = among(number, jobs) {
                    let real = now(self.store.dismiss(job_id(job), "ana", "again"));
                    assert_eq!(reply(real, |()| Reply::Done), self.plain.dismiss(job));
                }
            }
            Step::Forgive(worker) => {
                let real = now(self.store.forgive(&format!("w{worker}"), "ana", "again"));
                assert_eq!(reply(real, |()| Reply::Done), self.plain.forgive(worker));
            }
            Step::Control { target, paused } => self.control(target, paused),
            Step::Export => self.export(),
            Step::Pass(ms) => {
                self.plain.now_ms += ms;
                self.clock.0.lock().unwrap().wall_ms += ms;
            }
            Step::Promote => {
                let real = reply(now(self.store.promote_due()), Reply::Count);
                assert_eq!(real, self.plain.promote());
            }
        }
    }

    fn submit(&mut self, content: usize, profile: usize) {
        let work = submission("dragon", &format!("content {content}"));
        let done = now(self.store.submit(work, self.recipes[profile].clone(), [7; 16]));
        let real = reply(done, |one| Reply::Pipeline(place(one.pipeline.0)));
        assert_eq!(real, self.plain.submit(content, profile));
    }

    fn open_session(&mut self, worker: usize) {
        let (id, name) = (session_id(self.plain.sessions.len()), format!("w{worker}"));
        let done = now(self.store.open_session(id, name.clone(), name, capabilities(&[])));
        assert_eq!(reply(done, |_| Reply::Done), self.plain.open(worker));
    }

    fn close(&mut self, session: usize, lost: bool) {
        let real = now(self.store.close_session(&session_id(session), lost));
        assert_eq!(reply(real, Reply::Count), self.plain.close(session, lost));
    }

    /// Claims one job; says which claim that is.
    fn claim(&mut self, session: usize) -> Option<usize> {
        let open = self.plain.sessions.iter().filter(|session| session.1).count();
        let live = vec![capabilities(&[]); open];
        let mut claimed = now(self.store.claim(&session_id(session), 1, live));
        let assignment = claimed.as_mut().ok().and_then(Vec::pop);
        let told = assignment.as_ref().map(|job| (place(job.job_id.0), job.epoch.0, job.attempt));
        let real = reply(claimed, |_| Reply::Claimed(told));
        assert_eq!(real, self.plain.claim(session));
        let (job, _, _) = told?;
        self.claims.push(Claim { session, job, assignment: assignment? });
        Some(self.claims.len() - 1)
    }

    fn report(&mut self, claim: usize, report: Report) {
        let Claim { session, job, assignment } = &self.claims[claim];
        let (session, job) = (*session, *job);
        let epoch = assignment.epoch.0;
        let fence = Fence { session: session_id(session), epoch: Epoch(epoch) };
        let (id, store, plain) = (job_id(job), &self.store, &mut self.plain);
        let (real, wanted) = match report {
            Report::Start => (
                reply(now(store.start(id, &fence)), |()| Reply::Done),
                plain.start(session, job, epoch),
            ),
            Report::Complete => (
                reply(now(store.complete(id, &fence, result_of(assignment))), Reply::State),
                plain.complete(session, job, epoch, assignment.pointer_generation),
            ),
            Report::Release => (
                reply(now(store.release(id, &fence)), |()| Reply::Done),
                plain.release(session, job, epoch),
            ),
            Report::Fail(reason) => (
                reply(now(store.fail(id, &fence, Failure::new(reason, "no"))), Reply::State),
                plain.fail(session, job, epoch, reason),
            ),
        };
        assert_eq!(real, wanted, "{report:?} of job {id}, epoch {epoch}");
    }

    fn control(&mut self, number: usize, paused: bool) {
        let target = match number {
            5 => Target::Farm,
            0..=4 => Target::Queue { queue: QUEUES[number].into() },
            _ => Target::Worker { worker: format!("w{}", number - 6) },
        };
        let mode = if paused { Mode::Paused } else { Mode::Running };
        now(self.store.set_control(target, mode, "ana", "again")).unwrap();
        if paused {
            self.plain.paused.insert(number);
        } else {
            self.plain.paused.remove(&number);
        }
    }

    fn export(&mut self) {
        let due = now(self.store.pending_exports(1)).unwrap();
        let next = self.plain.exports.first().copied();
        assert_eq!(due.first().map(|export| place(export.pipeline.0)), next);
        let written = due.first().map(|export| now(self.store.export_done(export.id, "here")));
        let real = written.map_or(Reply::Count(0), |done| reply(done, |()| Reply::Count(1)));
        assert_eq!(real, self.plain.export());
    }

    /// Both have the same jobs, pipelines, dead letters and workers in quarantine.
    fn compare(&mut self) {
        let mut jobs = now(self.store.jobs(None, ALL)).unwrap();
        jobs.reverse();
        assert_eq!(jobs.len(), self.plain.jobs.len(), "jobs");
        for (real, plain) in jobs.iter().zip(&mut self.plain.jobs) {
            let session = plain.session.map(session_id);
            let wanted = (plain.state, plain.attempt, plain.epoch, session);
            let found = (real.state, real.attempt, real.epoch.0, real.session.clone());
            assert_eq!(found, wanted, "job {}", real.id);
            assert_eq!(real.stage, STAGES[plain.stage], "job {}", real.id);
            assert_eq!(place(real.pipeline.0), plain.pipeline, "job {}", real.id);
            if plain.state == JobState::RetryScheduled {
                let due_ms = real.run_at_ms.unwrap();
                let (from_ms, to_ms) = plain.due_ms;
                assert!((from_ms..=to_ms).contains(&due_ms), "job {} is due {due_ms}", real.id);
                plain.due_ms = (due_ms, due_ms);
            }
        }
        let mut pipelines = now(self.store.pipelines(ALL)).unwrap();
        pipelines.reverse();
        assert_eq!(pipelines.len(), self.plain.pipelines.len(), "pipelines");
        for (real, plain) in pipelines.iter().zip(&self.plain.pipelines) {
            assert_eq!(real.status, plain.status, "pipeline {}", real.id);
            let done: Vec<u32> = real.stages.iter().map(|stage| stage.parts_done).collect();
            assert_eq!(done, plain.done, "pipeline {}", real.id);
        }
        let letters = now(self.store.dead_letters(false, ALL)).unwrap();
        assert_eq!(letters.len(), self.plain.open_letters(), "dead letters");
        for worker in 0..3 {
            let barred = now(self.store.quarantine(&format!("w{worker}"))).unwrap().is_some();
            assert_eq!(barred, self.plain.barred.contains(&worker), "worker w{worker}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..ProptestConfig::with_cases(cases())
    })]

    #[test]
    fn the_store_does_what_the_plain_farm_does(steps in steps()) {
        let mut both = Both::open();
        for step in steps {
            both.take(step);
            both.compare();
        }
        prop_assert_eq!(now(both.store.verify()).unwrap(), Vec::<String>::new());
    }
}

fn cases() -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|number| number.parse().ok()).unwrap_or(CASES)
}
