//! What the tests of stages and of the worker start from.

use super::{Reporter, StageRequest};
use crate::model::{AssetName, Checksum, Chunk, Epoch, JobId, PipelineId, Stage, TraceId};
use crate::protocol::work::{Assignment, JobInput, JobLimits};
use crate::recipes::Settings;
use std::path::Path;

/// Hears nothing.
pub(crate) struct Silent;

impl Reporter for Silent {
    fn progress(&self, _percent: f32, _message: &str) {}
    fn log(&self, _line: &str) {}
}

/// Job 2 of pipeline 1, without dependencies and limits.
pub(crate) fn assignment(stage: Stage) -> Assignment {
    Assignment {
        job_id: JobId(2),
        pipeline_id: PipelineId(1),
        asset: AssetName::from_any("dragon"),
        asset_version: 1,
        stage,
        chunk: Chunk::Whole,
        idempotency_key: format!("{stage}:dragon"),
        input: JobInput {
            source_ref: "dragon.glb".to_owned(),
            checksum: Checksum::of(b"dragon"),
            profile: "preview-00000000".to_owned(),
            options_ref: "preview".to_owned(),
            kind: None,
            main_file: "dragon.glb".to_owned(),
            frame_count: None,
        },
        dependencies: Vec::new(),
        kept: Vec::new(),
        settings: Settings::default(),
        limits: JobLimits { timeout_ms: 0, stall_ms: 0, memory_bytes: 0 },
        attempt: 1,
        max_attempts: 3,
        epoch: Epoch(1),
        trace_id: TraceId::from_random([7; 16]),
        enqueued_at_ms: 0,
        pointer_generation: 0,
    }
}

/// A request for [`assignment`].
pub(crate) fn request(stage: Stage, input: &Path, output: &Path) -> StageRequest {
    StageRequest {
        assignment: assignment(stage),
        input_dir: input.to_owned(),
        output_dir: output.to_owned(),
        workshop: super::Workshop::default(),
        stay: None,
    }
}

/// Whether a process runs: a zombie that nobody has reaped yet does not.
#[cfg(unix)]
pub(crate) fn is_running(pid: rustix::process::Pid) -> bool {
    if rustix::process::test_kill_process(pid).is_err() {
        return false;
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    !stat.is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
}

/// Writes a shell script that reads a request and then does this.
#[cfg(unix)]
pub(crate) fn write_script(path: &Path, script: &str) {
    write_program(path, &format!("read -r request\n{script}"));
}

/// Writes a shell script that can be started at once. Written by a child: while this process has
/// the file open, another test's child may inherit it, and the system refuses to start it.
#[cfg(unix)]
pub(crate) fn write_program(path: &Path, script: &str) {
    use std::io::Write;
    let mut shell = std::process::Command::new("sh")
        .args(["-c", r#"cat > "$0" && chmod 755 "$0""#])
        .arg(path)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let text = format!("#!/bin/sh\n{script}\n");
    shell.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(shell.wait().unwrap().success());
}
