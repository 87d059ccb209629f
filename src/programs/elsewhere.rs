//! Processes on systems without Linux's `/proc`, as far as they can be seen there.

use super::tree::{Process, Row, Sign, Table};
use sysinfo::{
    Pid, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, Signal, System, UpdateKind,
};

/// Every process.
pub(super) fn table() -> Table {
    let Some(system) = look(ProcessesToUpdate::All, ProcessRefreshKind::nothing()) else {
        return Table::new();
    };
    let rows = system.processes().values().map(row_of);
    rows.map(|row| (row.process.pid, row)).collect()
}

pub(super) fn pids() -> impl Iterator<Item = u32> {
    table().into_keys()
}

/// One process, if it is there.
pub(super) fn row(pid: u32) -> Option<Row> {
    let pid = Pid::from_u32(pid);
    look_at(pid)?.process(pid).map(row_of)
}

fn row_of(found: &sysinfo::Process) -> Row {
    Row {
        process: Process { pid: found.pid().as_u32(), started: found.start_time() },
        parent: found.parent().map_or(0, Pid::as_u32),
        alive: found.status() != ProcessStatus::Zombie,
    }
}

/// Sends a signal to this very process; whether it was sent.
pub(super) fn send(process: Process, sign: Sign) -> bool {
    let pid = Pid::from_u32(process.pid);
    let system = look_at(pid);
    let Some(found) = system.as_ref().and_then(|system| system.process(pid)) else { return false };
    if row_of(found).process != process {
        return false;
    }
    match sign {
        Sign::Ask => found.kill_with(Signal::Term).unwrap_or_else(|| found.kill()),
        Sign::Kill => found.kill(),
        Sign::Freeze => found.kill_with(Signal::Stop).unwrap_or(false),
    }
}

/// Memory is neither measured nor limited here.
pub(super) fn memory(_processes: &[Process]) -> (u64, u64) {
    (0, 0)
}

/// The value of a variable with which a process was started, where that can be read.
pub(super) fn variable(pid: u32, name: &str) -> Option<String> {
    let pid = Pid::from_u32(pid);
    let kind = ProcessRefreshKind::nothing().with_environ(UpdateKind::Always);
    let system = look(ProcessesToUpdate::Some(&[pid]), kind)?;
    system
        .process(pid)?
        .environ()
        .iter()
        .find_map(|entry| entry.to_str()?.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
}

/// Whether this process surely has no child: not known here.
pub(super) fn childless() -> bool {
    false
}

/// Only an adopting process has dead children that nobody waits for: there is none here.
pub(super) fn reap(_process: Process) {}

fn look_at(pid: Pid) -> Option<System> {
    look(ProcessesToUpdate::Some(&[pid]), ProcessRefreshKind::nothing())
}

fn look(which: ProcessesToUpdate<'_>, kind: ProcessRefreshKind) -> Option<System> {
    let mut system = System::new().ok()?;
    system.refresh_processes_specifics(which, true, kind);
    Some(system)
}
