//! Looks after cancels and drains: what has no effect after a while is applied again.

use super::super::keeping;
use super::super::state::Shared;
use super::driver::{Rhythm, drive};
use crate::policy::watchdog::Watchdog;
use std::sync::Mutex;
use std::time::Duration;

const PERIOD: Duration = Duration::from_secs(5);

pub(super) async fn run(farm: Shared) {
    let rhythm = Rhythm { name: "intents", period: PERIOD, commits: None, spacing: Duration::ZERO };
    let watchdog = Mutex::new(Watchdog::default());
    drive(rhythm, farm.stopping.clone(), || pass(&farm, &watchdog)).await;
}

async fn pass(farm: &Shared, watchdog: &Mutex<Watchdog>) -> Result<(), String> {
    let now_ms = farm.mono_ms();
    let done = keeping::look_after(&farm.store, farm.lease_book(), watchdog, now_ms).await;
    done.map(drop).map_err(|error| error.to_string())
}
