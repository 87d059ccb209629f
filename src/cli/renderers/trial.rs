//! `sawah renderers test`: a log is read by a profile and judged as a run would be.

use super::super::context::Context;
use super::super::error::{CliError, Exit};
use super::super::output;
use crate::model::frames::FrameList;
use crate::model::{ErrorClass, Reason};
use crate::renderers::{self, LogReader, Profile, Run, RunFailure, RunWarning};
use clap::Args;
use serde::Serialize;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Read a log by a profile: progress, frames, warnings, verdict
///
/// Exit code 1 if the run would count as failed. Pictures are not looked at.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  sawah renderers test blender render.log --exit 1")]
pub(super) struct TestArguments {
    /// The profile, as 'sawah renderers' shows it
    profile: String,
    /// The log: all that the program wrote
    #[arg(value_name = "LOG")]
    file: PathBuf,
    /// How the program ended: 0, 139, signal:11, killed:limit.stall
    #[arg(long, default_value = "0", value_name = "HOW", value_parser = exit, allow_hyphen_values = true)]
    exit: renderers::Exit,
    /// The frames that were asked for: 1-250
    #[arg(long, allow_hyphen_values = true)]
    frames: Option<FrameList>,
}

/// What the log told.
#[derive(Serialize)]
struct Told<'a> {
    profile: &'a str,
    progress: f32,
    frames_done: Vec<i32>,
    frames_counted: u32,
    memory_bytes: u64,
    status: Option<&'a str>,
    warnings: &'a [RunWarning],
    warnings_dropped: u64,
    verdict: Verdict<'a>,
}

#[derive(Serialize)]
struct Verdict<'a> {
    ok: bool,
    #[serde(flatten)]
    failure: Option<&'a RunFailure>,
    class: Option<ErrorClass>,
    remedy: Option<&'a str>,
}

pub(super) fn run(context: &Context, arguments: &TestArguments) -> Result<Exit, CliError> {
    let library = context.renderers()?;
    let profile = library.get(&arguments.profile).ok_or_else(|| {
        let names: Vec<&str> = library.names().collect();
        CliError::usage(&format!(
            "no renderer profile has the name '{}': there are {}",
            output::one_line(&arguments.profile),
            names.join(", ")
        ))
    })?;
    let run = read(profile, arguments).map_err(|error| {
        let path = arguments.file.display();
        CliError::failed(&format!(
            "the log {path} cannot be read: {error}. Check its name and rights"
        ))
    })?;
    let verdict = run.verdict(arguments.exit);
    if context.json {
        output::json(&told(&arguments.profile, &run, verdict.as_ref().err()))?;
    } else {
        output::raw(text(&run, verdict.as_ref().err()).as_bytes())?;
    }
    Ok(if verdict.is_ok() { Exit::Done } else { Exit::Failed })
}

fn read(profile: Arc<Profile>, arguments: &TestArguments) -> std::io::Result<Run> {
    let mut run = Run::new(Arc::clone(&profile), arguments.frames.clone());
    let mut reader = LogReader::new(profile);
    let mut file = File::open(Path::new(&arguments.file))?;
    let mut piece = vec![0; 64 << 10];
    loop {
        let length = file.read(&mut piece)?;
        let Some(bytes) = piece.get(..length).filter(|bytes| !bytes.is_empty()) else { break };
        reader.push(bytes).iter().for_each(|event| run.apply(event));
    }
    reader.finish().iter().for_each(|event| run.apply(event));
    Ok(run)
}

fn told<'a>(profile: &'a str, run: &'a Run, failure: Option<&'a RunFailure>) -> Told<'a> {
    let reason = failure.map(|failure| failure.reason);
    Told {
        profile,
        progress: run.progress(),
        frames_done: run.frames_done(),
        frames_counted: run.frames_counted(),
        memory_bytes: run.memory_bytes(),
        status: run.status(),
        warnings: run.warnings(),
        warnings_dropped: run.warnings_dropped(),
        verdict: Verdict {
            ok: failure.is_none(),
            failure,
            class: reason.map(Reason::class),
            remedy: reason.map(Reason::remedy),
        },
    }
}

fn text(run: &Run, failure: Option<&RunFailure>) -> String {
    let done = FrameList::new(run.frames_done());
    let frames = done.map_or_else(|| run.frames_counted().to_string(), |list| list.to_string());
    let mut lines =
        vec![format!("progress  {:.0} %", run.progress()), format!("frames    {frames}")];
    for warning in run.warnings() {
        lines.push(format!("warning   {}: {}", warning.reason, warning.message));
        lines.push(format!("          {}", warning.evidence));
    }
    if run.warnings_dropped() > 0 {
        lines.push(format!("          and {} more", run.warnings_dropped()));
    }
    match failure {
        None => lines.push("verdict   good, as far as a log can tell".to_owned()),
        Some(failure) => {
            let class = failure.reason.class();
            lines.push(format!("verdict   {} ({class}): {}", failure.reason, failure.message));
            lines.extend(failure.evidence.iter().map(|line| format!("          {line}")));
            lines.push(format!("          {}", failure.reason.remedy()));
        }
    }
    let tame: Vec<String> = lines.iter().map(|line| output::one_line(line)).collect();
    format!("{}\n", tame.join("\n"))
}

fn exit(text: &str) -> Result<renderers::Exit, String> {
    let wrong = || format!("'{text}' is none of: an exit code, signal:N, killed:REASON");
    if let Some(signal) = text.strip_prefix("signal:") {
        return signal.parse().map(renderers::Exit::Signal).map_err(|_| wrong());
    }
    if let Some(code) = text.strip_prefix("killed:") {
        return Reason::parse(code).map(renderers::Exit::Killed).ok_or_else(wrong);
    }
    text.parse().map(renderers::Exit::Code).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_read_as_people_write_them() {
        assert_eq!(exit("-1073741819"), Ok(renderers::Exit::Code(-1_073_741_819)));
        assert_eq!(exit("signal:11"), Ok(renderers::Exit::Signal(11)));
        assert_eq!(exit("killed:limit.stall"), Ok(renderers::Exit::Killed(Reason::LimitStall)));
        assert!(exit("killed:nothing").is_err() && exit("well").is_err());
    }

    #[test]
    fn a_failure_is_told_with_its_line_and_its_remedy() {
        let profile = renderers::Library::load(None).unwrap().get("blender").unwrap();
        let mut run = Run::new(Arc::clone(&profile), "1-2".parse().ok());
        let log = b"Saved: '/o/f_0001.png'\nError: Cannot render, no camera\n";
        LogReader::new(profile).push(log).iter().for_each(|event| run.apply(event));
        let verdict = run.verdict(renderers::Exit::Code(0));
        let said = text(&run, verdict.as_ref().err());
        for part in
            ["50 %", "frames    1\n", "camera.missing (permanent)", "no camera", "Set a camera"]
        {
            assert!(said.contains(part), "{part} is missing in\n{said}");
        }
        let json = serde_json::to_value(told("blender", &run, verdict.as_ref().err())).unwrap();
        assert_eq!(json["verdict"]["reason"], "camera.missing");
        assert_eq!(json["verdict"]["ok"], false);
    }
}
