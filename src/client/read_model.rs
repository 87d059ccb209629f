//! The farm as a client sees it: a snapshot, then every event folded in.

use crate::model::{JobId, JobState, PipelineId, PipelineStatus, SessionId, Verb};
use crate::policy::fingerprint::fingerprint;
use crate::policy::retry::max_attempts;
use crate::protocol::event::{Change, Event, Pulse};
use crate::protocol::quarantine::Quarantine;
use crate::protocol::view::{DeadLetterView, JobView, PipelineView, Snapshot, WorkerView};
use crate::protocol::work::Failure;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most pipelines kept; the newest stay.
pub const PIPELINES: usize = 10_000;
/// Pipelines that leave together when there are too many, so that leaving is cheap.
const LEAVE_AT_ONCE: usize = PIPELINES / 20;

/// What the window draws. Rows are behind `Arc` so that a copy of the whole is cheap.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadModel {
    /// The last event folded in.
    pub seq: u64,
    /// Pipelines by id.
    pub pipelines: BTreeMap<PipelineId, Arc<PipelineView>>,
    /// Jobs by id.
    pub jobs: BTreeMap<JobId, Arc<JobView>>,
    /// Workers by session.
    pub workers: BTreeMap<SessionId, Arc<WorkerView>>,
    /// Dead letters that wait for somebody, by job.
    pub dead_letters: BTreeMap<JobId, Arc<DeadLetterView>>,
    /// Pipelines in the store, of which the newest are here.
    pub pipelines_total: u64,
}

/// An event did not follow the last one: fetch a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("event {got} came where {expected} was expected")]
pub struct Gap {
    /// The number that should have come.
    pub expected: u64,
    /// The number that came.
    pub got: u64,
}

impl ReadModel {
    /// From a snapshot.
    pub fn from_snapshot(snapshot: Snapshot) -> Self {
        Self {
            seq: snapshot.seq,
            pipelines: keyed(snapshot.pipelines, |row| row.id),
            jobs: keyed(snapshot.jobs, |row| row.id),
            workers: keyed(snapshot.workers, |row| row.session.clone()),
            dead_letters: keyed(snapshot.dead_letters, |row| row.job),
            pipelines_total: snapshot.pipelines_total,
        }
    }

    /// Folds one event in; one that is already in is ignored.
    pub fn apply(&mut self, event: &Event) -> Result<(), Gap> {
        if event.seq <= self.seq {
            return Ok(());
        }
        let expected = self.seq + 1;
        if event.seq != expected {
            return Err(Gap { expected, got: event.seq });
        }
        self.seq = event.seq;
        self.fold(event);
        Ok(())
    }

    /// Folds a pulse in.
    pub fn pulse(&mut self, pulse: &Pulse) {
        let Pulse::Beat { session, lease_left_ms, running } = pulse;
        if let Some(worker) = self.workers.get_mut(session) {
            Arc::make_mut(worker).lease_left_ms = *lease_left_ms;
        }
        for one in running {
            if let Some(job) = self.jobs.get_mut(&one.job)
                && job.state.is_leased()
                && job.session.as_ref() == Some(session)
            {
                Arc::make_mut(job).progress = Some(one.progress.clone());
            }
        }
    }

    /// Which pipeline an event is about.
    pub fn pipeline_of(&self, event: &Event) -> Option<PipelineId> {
        match &event.change {
            Change::PipelineCreated { pipeline } => Some(pipeline.id),
            Change::PipelineChanged { pipeline, .. }
            | Change::StageChanged { pipeline, .. }
            | Change::JobCreated { pipeline, .. }
            | Change::JobChanged { pipeline, .. }
            | Change::Published { pipeline, .. }
            | Change::Exported { pipeline, .. } => Some(*pipeline),
            Change::DeadLetterSettled { job, .. } => self.jobs.get(job).map(|job| job.pipeline),
            Change::WorkerJoined { .. }
            | Change::WorkerLeft { .. }
            | Change::ControlChanged { .. }
            | Change::LimitChanged { .. }
            | Change::WorkerQuarantined { .. }
            | Change::WorkerForgiven { .. }
            | Change::IntentApplied { .. }
            | Change::WatchFolderChanged { .. }
            | Change::WatchFileChanged { .. }
            | Change::DeadLettersSettled { .. } => None,
        }
    }

    fn fold(&mut self, event: &Event) {
        match &event.change {
            Change::PipelineCreated { pipeline } => {
                self.pipelines_total += 1;
                self.pipelines.insert(pipeline.id, Arc::new(pipeline.clone()));
                self.forget_oldest();
            }
            Change::PipelineChanged { pipeline, status, kind, still } => {
                if let Some(row) = self.pipelines.get_mut(pipeline) {
                    let row = Arc::make_mut(row);
                    row.status = *status;
                    row.kind = kind.or(row.kind);
                    row.still = still.or(row.still);
                    row.finished_at_ms =
                        (*status != PipelineStatus::Running).then_some(event.at_ms);
                }
            }
            Change::StageChanged { pipeline, stage, status, parts_total, parts_done } => {
                if let Some(row) = self.pipelines.get_mut(pipeline) {
                    for one in &mut Arc::make_mut(row).stages {
                        if one.stage == *stage {
                            one.status = *status;
                            one.parts_total = *parts_total;
                            one.parts_done = *parts_done;
                        }
                    }
                }
            }
            Change::JobCreated { .. } => self.job_created(event),
            Change::JobChanged { .. } => self.job_changed(event),
            Change::DeadLetterSettled { job, .. } => {
                self.dead_letters.remove(job);
            }
            Change::WorkerJoined { worker } => {
                // One name has one live session: the one before ended with this one's begin.
                self.workers.retain(|_, row| row.name != worker.name);
                self.workers.insert(worker.session.clone(), Arc::new(worker.clone()));
            }
            Change::WorkerLeft { session, .. } => {
                self.workers.remove(session);
            }
            Change::WorkerQuarantined { worker, quarantine } => {
                self.quarantine(worker, Some(quarantine));
            }
            Change::WorkerForgiven { worker, .. } => self.quarantine(worker, None),
            Change::DeadLettersSettled { .. }
            | Change::IntentApplied { .. }
            | Change::Published { .. }
            | Change::Exported { .. }
            | Change::ControlChanged { .. }
            | Change::WatchFolderChanged { .. }
            | Change::WatchFileChanged { .. }
            | Change::LimitChanged { .. } => {}
        }
    }

