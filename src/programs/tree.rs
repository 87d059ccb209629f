//! Which processes belong to a program, and how they are made to end.

use super::bounds::{KILL_MS, LOOK_MS};
use super::registry::{self, Registered};
use super::{host, mark, system};
use crate::clock::Stopwatch;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// One process, and no later one with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// When it was started, in the system's own unit.
    pub started: u64,
}

/// One line of the table of processes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) process: Process,
    pub(super) parent: u32,
    /// Not a dead entry that waits for its parent.
    pub(super) alive: bool,
}

pub(super) type Table = BTreeMap<u32, Row>;

/// What a process is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// To end.
    Ask,
    /// Nothing: it is ended.
    Kill,
    /// Nothing: it stands still, and can start nothing more.
    Freeze,
}

/// What was found and ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Processes that were alive.
    pub found: usize,
    /// Those of them that still were after they were killed and waited for.
    pub left: usize,
}

/// The process that has an id now.
pub fn identify(pid: u32) -> Option<Process> {
    system::row(pid).map(|row| row.process)
}

/// The memory that this process holds now, in bytes; 0 where the system does not say.
pub fn own_memory_bytes() -> u64 {
    identify(std::process::id()).map_or(0, |own| system::memory(&[own]).0)
}

/// Kills everything below a process, and leaves the process itself standing still, to be killed
/// next: as long as it is there, what it adopts stays below it.
pub fn end_below(root: Process) -> Swept {
    if !system::row(root.pid).is_some_and(|row| row.process == root && row.alive) {
        return Swept::default();
    }
    send([root], Sign::Freeze);
    sweep(|| alive_below(root, &BTreeSet::new()))
}

/// [`end_below`] without a second look and without waiting.
pub fn strike_below(root: Process) {
    send([root], Sign::Freeze);
    send(alive_below(root, &BTreeSet::new()), Sign::Kill);
}

/// Kills everything below this process.
pub fn end_own() -> Swept {
    end_own_but(&BTreeSet::new())
}

/// Kills everything below this process but the programs that [`super::run()`] looks after now, and
/// what is below them.
pub fn end_strays() -> Swept {
    end_own_but(&registry::roots())
}

fn end_own_but(skip: &BTreeSet<Process>) -> Swept {
    if system::childless() {
        return Swept::default();
    }
    let Some(own) = identify(std::process::id()) else { return Swept::default() };
    sweep(|| alive_below(own, skip))
}

/// Kills what `find` finds until it finds nothing more.
pub(super) fn sweep(mut find: impl FnMut() -> Vec<Process>) -> Swept {
    let watch = Stopwatch::start();
    let mut seen = BTreeSet::new();
    loop {
        let found = find();
        seen.extend(found.iter().copied());
        if found.is_empty() || watch.elapsed() > Duration::from_millis(KILL_MS) {
            return Swept { found: seen.len(), left: found.len() };
        }
        send(found, Sign::Kill);
        std::thread::sleep(Duration::from_millis(LOOK_MS / 5));
    }
}

/// Never the first process of the system, nor this one.
pub(super) fn send(processes: impl IntoIterator<Item = Process>, sign: Sign) {
    let own = std::process::id();
    for process in processes {
        if process.pid > 1 && process.pid != own {
            system::send(process, sign);
        }
    }
}

fn alive_below(root: Process, skip: &BTreeSet<Process>) -> Vec<Process> {
    let table = system::table();
    let same = table.get(&root.pid).is_some_and(|row| row.process == root);
    let rows = if same { below(&table, [root.pid], skip) } else { Vec::new() };
    rows.into_iter().filter(|row| row.alive).map(|row| row.process).collect()
}

/// Everything below the roots, without them; what is in `skip` is passed over with all below it.
pub(super) fn below(
    table: &Table,
    roots: impl IntoIterator<Item = u32>,
    skip: &BTreeSet<Process>,
) -> Vec<Row> {
    let mut children: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
    for row in table.values() {
        children.entry(row.parent).or_default().push(*row);
    }
    let mut open: Vec<u32> = roots.into_iter().collect();
    let mut found = Vec::new();
    while let Some(parent) = open.pop() {
        // Taken out: a table that is read while processes change may hold a circle.
        for row in children.remove(&parent).unwrap_or_default() {
            if !skip.contains(&row.process) {
                open.push(row.process.pid);
                found.push(row);
            }
        }
    }
    found
}

