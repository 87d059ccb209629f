//! Real programs, most of them shell scripts.

use super::bounds::{CHUNK_BYTES, CHUNKS};
use super::mark::{VARIABLE, end_orphans};
use super::*;
use crate::model::{Epoch, JobId};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;

/// A script that is run with a mark of its own.
struct Bench {
    folder: TempDir,
    program: Program,
    bounds: Bounds,
    end: EndSignal,
    output: Vec<u8>,
}

fn mark() -> Mark {
    static NEXT: AtomicI64 = AtomicI64::new(0);
    let instance = format!("programs-test-{}", std::process::id());
    Mark::new(&instance, JobId(NEXT.fetch_add(1, Ordering::Relaxed)), Epoch(1))
}

fn script(text: &str) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let program = Program {
        program: PathBuf::from("/bin/sh"),
        arguments: vec!["-c".to_owned(), text.to_owned()],
        set: [(VARIABLE.to_owned(), mark().as_str().to_owned())].into(),
        folder: folder.path().to_owned(),
        ..Program::default()
    };
    let bounds = Bounds { memory_bytes: 0, grace_ms: 60_000, log_bytes: 1 << 20 };
    Bench { folder, program, bounds, end: EndSignal::new(), output: Vec::new() }
}

impl Bench {
    fn log(&self) -> PathBuf {
        self.folder.path().join("raw.log")
    }

    /// Runs it; `heard` gets all output so far, with each new piece.
    fn run(&mut self, mut heard: impl FnMut(&[u8], &EndSignal)) -> Ended {
        let (output, end, log) = (&mut self.output, &self.end, self.folder.path().join("raw.log"));
        run(&self.program, &self.bounds, &log, end, &mut |what| {
            if let Heard::Output(bytes) = what {
                output.extend_from_slice(bytes);
                heard(output, end);
            }
        })
        .unwrap()
    }

    fn text(&self) -> String {
        String::from_utf8(self.output.clone()).unwrap()
    }

    /// The ids of processes that the script wrote, one a line.
    fn pids(&self) -> Vec<u32> {
        self.text().lines().filter_map(|line| line.parse().ok()).collect()
    }

    fn assert_gone(&self, count: usize) {
        let pids = self.pids();
        assert_eq!(pids.len(), count, "{}", self.text());
        for pid in pids {
            assert!(!is_alive(pid), "{pid} lives on");
        }
    }
}

fn is_alive(pid: u32) -> bool {
    system::row(pid).is_some_and(|row| row.alive)
}

/// Ends a run when as many whole lines were heard.
fn end_after(lines: usize) -> impl FnMut(&[u8], &EndSignal) {
    move |output, end| {
        if output.split(|byte| *byte == b'\n').count() > lines {
            end.end(EndWhy::Stop);
        }
    }
}

const NOTHING: fn(&[u8], &EndSignal) = |_, _| {};

#[test]
fn output_and_errors_keep_their_order_with_and_without_a_last_newline() {
    let mut bench = script("printf 'one\\n'; printf 'two\\r' >&2; printf three; exit 7");
    let ended = bench.run(NOTHING);
    assert_eq!((ended.how, ended.log_cut), (How::Code(7), false));
    assert_eq!(bench.text(), "one\ntwo\rthree");
    assert_eq!(fs::read(bench.log()).unwrap(), bench.output);
}

#[test]
fn a_second_program_goes_on_with_the_log_and_its_bound() {
    let mut bench = script("printf 'first, '");
    bench.bounds.log_bytes = 10;
    assert!(!bench.run(NOTHING).log_cut);
    assert!(bench.run(NOTHING).log_cut);
    let log = fs::read_to_string(bench.log()).unwrap();
    assert!(log.starts_with("first, fir\n[the log is longer than 10 bytes"), "{log}");
}

#[test]
fn a_hundred_megabytes_are_heard_whole_and_logged_to_the_bound() {
    let mut bench = script("head -c 100000000 /dev/zero");
    let mut heard = 0;
    let log = bench.log();
    let ended = run(&bench.program, &bench.bounds, &log, &bench.end, &mut |what| {
        if let Heard::Output(bytes) = what {
            heard += bytes.len();
        }
    })
    .unwrap();
    bench.output.clear();
    assert_eq!((heard, ended.how, ended.log_cut), (100_000_000, How::Code(0), true));
    let length = fs::metadata(&log).unwrap().len();
    assert!((1 << 20..(1 << 20) + 200).contains(&length), "{length}");
}

