//! What the window derives from a model, once for each change of it.

use super::screen::StateFilter;
use crate::client::read_model::ReadModel;
use crate::model::{JobId, JobState, PipelineId, SessionId};
use crate::protocol::view::WorkerView;
use std::collections::HashMap;
use std::sync::Arc;

/// Counts and look-ups.
#[derive(Debug, Default)]
pub struct Index {
    /// Jobs that are queued.
    pub queued: usize,
    /// Jobs that a worker holds.
    pub running: usize,
    /// Jobs that wait for a retry.
    pub retrying: usize,
    /// Dead letters that wait for somebody.
    pub dead_letters: usize,
    /// The soonest retry, Unix milliseconds.
    pub next_retry_at_ms: Option<i64>,
    pub(super) jobs_of: HashMap<PipelineId, Vec<JobId>>,
    pub(super) states_of: HashMap<PipelineId, [bool; 4]>,
}

impl Index {
    /// Of a model.
    pub fn of(model: &ReadModel) -> Self {
        let mut index = Self { dead_letters: model.dead_letters.len(), ..Self::default() };
        for job in model.jobs.values() {
            index.jobs_of.entry(job.pipeline).or_default().push(job.id);
            match StateFilter::of_job(job.state) {
                Some(StateFilter::Queued) => index.queued += 1,
                Some(StateFilter::Running) => index.running += 1,
                Some(StateFilter::Retrying) => index.retrying += 1,
                Some(StateFilter::DeadLetters) | None => {}
            }
            if let Some(filter) = StateFilter::of_job(job.state)
                && filter != StateFilter::DeadLetters
                && let Some(flag) =
                    index.states_of.entry(job.pipeline).or_default().get_mut(filter as usize)
            {
                *flag = true;
            }
            if job.state == JobState::RetryScheduled {
                let due = job.run_at_ms.unwrap_or(i64::MAX);
                let soonest = index.next_retry_at_ms.get_or_insert(due);
                *soonest = due.min(*soonest);
            }
        }
        for letter in model.dead_letters.values() {
            let states = index.states_of.entry(letter.pipeline).or_default();
            if let Some(flag) = states.get_mut(StateFilter::DeadLetters as usize) {
                *flag = true;
            }
        }
        index
    }

    /// How many jobs, or dead letters, fall under a filter.
    pub const fn count(&self, filter: StateFilter) -> usize {
        match filter {
            StateFilter::Queued => self.queued,
            StateFilter::Running => self.running,
            StateFilter::Retrying => self.retrying,
            StateFilter::DeadLetters => self.dead_letters,
        }
    }

    /// The jobs of a pipeline in order.
    pub fn jobs_of(&self, pipeline: PipelineId) -> &[JobId] {
        self.jobs_of.get(&pipeline).map_or(&[], Vec::as_slice)
    }

    /// Whether a pipeline has something under a filter.
    pub fn has(&self, pipeline: PipelineId, filter: StateFilter) -> bool {
        let states = self.states_of.get(&pipeline);
        states.and_then(|states| states.get(filter as usize)).is_some_and(|has| *has)
    }
}

/// When each worker's lease was last renewed, by this machine's clock: a model says how long a
/// lease lasts from then.
#[derive(Debug, Default)]
pub struct Leases {
    seen: HashMap<SessionId, Seen>,
}

#[derive(Debug)]
struct Seen {
    at_ms: i64,
    left_ms: u64,
    worker: Arc<WorkerView>,
}

impl Leases {
    /// Notes which workers have beaten since the last model.
    pub fn follow(&mut self, model: &ReadModel, now_ms: i64) {
        self.seen.retain(|session, _| model.workers.contains_key(session));
        for (session, worker) in &model.workers {
            let left_ms = worker.lease_left_ms;
            match self.seen.get_mut(session) {
                None => {
                    let seen = Seen { at_ms: now_ms, left_ms, worker: Arc::clone(worker) };
                    self.seen.insert(session.clone(), seen);
                }
                Some(seen) if Arc::ptr_eq(&seen.worker, worker) => {}
                Some(seen) => {
                    // A worker that took or left a job is a new row, but no new beat.
                    let beat = seen.left_ms != left_ms || seen.worker.jobs == worker.jobs;
                    if beat {
                        seen.at_ms = now_ms;
                        seen.left_ms = left_ms;
                    }
                    seen.worker = Arc::clone(worker);
                }
            }
        }
    }

    /// Until a worker's lease ends, and how long it was when it was renewed.
    pub fn left_ms(&self, session: &SessionId, now_ms: i64) -> Option<i64> {
        let seen = self.seen.get(session)?;
        let left_ms = i64::try_from(seen.left_ms).unwrap_or(i64::MAX);
        Some(left_ms.saturating_sub(now_ms.saturating_sub(seen.at_ms)).max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::work::Capabilities;

    fn worker(lease_left_ms: u64, jobs: Vec<JobId>) -> WorkerView {
        WorkerView {
            name: "paddy".to_owned(),
            session: SessionId::from_random([1; 16]),
            capabilities: Capabilities {
                host: String::new(),
                os: String::new(),
                version: String::new(),
                cores: 1,
                memory_bytes: 0,
                slots: 1,
                gpus: Vec::new(),
                programs: Vec::new(),
                paths: Vec::new(),
            },
            jobs,
            opened_at_ms: 0,
            lease_left_ms,
            quarantine: None,
        }
    }

    fn model(worker: WorkerView) -> ReadModel {
        let mut model = ReadModel::default();
        model.workers.insert(worker.session.clone(), Arc::new(worker));
        model
    }

    #[test]
    fn a_beat_renews_the_countdown_and_a_claim_does_not() {
        let session = SessionId::from_random([1; 16]);
        let mut leases = Leases::default();
        leases.follow(&model(worker(30_000, Vec::new())), 0);
        assert_eq!(leases.left_ms(&session, 10_000), Some(20_000));
        leases.follow(&model(worker(30_000, vec![JobId(1)])), 10_000);
        assert_eq!(leases.left_ms(&session, 10_000), Some(20_000), "a claim");
        leases.follow(&model(worker(30_000, vec![JobId(1)])), 12_000);
        assert_eq!(leases.left_ms(&session, 12_000), Some(30_000), "a beat");
        assert_eq!(leases.left_ms(&session, 90_000), Some(0));
        leases.follow(&ReadModel::default(), 13_000);
        assert_eq!(leases.left_ms(&session, 13_000), None);
    }
}
