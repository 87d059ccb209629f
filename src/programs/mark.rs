//! The mark of an attempt: a variable that everything it starts inherits.
//!
//! By it processes are found when nobody is left who knows that they belong to an attempt.

use super::system;
use super::tree::{Process, Row, Sign, Swept, Table, below, send, sweep};
use crate::model::{Epoch, JobId};
use std::collections::BTreeSet;
use std::fmt;

/// The name of the variable.
pub const VARIABLE: &str = "SAWAH_ATTEMPT";

/// What the variable holds: `INSTANCE.JOB.EPOCH` for an attempt, `INSTANCE.host-NUMBER` for a host
/// that serves one attempt after the other, and for what lives as long as it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark(String);

impl Mark {
    /// The mark of an attempt; `instance` is the random name of the worker's folder.
    pub fn new(instance: &str, job: JobId, epoch: Epoch) -> Self {
        Self(format!("{instance}.{job}.{epoch}"))
    }

    /// The mark of a host that serves many attempts.
    pub fn of_host(instance: &str, number: u64) -> Self {
        Self(format!("{instance}.host-{number}"))
    }

    /// The variable's value.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Kills everything that carries one of these marks, and all below it.
pub fn end_marked(marks: &[Mark]) -> Swept {
    end(&|found| is_one_of(found, marks))
}

/// [`end_marked`] without a second look and without waiting.
pub fn strike_marked(marks: &[Mark]) {
    send(alive(&|found| is_one_of(found, marks)), Sign::Kill);
}

fn is_one_of(found: &str, marks: &[Mark]) -> bool {
    marks.iter().any(|mark| mark.0 == found)
}

impl fmt::Display for Mark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Kills everything that attempts of a worker's folder have left running. No attempt of it may be
/// alive; what belongs to other folders is not touched.
pub fn end_orphans(instance: &str) -> Swept {
    end(&|found| found.strip_prefix(instance).is_some_and(|rest| rest.starts_with('.')))
}

fn end(is_it: &dyn Fn(&str) -> bool) -> Swept {
    sweep(|| alive(is_it))
}

fn alive(is_it: &dyn Fn(&str) -> bool) -> Vec<Process> {
    // Mostly there is none: then the table need not be read.
    if !system::pids().any(|pid| carries(pid, is_it)) {
        return Vec::new();
    }
    let table = system::table();
    let mut rows = carriers(&table, is_it);
    let roots: Vec<u32> = rows.iter().map(|row| row.process.pid).collect();
    rows.extend(below(&table, roots, &BTreeSet::new()));
    rows.into_iter().filter(|row| row.alive).map(|row| row.process).collect()
}

/// The processes that carry a mark, without this one and those that it descends from.
pub(super) fn carriers(table: &Table, is_it: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let own = own_line(table);
    let others = table.values().filter(|row| row.alive && !own.contains(&row.process.pid));
    others.filter(|row| carries(row.process.pid, is_it)).copied().collect()
}

fn carries(pid: u32, is_it: &dyn Fn(&str) -> bool) -> bool {
    pid != std::process::id() && system::variable(pid, VARIABLE).is_some_and(|mark| is_it(&mark))
}

/// This process and those that it descends from.
fn own_line(table: &Table) -> BTreeSet<u32> {
    let mut line = BTreeSet::new();
    let mut pid = std::process::id();
    while line.insert(pid) {
        let Some(row) = table.get(&pid) else { break };
        pid = row.parent;
    }
    line
}
