//! How loaded the farm is, and what would help.

use crate::model::Mode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The load of the farm: in `GET /v1/status`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct FarmLoad {
    /// Slots of all workers that are given work.
    pub slots: u64,
    /// Of these taken.
    pub busy: u64,
    /// The share of slots that is taken, 0 to 100.
    pub utilisation_percent: u8,
    /// Every queue.
    pub queues: Vec<QueueLoad>,
}

/// The load of one queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueueLoad {
    /// Its name.
    pub queue: String,
    /// What operators want of it, or of the whole farm.
    pub mode: Mode,
    /// Jobs that wait.
    pub queued: u64,
    /// Jobs that run.
    pub running: u64,
    /// How long the oldest that waits has waited.
    pub oldest_ms: Option<u64>,
    /// What would help.
    pub hint: Hint,
}

/// What would help a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "hint", rename_all = "snake_case")]
pub enum Hint {
    /// Nothing: it is served well.
    Enough,
    /// More workers, with about so many slots in all.
    AddWorkers {
        /// Slots.
        slots: u64,
    },
    /// Jobs wait though slots are free: a limit holds them back, `sawah why` says which.
    Limited,
    /// It is paused or draining: workers change nothing.
    Held,
    /// Nothing to do: it needs no worker.
    Idle,
}
