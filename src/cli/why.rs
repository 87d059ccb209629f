//! `sawah why`: what keeps a job from running.

use super::context::Context;
use super::error::{CliError, Exit};
use super::output;
use crate::model::JobId;
use crate::protocol::why::Why;
use clap::Args;

/// Say why a job is not running: every limit and every worker, in order
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sawah why 17\n  sawah why 17 --json")]
pub(super) struct WhyArguments {
    /// The job's number, as 'sawah show' shows it
    job: JobId,
}

pub(super) fn run(context: &Context, arguments: &WhyArguments) -> Result<Exit, CliError> {
    let job = arguments.job;
    let why = context.with_client(|client| async move { Ok(client.why(job).await?) })?;
    if context.json {
        output::json(&why)?;
    } else {
        output::raw(text(&why).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn text(why: &Why) -> String {
    let mut lines = vec![format!(
        "Job {} ({} of pipeline {}) is {}; queue {}, project {}, priority {}",
        why.job, why.stage, why.pipeline, why.state, why.queue, why.project, why.priority
    )];
    if why.level != why.priority {
        lines.push(format!("  by waiting it has risen to {}", why.level));
    }
    lines.extend(why.reasons.iter().map(|reason| format!("  {}", reason.message)));
    for worker in &why.workers {
        if worker.reasons.is_empty() {
            lines.push(format!("  {}: may take it", worker.worker));
        }
        lines.extend(
            worker.reasons.iter().map(|reason| format!("  {}: {}", worker.worker, reason.message)),
        );
    }
    let lines: Vec<_> = lines.iter().map(|line| output::one_line(line)).collect();
    format!("{}\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{JobState, Name, PipelineId, Stage};
    use crate::protocol::why::{WhyCode, WhyReason, WorkerWhy};

    #[test]
    fn each_reason_is_a_line() {
        let reason = |message: &str| WhyReason {
            code: WhyCode::InLine,
            message: message.into(),
            until_ms: None,
            holders: Vec::new(),
        };
        let why = Why {
            job: JobId(7),
            pipeline: PipelineId(3),
            stage: Stage::Render,
            queue: "render.preview".into(),
            state: JobState::Queued,
            project: Name::default_project(),
            priority: 5,
            level: 6,
            reasons: vec![reason("nothing keeps it")],
            workers: vec![
                WorkerWhy { worker: "w1".into(), reasons: vec![reason("busy")] },
                WorkerWhy { worker: "w2".into(), reasons: Vec::new() },
            ],
            position: Some(1),
        };
        let expected = "\
Job 7 (render of pipeline 3) is queued; queue render.preview, project default, priority 5
  by waiting it has risen to 6
  nothing keeps it
  w1: busy
  w2: may take it
";
        assert_eq!(text(&why), expected);
    }
}
