//! Real hosts: this test binary is started again and serves as one.

use super::*;
use crate::model::Stage;
use crate::programs::{Bounds, EndSignal, EndWhy, Heard, How, Program, run};
use crate::stages::fixture::request;
use crate::stages::{Produced, StageOutput};
use rustix::process::{Pid, Signal};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What the child does; unset in a normal test run.
const ROLE: &str = "SAWAH_TEST_HOST";

/// The script that the host runs as a program in the role `renders`.
const SCRIPT: &str = "SAWAH_TEST_SCRIPT";

/// A stage that runs a program; each of its lines becomes one of the log.
fn render(reporter: &dyn Reporter) -> StageResult {
    // The first line is not alone on its line: the harness has begun it.
    reporter.log("host");
    let folder = tempfile::tempdir().unwrap();
    let program = Program {
        program: "/bin/sh".into(),
        arguments: vec!["-c".to_owned(), std::env::var(SCRIPT).unwrap()],
        folder: folder.path().to_owned(),
        ..Program::default()
    };
    let bounds = Bounds { memory_bytes: 0, grace_ms: 60_000, log_bytes: 1 << 20 };
    let log = folder.path().join("raw.log");
    let mut text = Vec::new();
    let ended = run(&program, &bounds, &log, &EndSignal::new(), &mut |heard| {
        let Heard::Output(bytes) = heard else { return };
        text.extend_from_slice(bytes);
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            reporter.log(std::str::from_utf8(&line).unwrap().trim_end());
        }
    });
    match ended.unwrap().how {
        How::Told(EndWhy::Stop) => Ok(StageOutput::default()),
        how => Err(Failure::new(Reason::Unexpected, format!("{how:?}"))),
    }
}

/// Runs as the child of the other tests.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let done = serve(&move |_request, reporter| match role.as_str() {
        "works" => {
            reporter.progress(50.0, "half");
            reporter.progress(10.0, "never back");
            reporter.log("one\ntwo");
            let file = Produced { name: "a.png".to_owned(), media_type: "image/png".to_owned() };
            Ok(StageOutput { files: vec![file], ..StageOutput::default() })
        }
        "renders" => render(reporter),
        "panics" => panic!("no such corner"),
        "allocates" => {
            let bytes = vec![1_u8; 8 << 30];
            Err(Failure::new(Reason::Unexpected, format!("got {} bytes", bytes.len())))
        }
        _ => {
            let mut grandchild = Command::new("sleep").arg("1000").spawn().unwrap();
            reporter.log(&format!("grandchild {}", grandchild.id()));
            let ended = grandchild.wait();
            Err(Failure::new(Reason::Unexpected, format!("the grandchild ended: {ended:?}")))
        }
    });
    std::process::exit(i32::from(!done));
}

fn start(role: &str, memory_bytes: u64) -> Child {
    start_with(role, memory_bytes, "")
}

fn command(role: &str, script: &str) -> Command {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let (module, _) = name.rsplit_once("::").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &format!("{module}::child"), "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(SCRIPT, script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0);
    command
}

fn start_with(role: &str, memory_bytes: u64, script: &str) -> Child {
    let mut child = command(role, script).spawn().unwrap();
    let mut request = request(Stage::Inspect, Path::new("/in"), Path::new("/out"));
    request.assignment.limits.memory_bytes = memory_bytes;
    let mut line = serde_json::to_vec(&request).unwrap();
    line.push(b'\n');
    child.stdin.as_mut().unwrap().write_all(&line).unwrap();
    child
}

/// The harness writes lines of its own: they are skipped.
fn messages(child: &mut Child) -> impl Iterator<Item = HostMessage> + use<> {
    BufReader::new(child.stdout.take().unwrap()).lines().filter_map(|line| {
        let line = line.unwrap();
        let from = line.find('{')?;
        serde_json::from_str(&line[from..]).ok()
    })
}

