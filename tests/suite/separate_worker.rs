//! A coordinator in one process and a worker in another, as on two machines.

use crate::farm::{Farm, check_published};
use crate::inputs::sample;
use sawah::model::{PipelineStatus, Stage, StageStatus};
use sawah::protocol::view::{AttemptOutcome, JobDetail, PipelineDetail};

#[tokio::test]
async fn a_glb_an_obj_and_an_exr_finish_on_a_separate_worker() {
    let mut farm = Farm::new("separate-worker");
    let _serve = farm.serve().await;
    let _worker = farm.worker("render-01");
    for suffix in ["glb", "obj", "exr"] {
        let ran = farm.try_submit([sample(suffix)], &["--wait"]).await.expect_code(0);
        let pipeline = ran.pipeline();
        let detail = farm.pipeline(pipeline).await;
        check_pipeline(&detail);
        check_published(&detail);

        let id = pipeline.to_string();
        let shown = farm.run(["show", "--json", id.as_str()]).await.expect_code(0).json();
        let shown: PipelineDetail = serde_json::from_value(shown).expect("show prints it in full");
        assert_eq!(shown, detail, "show and the API say the same");
        check_text(&farm.run(["show", id.as_str()]).await.expect_code(0).stdout, &detail);
    }
}

fn check_pipeline(detail: &PipelineDetail) {
    assert_eq!(detail.pipeline.status, PipelineStatus::Succeeded, "{detail:#?}");
    assert!(detail.pipeline.finished_at_ms >= Some(detail.pipeline.created_at_ms));
    assert!(detail.pipeline.still.is_some(), "the still picture is known");
    for stage in &detail.pipeline.stages {
        let is_done = matches!(stage.status, StageStatus::Succeeded | StageStatus::Skipped);
        assert!(is_done && stage.parts_done == stage.parts_total, "{stage:?}");
    }
    detail.jobs.iter().for_each(check_job);
}

fn check_job(job: &JobDetail) {
    let [attempt] = job.attempts.as_slice() else {
        panic!("one attempt is enough: {job:#?}");
    };
    assert_eq!(attempt.outcome, AttemptOutcome::Succeeded);
    assert_eq!(attempt.worker, "render-01");
    assert_eq!(attempt.attempt, 1);
    let times = [
        Some(job.job.created_at_ms),
        Some(attempt.claimed_at_ms),
        attempt.started_at_ms,
        attempt.ended_at_ms,
    ];
    assert!(times.iter().all(Option::is_some) && times.is_sorted(), "{attempt:#?}");
    let makes_nothing = job.job.stage == Stage::Cleanup;
    assert_eq!(job.outputs.is_empty(), makes_nothing, "{job:#?}");
    assert!(job.idempotency_key.starts_with(job.job.stage.as_str()), "{}", job.idempotency_key);
}

/// What people read tells each stage, attempt, worker, checksum and time.
fn check_text(text: &str, detail: &PipelineDetail) {
    for stage in &detail.pipeline.stages {
        assert!(text.contains(stage.stage.as_str()), "{} is missing in\n{text}", stage.stage);
    }
    assert!(text.contains("render-01"), "the worker is missing in\n{text}");
    assert!(text.contains("attempt"), "the attempts are missing in\n{text}");
    for file in &detail.published {
        let checksum = file.checksum.short();
        assert!(text.contains(&file.output), "{} is missing in\n{text}", file.output);
        assert!(text.contains(&checksum), "checksum {checksum} is missing in\n{text}");
    }
    let has_time = text.split_whitespace().any(|word| {
        let digits = word.trim_matches(|letter: char| !letter.is_ascii_digit());
        digits.split(':').count() >= 2 && digits.split(':').all(|part| part.parse::<f64>().is_ok())
    });
    assert!(has_time, "no time of day in\n{text}");
}
