//! Hands the samples in, watches them through, and reads back what was published.

use super::super::error::CliError;
use super::super::wait;
use super::progress::Progress;
use super::report::{DeadRow, PublishedRow, Report, WarningRow};
use super::samples;
use crate::client::Client;
use crate::client::intake::{self, Handover, Item};
use crate::clock::Clock;
use crate::model::{Checksum, PipelineStatus};
use crate::protocol::view::PipelineDetail;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One run of the demo.
pub(super) struct Play {
    pub(super) client: Client,
    pub(super) clock: Arc<dyn Clock>,
    /// The farm's folder, for people.
    pub(super) farm: String,
    /// The samples to hand in.
    pub(super) paths: Vec<PathBuf>,
}

impl Play {
    pub(super) async fn run(self) -> Result<Report, CliError> {
        let handover = Handover::new(self.paths.clone());
        let items = intake::hand_in(&self.client, &handover, &|_| {}).await;
        let mut report = Report::new(self.farm.clone());
        let pipelines: BTreeSet<_> =
            items.iter().filter_map(|item| Some(item.outcome.as_ref().ok()?.pipeline)).collect();
        let mut progress = Progress::new(pipelines.iter().copied().collect());
        let clock = Arc::clone(&self.clock);
        wait::for_pipelines(&self.client, &pipelines, |model| {
            progress.show(model, clock.now().mono_ms);
        })
        .await?;
        progress.finish();
        for item in items {
            self.judge(item, &mut report).await?;
        }
        report.ok = report.problems.is_empty();
        Ok(report)
    }

    async fn judge(&self, item: Item, report: &mut Report) -> Result<(), CliError> {
        let submitted = match item.outcome {
            Ok(submitted) => submitted,
            Err(error) => {
                report.problems.push(format!("{} was not handed in: {error}", item.source));
                return Ok(());
            }
        };
        let detail = self.client.pipeline(submitted.pipeline).await?;
        report.drawn_by.extend(detail.jobs.iter().filter_map(|job| job.drawn_by.clone()));
        report.warnings.extend(warning_rows(&detail));
        if let Some(row) = dead_row(&detail) {
            report.dead_letters.push(row);
        }
        let must_fail = submitted.asset.as_str() == samples::BROKEN;
        if must_fail {
            if wait::dead_job(&detail).is_none_or(|job| job.job.last_failure.is_none()) {
                report.problems.push("the broken sample is no dead letter".to_owned());
            }
            return Ok(());
        }
        if detail.pipeline.status != PipelineStatus::Succeeded || detail.published.is_empty() {
            report.problems.push(wait::verdict(&detail));
        }
        self.read_back(&detail, report).await;
        Ok(())
    }

    /// A file counts as published when the bytes on disk are those of its checksum.
    async fn read_back(&self, detail: &PipelineDetail, report: &mut Report) {
        let asset = detail.pipeline.asset.to_string();
        for file in &detail.published {
            let Some(path) = &file.path else {
                report.problems.push(format!("{asset}: {} has no file", file.output));
                continue;
            };
            let (checked, expected) = (PathBuf::from(path), file.checksum);
            let matches = tokio::task::spawn_blocking(move || is_content(&checked, expected)).await;
            if !matches.unwrap_or(false) {
                report.problems.push(format!("{asset}: the published file is not whole: {path}"));
            }
            report.published.push(PublishedRow {
                asset: asset.clone(),
                version: detail.pipeline.asset_version,
                output: file.output.clone(),
                path: path.clone(),
                checksum: file.checksum,
            });
        }
    }
}

fn warning_rows(detail: &PipelineDetail) -> impl Iterator<Item = WarningRow> {
    detail.jobs.iter().flat_map(|job| {
        job.warnings.iter().map(|warning| WarningRow {
            asset: detail.pipeline.asset.to_string(),
            stage: job.job.stage,
            code: warning.reason,
            message: warning.message.clone(),
        })
    })
}

fn dead_row(detail: &PipelineDetail) -> Option<DeadRow> {
    let job = wait::dead_job(detail)?;
    let failure = job.job.last_failure.as_ref()?;
    Some(DeadRow {
        asset: detail.pipeline.asset.to_string(),
        stage: job.job.stage,
        code: failure.reason,
        message: failure.message.clone(),
    })
}

fn is_content(path: &Path, expected: Checksum) -> bool {
    let mut hasher = blake3::Hasher::new();
    let read = std::fs::File::open(path).and_then(|file| {
        hasher.update_reader(file)?;
        Ok(())
    });
    read.is_ok() && Checksum::from_bytes(*hasher.finalize().as_bytes()) == expected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_only_with_all_its_bytes() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("still.png");
        assert!(!is_content(&path, Checksum::of(b"picture")));
        std::fs::write(&path, b"pict").expect("write");
        assert!(!is_content(&path, Checksum::of(b"picture")));
        std::fs::write(&path, b"picture").expect("write");
        assert!(is_content(&path, Checksum::of(b"picture")));
    }
}
