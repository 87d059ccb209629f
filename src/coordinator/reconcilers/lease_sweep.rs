//! Ends sessions whose lease ran out, so that their jobs are handed on.

use super::super::state::Shared;
use super::driver::{Rhythm, drive};
use crate::store::StoreError;
use std::time::Duration;

pub(super) async fn run(farm: Shared) {
    let period = super::sweep_period(farm.leases().lease_ms());
    let rhythm = Rhythm { name: "lease sweep", period, commits: None, spacing: Duration::ZERO };
    drive(rhythm, farm.stopping.clone(), || pass(&farm)).await;
}

async fn pass(farm: &Shared) -> Result<(), String> {
    let expired = farm.leases().tick(farm.mono_ms());
    for session in expired {
        match farm.store.close_session(&session, true).await {
            Ok(jobs) => tracing::warn!(%session, jobs, "worker lost: its jobs are handed on"),
            // It ended by another way, for example because its worker came back.
            Err(StoreError::UnknownSession) => {}
            Err(error) => return Err(error.to_string()),
        }
        farm.leases().close(&session);
    }
    Ok(())
}
