//! Why a job is not running: what [`super::gate`] says, in words.

use super::flight;
use super::gate::{Facts, Hold, Round, Worker, WorkerHold};
use super::matching::Lack;
use super::needs::Needs;
use super::urgency;
use crate::model::{JobId, JobState, Mode, Name, PipelineId, ProjectId, Stage, limits};
use crate::protocol::control::Holder;
use crate::protocol::why::{Why, WhyCode, WhyReason, WorkerWhy};
use crate::protocol::work::Capabilities;
use std::collections::BTreeMap;

/// Workers named where none can run a job.
const WORKERS_NAMED: usize = 5;

/// The job that is asked about.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The job.
    pub job: JobId,
    /// Its pipeline.
    pub pipeline: PipelineId,
    /// Its stage.
    pub stage: Stage,
    /// Where it waits.
    pub queue: String,
    /// Its state.
    pub state: JobState,
    /// The worker that holds it.
    pub worker: Option<String>,
    /// When its retry is due.
    pub run_at_ms: Option<i64>,
    /// Since when it is ready.
    pub ready_ms: i64,
    /// The worker that it failed on last.
    pub failed_on: Option<String>,
    /// What it asks for.
    pub needs: Needs,
    /// Whose it is.
    pub project: ProjectId,
    /// Its priority.
    pub priority: u8,
    /// The alike job that it waits for.
    pub builder: Option<Builder>,
    /// Its place among the jobs that no limit keeps back, where it is one of them.
    pub position: Option<u32>,
}

/// The job that runs while alike ones wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Builder {
    /// Which.
    pub job: JobId,
    /// Its pipeline.
    pub pipeline: PipelineId,
    /// Who has it.
    pub worker: String,
}

impl Subject {
    fn round(&self) -> Round {
        if self.failed_on.is_some() { Round::Retry } else { Round::Fresh }
    }
}

/// What the answer is made from besides the job.
#[derive(Debug)]
pub struct Scene<'a> {
    /// What the claim's rules look at.
    pub facts: &'a Facts,
    /// Who holds the semaphores that the job needs.
    pub holders: &'a BTreeMap<Name, Vec<Holder>>,
    /// Workers with a session.
    pub workers: &'a [Worker],
    /// Unix milliseconds.
    pub now_wall_ms: i64,
}

/// Everything that keeps the job from running, the widest first.
pub fn explain(subject: &Subject, scene: &Scene<'_>) -> Why {
    let project = scene.facts.projects.get(&subject.project);
    let mut why = Why {
        job: subject.job,
        pipeline: subject.pipeline,
        stage: subject.stage,
        queue: subject.queue.clone(),
        state: subject.state,
        project: project.map_or_else(Name::default_project, |one| one.name.clone()),
        priority: subject.priority,
        level: subject.priority,
        reasons: Vec::new(),
        workers: Vec::new(),
        position: None,
    };
    if subject.state.is_terminal() {
        why.reasons.push(reason(WhyCode::Ended, format!("it has ended: it is {}", subject.state)));
        return why;
    }
    if subject.state.is_leased() {
        let worker = subject.worker.as_deref().unwrap_or("a worker that has just left");
        why.reasons.push(reason(WhyCode::Runs, format!("it runs: {worker} has it")));
        return why;
    }
    let now_ms = scene.now_wall_ms;
    why.reasons.extend(subject.run_at_ms.map(|due_ms| retry(due_ms, now_ms)));
    why.reasons.extend(subject.builder.as_ref().map(|builder| alike(subject, builder)));
    why.reasons.extend(
        scene
            .facts
            .holds(&subject.queue, &subject.needs, subject.project, subject.round(), now_ms)
            .map(|hold| limit(hold, subject, scene)),
    );
    let is_held = !why.reasons.is_empty();
    why.workers = scene.workers.iter().map(|worker| for_worker(worker, subject, scene)).collect();
    if why.workers.is_empty() {
        let text = "no worker has a session: start one with 'sawah worker'";
        why.reasons.push(reason(WhyCode::NoWorker, text));
    }
    why.reasons.extend(target_away(subject, scene));
    why.reasons.extend(no_capable_worker(&why.workers));
    if subject.state == JobState::Queued {
        why.level = urgency::level(subject.priority, subject.ready_ms, now_ms);
    }
    if !is_held {
        why.position = subject.position;
        why.reasons.push(in_line(subject.position, &why.workers));
    }
    why
}

fn reason(code: WhyCode, message: impl Into<String>) -> WhyReason {
    WhyReason { code, message: message.into(), until_ms: None, holders: Vec::new() }
}

