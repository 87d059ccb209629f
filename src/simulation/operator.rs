//! What the simulated operator orders: work, and everything that people do to a farm that works.

use super::message::{Handed, Party, Request};
use super::work;
use super::world::{Event, World};
use crate::model::{Checksum, JobState, Mode, Name, PipelineStatus, Stage, Target};
use crate::policy::flow;
use crate::protocol::control::Limit;
use crate::store::SubmissionKey;

impl World {
    /// What the operator does now, and when next.
    pub(super) fn operate(&mut self) {
        let wait_ms = self.random.range(2_000, 50_000);
        self.queue.push(self.now_ms + wait_ms, Event::Operator);
        // Somebody looks after the farm in the calm as well.
        if self.calm() || self.random.permille(200) {
            let request = self.put_right();
            return self.order(request);
        }
        self.orders += 1;
        let request = match self.random.range(0, 13) {
            0 => {
                let running = self.ledger.pipelines_in(PipelineStatus::Running);
                self.random.pick(&running).copied().map(Request::Cancel)
            }
            1 => {
                let all: Vec<_> = self.ledger.pipelines.keys().copied().collect();
                self.random.pick(&all).copied().map(Request::Cancel)
            }
            2 => {
                let dead = self.ledger.dead_letters();
                self.random.pick(&dead).copied().map(Request::Dismiss)
            }
            3..=5 => {
                let dead = self.ledger.jobs_in(&[JobState::FailedTerminal]);
                self.random.pick(&dead).copied().map(Request::Replay)
            }
            6 => self.control(),
            7 => self.limit(),
            _ => self.new_work(),
        };
        self.order(request);
    }

    /// Resumes what is shut, lifts a limit, forgives a worker. Without it nothing would have to
    /// end after the faults.
    fn put_right(&mut self) -> Option<Request> {
        if let Some(target) = self.ledger.gates.shut().next() {
            return Some(Request::Control(target.clone(), Mode::Running));
        }
        if self.calm()
            && let Some(limit) = self.ledger.gates.limited().next()
        {
            return Some(Request::Limit(limit));
        }
        self.ledger.barred.first().cloned().map(Request::Forgive)
    }

    fn control(&mut self) -> Option<Request> {
        let target = match self.random.range(0, 3) {
            0 => Target::Farm,
            1 => {
                let worker = self.random.range(0, self.workers.len() as u64 - 1);
                Target::Worker { worker: format!("w{worker}") }
            }
            _ => {
                let stage = self.random.pick(&Stage::ALL).copied()?;
                Target::Queue { queue: flow::queue(stage).to_owned() }
            }
        };
        let mode = if self.random.permille(500) { Mode::Paused } else { Mode::Draining };
        Some(Request::Control(target, mode))
    }

    fn limit(&mut self) -> Option<Request> {
        let number = u32::try_from(self.random.range(1, 4)).ok()?;
        let some = self.random.permille(700).then_some(number);
        let name = |text: &str| text.parse::<Name>().ok();
        Some(Request::Limit(match self.random.range(0, 3) {
            0 => Limit::Semaphore { name: name(work::SEMAPHORE)?, capacity: some },
            1 => Limit::Rate {
                name: name(work::RATE)?,
                per_minute: some.map(|number| number * 4),
                burst: number,
            },
            2 => Limit::Project { name: Name::default_project(), weight: number, quota: some },
            _ => {
                let stage = self.random.pick(&Stage::ALL).copied()?;
                let queue = flow::queue(stage).to_owned();
                Limit::Queue { queue, max_queued: some.map(|number| u64::from(number) * 4) }
            }
        }))
    }

    fn order(&mut self, request: Option<Request>) {
        if let Some(request) = request {
            if let Some(kind) = request.order() {
                self.count(kind);
            }
            let call = self.next_call();
            self.send(Party::Operator, 0, call, request);
        }
    }

    fn new_work(&mut self) -> Option<Request> {
        let content = self.orders / 20 + self.random.range(0, 2);
        let submission = work::submission(&mut self.random, content)?;
        let recipe = self.random.pick(&self.recipes).cloned()?;
        let body =
            Checksum::of(format!("{} {content} {}", submission.asset, recipe.name).as_bytes());
        let key = SubmissionKey { key: format!("order-{}", self.orders), body };
        Some(Request::Submit(Box::new(Handed { key, submission, recipe })))
    }
}
