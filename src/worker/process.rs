//! One attempt in a stage host: heard, bounded in time, and nothing of it left at the end.

use super::heard::Heard;
use super::host::{Ending, Host, HostProgram};
use super::hosts::{HostPool, Served};
use super::running::{Stop, StopSignal};
use crate::model::Reason;
use crate::programs::Mark;
use crate::protocol::work::Failure;
use crate::stages::{Reporter, StageOutput, StageRequest, Stay};
use std::io;
use std::path::Path;
use std::time::Duration;

/// What to run.
#[derive(Clone, Copy)]
pub struct HostRun<'a> {
    /// What is started.
    pub program: HostProgram<'a>,
    /// What the stage is given; its limits are enforced.
    pub request: &'a StageRequest,
    /// For temporary files.
    pub temporary: &'a Path,
    /// Hears progress and log lines.
    pub reporter: &'a (dyn Reporter + Send + Sync),
    /// Inherited by everything that the attempt starts.
    pub mark: &'a Mark,
    /// How long programs may take to end well when the job is lost.
    pub lost_grace: Duration,
}

/// How a stage host ended, or what it answered.
#[derive(Debug, PartialEq)]
pub enum HostEnd {
    /// It said `done` and ended well. Its files are not verified yet.
    Done(StageOutput),
    /// It failed, crashed or passed a limit.
    Failed(Failure),
    /// It was killed because the attempt must stop.
    Stopped(Stop),
}

/// Runs a host to its end. When this returns, nothing that it started lives; when it is dropped,
/// all of it is killed.
pub async fn run_host(run: HostRun<'_>, stop: &mut StopSignal) -> HostEnd {
    let started = Host::start(run.program, run.temporary, run.mark).and_then(|mut host| {
        host.give(run.request, run.mark)?;
        Ok(host)
    });
    match started {
        Ok(host) => see_through(host, run, stop).await.end,
        Err(error) => not_started(&error, run),
    }
}

/// [`run_host`] in a host that served attempts before and may serve others after: then it lives on
/// in the pool, and nothing else of this attempt does.
pub async fn run_in_pool(run: HostRun<'_>, pool: &HostPool, stop: &mut StopSignal) -> HostEnd {
    let served = Served::of(run.request);
    let mut next = pool.take(&served).await;
    loop {
        let is_used = next.is_some();
        let started = match next.take() {
            Some(host) => Ok(host),
            None => pool.start(run.program).await,
        };
        let given = started.and_then(|mut host| {
            let stay = host.folder().map(|folder| Stay {
                folder: folder.path().to_owned(),
                temporary: run.temporary.to_owned(),
                mark: run.mark.as_str().to_owned(),
            });
            host.give(&StageRequest { stay, ..run.request.clone() }, run.mark)?;
            Ok(host)
        });
        let seen = match given {
            Ok(host) => see_through(host, run, stop).await,
            Err(error) => return not_started(&error, run),
        };
        if let Some(host) = seen.host {
            pool.give_back(host, served);
        } else if is_used && seen.is_deaf {
            // It had ended before it heard of this attempt, of which nothing has begun.
            continue;
        }
        return seen.end;
    }
}

/// An attempt that is over.
struct Seen {
    end: HostEnd,
    /// The host, where it can serve another one.
    host: Option<Host>,
    /// It ended without a word.
    is_deaf: bool,
}

async fn see_through(mut host: Host, run: HostRun<'_>, stop: &mut StopSignal) -> Seen {
    let limits = run.request.assignment.limits;
    let mut ending = host.watch(run.reporter, limits, stop).await;
    if matches!(ending, Ending::Ready) {
        if let Some(end) = host.heard.answer() {
            return Seen { end, host: Some(host), is_deaf: false };
        }
        ending = Ending::Unheard("it was ready for other work without an answer".to_owned());
    }
    if let Some(grace) = ending.grace(run.lost_grace)
        && host.heard.programs > 0
    {
        let asked = host.ask(run.reporter, grace);
        tokio::select! {
            () = asked => {}
            // Without a lease there is less time, and it began before.
            () = stop.lost(), if !matches!(ending, Ending::Stopped(Stop::Lost)) => {}
        }
    }
    let status = host.end(run.reporter).await;
    let is_deaf = matches!(ending, Ending::Exited) && !host.heard.anything;
    Seen { end: judge(ending, status, &mut host.heard, run), host: None, is_deaf }
}

fn judge(
    ending: Ending,
    status: io::Result<std::process::ExitStatus>,
    heard: &mut Heard,
    run: HostRun<'_>,
) -> HostEnd {
    let limits = run.request.assignment.limits;
    match (ending, status) {
        (Ending::Exited | Ending::Ready, Ok(status)) => heard.judge(status, limits),
        (Ending::Exited | Ending::Ready, Err(error)) => {
            failed(Reason::Unexpected, format!("the end of the stage host cannot be read: {error}"))
        }
        (Ending::Stopped(stop), _) => HostEnd::Stopped(stop),
        (Ending::TimeOut, _) => failed(
            Reason::LimitTime,
            format!("the stage ran longer than {} s and was killed", limits.timeout_ms / 1_000),
        ),
        (Ending::Stalled, _) => failed(
            Reason::LimitStall,
            format!("the stage said nothing for {} s and was killed", limits.stall_ms / 1_000),
        ),
        (Ending::Unheard(why), _) => {
            failed(Reason::Unexpected, format!("the stage host was killed: {why}"))
        }
    }
}

fn not_started(error: &io::Error, run: HostRun<'_>) -> HostEnd {
    let reason = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => Reason::ProgramMissing,
        _ => Reason::Unexpected,
    };
    let place = run.program.path.display();
    failed(reason, format!("the stage host cannot be started: {error}: {place}"))
}

pub(super) fn failed(reason: Reason, message: String) -> HostEnd {
    HostEnd::Failed(Failure::new(reason, message))
}

#[cfg(test)]
#[cfg(unix)]
#[path = "process_tests.rs"]
mod tests;