#[test]
fn progress_never_falls_and_done_ends_with_zero() {
    let mut child = start("works", 0);
    let said: Vec<_> = messages(&mut child).collect();
    let log = |line: &str| HostMessage::Log { line: line.to_owned() };
    assert!(matches!(&said[0], HostMessage::Progress { percent: 50.0, .. }), "{said:?}");
    assert!(matches!(&said[1], HostMessage::Progress { percent: 50.0, .. }), "{said:?}");
    assert_eq!(said[2..4], [log("one"), log("two")]);
    assert!(matches!(&said[4], HostMessage::Done { output } if output.files[0].name == "a.png"));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_panic_is_a_failure_with_its_words() {
    let mut child = start("panics", 0);
    let said: Vec<_> = messages(&mut child).collect();
    let Some(HostMessage::Failed { failure }) = said.last() else { panic!("{said:?}") };
    assert_eq!(failure.reason, Reason::Unexpected);
    assert!(failure.message.contains("no such corner"), "{failure:?}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn the_memory_limit_aborts_the_host() {
    let mut child = start("allocates", 4 << 30);
    assert_eq!(messages(&mut child).count(), 0);
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::ABORT.as_raw()));
}

#[test]
fn the_end_of_standard_input_kills_the_whole_group() {
    let mut child = start("hangs", 0);
    let mut said = messages(&mut child);
    let Some(HostMessage::Log { line }) = said.next() else { panic!("no log line") };
    let grandchild: i32 = line.trim_start_matches("grandchild ").parse().unwrap();
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
    // The pipe's end comes only when the grandchild, which has inherited it, is gone too.
    assert_eq!(said.count(), 0);
    let pid = Pid::from_raw(grandchild).unwrap();
    // It may take a moment from the pipe's end to the process's.
    let gone = (0..1_000_000).any(|_| {
        std::thread::yield_now();
        !crate::stages::fixture::is_running(pid)
    });
    assert!(gone);
}

fn next_line(said: &mut impl Iterator<Item = HostMessage>) -> String {
    let line = said.find_map(|message| match message {
        HostMessage::Log { line } if line != "host" => Some(line),
        _ => None,
    });
    line.expect("the program says a line")
}

#[cfg(target_os = "linux")]
fn is_alive(pid: &str) -> bool {
    crate::stages::fixture::is_running(Pid::from_raw(pid.parse().unwrap()).unwrap())
}

/// What a worker's `kill -9` comes to.
#[cfg(target_os = "linux")]
#[test]
fn the_end_of_standard_input_kills_a_daemon_that_hides() {
    let daemon = "(env -i setsid sh -c 'echo $$; exec /bin/sleep 1000 >/dev/null 2>&1' &)";
    let mut child = start_with("renders", 0, &format!("trap '' TERM; {daemon}; sleep 1000"));
    let mut said = messages(&mut child);
    let pid = next_line(&mut said);
    assert!(is_alive(&pid));
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
    // Killed before the host was: no moment is needed.
    assert!(!is_alive(&pid));
}