/// The processes of one run.
///
/// In a host this is everything below the host that came after the run began, also what another
/// thread starts meanwhile without [`super::run()`]. Elsewhere it is what is below the main process
/// or was, and what carries the mark that the program was given.
#[derive(Debug)]
pub(super) struct Tree {
    mark: Option<String>,
    host: bool,
    before: BTreeSet<Process>,
    root: Option<Process>,
    seen: BTreeSet<Process>,
}

impl Tree {
    /// To be called before the program starts: what is there already is not of its tree.
    pub(super) fn before(mark: Option<&String>) -> Self {
        // What a host starts stays below it: the mark leads to nothing more.
        let host = host::is_host();
        let mut tree = Self {
            mark: mark.filter(|_| !host).cloned(),
            host,
            before: BTreeSet::new(),
            root: None,
            seen: BTreeSet::new(),
        };
        let nothing = tree.mark.is_none() && (!tree.host || system::childless());
        if !nothing {
            let rows = tree.rows(&system::table(), &BTreeSet::new());
            tree.before = rows.into_iter().map(|row| row.process).collect();
        }
        tree
    }

    pub(super) fn started(&mut self, pid: u32) -> Option<Process> {
        self.root = identify(pid);
        self.root
    }

    /// Everything of the tree that is alive.
    pub(super) fn alive(&mut self, registered: &Registered) -> Vec<Process> {
        if self.host && system::childless() {
            return Vec::new();
        }
        let mut skip = registered.others();
        skip.extend(&self.before);
        let rows = self.rows(&system::table(), &skip);
        let own = std::process::id();
        for row in rows.iter().filter(|row| self.host && !row.alive && row.parent == own) {
            if Some(row.process) != self.root {
                system::reap(row.process);
            }
        }
        let alive = rows.into_iter().filter(|row| row.alive).map(|row| row.process);
        let alive: Vec<Process> = alive.collect();
        self.seen = alive.iter().copied().collect();
        alive
    }

    /// Everything of the tree that the table holds, alive or not, each once.
    fn rows(&self, table: &Table, skip: &BTreeSet<Process>) -> Vec<Row> {
        let own = std::process::id();
        let known = self.root.iter().chain(&self.seen);
        let mut rows: Vec<Row> = known
            .filter_map(|known| table.get(&known.pid).filter(|row| row.process == *known).copied())
            .collect();
        if let Some(mark) = &self.mark {
            rows.extend(mark::carriers(table, &|found| found == mark));
        }
        rows.retain(|row| !skip.contains(&row.process) && row.process.pid != own);
        let roots: Vec<u32> =
            rows.iter().map(|row| row.process.pid).chain(self.host.then_some(own)).collect();
        rows.extend(below(table, roots, skip));
        rows.sort_unstable_by_key(|row| row.process);
        rows.dedup_by_key(|row| row.process);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(u32, u32)]) -> Table {
        let row = |pid, parent| Row { process: Process { pid, started: 1 }, parent, alive: true };
        rows.iter().map(|(pid, parent)| (*pid, row(*pid, *parent))).collect()
    }

    #[test]
    fn what_was_there_before_is_passed_over_with_all_below_it() {
        let table = table(&[(1, 0), (10, 1), (11, 10), (12, 11), (20, 10), (21, 20), (30, 1)]);
        let skip = BTreeSet::from([Process { pid: 20, started: 1 }]);
        let mut found: Vec<u32> =
            below(&table, [10], &skip).iter().map(|row| row.process.pid).collect();
        found.sort_unstable();
        assert_eq!(found, [11, 12]);
    }

    #[test]
    fn a_circle_in_the_table_ends() {
        let table = table(&[(10, 11), (11, 10), (12, 12)]);
        assert_eq!(below(&table, [10, 12], &BTreeSet::new()).len(), 3);
    }
}
