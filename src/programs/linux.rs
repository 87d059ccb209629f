//! Processes as `/proc` shows them (proc(5)).

use super::bounds::{ENVIRONMENT_BYTES, ENVIRONMENT_STEP_BYTES};
use super::tree::{Process, Row, Sign, Table};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, pidfd_open,
    pidfd_send_signal, waitid, waitpid,
};
use std::fs::{self, File};
use std::io::{self, Read};
use std::time::Duration;

/// How often a process that is being replaced by another program is looked at, and how long between:
/// on a busy machine the other one may come slowly from the disk.
const EXEC_LOOKS: u32 = 20_000;
const EXEC_PAUSE: Duration = Duration::from_micros(200);
/// How often an environment must be empty to be believed.
const EMPTY_LOOKS: u32 = 3;

/// Every process.
pub(super) fn table() -> Table {
    pids().filter_map(|pid| Some((pid, row(pid)?))).collect()
}

pub(super) fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// One process, if it is there.
pub(super) fn row(pid: u32) -> Option<Row> {
    parse_stat(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// `PID (NAME) STATE PPID …`; the name may hold anything. Fields 20 and 22 are the number of threads
/// and the start in clock ticks since boot.
fn parse_stat(pid: u32, stat: &[u8]) -> Option<Row> {
    let fields: Vec<&str> = fields(stat)?.take(20).collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let ended = matches!(*fields.first()?, "Z" | "X" | "x");
    Some(Row {
        process: Process { pid, started: number(19)? },
        parent: number(1)?.try_into().ok()?,
        // Where only the first thread has ended, the process lives.
        alive: !ended || number(17)? > 1,
    })
}

/// The fields behind the name; the first is field 3.
fn fields(stat: &[u8]) -> Option<impl Iterator<Item = &str>> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    Some(std::str::from_utf8(stat.get(after_name..)?).ok()?.split_ascii_whitespace())
}

/// Sends a signal to this very process; whether it was sent.
pub(super) fn send(process: Process, sign: Sign) -> bool {
    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else { return false };
    let signal = match sign {
        Sign::Ask => Signal::TERM,
        Sign::Kill => Signal::KILL,
        Sign::Freeze => Signal::STOP,
    };
    let is_same = || row(process.pid).is_some_and(|row| row.process == process);
    // The descriptor holds on to the process: looked at after, no other can have taken the id.
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(held) => is_same() && pidfd_send_signal(&held, signal).is_ok(),
        Err(Errno::SRCH) => false,
        Err(_) => is_same() && kill_process(pid, signal).is_ok(),
    }
}

/// Resident memory of processes in bytes: now, and the most that the kernel knows of.
pub(super) fn memory(processes: &[Process]) -> (u64, u64) {
    if let [alone] = processes {
        return resident(alone.pid);
    }
    let now = processes.iter().map(|process| shared(process.pid)).sum();
    (now, now)
}

/// The memory of one of many: what several share is divided among them.
fn shared(pid: u32) -> u64 {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    kib_field(&rollup, "Pss:").unwrap_or_else(|| resident(pid).0)
}

fn resident(pid: u32) -> (u64, u64) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let now = kib_field(&status, "VmRSS:").unwrap_or(0);
    (now, kib_field(&status, "VmHWM:").unwrap_or(now))
}

fn kib_field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kib.saturating_mul(1024))
}

/// The value of a variable with which a process was started, where that can be read.
pub(super) fn variable(pid: u32, name: &str) -> Option<String> {
    let (mut environment, mut empty) = (Vec::new(), 0);
    for _ in 0..EXEC_LOOKS {
        environment = read_environment(pid).ok()?;
        if !environment.is_empty() {
            break;
        }
        match memory_of(pid) {
            Memory::New => std::thread::sleep(EXEC_PAUSE),
            // Perhaps it was replaced between the two looks.
            Memory::Settled if empty < EMPTY_LOOKS => empty += 1,
            Memory::None | Memory::Settled => return None,
        }
    }
    let value = environment
        .split(|byte| *byte == 0)
        .find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    String::from_utf8(value.to_vec()).ok()
}

/// In as few reads as can be: between two of them the process may be replaced by another program.
fn read_environment(pid: u32) -> io::Result<Vec<u8>> {
    let mut file = File::open(format!("/proc/{pid}/environ"))?;
    let mut environment = Vec::new();
    loop {
        let before = environment.len();
        environment.resize(before + ENVIRONMENT_STEP_BYTES, 0);
        let length = file.read(environment.get_mut(before..).unwrap_or_default())?;
        environment.truncate(before + length);
        if length < ENVIRONMENT_STEP_BYTES || environment.len() >= ENVIRONMENT_BYTES {
            return Ok(environment);
        }
    }
}

enum Memory {
    /// Of the kernel, or dead.
    None,
    /// It is just being replaced by another program, and has no environment, not even an empty one.
    New,
    Settled,
}

/// Fields 23 and 51 are the size of a process's memory and the end of its environment.
fn memory_of(pid: u32) -> Memory {
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let field = |index: usize| fields(&stat)?.nth(index)?.parse::<u64>().ok();
    match (field(20), field(48)) {
        (None | Some(0), _) => Memory::None,
        (_, Some(0)) => Memory::New,
        _ => Memory::Settled,
    }
}

/// Whether this process surely has no child, not even a dead one.
pub(super) fn childless() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

/// Takes a dead child's entry away.
pub(super) fn reap(process: Process) {
    if let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) {
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_a_dead_first_thread_are_read() {
        let stat = |state: &str, threads: u32| {
            format!("7 (a) b (c) {state} 3 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 4711 0 0\n")
        };
        let row = |state, threads| parse_stat(7, stat(state, threads).as_bytes()).unwrap();
        let expected = Process { pid: 7, started: 4711 };
        assert_eq!(
            (row("S", 1).process, row("S", 1).parent, row("S", 1).alive),
            (expected, 3, true)
        );
        assert!(!row("Z", 1).alive);
        assert!(row("Z", 2).alive);
        assert_eq!(parse_stat(7, b"7 (cut) S 3").map(|row| row.parent), None);
    }

    #[test]
    fn a_mark_is_found_while_the_process_becomes_another() {
        // Replaces itself over and over.
        let again = r#"test "$1" -gt 300 || exec sh -c "$0" "$0" $(($1 + 1)); exec sleep 1000"#;
        let mut child = std::process::Command::new("sh")
            .args(["-c", again, again, "0"])
            .env("SAWAH_TEST_MARK", "here")
            .spawn()
            .unwrap();
        for look in 0..3_000 {
            let found = variable(child.id(), "SAWAH_TEST_MARK");
            assert_eq!(found.as_deref(), Some("here"), "at look {look}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_signal_goes_to_the_very_process_only() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let right = row(child.id()).unwrap().process;
        let wrong = Process { started: right.started + 1, ..right };
        assert!(!send(wrong, Sign::Kill));
        assert!(send(right, Sign::Kill));
        child.wait().unwrap();
        assert!(!send(right, Sign::Kill));
    }
}
