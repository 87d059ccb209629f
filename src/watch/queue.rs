//! Which unit is taken next. Units are found and lined up in one pass over all of them; between
//! two passes the line is worked off, so that ten thousand files do not cost ten thousand passes.

use super::book::shown;
use super::engine::{Engine, JOBS_AT_ONCE};
use super::jobs::Job;
use super::planning::{missing, waiting_note};
use super::tracked::{Stage, Tracked};
use super::units::{Look, Shape, Unit};
use crate::intake::{self, Plan, Refusal};
use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// Files and units of a pass for each millisecond until the next: ten thousand of them cost some
/// 20 ms, a tenth of the 200 ms that follow. Counted and not measured: a pass of few files that
/// was held up by a busy machine must not hold up the next.
const PASSED_PER_MS: usize = 50;
/// Names of side files in one text.
const NAMES_SHOWN: usize = 3;

/// Whether a unit can be taken now.
enum Ready {
    /// Look into it first.
    Look,
    /// Now.
    Take,
    /// Not before this time; none: not before something else changes.
    Wait(Option<u64>, String),
    /// It goes along with another.
    Claimed(PathBuf),
}

/// The line of units that can be taken.
#[derive(Debug, Default)]
pub(super) struct Queue {
    line: VecDeque<PathBuf>,
    /// Folders with files that may name others and were not looked into yet.
    pending: BTreeSet<PathBuf>,
    /// When the next of those who wait for a time is ready, on the monotonic clock.
    next_ms: Option<u64>,
    /// Whether anything changed since the last pass.
    pub(super) is_stale: bool,
    /// Not before this time is there another pass.
    again_ms: u64,
}

impl Queue {
    /// A unit goes to the front.
    pub(super) fn first(&mut self, key: &Path) {
        self.line.push_front(key.to_owned());
        self.is_stale = true;
    }

    /// Whether a unit can be taken now.
    pub(super) fn has_ready(&self) -> bool {
        !self.line.is_empty()
    }

    /// When the next pass is due, on the monotonic clock.
    pub(super) fn pass_ms(&self) -> Option<u64> {
        let due_ms = if self.is_stale { Some(0) } else { self.next_ms };
        due_ms.map(|due_ms| due_ms.max(self.again_ms))
    }

    fn is_due(&self, now_ms: u64) -> bool {
        self.pass_ms().is_some_and(|due_ms| now_ms >= due_ms)
    }
}

impl Engine {
    /// Finds units and lines them up, where anything changed.
    pub(super) fn line_up(&mut self, now_ms: u64) {
        if !self.queue.is_due(now_ms) {
            return;
        }
        let looked_at = self.find_units();
        self.queue.is_stale = false;
        self.queue.next_ms = None;
        self.queue.line.clear();
        self.queue.pending = self.pending_mains();
        let mut waiting = Vec::new();
        for (key, unit) in self.units.iter().filter(|(key, _)| !self.taking.contains(*key)) {
            match self.ready(key, unit, now_ms) {
                Ready::Look | Ready::Take => self.queue.line.push_back(key.clone()),
                Ready::Wait(at_ms, why) => {
                    waiting.push((key.clone(), why));
                    let next_ms = [self.queue.next_ms, at_ms].into_iter().flatten().min();
                    self.queue.next_ms = next_ms;
                }
                Ready::Claimed(by) => {
                    waiting.push((key.clone(), format!("it goes along with {}", shown(&by))));
                }
            }
        }
        for (key, why) in waiting {
            self.wait(&key, &why);
        }
        let pause_ms = looked_at.saturating_add(self.units.len()) / PASSED_PER_MS;
        self.queue.again_ms = now_ms.saturating_add(pause_ms as u64);
    }

    /// Jobs for units that are ready, as many as may run.
    pub(super) fn take_ready(&mut self, now_ms: u64) -> Vec<Job> {
        if self.held.as_ref().is_some_and(|(_, until_ms)| now_ms >= *until_ms) {
            self.held = None;
        }
        let mut jobs = Vec::new();
        while !self.paused && self.held.is_none() && self.running < JOBS_AT_ONCE {
            let Some(key) = self.queue.line.pop_front() else { break };
            // Since it was lined up it may have changed, gone, or begun.
            let Some(unit) = self.units.get(&key).filter(|_| !self.taking.contains(&key)) else {
                continue;
            };
            let is_claimed = self.claims.of(&key).is_some();
            if is_claimed || unit.members.iter().any(|path| self.is_unsettled(path)) {
                self.queue.is_stale = true;
                continue;
            }
            match self.ready(&key, unit, now_ms) {
                Ready::Look => jobs.extend(self.look_into(&key)),
                Ready::Take => jobs.extend(self.take(&key)),
                Ready::Wait(..) | Ready::Claimed(_) => self.queue.is_stale = true,
            }
        }
        jobs
    }

