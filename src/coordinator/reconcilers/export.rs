//! Writes the export folders of finished publishes: the outbox of the store, emptied.
//!
//! Why an export waits stands in the farm's status; the store decides when it is tried again.

use super::super::state::Shared;
use super::driver::{Rhythm, drive};
use crate::artifacts::ExportFile;
use crate::store::PendingExport;
use std::time::Duration;

/// Without a commit, retries of failed exports wait at most this long beyond their time.
const PERIOD: Duration = Duration::from_secs(2);
const SPACING: Duration = Duration::from_millis(100);
/// Exports taken up in one pass.
const EXPORTS_PER_PASS: u32 = 16;

pub(super) async fn run(farm: Shared) {
    let commits = Some(farm.store.committed());
    let rhythm = Rhythm { name: "export", period: PERIOD, commits, spacing: SPACING };
    drive(rhythm, farm.stopping.clone(), || pass(&farm)).await;
}

async fn pass(farm: &Shared) -> Result<(), String> {
    let waiting =
        farm.store.pending_exports(EXPORTS_PER_PASS).await.map_err(|error| error.to_string())?;
    for export in waiting {
        if farm.stopping.is_cancelled() {
            break;
        }
        one(farm, export).await?;
    }
    Ok(())
}

async fn one(farm: &Shared, export: PendingExport) -> Result<(), String> {
    let PendingExport { id, pipeline, asset, folder, files, .. } = export;
    let folder = farm.folder.join("published").join(asset.as_str()).join(folder);
    let files: Vec<_> = files
        .into_iter()
        .map(|file| ExportFile { name: file.output, checksum: file.checksum })
        .collect();
    let (artifacts, into) = (farm.artifacts.clone(), folder.clone());
    let written = tokio::task::spawn_blocking(move || artifacts.export(&files, &into)).await;
    let answer = match written.map_err(|error| error.to_string()) {
        Ok(Ok(())) => {
            tracing::info!(%pipeline, folder = %folder.display(), "export folder written");
            farm.store.export_done(id, &folder.to_string_lossy()).await
        }
        Ok(Err(error)) => {
            tracing::warn!(%pipeline, %error, "export failed");
            farm.store.export_failed(id, &error.to_string()).await
        }
        Err(why) => farm.store.export_failed(id, &why).await,
    };
    answer.map_err(|error| error.to_string())
}
