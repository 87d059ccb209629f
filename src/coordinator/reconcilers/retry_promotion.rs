//! Puts retries back into their queues once their time has come.

use super::super::state::Shared;
use super::driver::{Rhythm, drive};
use std::time::Duration;

const PERIOD: Duration = Duration::from_secs(1);

pub(super) async fn run(farm: Shared) {
    let rhythm =
        Rhythm { name: "retry promotion", period: PERIOD, commits: None, spacing: Duration::ZERO };
    drive(rhythm, farm.stopping.clone(), || pass(&farm)).await;
}

async fn pass(farm: &Shared) -> Result<(), String> {
    let jobs = farm.store.promote_due().await.map_err(|error| error.to_string())?;
    if jobs > 0 {
        tracing::debug!(jobs, "retries are due");
    }
    Ok(())
}
