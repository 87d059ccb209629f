//! Waits until pipelines end, following the farm's events.

use super::error::CliError;
use super::{output, words};
use crate::client::events::{Follower, Step};
use crate::client::read_model::ReadModel;
use crate::client::{Client, ClientError};
use crate::model::{JobState, PipelineId, PipelineStatus};
use crate::protocol::view::{JobDetail, PipelineDetail, PipelineView};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Pipelines in the first picture.
const SNAPSHOT_PIPELINES: u32 = 1_000;
/// Connections that fail in a row before the coordinator is given up: somewhat over a minute.
const LOST_MAX: u32 = 10;
/// How often pipelines that are not among the newest are asked for.
const POLL: Duration = Duration::from_secs(2);

/// Whether a pipeline waits for nothing but people.
fn has_ended(status: PipelineStatus) -> bool {
    status != PipelineStatus::Running
}

/// Waits until each of `wanted` has ended. `on_change` sees the farm after each change.
pub(super) async fn for_pipelines(
    client: &Client,
    wanted: &BTreeSet<PipelineId>,
    mut on_change: impl FnMut(&ReadModel),
) -> Result<(), CliError> {
    let mut steps = Follower::new(client.clone(), SNAPSHOT_PIPELINES).spawn();
    let mut model = ReadModel::default();
    let mut old: BTreeMap<PipelineId, PipelineStatus> = BTreeMap::new();
    let mut lost = 0;
    let mut poll = tokio::time::interval(POLL);
    loop {
        tokio::select! {
            step = steps.recv() => match step {
                Some(Step::Snapshot(snapshot)) => {
                    lost = 0;
                    model = ReadModel::from_snapshot(*snapshot);
                }
                // The follower gives no gaps.
                Some(Step::Event(event)) => drop(model.apply(&event)),
                Some(Step::Pulse(pulse)) => model.pulse(&pulse),
                Some(Step::Lost(error)) => {
                    lost += 1;
                    give_up_or_say(lost, error)?;
                }
                None => return Err(CliError::internal("the event stream's task ended")),
            },
            _ = poll.tick(), if model.seq > 0 => {
                for pipeline in wanted.iter().filter(|id| !model.pipelines.contains_key(id)) {
                    let detail = client.pipeline(*pipeline).await?;
                    old.insert(*pipeline, detail.pipeline.status);
                }
            }
        }
        on_change(&model);
        let status = |id: &PipelineId| {
            model.pipelines.get(id).map(|row| row.status).or_else(|| old.get(id).copied())
        };
        if wanted.iter().all(|id| status(id).is_some_and(has_ended)) {
            return Ok(());
        }
    }
}

fn give_up_or_say(lost: u32, error: ClientError) -> Result<(), CliError> {
    if lost >= LOST_MAX || !error.is_temporary() {
        return Err(error.into());
    }
    if lost == 1 {
        output::note(&format!("The coordinator is gone, trying again: {error}"));
    }
    Ok(())
}

/// The job that made a dead letter of its pipeline: the last one given up.
pub(super) fn dead_job(detail: &PipelineDetail) -> Option<&JobDetail> {
    if detail.pipeline.status != PipelineStatus::DeadLettered {
        return None;
    }
    detail.jobs.iter().rfind(|job| job.job.state == JobState::FailedTerminal)
}

/// One line on how a pipeline ended.
pub(super) fn verdict(detail: &PipelineDetail) -> String {
    let PipelineView { id, asset, asset_version, status, .. } = &detail.pipeline;
    let name = format!("{asset} v{asset_version} (pipeline {id})");
    match (status, dead_job(detail)) {
        (PipelineStatus::Succeeded, _) => {
            let folder = detail.export_folder.as_deref().unwrap_or("the farm's store");
            format!("{name}: published in {folder}")
        }
        (_, Some(job)) => {
            let why = job.job.last_failure.as_ref().map(words::failure).unwrap_or_default();
            let stage = job.job.stage;
            format!(
                "{name}: dead letter in {stage}, job {}: {}",
                job.job.id,
                output::one_line(&why)
            )
        }
        (status, None) => format!("{name}: {status}"),
    }
}
