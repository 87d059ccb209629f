use super::*;
use crate::model::{
    AssetKind, AssetName, Checksum, Chunk, Epoch, JobId, JobState, PipelineStatus, Reason,
    SessionId, Stage, StageStatus, TraceId,
};
use crate::protocol::view::{AttemptOutcome, JobView, PublishedFile, StageView};
use crate::protocol::work::{Failure, InputFile, OutputFile, Progress, Warning};

fn attempt(number: u32, outcome: AttemptOutcome, failure: Option<Failure>) -> AttemptView {
    AttemptView {
        epoch: Epoch(number),
        attempt: number,
        worker: "render-01".to_owned(),
        session: SessionId::from_random([1; 16]),
        claimed_at_ms: 1_000,
        started_at_ms: Some(1_500),
        ended_at_ms: Some(4_700),
        outcome,
        failure,
    }
}

fn job() -> JobView {
    JobView {
        id: JobId(12),
        pipeline: PipelineId(3),
        stage: Stage::Render,
        chunk: Chunk::Frames { first: 1, last: 12 },
        frames: None,
        queue: "render.preview".to_owned(),
        state: JobState::Succeeded,
        attempt: 2,
        max_attempts: 4,
        epoch: Epoch(2),
        worker: None,
        session: None,
        run_at_ms: None,
        progress: None,
        last_failure: None,
        replay_of: None,
        created_at_ms: 900,
        updated_at_ms: 4_700,
    }
}

fn detail() -> PipelineDetail {
    let output = |number: u32| OutputFile {
        name: format!("turntable/{number:04}.png"),
        checksum: Checksum::of(&number.to_le_bytes()),
        size_bytes: 2_048,
        media_type: "image/png".to_owned(),
    };
    let lost = Failure::new(Reason::LeaseLost, "render-01 fell silent");
    PipelineDetail {
        pipeline: PipelineView {
            id: PipelineId(3),
            asset: AssetName::from_any("gear"),
            asset_version: 2,
            kind: Some(AssetKind::Mesh),
            recipe: "preview".to_owned(),
            status: PipelineStatus::Succeeded,
            created_at_ms: 0,
            finished_at_ms: Some(5_000),
            source_ref: "/a/gear.stl".to_owned(),
            stages: vec![StageView {
                stage: Stage::Assemble,
                status: StageStatus::Skipped,
                parts_total: 0,
                parts_done: 0,
            }],
            still: None,
        },
        trace_id: TraceId::from_random([2; 16]),
        sources: vec![InputFile {
            made_by: None,
            name: "gear.stl".to_owned(),
            checksum: Checksum::of(b"gear"),
            size_bytes: 84,
        }],
        jobs: vec![JobDetail {
            job: job(),
            idempotency_key: "k".to_owned(),
            attempts: vec![
                attempt(1, AttemptOutcome::Lost, Some(lost)),
                attempt(2, AttemptOutcome::Succeeded, None),
            ],
            outputs: (1..=8).map(output).collect(),
            warnings: vec![Warning {
                reason: Reason::ProgramMissing,
                message: "ffmpeg is not installed".to_owned(),
            }],
            drawn_by: Some("llvmpipe".to_owned()),
            edit: None,
            reused_from: None,
        }],
        published: vec![PublishedFile {
            output: "still.png".to_owned(),
            checksum: Checksum::of(b"still"),
            size_bytes: 10,
            path: Some("/farm/published/gear/v0002/still.png".to_owned()),
        }],
        export_folder: Some("/farm/published/gear/v0002".to_owned()),
    }
}

#[test]
fn it_tells_stage_attempt_worker_checksum_and_time() {
    let text = describe(&detail(), 65_000, false);
    for part in [
        "Pipeline 3: gear v2 (mesh), recipe preview: succeeded",
        "took       5.0 s",
        "drawn by   llvmpipe",
        "assemble skipped",
        "frames:1-12",
        "1/4",
        "lease.lost: render-01 fell silent",
        "3.2 s",
        "render-01",
        &Checksum::of(b"gear").short(),
        "and 2 more (--all)",
        "ffmpeg is not installed",
        "/farm/published/gear/v0002/still.png",
    ] {
        assert!(text.contains(part), "{part} in:\n{text}");
    }
    assert!(!text.contains("0007.png"));
    let all = describe(&detail(), 65_000, true);
    assert!(all.contains("0008.png") && all.contains(&Checksum::of(b"still").to_string()));
}

#[test]
fn a_running_job_shows_its_last_frame_line_and_how_long_it_has_been_quiet() {
    let mut detail = detail();
    detail.jobs[0].job.progress = Some(Progress {
        percent: 58.3,
        message: "frame 7 of 12".to_owned(),
        frame: Some(7),
        line: "tile 3 done".to_owned(),
        quiet_ms: Some(245_000),
    });
    let text = describe(&detail, 65_000, false);
    for part in ["58 %", "frame 7 of 12", "tile 3 done", "4 min 5 s", "QUIET"] {
        assert!(text.contains(part), "{part} in:\n{text}");
    }
}
