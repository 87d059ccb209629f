//! What keeps a job from being handed out. The claim asks whether anything does, the explanation
//! asks for all of it: there is one copy of these rules.

use super::bucket::{self, Bucket, Rate};
use super::fair;
use super::matching::{self, Allowed, Lack};
use super::needs::Needs;
use crate::model::{Mode, Name, ProjectId, limits};
use crate::protocol::work::Capabilities;
use std::collections::BTreeMap;

/// A semaphore that has a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Semaphore {
    /// Holders at most.
    pub capacity: u32,
    /// Holders now.
    pub held: u32,
}

/// Whether a job has failed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// It has not.
    Fresh,
    /// It has: only so many of these run at once.
    Retry,
}

/// Retries of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// So many may run at once.
    pub at_once: u32,
    /// So many run now.
    pub running: u32,
}

/// Jobs that wait in a queue, and that may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Jobs that wait.
    pub queued: u64,
    /// Jobs at most.
    pub max_queued: u64,
}

/// A project that shares the farm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its name.
    pub name: Name,
    /// Its share.
    pub weight: u32,
    /// Jobs of it that may run at once; none means any number.
    pub quota: Option<u32>,
    /// Jobs of it that are claimed or processing; counted up to the quota.
    pub leased: u32,
    /// Where it stands in the fair share.
    pub pass: i64,
}

/// What the rules look at. What is not named here has no limit.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// What operators want of the farm.
    pub farm: Mode,
    /// And of queues; those not named run.
    pub queues: BTreeMap<String, Mode>,
    /// Semaphores with a limit.
    pub semaphores: BTreeMap<Name, Semaphore>,
    /// Rates with a limit, and their buckets.
    pub rates: BTreeMap<Name, (Rate, Bucket)>,
    /// Retries by queue.
    pub retries: BTreeMap<String, Retries>,
    /// Queues that are at their limit.
    pub full: BTreeMap<String, Room>,
    /// Projects that have jobs.
    pub projects: BTreeMap<ProjectId, Project>,
    /// Where the fair share stands.
    pub farm_pass: i64,
}

/// A limit that keeps a job from every worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// The farm is paused or draining.
    Farm(Mode),
    /// The queue is paused or draining.
    Queue(Mode),
    /// As many retries of the queue run as may.
    Retries {
        /// Retries at once.
        at_once: u32,
    },
    /// Every place of the semaphore is taken.
    Semaphore {
        /// Which.
        name: Name,
        /// Places.
        capacity: u32,
    },
    /// No token is left.
    Rate {
        /// Of which rate.
        name: Name,
        /// When the next one comes, Unix milliseconds; none means never.
        next_ms: Option<i64>,
    },
    /// It was let in while a queue was full, and this one is.
    Admission {
        /// The full queue.
        queue: String,
        /// Its jobs.
        room: Room,
    },
    /// The project runs as many jobs as it may.
    Quota {
        /// Which project.
        project: Name,
        /// Jobs at once.
        quota: u32,
    },
}

/// What keeps a job from one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerHold {
    /// The worker is paused or draining.
    Mode(Mode),
    /// The job is for this other worker.
    NotTarget(String),
    /// The job may not run on it.
    Excluded,
    /// Its machine does not have what the job requires.
    Lacks(Lack),
    /// The worker is in quarantine.
    Quarantine,
    /// The job failed on it last: another worker comes first, until then.
    FailedHere {
        /// Unix milliseconds.
        until_ms: i64,
    },
    /// Workers with a graphics adapter come first, until then.
    GpuPreferred {
        /// Unix milliseconds.
        until_ms: i64,
    },
    /// As many jobs as it has slots.
    SlotsBusy {
        /// Jobs it holds.
        busy: u32,
    },
}

/// A worker as the rules see it.
#[derive(Debug, Clone)]
pub struct Worker {
    /// Its name.
    pub name: String,
    /// What operators want of it.
    pub mode: Mode,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Jobs that it holds.
    pub busy: u32,
    /// Whether it is in quarantine.
    pub quarantined: bool,
    /// Live workers beside it that are given work.
    pub others: u32,
}

