//! Removes what a pipeline left in the worker's staging.

use super::{Reporter, StageOutput, StageRequest, StageResult};
use crate::model::Reason;
use crate::protocol::work::{Failure, StageReport, Warning};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// Removes the folders of the pipeline's other jobs. What cannot be removed is a warning: the
/// worker removes it when it starts.
pub fn run(request: &StageRequest, reporter: &dyn Reporter) -> StageResult {
    let pipeline = request.assignment.pipeline_id.to_string();
    let job = request.assignment.job_id.to_string();
    // `staging/<pipeline>/<job>/attempt-<epoch>/out`
    let folder = request.output_dir.ancestors().nth(3);
    let folder = folder.filter(|folder| folder.file_name() == Some(OsStr::new(&pipeline)));
    let Some(folder) = folder else {
        let place = request.output_dir.display();
        let message = format!(
            "the stage's folder does not lie in the staging of pipeline {pipeline}: {place}"
        );
        return Err(Failure::new(Reason::Unexpected, message));
    };
    let mut report = StageReport::default();
    let mut removed = 0_u32;
    for left in others(folder, OsStr::new(&job))? {
        match remove(&left) {
            Ok(()) => removed += 1,
            Err(error) => report.warnings.push(Warning {
                reason: Reason::DiskError,
                message: format!(
                    "a staging folder stays until the worker starts again: {error}: {}",
                    left.display()
                ),
            }),
        }
    }
    reporter.log(&format!("staging of pipeline {pipeline}: {removed} folders removed"));
    reporter.progress(100.0, "clean");
    Ok(StageOutput { files: Vec::new(), report })
}

fn others(folder: &Path, own: &OsStr) -> Result<Vec<std::path::PathBuf>, Failure> {
    let unreadable = |error: std::io::Error| {
        let place = folder.display();
        Failure::new(Reason::DiskError, format!("the staging cannot be listed: {error}: {place}"))
    };
    let mut others = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry.file_name() != own && others.len() < crate::model::limits::OUTPUTS_PER_JOB {
            others.push(entry.path());
        }
    }
    Ok(others)
}

/// Something else may remove it at the same time: the worker, after an attempt.
fn remove(path: &Path) -> std::io::Result<()> {
    let is_folder = match fs::symlink_metadata(path) {
        Ok(found) => found.is_dir(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let result = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Stage;
    use crate::stages::fixture::{Silent, request};

    #[test]
    fn other_jobs_of_the_pipeline_go_and_everything_else_stays() {
        let work = tempfile::tempdir().unwrap();
        let staging = work.path().join("staging");
        let own = staging.join("7/70/attempt-1");
        for folder in ["7/70/attempt-1/out", "7/69/attempt-2/in", "8/80/attempt-1/out"] {
            fs::create_dir_all(staging.join(folder)).unwrap();
        }
        fs::write(staging.join("7/69/attempt-2/in/left.png"), b"x").unwrap();
        let mut request = request(Stage::Cleanup, &own.join("in"), &own.join("out"));
        request.assignment.pipeline_id = crate::model::PipelineId(7);
        request.assignment.job_id = crate::model::JobId(70);
        let output = run(&request, &Silent).unwrap();
        assert_eq!(output, StageOutput::default());
        assert!(own.join("out").is_dir());
        assert!(!staging.join("7/69").exists());
        assert!(staging.join("8/80").is_dir());
    }

    #[test]
    fn a_folder_outside_the_pipelines_staging_is_left_alone() {
        let work = tempfile::tempdir().unwrap();
        let out = work.path().join("a/b/c/out");
        fs::create_dir_all(&out).unwrap();
        fs::create_dir_all(work.path().join("a/other")).unwrap();
        let failure = run(&request(Stage::Cleanup, &out, &out), &Silent).unwrap_err();
        assert_eq!(failure.reason, Reason::Unexpected);
        assert!(work.path().join("a/other").is_dir());
    }
}
