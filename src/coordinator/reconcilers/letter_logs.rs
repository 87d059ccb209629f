//! Attaches the last lines of the log to each dead letter, however the job died.

use super::super::logs::last_lines;
use super::super::state::Shared;
use super::driver::{Rhythm, drive};
use crate::model::{Epoch, JobId};
use std::time::Duration;

const PERIOD: Duration = Duration::from_secs(5);
const SPACING: Duration = Duration::from_millis(100);
/// Letters taken up in one pass.
const LETTERS_PER_PASS: u32 = 64;

pub(super) async fn run(farm: Shared) {
    let commits = Some(farm.store.committed());
    let rhythm = Rhythm { name: "letter logs", period: PERIOD, commits, spacing: SPACING };
    drive(rhythm, farm.stopping.clone(), || pass(&farm)).await;
}

async fn pass(farm: &Shared) -> Result<(), String> {
    let waiting = farm.store.letters_without_log(LETTERS_PER_PASS).await;
    for (job, epoch) in waiting.map_err(|error| error.to_string())? {
        let short = farm.store.short_log(job, epoch).await.map_err(|error| error.to_string())?;
        let lines = match short {
            Some(text) => last_lines(&text),
            None => tail(farm, job, epoch).await?,
        };
        farm.store.attach_log(job, lines).await.map_err(|error| error.to_string())?;
    }
    Ok(())
}

async fn tail(farm: &Shared, job: JobId, epoch: Epoch) -> Result<Vec<String>, String> {
    let logs = farm.logs.clone();
    let read = tokio::task::spawn_blocking(move || logs.tail(job, epoch));
    // A log that cannot be read must not hold up the letters after it.
    let lines = read.await.map_err(|error| error.to_string())?;
    Ok(lines.unwrap_or_else(|error| vec![format!("[{error}]")]))
}