fn retry(due_ms: i64, now_ms: i64) -> WhyReason {
    let message = format!("its last attempt failed: the next one is due {}", soon(due_ms, now_ms));
    WhyReason { until_ms: Some(due_ms), ..reason(WhyCode::RetryNotDue, message) }
}

fn alike(subject: &Subject, Builder { job, pipeline, worker }: &Builder) -> WhyReason {
    let message = if flight::is_shared(subject.stage) {
        format!(
            "job {job} of pipeline {pipeline} makes the same on {worker}: this one takes its result"
        )
    } else {
        format!(
            "job {job} of pipeline {pipeline} publishes the same asset on {worker}: this one is next"
        )
    };
    reason(WhyCode::AlikeRuns, message)
}

fn limit(hold: Hold, subject: &Subject, scene: &Scene<'_>) -> WhyReason {
    let queue = &subject.queue;
    match hold {
        Hold::Farm(Mode::Draining) => {
            reason(WhyCode::FarmDraining, "the farm is draining: 'sawah resume' ends that")
        }
        Hold::Farm(_) => {
            reason(WhyCode::FarmPaused, "the farm is paused: 'sawah resume' ends that")
        }
        Hold::Queue(mode) => {
            let code =
                if mode == Mode::Draining { WhyCode::QueueDraining } else { WhyCode::QueuePaused };
            let text = format!("queue {queue} is {mode}: 'sawah resume --queue {queue}' ends that");
            reason(code, text)
        }
        Hold::Admission { queue, room } => reason(
            WhyCode::AdmissionHeld,
            format!(
                "it was let in while a queue was full and waits until none is: {queue} has {} jobs, its limit is {}",
                room.queued, room.max_queued
            ),
        ),
        Hold::Retries { at_once } => reason(
            WhyCode::RetriesAtOnce,
            format!("as many retries of queue {queue} run as may: {at_once}"),
        ),
        Hold::Quota { project, quota } => reason(
            WhyCode::QuotaUsed,
            format!("project {project} runs as many jobs as it may: {quota}"),
        ),
        Hold::Semaphore { name, capacity } => {
            let holders = scene.holders.get(&name).cloned().unwrap_or_default();
            let message = format!("semaphore {name} is full ({capacity}){}", held_by(&holders));
            WhyReason { holders, ..reason(WhyCode::SemaphoreFull, message) }
        }
        Hold::Rate { name, next_ms } => {
            let when = next_ms.map_or_else(
                || "its rate is 0, so none will come".to_owned(),
                |next_ms| format!("the next one comes {}", soon(next_ms, scene.now_wall_ms)),
            );
            let message = format!("rate {name} has no token left: {when}");
            WhyReason { until_ms: next_ms, ..reason(WhyCode::RateLimited, message) }
        }
    }
}

fn held_by(holders: &[Holder]) -> String {
    let named: Vec<_> =
        holders.iter().map(|one| format!("job {} on {}", one.job, one.worker)).collect();
    if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) }
}

fn for_worker(worker: &Worker, subject: &Subject, scene: &Scene<'_>) -> WorkerWhy {
    let now_ms = scene.now_wall_ms;
    let live: Vec<Capabilities> =
        scene.workers.iter().map(|one| one.capabilities.clone()).collect();
    // A retry is ready from the moment it is due.
    let ready_ms = subject.run_at_ms.unwrap_or(subject.ready_ms);
    let waiting = (ready_ms, subject.failed_on.as_deref());
    let holds = worker.holds(&subject.needs, &live, waiting, now_ms).chain(worker.slots());
    let reasons = holds
        .map(|hold| match hold {
            WorkerHold::Mode(mode) => {
                let code = if mode == Mode::Draining {
                    WhyCode::WorkerDraining
                } else {
                    WhyCode::WorkerPaused
                };
                let name = &worker.name;
                reason(code, format!("it is {mode}: 'sawah resume --worker {name}' ends that"))
            }
            WorkerHold::NotTarget(name) => {
                reason(WhyCode::NotTarget, format!("it is for worker {name} alone"))
            }
            WorkerHold::Excluded => {
                reason(WhyCode::Excluded, "whoever replayed it said that it may not run here")
            }
            WorkerHold::Lacks(lack) => lacks(&lack),
            WorkerHold::Quarantine => {
                let name = &worker.name;
                let text = format!("it is in quarantine: 'sawah forgive {name}' ends that");
                reason(WhyCode::Quarantined, text)
            }
            WorkerHold::FailedHere { until_ms } => {
                let message = format!(
                    "it failed here last, so another worker comes first; this one may take it {}",
                    soon(until_ms, now_ms)
                );
                WhyReason { until_ms: Some(until_ms), ..reason(WhyCode::FailedHere, message) }
            }
            WorkerHold::GpuPreferred { until_ms } => {
                let message = format!(
                    "workers with a graphics adapter come first; this one may take it {}",
                    soon(until_ms, now_ms)
                );
                WhyReason { until_ms: Some(until_ms), ..reason(WhyCode::GpuPreferred, message) }
            }
            WorkerHold::SlotsBusy { busy } => {
                let slots = worker.capabilities.slots;
                reason(WhyCode::SlotsBusy, format!("its slots are taken: {busy} of {slots}"))
            }
        })
        .collect();
    WorkerWhy { worker: worker.name.clone(), reasons }
}