    /// Whether a file of a unit has changed or gone since the unit was found.
    fn is_unsettled(&self, path: &Path) -> bool {
        let usable = |it: &Tracked| matches!(it.stage, Stage::Still { .. }) || it.is_taken();
        !self.get(path).is_some_and(usable)
    }

    fn wait(&mut self, key: &Path, why: &str) {
        let members = self.units.get(key).map(|unit| unit.members.clone()).unwrap_or_default();
        for path in members {
            let still = |it: &Tracked| matches!(it.stage, Stage::Still { .. });
            if self.get(&path).is_some_and(still) {
                self.note(&path, waiting_note(why.to_owned()));
            }
        }
    }

    fn ready(&self, key: &Path, unit: &Unit, now_ms: u64) -> Ready {
        let patience_ms = unit.still_since_ms.saturating_add(self.rules.side_wait_ms);
        let is_patient = now_ms < patience_ms;
        match unit.shape {
            Shape::Whole => match &unit.look {
                Look::Wanted => Ready::Look,
                Look::Running => Ready::Wait(None, "its side files are looked for".to_owned()),
                Look::Done(plan) => self.sides_ready(key, plan, is_patient.then_some(patience_ms)),
            },
            Shape::Picture { .. } if let Some(by) = self.claims.of(key) => {
                Ready::Claimed(by.clone())
            }
            Shape::Picture { numbered: true } if is_patient => {
                let why = "it may be a frame of a series whose others are to come";
                Ready::Wait(Some(patience_ms), why.to_owned())
            }
            Shape::Picture { .. } if is_patient && names_may_come(key, &self.queue.pending) => {
                let why = "it may belong to a file that is on its way";
                Ready::Wait(Some(patience_ms), why.to_owned())
            }
            Shape::Picture { .. } => match unit.look {
                Look::Wanted => Ready::Look,
                Look::Running => Ready::Wait(None, "it is looked at".to_owned()),
                Look::Done(_) => Ready::Take,
            },
            Shape::Series { growing: true } => {
                Ready::Wait(None, "a frame of the series is still written".to_owned())
            }
            Shape::Series { .. } if is_patient => {
                Ready::Wait(Some(patience_ms), "more frames of the series may come".to_owned())
            }
            Shape::Series { .. } => Ready::Take,
        }
    }

    fn sides_ready(
        &self,
        key: &Path,
        plan: &Result<Plan, Refusal>,
        patience_ms: Option<u64>,
    ) -> Ready {
        let Ok(plan) = plan else { return Ready::Take };
        for file in &plan.files {
            let Ok(relative) = file.path.strip_prefix(&self.root) else { continue };
            let stage = self.get(relative).map(|tracked| &tracked.stage);
            if relative != key && matches!(stage, Some(Stage::Settling { .. })) {
                let why = format!("{}, which it names, is still written", shown(relative));
                return Ready::Wait(None, why);
            }
        }
        let missing: Vec<String> = missing(key, plan).iter().map(|path| shown(path)).collect();
        match patience_ms {
            Some(at_ms) if !missing.is_empty() => {
                let more = missing.len().saturating_sub(NAMES_SHOWN);
                let first: Vec<_> = missing.into_iter().take(NAMES_SHOWN).collect();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let why = format!("it waits for side files: {}{more}", first.join(", "));
                Ready::Wait(Some(at_ms), why)
            }
            _ => Ready::Take,
        }
    }

    /// Folders with files that may name others and were not looked into yet.
    fn pending_mains(&self) -> BTreeSet<PathBuf> {
        let settling = self.due.iter().map(|(_, path)| path).filter(|path| {
            let kind = self.get(path).and_then(|tracked| tracked.kind);
            path.file_name().zip(kind).is_some_and(|(name, kind)| intake::names_others(name, kind))
        });
        let unseen = self
            .units
            .iter()
            .filter(|(_, unit)| unit.shape == Shape::Whole && !matches!(unit.look, Look::Done(_)));
        let folders = settling.chain(unseen.map(|(key, _)| key)).filter_map(|path| path.parent());
        folders.map(Path::to_owned).collect()
    }
}

/// Whether a file that may name this one is on its way, in its folder or one above.
fn names_may_come(path: &Path, pending: &BTreeSet<PathBuf>) -> bool {
    !pending.is_empty() && path.ancestors().skip(1).any(|folder| pending.contains(folder))
}
