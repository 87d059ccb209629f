//! What a simulated worker does with the jobs it was given: attempts, and reports of how they went.

use super::super::faults::Weather;
use super::super::message::Reply;
use super::super::work;
use super::super::world::World;
use super::{Attempt, Key, Kind, Outcome, Phase, Tick};
use crate::model::{Reason, SessionId, Stage};
use crate::protocol::work::{Assignment, Failure};
use crate::store::StoreError;
use crate::worker::bounds;

impl World {
    pub(super) fn report(&mut self, index: usize, id: &SessionId, key: Key) {
        let session = self.workers.get_mut(index).and_then(|worker| worker.own(id));
        if session.is_none_or(|session| !session.running.contains_key(&key)) {
            return;
        }
        if !self.lease_holds(index, id) {
            return self.worker_timer(index, 1_000, Tick::Report(id.clone(), key));
        }
        let Some(session) = self.workers.get_mut(index).and_then(|worker| worker.own(id)) else {
            return;
        };
        if let Some(attempt) = session.running.get_mut(&key)
            && attempt.phase == Phase::Working
        {
            attempt.phase = Phase::Reporting;
        }
        if let Some(request) = session.report(key) {
            self.call(index, Kind::Report(key), request, bounds::CALL_MS);
        }
    }

    pub(super) fn begin_attempt(&mut self, index: usize, id: &SessionId, assignment: &Assignment) {
        let calm = self.calm();
        let sick = Weather::lasts(&self.weather.sick, index, self.now_ms);
        let failure = work::failure(&mut self.random, calm);
        let failure = if sick { Some(work::sick()) } else { failure };
        let outcome = match failure {
            Some(failure) => Outcome::Failure(failure),
            None => Outcome::Result(Box::new(work::result(assignment))),
        };
        let key = (assignment.job_id, assignment.epoch);
        let publishes = assignment.stage == Stage::Publish;
        let Some(session) = self.workers.get_mut(index).and_then(|worker| worker.own(id)) else {
            return;
        };
        let attempt = Attempt { phase: Phase::Starting, publishes, outcome, faults: 0 };
        session.running.entry(key).or_insert(attempt);
        self.worker_timer(index, 0, Tick::Report(id.clone(), key));
    }

    pub(super) fn reported(&mut self, index: usize, id: &SessionId, key: Key, reply: Reply) {
        let length_ms = work::length_ms(&mut self.random);
        let Some(worker) = self.workers.get_mut(index) else { return };
        let Some(session) = worker.own(id) else { return };
        let Some(attempt) = session.running.get_mut(&key) else { return };
        let again = |ms| Some((ms, Tick::Report(id.clone(), key)));
        let next = match reply {
            Ok(_) if attempt.phase == Phase::Starting => {
                attempt.phase = Phase::Working;
                again(length_ms)
            }
            Ok(_) => None,
            Err(StoreError::Closed | StoreError::Busy(_)) => again(bounds::BACKOFF_MS * 4),
            Err(StoreError::DiskFull) if attempt.faults < bounds::REPORT_FAULTS => {
                attempt.faults += 1;
                again(bounds::BACKOFF_MAX_MS)
            }
            Err(StoreError::Superseded(_) | StoreError::Cancelled(_) | StoreError::Finished(_)) => {
                None
            }
            // A failure that the coordinator refuses ends the attempt all the same.
            Err(_) if matches!(attempt.outcome, Outcome::Failure(_)) => None,
            Err(error) => {
                let reason = match error {
                    StoreError::Conflict(_) if attempt.publishes => Reason::PublishConflict,
                    StoreError::DiskFull => Reason::StorageFull,
                    _ => Reason::Unexpected,
                };
                attempt.outcome = Outcome::Failure(Failure::new(reason, error.to_string()));
                again(0)
            }
        };
        if let Some((in_ms, tick)) = next {
            self.worker_timer(index, in_ms, tick);
        } else {
            session.running.remove(&key);
            self.claim_in(index, id, 0);
        }
    }
}