/// Bytes that a process has written so far.
fn written(pid: u32) -> u64 {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

#[test]
fn a_program_waits_for_a_slow_listener() {
    /// The queue, the piece that is heard, one in the reader's hand, and the pipe's own.
    const MOST: u64 = ((CHUNKS + 2) * CHUNK_BYTES + (64 << 10)) as u64;
    const SAME: u32 = 2_000;
    let mut bench = script("echo $$; exec head -c 100000000 /dev/zero");
    let mut most = 0;
    bench.run(|output, end| {
        if most > 0 {
            return;
        }
        let line = output.split(|byte| *byte == b'\n').next().unwrap();
        let pid: u32 = std::str::from_utf8(line).unwrap().parse().unwrap();
        let mut same = 0;
        while same < SAME && most <= MOST {
            let now = written(pid);
            same = if now == most && now > CHUNK_BYTES as u64 { same + 1 } else { 0 };
            most = most.max(now);
            std::thread::yield_now();
        }
        end.end(EndWhy::Stop);
    });
    assert!(most <= MOST, "{most} bytes are held for a listener that does not listen");
}

#[test]
fn a_child_that_holds_the_pipe_does_not_hold_us() {
    let mut bench = script("sleep 1000 & echo $!");
    assert_eq!(bench.run(NOTHING).how, How::Code(0));
    bench.assert_gone(1);
}

#[test]
fn a_deaf_child_is_killed_when_the_program_has_ended() {
    let deaf = "sh -c 'trap \"\" TERM; echo $$; echo > go; exec sleep 1000'";
    let mut bench = script(&format!("mkfifo go; {deaf} & read -r go < go; exit 5"));
    bench.bounds.grace_ms = 50;
    assert_eq!(bench.run(NOTHING).how, How::Code(5));
    bench.assert_gone(1);
}

/// A daemon as they are written: two forks, a session of its own, nothing of the pipe.
const DAEMON: &str = "(setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &)";

#[test]
fn a_daemon_with_its_own_session_is_gone_at_the_end() {
    // The script ends when it has been heard that the daemon runs.
    let mut bench = script(&format!("mkfifo heard; {DAEMON}; read x < heard; exit 4"));
    let heard = bench.folder.path().join("heard");
    let mut told = false;
    let ended = bench.run(|output, _| {
        if !told && output.ends_with(b"\n") {
            told = true;
            fs::write(&heard, "go\n").unwrap();
        }
    });
    assert_eq!(ended.how, How::Code(4));
    bench.assert_gone(1);
}

#[test]
fn a_daemon_with_its_own_session_is_gone_when_told() {
    let mut bench = script(&format!("{DAEMON}; exec sleep 1000"));
    assert_eq!(bench.run(end_after(1)).how, How::Told(EndWhy::Stop));
    bench.assert_gone(1);
}

#[test]
fn who_listens_to_the_request_has_time_to_end_well() {
    let mut bench =
        script("trap 'echo saved; exit 0' TERM; mkfifo no; exec 3<>no; echo ready; read -r x <&3");
    assert_eq!(bench.run(end_after(1)).how, How::Told(EndWhy::Stop));
    assert_eq!(bench.text(), "ready\nsaved\n");
}

#[test]
fn who_does_not_listen_is_killed_after_the_grace() {
    let mut bench = script("trap '' TERM; sleep 1000 & echo $!; echo $$; while :; do wait; done");
    bench.bounds.grace_ms = 50;
    assert_eq!(bench.run(end_after(2)).how, How::Told(EndWhy::Stop));
    bench.assert_gone(2);
}

#[test]
fn a_signal_of_others_is_told_as_one() {
    assert_eq!(script("kill -SEGV $$").run(NOTHING).how, How::Signal(11));
}

#[test]
fn memory_of_the_whole_tree_is_bounded() {
    let hungry = "(head -c 300000000 /dev/zero; sleep 1000) | tail -n 1 >/dev/null";
    let mut bench = script(&format!("echo $$; {hungry}; echo survived"));
    bench.bounds.memory_bytes = 64 << 20;
    let ended = bench.run(NOTHING);
    assert_eq!(ended.how, How::OverMemory);
    assert!(ended.peak_memory_bytes > 64 << 20, "{ended:?}");
    assert!(!bench.text().contains("survived"));
    bench.assert_gone(1);
}

#[test]
fn what_a_program_takes_is_told_while_it_runs() {
    let bench = script("sleep 1000 & wait");
    let mut seen = Vec::new();
    let ended = run(&bench.program, &bench.bounds, &bench.log(), &bench.end, &mut |what| {
        if let Heard::Usage(usage) = what {
            seen.push(usage);
            if seen.len() == 2 {
                bench.end.end(EndWhy::Silence);
            }
        }
    })
    .unwrap();
    assert_eq!(ended.how, How::Told(EndWhy::Silence));
    let last = seen.last().unwrap();
    assert_eq!(last.processes, 2);
    assert!(last.memory_bytes > 0 && last.peak_memory_bytes >= last.memory_bytes, "{seen:?}");
    assert!(ended.peak_memory_bytes >= last.memory_bytes, "{ended:?}");
}

#[test]
fn the_first_reason_stays_and_nothing_more_is_started() {
    let mut bench = script("echo started");
    bench.end.end(EndWhy::Fault);
    bench.end.end(EndWhy::Time);
    assert_eq!(bench.run(NOTHING).how, How::Told(EndWhy::Fault));
    assert!(bench.output.is_empty());
}

#[test]
fn variables_are_set_and_removed() {
    let mut bench = script("echo ${HOME-none} $colour");
    bench.program.set.insert("colour".to_owned(), "green".to_owned());
    bench.program.remove = ["HOME".to_owned()].into();
    bench.run(NOTHING);
    assert_eq!(bench.text(), "none green\n");
}

#[test]
fn what_cannot_be_started_says_why() {
    let error = |change: &dyn Fn(&mut Program)| {
        let mut bench = script("exit 0");
        change(&mut bench.program);
        run(&bench.program, &bench.bounds, &bench.log(), &bench.end, &mut |_| {}).unwrap_err()
    };
    let missing = error(&|program| program.program = "no-such-renderer".into());
    assert!(matches!(&missing, ProgramError::NotFound(_)), "{missing}");
    let plain = error(&|program| program.program = "/etc/passwd".into());
    assert!(matches!(&plain, ProgramError::NotExecutable { .. }), "{plain}");
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    let mut made = Command::new("sh");
    made.args(["-c", r#"echo text > "$0"; chmod 755 "$0""#]).arg(&text);
    assert!(made.status().unwrap().success());
    let text = error(&|program| program.program.clone_from(&text));
    assert!(matches!(&text, ProgramError::NotExecutable { .. }), "{text}");
    let nowhere = error(&|program| program.folder = "/no/such/folder".into());
    assert!(matches!(&nowhere, ProgramError::Folder(_)), "{nowhere}");
    let bench = script("exit 0");
    let log = bench.folder.path().join("none/raw.log");
    let unlogged = run(&bench.program, &bench.bounds, &log, &bench.end, &mut |_| {}).unwrap_err();
    assert!(matches!(&unlogged, ProgramError::Log { .. }), "{unlogged}");
}

#[test]
fn a_listener_that_panics_leaves_nothing_running() {
    let mut bench = script("sleep 1000 & echo $!; wait");
    let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        bench.run(|_, _| panic!("the listener"));
    }));
    assert!(panics.is_err());
    let pid = bench.pids()[0];
    assert!((0..100_000).any(|_| !is_alive(pid)), "{pid} lives on");
}

