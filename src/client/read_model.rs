//! The farm as a client sees it: a snapshot, then every event folded in.

use crate::model::{JobId, PipelineId, SessionId};
use crate::protocol::event::{Event, Pulse};
use crate::protocol::view::{DeadLetterView, JobView, PipelineView, Snapshot, WorkerView};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the window draws. Rows are behind `Arc` so that a copy of the whole is cheap.
#[derive(Debug, Clone, Default)]
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

#[expect(clippy::todo, unused_variables, reason = "signatures first")]
impl ReadModel {
    /// From a snapshot.
    pub fn from_snapshot(snapshot: Snapshot) -> Self {
        todo!()
    }

    /// Folds one event in; one that is already in is ignored.
    pub fn apply(&mut self, event: &Event) -> Result<(), Gap> {
        todo!()
    }

    /// Folds a pulse in.
    pub fn pulse(&mut self, pulse: &Pulse) {
        todo!()
    }
}
