//! Runs one program from its start until nothing of its tree is left.

use super::bounds::{
    DRAIN_MS, FIRST_SAMPLE_MS, KILL_MS, LIMITED_SAMPLE_MS, LOOK_MS, OVER_SAMPLES, SAMPLE_MS,
    SAMPLE_SHARE,
};
use super::program::{Bounds, Ended, Heard, How, Program, ProgramError, Usage};
use super::raw_log::RawLog;
use super::registry::Registered;
use super::signal::EndSignal;
use super::start::{Event, Events, start};
use super::tree::{Process, Sign, Tree, send};
use super::{mark, system};
use crate::clock::Stopwatch;
use std::collections::BTreeSet;
use std::io::{self, PipeReader};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

/// Runs a program and waits until it and everything that it has started is gone.
///
/// `hear` gets all output, in order, and what the program takes. It must come back soon: while it
/// works, the program may have to wait with its output, and nothing is measured or ended. `raw_log` gets the same bytes, up to its bound; several programs may
/// write into one log, one after the other.
///
/// When the program has ended, or `end` is given, or memory runs over its bound, the rest of the tree
/// is ended: asked first, except for memory, and killed after the grace.
pub fn run(
    program: &Program,
    bounds: &Bounds,
    raw_log: &Path,
    end: &EndSignal,
    hear: &mut dyn FnMut(Heard<'_>),
) -> Result<Ended, ProgramError> {
    run_with(program, Stdio::null(), bounds, raw_log, end, hear)
}

/// [`run()`] for a program that is told what to do while it runs: it reads `input`, whose end comes
/// at the latest with this process.
pub fn run_fed(
    program: &Program,
    input: PipeReader,
    bounds: &Bounds,
    raw_log: &Path,
    end: &EndSignal,
    hear: &mut dyn FnMut(Heard<'_>),
) -> Result<Ended, ProgramError> {
    run_with(program, input.into(), bounds, raw_log, end, hear)
}

fn run_with(
    program: &Program,
    input: Stdio,
    bounds: &Bounds,
    raw_log: &Path,
    end: &EndSignal,
    hear: &mut dyn FnMut(Heard<'_>),
) -> Result<Ended, ProgramError> {
    let log = RawLog::open(raw_log, bounds.log_bytes)?;
    let registered = Registered::new(end);
    if let Some(why) = end.told() {
        let how = How::Told(why);
        return Ok(Ended { how, peak_memory_bytes: 0, log_cut: false });
    }
    let events = Events::new();
    end.wakes(&events.sender);
    let mut run = Run {
        bounds,
        end,
        tree: Tree::before(program.set.get(mark::VARIABLE)),
        registered,
        events,
        log,
        phase: Phase::Running,
        since: Stopwatch::start(),
        looked: Stopwatch::start(),
        pause: Duration::from_millis(FIRST_SAMPLE_MS),
        told_usage: None,
        asked: BTreeSet::new(),
        status: None,
        how: None,
        piped: true,
        over: 0,
        peak_memory_bytes: 0,
    };
    let pid = start(program, input, &run.events)?;
    let root = run.tree.started(pid);
    run.registered.set_root(root);
    loop {
        run.hear_next(hear);
        match run.phase {
            Phase::Running => run.watch(hear),
            Phase::Asked | Phase::Killing => run.look(),
            Phase::Draining => {}
        }
        if run.phase == Phase::Draining && (!run.piped || run.lasted(DRAIN_MS)) {
            return run.ended(program);
        }
        if run.phase == Phase::Killing && run.lasted(KILL_MS) {
            let count = run.tree.alive(&run.registered).len();
            return Err(ProgramError::Undying { count, program: program.program.clone() });
        }
    }
}

/// Stands for an exit code where the system gives none.
const NO_CODE: i32 = -1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// The tree was asked to end.
    Asked,
    /// The tree is being killed.
    Killing,
    /// Nothing of the tree lives; the pipe may still hold output.
    Draining,
}

struct Run<'a> {
    bounds: &'a Bounds,
    end: &'a EndSignal,
    tree: Tree,
    registered: Registered,
    events: Events,
    log: RawLog,
    phase: Phase,
    /// Since the phase began.
    since: Stopwatch,
    /// Since the tree was last measured or looked at.
    looked: Stopwatch,
    /// How long after `looked` it is looked at again.
    pause: Duration,
    /// Since the usage was told last.
    told_usage: Option<Stopwatch>,
    /// Whom was said to end.
    asked: BTreeSet<Process>,
    status: Option<io::Result<ExitStatus>>,
    how: Option<How>,
    piped: bool,
    /// Measurements in a row above the limit.
    over: u32,
    peak_memory_bytes: u64,
}

impl Run<'_> {
    /// Waits for the next event, or until it is time to look at the tree.
    fn hear_next(&mut self, hear: &mut dyn FnMut(Heard<'_>)) {
        let wait = self.pause.saturating_sub(self.looked.elapsed());
        match self.events.receiver.recv_timeout(wait) {
            Ok(Event::Output(bytes)) => {
                self.log.write(&bytes);
                hear(Heard::Output(&bytes));
            }
            Ok(Event::OutputEnd) => {
                self.piped = false;
                // A program that runs on says nothing more, or is about to end.
                if self.phase != Phase::Running {
                    self.look_soon();
                }
            }
            Ok(Event::Exited(status)) => {
                self.status = Some(status);
                // A process that was being made when it was asked may not have heard it.
                self.asked.clear();
                self.look_soon();
            }
            Ok(Event::Told) | Err(_) => {}
        }
    }

    /// While it runs: whether it must end, or has ended.
    fn watch(&mut self, hear: &mut dyn FnMut(Heard<'_>)) {
        if let Some(status) = &self.status {
            self.how = status.as_ref().ok().copied().map(how);
            // What is left of its tree.
            self.ask();
        } else if let Some(why) = self.end.told() {
            self.how = Some(How::Told(why));
            self.ask();
        } else if self.looked.elapsed() >= self.pause {
            self.measure(hear);
        }
    }

    fn measure(&mut self, hear: &mut dyn FnMut(Heard<'_>)) {
        let cost = Stopwatch::start();
        let alive = self.tree.alive(&self.registered);
        let (memory_bytes, highest_bytes) = system::memory(&alive);
        self.peak_memory_bytes = self.peak_memory_bytes.max(highest_bytes);
        let limit_bytes = self.bounds.memory_bytes;
        let is_over = limit_bytes > 0 && memory_bytes > limit_bytes;
        self.over = if is_over { self.over + 1 } else { 0 };
        let (often, seldom) =
            (Duration::from_millis(LIMITED_SAMPLE_MS), Duration::from_millis(SAMPLE_MS));
        let cost = cost.elapsed() * SAMPLE_SHARE;
        // A limit must hold on a busy machine too, where measuring seems to cost much.
        self.pause = match limit_bytes {
            0 => cost.max(seldom),
            _ if is_over => often,
            _ => cost.clamp(often, seldom),
        };
        self.looked = Stopwatch::start();
        if self.over >= OVER_SAMPLES {
            self.how = Some(How::OverMemory);
            self.enter(Phase::Killing);
            return;
        }
        let fresh = |told: Stopwatch| told.elapsed() < Duration::from_millis(SAMPLE_MS);
        if !self.told_usage.is_some_and(fresh) {
            self.told_usage = Some(Stopwatch::start());
            let peak_memory_bytes = self.peak_memory_bytes;
            let processes = alive.len();
            hear(Heard::Usage(Usage { memory_bytes, peak_memory_bytes, processes }));
        }
    }

    fn ask(&mut self) {
        self.enter(Phase::Asked);
        self.look();
    }

    /// While it ends: whether all of it has ended, or must be killed.
    fn look(&mut self) {
        if self.looked.elapsed() < self.pause {
            return;
        }
        let alive = self.tree.alive(&self.registered);
        self.looked = Stopwatch::start();
        self.pause = Duration::from_millis(LOOK_MS);
        if alive.is_empty() && self.status.is_some() {
            self.enter(Phase::Draining);
            self.pause = Duration::from_millis(DRAIN_MS);
        } else if self.phase == Phase::Killing {
            send(alive, Sign::Kill);
        } else if self.lasted(self.bounds.grace_ms) {
            self.enter(Phase::Killing);
        } else {
            let more = alive.into_iter().filter(|process| self.asked.insert(*process));
            send(more, Sign::Ask);
        }
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.since = Stopwatch::start();
        self.look_soon();
    }

    fn look_soon(&mut self) {
        self.pause = Duration::ZERO;
    }

    fn lasted(&self, limit_ms: u64) -> bool {
        self.since.elapsed() >= Duration::from_millis(limit_ms)
    }

    fn ended(&mut self, program: &Program) -> Result<Ended, ProgramError> {
        let how = match (self.how, self.status.take()) {
            (Some(how), _) => how,
            (None, Some(Err(error))) => {
                return Err(ProgramError::Unread { error, program: program.program.clone() });
            }
            (None, status) => status.and_then(Result::ok).map_or(How::Code(NO_CODE), how),
        };
        let (peak_memory_bytes, log_cut) = (self.peak_memory_bytes, self.log.is_cut());
        Ok(Ended { how, peak_memory_bytes, log_cut })
    }
}

/// A listener that panics must not leave the program running.
impl Drop for Run<'_> {
    fn drop(&mut self) {
        if self.phase != Phase::Draining {
            let alive = self.tree.alive(&self.registered);
            send(alive, Sign::Kill);
        }
    }
}

fn how(status: ExitStatus) -> How {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return How::Signal(signal);
    }
    How::Code(status.code().unwrap_or(NO_CODE))
}
