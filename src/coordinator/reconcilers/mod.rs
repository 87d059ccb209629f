//! What moves by itself: each looks at the store's state and takes one step towards what should
//! be. They run periodically and when something was committed, and never retry inside a pass.

mod driver;
mod export;
mod intents;
mod lease_sweep;
mod letter_logs;
mod retry_promotion;
mod webhooks;

use super::state::Shared;
use tokio::task::JoinSet;

/// Starts all of them; they end when the farm stops.
pub(super) fn start(farm: &Shared) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    tasks.spawn(lease_sweep::run(farm.clone()));
    tasks.spawn(retry_promotion::run(farm.clone()));
    tasks.spawn(letter_logs::run(farm.clone()));
    tasks.spawn(export::run(farm.clone()));
    tasks.spawn(webhooks::run(farm.clone()));
    tasks.spawn(intents::run(farm.clone()));
    tasks
}
