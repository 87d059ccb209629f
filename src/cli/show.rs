//! `sawah show`: one pipeline in full.

use super::context::Context;
use super::error::{CliError, Exit};
use super::output::{self, Table};
use super::words;
use crate::model::PipelineId;
use crate::protocol::view::{AttemptView, JobDetail, PipelineDetail, PipelineView};
use clap::Args;

/// Outputs of one job shown without `--all`.
const OUTPUTS_SHOWN: usize = 6;

/// Show one pipeline in full: stages, attempts, workers, checksums, times
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sawah show 3\n  sawah show 3 --all\n  sawah show 3 --json")]
pub(super) struct ShowArguments {
    /// The pipeline's number, as 'sawah ls' shows it
    pipeline: PipelineId,
    /// Every output of every job, with whole checksums
    #[arg(long)]
    all: bool,
}

pub(super) fn run(context: &Context, arguments: &ShowArguments) -> Result<Exit, CliError> {
    let pipeline = arguments.pipeline;
    let detail =
        context.with_client(|client| async move { Ok(client.pipeline(pipeline).await?) })?;
    if context.json {
        output::json(&detail)?;
    } else {
        output::raw(describe(&detail, context.now_ms(), arguments.all).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn describe(detail: &PipelineDetail, now_ms: i64, all: bool) -> String {
    let mut text = head(detail, now_ms);
    section(&mut text, "Source files", &sources(detail, all));
    section(&mut text, "Stages and attempts", &attempts(detail, now_ms));
    section(&mut text, "Running", &running(detail));
    section(&mut text, "Outputs", &outputs(detail, all));
    section(&mut text, "Warnings", &warnings(detail));
    section(&mut text, "Published", &published(detail, all));
    if let Some(folder) = &detail.export_folder {
        text = format!("{text}\nPublished in {folder}\n");
    }
    text
}

fn section(text: &mut String, name: &str, table: &Table) {
    if !table.is_empty() {
        text.extend(["\n", name, "\n", &table.render(2)]);
    }
}

fn head(detail: &PipelineDetail, now_ms: i64) -> String {
    let row = &detail.pipeline;
    let kind = row.kind.map_or_else(|| "kind not known yet".to_owned(), |kind| kind.to_string());
    let end_ms = row.finished_at_ms.unwrap_or(now_ms);
    let mut lines = vec![
        format!(
            "Pipeline {}: {} v{} ({kind}), recipe {}: {}",
            row.id, row.asset, row.asset_version, row.recipe, row.status
        ),
        format!("  source     {}", output::one_line(&row.source_ref)),
        format!(
            "  submitted  {} ({})",
            words::date(row.created_at_ms),
            words::ago(now_ms, row.created_at_ms)
        ),
        format!("  took       {}", words::span(end_ms.saturating_sub(row.created_at_ms))),
        format!("  trace      {}", detail.trace_id),
        format!("  stages     {}", stages(row)),
    ];
    let mut drawn_by: Vec<&str> =
        detail.jobs.iter().filter_map(|job| job.drawn_by.as_deref()).collect();
    drawn_by.sort_unstable();
    drawn_by.dedup();
    if !drawn_by.is_empty() {
        lines.push(format!("  drawn by   {}", output::one_line(&drawn_by.join(", "))));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Every stage with its status, also those that the recipe skips.
fn stages(row: &PipelineView) -> String {
    let words: Vec<String> =
        row.stages.iter().map(|stage| format!("{} {}", stage.stage, stage.status)).collect();
    words.join(", ")
}

fn sources(detail: &PipelineDetail, all: bool) -> Table {
    let mut table = Table::new(&["FILE", "#SIZE", "CHECKSUM"]);
    let shown = if all { usize::MAX } else { OUTPUTS_SHOWN };
    for file in detail.sources.iter().take(shown) {
        table.row([file.name.clone(), words::size(file.size_bytes), sum(&file.checksum, all)]);
    }
    more(&mut table, 0, detail.sources.len(), shown);
    table
}

fn sum(checksum: &crate::model::Checksum, all: bool) -> String {
    if all { checksum.to_string() } else { checksum.short() }
}

fn more(table: &mut Table, column: usize, total: usize, shown: usize) {
    if let Some(hidden) = total.checked_sub(shown).filter(|hidden| *hidden > 0) {
        let mut cells = vec![String::new(); column];
        cells.push(format!("and {hidden} more (--all)"));
        table.row(cells);
    }
}

fn attempts(detail: &PipelineDetail, now_ms: i64) -> Table {
    let mut table = Table::new(&[
        "STAGE", "PART", "#JOB", "STATE", "#ATTEMPT", "WORKER", "OUTCOME", "STARTED", "#TIME",
        "WHY",
    ]);
    for job in &detail.jobs {
        if job.attempts.is_empty() {
            table.row(job_cells(job).into_iter().chain(without_attempt(job)));
        }
        for (index, attempt) in job.attempts.iter().enumerate() {
            let own = attempt_cells(job, attempt, now_ms);
            // The job is named once, its later attempts stand under it.
            let cells = if index == 0 { job_cells(job) } else { Default::default() };
            table.row(cells.into_iter().chain(own));
        }
    }
    table
}

fn job_cells(job: &JobDetail) -> [String; 4] {
    let row = &job.job;
    [row.stage.to_string(), row.part(), row.id.to_string(), row.state.to_string()]
}

fn without_attempt(job: &JobDetail) -> Vec<String> {
    match job.reused_from {
        Some(from) => {
            let outcome = format!("made by job {from}");
            vec!["none".to_owned(), String::new(), outcome]
        }
        None => vec![format!("0/{}", job.job.max_attempts)],
    }
}

fn attempt_cells(job: &JobDetail, attempt: &AttemptView, now_ms: i64) -> [String; 6] {
    let began_ms = attempt.started_at_ms.unwrap_or(attempt.claimed_at_ms);
    let ended_ms = attempt.ended_at_ms.unwrap_or(now_ms);
    let why = attempt.failure.as_ref().map(words::failure).unwrap_or_default();
    [
        format!("{}/{}", attempt.attempt, job.job.max_attempts),
        attempt.worker.clone(),
        attempt.outcome.as_str().to_owned(),
        words::date(began_ms),
        words::span(ended_ms.saturating_sub(began_ms)),
        why,
    ]
}

/// Every job that runs, with its last sign of progress: what stands still shows.
fn running(detail: &PipelineDetail) -> Table {
    let mut table = Table::new(&[
        "STAGE", "PART", "#JOB", "WORKER", "#DONE", "#FRAME", "WHAT", "#QUIET", "LINE",
    ]);
    for row in detail.jobs.iter().map(|job| &job.job) {
        let Some(progress) = &row.progress else { continue };
        let quiet_ms = progress.quiet_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX));
        table.row([
            row.stage.to_string(),
            row.part(),
            row.id.to_string(),
            row.worker.clone().unwrap_or_default(),
            format!("{:.0} %", progress.percent),
            progress.frame.map(|frame| frame.to_string()).unwrap_or_default(),
            progress.message.clone(),
            quiet_ms.map(words::span).unwrap_or_default(),
            progress.line.clone(),
        ]);
    }
    table
}

fn outputs(detail: &PipelineDetail, all: bool) -> Table {
    let mut table = Table::new(&["STAGE", "#JOB", "OUTPUT", "#SIZE", "CHECKSUM"]);
    let shown = if all { usize::MAX } else { OUTPUTS_SHOWN };
    for job in &detail.jobs {
        for file in job.outputs.iter().take(shown) {
            table.row([
                job.job.stage.to_string(),
                job.job.id.to_string(),
                file.name.clone(),
                words::size(file.size_bytes),
                sum(&file.checksum, all),
            ]);
        }
        more(&mut table, 2, job.outputs.len(), shown);
    }
    table
}

fn warnings(detail: &PipelineDetail) -> Table {
    let mut table = Table::new(&["STAGE", "REASON", "WHAT"]);
    for job in &detail.jobs {
        for warning in &job.warnings {
            let (stage, reason) = (job.job.stage.to_string(), warning.reason.to_string());
            table.row([stage, reason, warning.message.clone()]);
        }
    }
    table
}

fn published(detail: &PipelineDetail, all: bool) -> Table {
    let mut table = Table::new(&["OUTPUT", "#SIZE", "CHECKSUM", "PATH"]);
    for file in &detail.published {
        table.row([
            file.output.clone(),
            words::size(file.size_bytes),
            sum(&file.checksum, all),
            file.path.clone().unwrap_or_else(|| "(not exported yet)".to_owned()),
        ]);
    }
    table
}

#[cfg(test)]
#[path = "show_tests.rs"]
mod tests;
