//! Ends sessions whose lease ran out, so that their jobs are handed on.

use super::super::keeping;
use super::super::state::Shared;
use super::driver::{Rhythm, drive};
use std::time::Duration;

pub(super) async fn run(farm: Shared) {
    let period = keeping::sweep_period(farm.leases().lease_ms());
    let rhythm = Rhythm { name: "lease sweep", period, commits: None, spacing: Duration::ZERO };
    drive(rhythm, farm.stopping.clone(), || pass(&farm)).await;
}

async fn pass(farm: &Shared) -> Result<(), String> {
    let swept = keeping::sweep(&farm.store, farm.lease_book(), farm.mono_ms()).await;
    swept.map(drop).map_err(|error| error.to_string())
}