/// A process of another life, with a session of its own.
fn orphan(mark: &Mark) -> Child {
    Command::new("setsid")
        .args(["sleep", "1000"])
        .env(VARIABLE, mark.as_str())
        .stdin(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn orphans_of_one_folder_are_ended_and_no_others() {
    let instance = format!("orphans-{}", std::process::id());
    let mark = |instance: &str, job| Mark::new(instance, JobId(job), Epoch(1));
    let mut ours = [1, 2].map(|job| orphan(&mark(&instance, job)));
    let mut other = orphan(&mark(&format!("{instance}0"), 1));
    let swept = end_orphans(&instance);
    assert_eq!((swept.found, swept.left), (2, 0));
    for child in &mut ours {
        assert!(!child.wait().unwrap().success());
    }
    assert!(is_alive(other.id()));
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(end_orphans(&instance).found, 0);
}

/// Names the part that a copy of this test program plays; unset in a normal run.
const ROLE: &str = "SAWAH_TEST_PROGRAMS_HOST";

/// Runs as the child of the tests of hosts.
#[test]
fn host_child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    host::become_host();
    // Also its environment is its own: only its parents lead to it.
    let daemon = "(env -i setsid sh -c 'echo $$; exec /bin/sleep 1000 >/dev/null 2>&1' &)";
    match role.as_str() {
        "ends" => {
            let mut bench = script(&format!("{daemon}; exec sleep 1000"));
            assert_eq!(bench.run(end_after(1)).how, How::Told(EndWhy::Stop));
            bench.assert_gone(1);
            assert!(system::childless(), "dead children stay in the table");
        }
        "sweeps" => {
            let pids = Command::new("sh").args(["-c", daemon]).output().unwrap().stdout;
            let pid = String::from_utf8(pids).unwrap().trim().parse().unwrap();
            assert!(is_alive(pid));
            assert_eq!(tree::end_own().left, 0);
            assert!(!is_alive(pid));
        }
        "stops" => {
            let mut first = script("echo ready; exec sleep 1000");
            let ended = first.run(|_, _| assert_eq!(registry::end_all(EndWhy::Stop), 1));
            assert_eq!(ended.how, How::Told(EndWhy::Stop));
            let mut second = script("echo started");
            assert_eq!(second.run(NOTHING).how, How::Told(EndWhy::Stop));
            assert!(second.output.is_empty());
        }
        "twice" => {
            let mut outer = script("echo $$; exec sleep 1000");
            outer.run(|output, end| {
                let mut inner = script(&format!("{daemon}; exec sleep 1000"));
                assert_eq!(inner.run(end_after(1)).how, How::Told(EndWhy::Stop));
                inner.assert_gone(1);
                let first = std::str::from_utf8(output).unwrap().trim().parse().unwrap();
                assert!(is_alive(first), "the end of one program is not an older one's");
                end.end(EndWhy::Stop);
            });
            outer.assert_gone(1);
        }
        "apart" => {
            let mut first = script("echo $$; exec sleep 1000");
            let mut second = None;
            first.run(|_, end| {
                let (ready, is_ready) = std::sync::mpsc::sync_channel(1);
                let thread = std::thread::Builder::new().spawn(move || {
                    let mut bench = script("echo $$; exec sleep 1000");
                    let ended = bench.run(|_, _| ready.send(()).unwrap());
                    (bench, ended.how)
                });
                second = Some(thread.unwrap());
                is_ready.recv().unwrap();
                end.end(EndWhy::Stop);
            });
            first.assert_gone(1);
            assert_eq!(registry::end_all(EndWhy::Time), 1, "it ended with an older one");
            let (second, how) = second.unwrap().join().unwrap();
            assert_eq!(how, How::Told(EndWhy::Time));
            second.assert_gone(1);
        }
        _ => {
            let score = fs::read_to_string("/proc/self/oom_score_adj").unwrap();
            assert_eq!(score.trim(), bounds::OOM_SCORE.to_string());
            let mut bench = script("nice; cat /proc/self/oom_score_adj; echo $SAWAH_ATTEMPT");
            bench.program.set.clear();
            bench.program.remove = [VARIABLE.to_owned()].into();
            bench.run(NOTHING);
            let expected = format!("{}\n{}\nthe mark\n", bounds::NICENESS, bounds::OOM_SCORE);
            assert_eq!(bench.text(), expected);
        }
    }
}

fn as_host(role: &str) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let (module, _) = name.rsplit_once("::").unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::host_child"), "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(VARIABLE, "the mark")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{text}");
    assert!(String::from_utf8_lossy(&child.stdout).contains("1 passed"), "{child:?}");
}

#[test]
fn a_host_ends_a_daemon_that_hides_from_everybody() {
    as_host("ends");
}

#[test]
fn a_host_ends_all_that_is_below_it() {
    as_host("sweeps");
}

#[test]
fn a_host_that_stops_starts_no_more_programs() {
    as_host("stops");
}

#[test]
fn a_host_runs_two_programs_apart() {
    as_host("twice");
    as_host("apart");
}

#[test]
fn a_host_and_its_programs_stand_back_and_keep_the_mark() {
    as_host("stands back");
}