impl Facts {
    /// Every limit that keeps jobs of this queue, need and project from all workers now, the
    /// widest first.
    pub fn holds<'a>(
        &'a self,
        queue: &str,
        needs: &'a Needs,
        project: ProjectId,
        round: Round,
        now_wall_ms: i64,
    ) -> impl Iterator<Item = Hold> + use<'a> {
        let farm = (self.farm != Mode::Running).then_some(Hold::Farm(self.farm));
        let retries = self.retries.get(queue).filter(|_| round == Round::Retry);
        let retries = retries
            .filter(|one| one.running >= one.at_once)
            .map(|one| Hold::Retries { at_once: one.at_once });
        let full = self.full.iter().find(|(full, _)| full.as_str() != queue);
        let full = full.filter(|_| needs.terms.waits_for_room);
        let full = full.map(|(queue, room)| Hold::Admission { queue: queue.clone(), room: *room });
        let queue = self.queues.get(queue).copied().unwrap_or_default();
        let queue = (queue != Mode::Running).then_some(Hold::Queue(queue));
        let quota = self.projects.get(&project).and_then(|one| {
            let quota = one.quota.filter(|quota| one.leased >= *quota)?;
            Some(Hold::Quota { project: one.name.clone(), quota })
        });
        let semaphores = needs.semaphores.iter().filter_map(|name| {
            let one = self.semaphores.get(name)?;
            (one.held >= one.capacity)
                .then(|| Hold::Semaphore { name: name.clone(), capacity: one.capacity })
        });
        let rates = needs.rates.iter().filter_map(move |name| {
            let (rate, bucket) = *self.rates.get(name)?;
            let (_, allowed) = bucket::take(rate, bucket, now_wall_ms);
            (!allowed).then(|| Hold::Rate {
                name: name.clone(),
                next_ms: bucket::next_token_ms(rate, bucket, now_wall_ms),
            })
        });
        let stopped = farm.into_iter().chain(queue).chain(full);
        stopped.chain(retries).chain(quota).chain(semaphores).chain(rates)
    }

    /// Uses up what one job of this queue, need and project takes.
    pub fn take(
        &mut self,
        queue: &str,
        needs: &Needs,
        project: ProjectId,
        round: Round,
        now_wall_ms: i64,
    ) {
        if let Some(one) = self.retries.get_mut(queue).filter(|_| round == Round::Retry) {
            one.running = one.running.saturating_add(1);
        }
        for name in &needs.semaphores {
            if let Some(one) = self.semaphores.get_mut(name) {
                one.held = one.held.saturating_add(1);
            }
        }
        for name in &needs.rates {
            if let Some((rate, bucket)) = self.rates.get_mut(name) {
                (*bucket, _) = bucket::take(*rate, *bucket, now_wall_ms);
            }
        }
        let turn = self.turn(project);
        if let Some(one) = self.projects.get_mut(&project) {
            one.leased = one.leased.saturating_add(1);
            one.pass = fair::after(turn, one.weight);
        }
        self.farm_pass = turn;
    }

    /// Where a project stands in the order of turns.
    pub fn turn(&self, project: ProjectId) -> i64 {
        let pass = self.projects.get(&project).map_or(0, |one| one.pass);
        fair::turn(pass, self.farm_pass)
    }

    /// The same turns without any limit: who is ahead of whom once nothing is full.
    #[must_use]
    pub fn without_limits(&self) -> Self {
        let mut open =
            Self { projects: self.projects.clone(), farm_pass: self.farm_pass, ..Self::default() };
        for project in open.projects.values_mut() {
            project.quota = None;
        }
        open
    }
}

impl Worker {
    /// What keeps a job that has been ready since `ready_ms` and failed on the worker `failed_on`
    /// last from this worker. A worker asks for
    /// no more jobs than it has free slots, so these are told apart by [`Worker::slots`].
    pub fn holds(
        &self,
        needs: &Needs,
        live: &[Capabilities],
        (ready_ms, failed_on): (i64, Option<&str>),
        now_wall_ms: i64,
    ) -> impl Iterator<Item = WorkerHold> + use<> {
        let terms = &needs.terms;
        let target = terms.only_worker.as_ref().filter(|name| **name != self.name);
        let target = target.map(|name| WorkerHold::NotTarget(name.clone()));
        let excluded = terms.not_worker.as_ref().filter(|name| **name == self.name);
        let excluded = excluded.map(|_| WorkerHold::Excluded);
        let lacks = matching::lacking(&terms.requires, &self.capabilities);
        let lacks = lacks.into_iter().map(WorkerHold::Lacks);
        let quarantine = self.quarantined.then_some(WorkerHold::Quarantine);
        let failed_here = self.failed_here(needs, (ready_ms, failed_on), now_wall_ms);
        let mode = (self.mode != Mode::Running).then_some(WorkerHold::Mode(self.mode));
        let gpu = match matching::allowed(needs.class, &self.capabilities, live, now_wall_ms) {
            Allowed::ReadySince { wall_ms } if ready_ms > wall_ms && !self.is_target(needs) => {
                let left_ms = ready_ms.saturating_sub(wall_ms);
                Some(WorkerHold::GpuPreferred { until_ms: now_wall_ms.saturating_add(left_ms) })
            }
            _ => None,
        };
        let never = mode.into_iter().chain(target).chain(excluded).chain(lacks);
        never.chain(quarantine).chain(failed_here).chain(gpu)
    }

    /// Whether a job is left to another worker because it failed on this one.
    pub fn failed_here(
        &self,
        needs: &Needs,
        (ready_ms, failed_on): (i64, Option<&str>),
        now_wall_ms: i64,
    ) -> Option<WorkerHold> {
        let here = failed_on == Some(self.name.as_str()) && !self.is_target(needs);
        matching::left_to_another(here, self.others, ready_ms, now_wall_ms).then(|| {
            let until_ms = ready_ms.saturating_add(limits::ANOTHER_WORKER_MS);
            WorkerHold::FailedHere { until_ms }
        })
    }

    /// Whether the job is for it alone: then there is no other to leave it to.
    fn is_target(&self, needs: &Needs) -> bool {
        needs.terms.only_worker.as_deref() == Some(self.name.as_str())
    }

    /// Whether all its slots are taken.
    pub fn slots(&self) -> Option<WorkerHold> {
        (self.busy >= self.capabilities.slots.max(1))
            .then_some(WorkerHold::SlotsBusy { busy: self.busy })
    }
}