    fn quarantine(&mut self, name: &str, quarantine: Option<&Quarantine>) {
        for worker in self.workers.values_mut().filter(|worker| worker.name == name) {
            Arc::make_mut(worker).quarantine = quarantine.cloned();
        }
    }

    fn job_created(&mut self, event: &Event) {
        let Change::JobCreated {
            job,
            pipeline,
            stage,
            chunk,
            frames,
            queue,
            max_attempts,
            replay_of,
        } = &event.change
        else {
            return;
        };
        if !self.pipelines.contains_key(pipeline) {
            return;
        }
        let row = JobView {
            id: *job,
            pipeline: *pipeline,
            stage: *stage,
            chunk: *chunk,
            frames: frames.clone(),
            queue: queue.clone(),
            state: JobState::Queued,
            attempt: 0,
            max_attempts: *max_attempts,
            epoch: crate::model::Epoch(0),
            worker: None,
            session: None,
            run_at_ms: None,
            progress: None,
            last_failure: None,
            replay_of: *replay_of,
            created_at_ms: event.at_ms,
            updated_at_ms: event.at_ms,
        };
        self.jobs.insert(*job, Arc::new(row));
    }

    fn job_changed(&mut self, event: &Event) {
        let Change::JobChanged {
            job,
            to,
            verb,
            attempt,
            epoch,
            worker,
            session,
            failure,
            run_at_ms,
            max_attempts: allowed,
            ..
        } = &event.change
        else {
            return;
        };
        if let Some(session) = session {
            self.hold(session, *job, to.is_leased());
        }
        let Some(row) = self.jobs.get_mut(job) else { return };
        let row = Arc::make_mut(row);
        row.state = *to;
        row.attempt = *attempt;
        row.epoch = *epoch;
        row.worker = worker.clone().filter(|_| to.is_leased());
        row.session = session.clone().filter(|_| to.is_leased());
        row.run_at_ms = *run_at_ms;
        row.updated_at_ms = event.at_ms;
        if !to.is_leased() || *verb == Verb::Claim {
            row.progress = None;
        }
        if let Some(failure) = failure {
            row.last_failure = Some(failure.clone());
            row.max_attempts = allowed.unwrap_or_else(|| max_attempts(failure.class));
        }
        if *to == JobState::FailedTerminal {
            let row = row.clone();
            self.dead_letter(&row, worker.clone(), failure.as_ref(), event.at_ms);
        }
    }

    fn dead_letter(
        &mut self,
        job: &JobView,
        worker: Option<String>,
        failure: Option<&Failure>,
        at_ms: i64,
    ) {
        let Some(pipeline) = self.pipelines.get(&job.pipeline) else { return };
        let Some(failure) = failure.or(job.last_failure.as_ref()) else { return };
        let letter = DeadLetterView {
            job: job.id,
            pipeline: job.pipeline,
            asset: pipeline.asset.clone(),
            asset_version: pipeline.asset_version,
            stage: job.stage,
            chunk: job.chunk,
            reason: failure.reason,
            class: failure.class,
            message: failure.message.clone(),
            remedy: failure.reason.remedy().to_owned(),
            attempts: job.attempt,
            worker,
            at_ms,
            replayed_as: None,
            dismissed: false,
            fingerprint: fingerprint(failure.reason, job.stage, &failure.message),
        };
        self.dead_letters.insert(job.id, Arc::new(letter));
    }

    fn hold(&mut self, session: &SessionId, job: JobId, holds: bool) {
        let Some(worker) = self.workers.get_mut(session) else { return };
        if worker.jobs.contains(&job) == holds {
            return;
        }
        let jobs = &mut Arc::make_mut(worker).jobs;
        if holds {
            jobs.push(job);
            jobs.sort_unstable();
        } else {
            jobs.retain(|one| *one != job);
        }
    }

    fn forget_oldest(&mut self) {
        if self.pipelines.len() <= PIPELINES {
            return;
        }
        for _ in 0..LEAVE_AT_ONCE {
            self.pipelines.pop_first();
        }
        let pipelines = &self.pipelines;
        self.jobs.retain(|_, job| pipelines.contains_key(&job.pipeline));
    }
}

fn keyed<K: Ord, V>(rows: Vec<V>, key: impl Fn(&V) -> K) -> BTreeMap<K, Arc<V>> {
    rows.into_iter().map(|row| (key(&row), Arc::new(row))).collect()
}

#[cfg(test)]
#[path = "read_model_tests.rs"]
mod tests;