fn lacks(lack: &Lack) -> WhyReason {
    match lack {
        Lack::Cores { wanted, has } => {
            reason(WhyCode::LacksCores, format!("it requires {wanted} cores, here are {has}"))
        }
        Lack::Memory { wanted_mib, has_mib } => reason(
            WhyCode::LacksMemory,
            format!("it requires {wanted_mib} MiB of memory, here are {has_mib}"),
        ),
        Lack::Gpu => reason(WhyCode::LacksGpu, "it requires a graphics adapter, here is none"),
        Lack::Program(name) => reason(
            WhyCode::LacksProgram,
            format!("it requires program {name}, which is not installed here"),
        ),
        Lack::Folder(folder) => reason(
            WhyCode::LacksFolder,
            format!(
                "it reads from {folder}, which leads nowhere here: name it under [[worker.paths]] in the settings"
            ),
        ),
    }
}

fn target_away(subject: &Subject, scene: &Scene<'_>) -> Option<WhyReason> {
    let target = subject.needs.terms.only_worker.as_ref()?;
    let is_here = scene.workers.iter().any(|worker| worker.name == *target);
    let text = format!(
        "it is for worker {target} alone, which has no session: start that worker, or replay the job without a target"
    );
    (!is_here).then(|| reason(WhyCode::TargetAway, text))
}

/// Where every worker that may take the job lacks something, waiting does not help.
fn no_capable_worker(workers: &[WorkerWhy]) -> Option<WhyReason> {
    let lacks = |one: &&WhyReason| {
        let codes = [WhyCode::LacksCores, WhyCode::LacksMemory, WhyCode::LacksGpu];
        codes.contains(&one.code) || one.code == WhyCode::LacksProgram
    };
    let barred = |one: &WhyReason| matches!(one.code, WhyCode::NotTarget | WhyCode::Excluded);
    let may: Vec<_> = workers.iter().filter(|worker| !worker.reasons.iter().any(barred)).collect();
    let all_lack = may.iter().all(|worker| worker.reasons.iter().any(|one| lacks(&one)));
    if may.is_empty() || !all_lack {
        return None;
    }
    let named = may.iter().take(WORKERS_NAMED).map(|worker| {
        let lacks: Vec<_> =
            worker.reasons.iter().filter(lacks).map(|one| one.message.as_str()).collect();
        format!("{}: {}", worker.worker, lacks.join(", "))
    });
    let named: Vec<_> = named.collect();
    let text = format!("no worker that is here can run it: {}", named.join("; "));
    Some(reason(WhyCode::NoCapableWorker, text))
}

fn in_line(position: Option<u32>, workers: &[WorkerWhy]) -> WhyReason {
    let place = match position {
        Some(1) => "it is next in line".to_owned(),
        Some(position) => format!("it is in line at position {position}"),
        None => format!("it is in line, more than {} jobs are ahead", limits::EXPLAIN_AHEAD),
    };
    let free = workers.iter().any(|worker| worker.reasons.is_empty());
    let text = if free {
        format!("nothing keeps it: {place}")
    } else {
        format!("no limit keeps it: {place}, for the first worker that can take it")
    };
    reason(WhyCode::InLine, text)
}

/// When, as people say it.
fn soon(at_ms: i64, now_ms: i64) -> String {
    let seconds = at_ms.saturating_sub(now_ms).max(0).saturating_add(999) / 1_000;
    match seconds {
        0 => "now".to_owned(),
        1..120 => format!("in {seconds} s"),
        _ => format!("in {} min", seconds.saturating_add(59) / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_shortly_and_never_too_early() {
        let said = [0, 1, 1_000, 119_000, 120_000, 121_000].map(|ms| soon(ms, 0));
        assert_eq!(said, ["now", "in 1 s", "in 1 s", "in 119 s", "in 2 min", "in 3 min"]);
        assert_eq!(soon(i64::MIN, i64::MAX), "now");
    }
}