#[test]
fn a_stop_line_asks_the_program_and_the_stage_ends_with_what_it_has() {
    let script = "trap 'echo saved; exit 0' TERM; mkfifo no; exec 3<>no; echo ready; read -r x <&3";
    let mut child = start_with("renders", 0, script);
    let mut said = messages(&mut child);
    assert_eq!(next_line(&mut said), "ready");
    child.stdin.as_mut().unwrap().write_all(b"stopped\nstop\n").unwrap();
    let rest: Vec<_> = said.collect();
    let [HostMessage::Log { line }, HostMessage::Programs { running: 0 }, HostMessage::Done { .. }] =
        rest.as_slice()
    else {
        panic!("{rest:?}")
    };
    assert_eq!(line, "saved");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_order_is_a_whole_line() {
    let (hand, requests) = sync_channel(1);
    let mut order = Order::default();
    order.hear(b"a stop\nstopp\nsto", &hand);
    assert_eq!(order.line, b"sto");
    order.hear(b"rm of a long line that nobody understands", &hand);
    assert!(order.line.len() <= STOP_LINE.len() + 1);
    order.hear(b"\n{\"a\":", &hand);
    assert!(requests.try_recv().is_err());
    order.hear(b"1}\n{\"b\":2}\n", &hand);
    assert_eq!(requests.try_recv().as_deref(), Ok(&br#"{"a":1}"#[..]));
    assert!(requests.try_recv().is_err());
}

/// One more request to a host, which may stay after it.
fn ask_to_stay(child: &mut Child, folder: &Path, mark: &str) {
    let mut request = request(Stage::Render, Path::new("/in"), Path::new("/out"));
    request.assignment.settings.scene = Some(crate::recipes::SceneSettings::default());
    request.stay = Some(crate::stages::Stay {
        folder: folder.to_owned(),
        temporary: folder.join(mark),
        mark: mark.to_owned(),
    });
    let mut line = serde_json::to_vec(&request).unwrap();
    line.push(b'\n');
    child.stdin.as_mut().unwrap().write_all(&line).unwrap();
}

/// A host whose first request is such a one.
fn start_to_stay(role: &str, script: &str, folder: &Path) -> Child {
    let mut child = command(role, script).spawn().unwrap();
    ask_to_stay(&mut child, folder, "one");
    child
}

#[cfg(target_os = "linux")]
#[test]
fn a_host_that_stays_serves_the_next_attempt_with_its_own_mark_and_nothing_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = "(env -i setsid sh -c 'echo $$; exec /bin/sleep 1000 >/dev/null 2>&1' &)";
    let script = format!("echo \"$SAWAH_ATTEMPT $TMPDIR\"; {daemon}; sleep 0.2");
    let mut child = start_to_stay("renders", &script, folder.path());
    let mut said = messages(&mut child);
    for mark in ["one", "two"] {
        let words = next_line(&mut said);
        let place = folder.path().join(mark);
        assert_eq!(words, format!("{mark} {}", place.display()));
        let pid = next_line(&mut said);
        let answered = said.find(|message| matches!(message, HostMessage::Failed { .. }));
        assert!(answered.is_some());
        assert_eq!(said.next(), Some(HostMessage::Ready));
        assert!(!is_alive(&pid), "what hides outlives its attempt");
        if mark == "one" {
            ask_to_stay(&mut child, folder.path(), "two");
        }
    }
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
}

#[test]
fn a_host_in_doubt_does_not_stay() {
    let folder = tempfile::tempdir().unwrap();
    let mut panics = start_to_stay("panics", "", folder.path());
    let said: Vec<_> = messages(&mut panics).collect();
    assert!(matches!(said.last(), Some(HostMessage::Failed { .. })), "{said:?}");
    assert_eq!(panics.wait().unwrap().code(), Some(1));
    let mut stopped = start_to_stay("renders", "echo ready; exec sleep 1000", folder.path());
    let mut said = messages(&mut stopped);
    assert_eq!(next_line(&mut said), "ready");
    stopped.stdin.as_mut().unwrap().write_all(b"stop\n").unwrap();
    assert!(said.all(|message| message != HostMessage::Ready));
    assert_eq!(stopped.wait().unwrap().code(), Some(0));
}

#[test]
fn a_host_of_foreign_files_ends_with_its_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = command("works", "").spawn().unwrap();
    let mut request = request(Stage::Inspect, Path::new("/in"), Path::new("/out"));
    request.assignment.settings.scene = Some(crate::recipes::SceneSettings::default());
    let (folder, mark) = (folder.path().to_owned(), "one".to_owned());
    request.stay = Some(crate::stages::Stay { temporary: folder.clone(), folder, mark });
    let mut line = serde_json::to_vec(&request).unwrap();
    line.push(b'\n');
    child.stdin.as_mut().unwrap().write_all(&line).unwrap();
    let said: Vec<_> = messages(&mut child).collect();
    assert!(matches!(said.last(), Some(HostMessage::Done { .. })), "{said:?}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
