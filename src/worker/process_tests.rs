//! Real children: shell scripts play the stage host.

use super::*;
use crate::model::{Epoch, JobId, Stage};
use crate::protocol::work::JobLimits;
use crate::stages::fixture::{is_running, request, write_script};
use crate::worker::bounds;
use rustix::process::Pid;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;
use tokio::sync::watch;

/// Remembers what it hears.
#[derive(Default)]
struct Ear {
    lines: Mutex<Vec<String>>,
    heard: watch::Sender<usize>,
}

impl Reporter for Ear {
    fn progress(&self, percent: f32, message: &str) {
        self.log(&format!("{percent} {message}"));
    }

    fn log(&self, line: &str) {
        self.lines.lock().unwrap().push(line.to_owned());
        self.heard.send_modify(|heard| *heard += 1);
    }
}

impl Ear {
    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

struct Bench {
    folder: TempDir,
    program: PathBuf,
    request: StageRequest,
    ear: Ear,
    mark: Mark,
    lost_grace: Duration,
}

/// A host that first reads its request, then runs `script`.
fn host(script: &str) -> Bench {
    bench(script, write_script)
}

fn bench(script: &str, write: fn(&Path, &str)) -> Bench {
    static NEXT: AtomicI64 = AtomicI64::new(0);
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("host.sh");
    write(&program, script);
    let request = request(Stage::Inspect, folder.path(), folder.path());
    let instance = format!("process-test-{}", std::process::id());
    let mark = Mark::new(&instance, JobId(NEXT.fetch_add(1, Ordering::Relaxed)), Epoch(1));
    let lost_grace = Duration::from_mins(1);
    Bench { folder, program, request, ear: Ear::default(), mark, lost_grace }
}

impl Bench {
    fn run(&self) -> HostRun<'_> {
        HostRun {
            program: HostProgram { path: &self.program, adapter: "auto", turn: 0 },
            request: &self.request,
            temporary: self.folder.path(),
            reporter: &self.ear,
            mark: &self.mark,
            lost_grace: self.lost_grace,
        }
    }

    async fn end(&self) -> HostEnd {
        let (_switch, mut stop) = StopSignal::new();
        run_host(self.run(), &mut stop).await
    }

    async fn failure(&self) -> Failure {
        match self.end().await {
            HostEnd::Failed(failure) => failure,
            other => panic!("{other:?}"),
        }
    }
}

const DONE: &str = r#"echo '{"type":"done","output":{"files":[{"name":"a.png","media_type":"image/png"}],"report":{"kind":null,"frame_count":null,"warnings":[],"drawn_by":null}}}'"#;

#[tokio::test]
async fn a_good_host_is_heard_to_its_end() {
    let script = format!(
        r#"echo '{{"type":"progress","percent":50,"message":"half"}}'
        echo '{{"type":"log","line":"a log line"}}'
        echo "a library prints"
        echo "$1 $TMPDIR ${{SAWAH_TOKEN-none}}" >&2
        {DONE}"#
    );
    let bench = host(&script);
    let HostEnd::Done(output) = bench.end().await else { panic!("{:?}", bench.ear.lines()) };
    assert_eq!(output.files[0].name, "a.png");
    let lines = bench.ear.lines();
    let environment = format!("stage-host {} none", bench.folder.path().display());
    for line in ["50 half", "a log line", "a library prints", &environment] {
        assert!(lines.contains(&line.to_owned()), "{line}: {lines:?}");
    }
}

#[tokio::test]
async fn every_bad_end_has_its_reason() {
    let failed = r#"echo '{"type":"failed","failure":{"reason":"input.empty","class":"permanent","message":"no bytes"}}'; exit 1"#;
    let done_but_bad = format!("{DONE}; exit 3");
    let long = "head -c 17000000 /dev/zero | tr '\\0' x; sleep 1000";
    let cases = [
        (failed, Reason::InputEmpty, "no bytes"),
        ("kill -SEGV $$", Reason::ProcessCrashed, "signal 11 (bad memory access)"),
        ("kill -ABRT $$", Reason::ProcessCrashed, "signal 6 (abort)"),
        ("exit 7", Reason::ProcessCrashed, "exit code 7"),
        ("exit 0", Reason::OutputMissing, "without a result"),
        ("echo '{\"type\":\"done\"'; echo garbage", Reason::OutputMissing, "without a result"),
        (&done_but_bad, Reason::ProcessCrashed, "exit code 3"),
        (long, Reason::Unexpected, "longer than 16777216 bytes"),
    ];
    for (script, reason, words) in cases {
        let failure = host(script).failure().await;
        assert_eq!(failure.reason, reason, "{script}: {failure:?}");
        assert!(failure.message.contains(words), "{script}: {failure:?}");
    }
}

#[tokio::test]
async fn an_abort_under_a_memory_limit_is_the_limit() {
    let mut bench = host("kill -ABRT $$");
    bench.request.assignment.limits.memory_bytes = 512 << 20;
    let failure = bench.failure().await;
    assert_eq!(failure.reason, Reason::LimitMemory);
    assert!(failure.message.contains("512 MiB"), "{failure:?}");
    let mut bench = host("echo 'thread stage has overflowed its stack' >&2; kill -ABRT $$");
    bench.request.assignment.limits.memory_bytes = 512 << 20;
    assert_eq!(bench.failure().await.reason, Reason::ProcessCrashed);
}

#[tokio::test]
async fn time_and_silence_are_bounded_apart() {
    let mut busy = host(
        r#"while :; do echo '{"type":"progress","percent":1,"message":"x"}'; sleep 0.05; done"#,
    );
    busy.request.assignment.limits = JobLimits { timeout_ms: 600, stall_ms: 500, memory_bytes: 0 };
    assert_eq!(busy.failure().await.reason, Reason::LimitTime);
    let mut silent = host("while :; do echo noise; sleep 0.05; done");
    silent.request.assignment.limits =
        JobLimits { timeout_ms: 60_000, stall_ms: 300, memory_bytes: 0 };
    assert_eq!(silent.failure().await.reason, Reason::LimitStall);
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let mut bench = host("");
    bench.program = bench.folder.path().join("none");
    let failure = bench.failure().await;
    assert_eq!(failure.reason, Reason::ProgramMissing);
}

/// Runs until the host has said the id of its grandchild.
async fn grandchild(ear: &Ear) -> Pid {
    let mut heard = ear.heard.subscribe();
    heard.wait_for(|heard| *heard > 0).await.unwrap();
    let line = ear.lines().remove(0);
    Pid::from_raw(line.trim().parse().unwrap()).unwrap()
}

/// The signal is sent; its effect may take a moment.
async fn gone(pid: Pid) {
    let dies = async {
        while is_running(pid) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), dies).await.expect("the grandchild lives on");
}

#[tokio::test]
async fn a_stop_kills_the_whole_group() {
    let bench = host("sleep 1000 & echo $!; wait");
    let (switch, mut stop) = StopSignal::new();
    let (end, pid) = tokio::join!(run_host(bench.run(), &mut stop), async {
        let pid = grandchild(&bench.ear).await;
        assert!(is_running(pid));
        switch.send_replace(Some(Stop::Lost));
        pid
    });
    assert_eq!(end, HostEnd::Stopped(Stop::Lost));
    gone(pid).await;
}

#[tokio::test]
async fn what_a_finished_host_left_running_is_killed() {
    let bench = host(&format!("sleep 1000 & echo $!; {DONE}"));
    let end = bench.end().await;
    assert!(matches!(end, HostEnd::Done(_)), "{end:?}");
    gone(grandchild(&bench.ear).await).await;
}

#[tokio::test]
async fn a_dropped_run_kills_the_whole_group() {
    let bench = host("sleep 1000 & echo $!; wait");
    let (_switch, mut stop) = StopSignal::new();
    let pid = tokio::select! {
        end = run_host(bench.run(), &mut stop) => panic!("{end:?}"),
        pid = grandchild(&bench.ear) => pid,
    };
    gone(pid).await;
}

/// A child that left the group and the session.
#[cfg(target_os = "linux")]
const DAEMON: &str = "(setsid sh -c 'echo $$; exec sleep 1000 >/dev/null 2>&1' &)";

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_with_its_own_session_dies_with_the_host_however_it_ends() {
    // The host goes on when its daemon runs.
    let daemon = DAEMON.replace("exec", "echo > go; exec");
    for (end, timeout_ms) in
        [(DONE, 0), ("exit 3", 0), ("kill -KILL $$", 0), ("exec sleep 1000", 1_000)]
    {
        let mut bench = host(&format!("mkfifo go; {daemon}; read -r go <go; {end}"));
        bench.request.assignment.limits.timeout_ms = timeout_ms;
        let how = bench.end().await;
        let pid = grandchild(&bench.ear).await;
        assert!(!is_running(pid), "{end}: {how:?}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_with_its_own_session_dies_with_a_stop() {
    for stopped in [Stop::Lost, Stop::Shutdown] {
        let bench = host(&format!("{DAEMON}; exec sleep 1000"));
        let (switch, mut stop) = StopSignal::new();
        let (end, pid) = tokio::join!(run_host(bench.run(), &mut stop), async {
            let pid = grandchild(&bench.ear).await;
            switch.send_replace(Some(stopped));
            pid
        });
        assert_eq!(end, HostEnd::Stopped(stopped));
        assert!(!is_running(pid));
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_with_its_own_session_dies_with_a_dropped_run() {
    let bench = host(&format!("{DAEMON}; exec sleep 1000"));
    let (_switch, mut stop) = StopSignal::new();
    let pid = tokio::select! {
        end = run_host(bench.run(), &mut stop) => panic!("{end:?}"),
        pid = grandchild(&bench.ear) => pid,
    };
    gone(pid).await;
}

/// Runs until the host says `ready`, then stops it.
async fn stopped_when_ready(bench: &Bench, why: Stop) -> HostEnd {
    let (switch, mut stop) = StopSignal::new();
    let (end, ()) = tokio::join!(run_host(bench.run(), &mut stop), async {
        let mut heard = bench.ear.heard.subscribe();
        let ready = || bench.ear.lines().iter().any(|line| line == "ready");
        heard.wait_for(|_| ready()).await.unwrap();
        switch.send_replace(Some(why));
    });
    end
}

const ORDER: &str = "echo ready; read -r order; echo \"asked: $order\"; exit 1";
const RUNS: &str = r#"echo '{"type":"programs","running":1}'"#;

#[tokio::test]
async fn a_host_is_asked_to_stop_while_a_program_runs() {
    for why in [Stop::Shutdown, Stop::Lost] {
        let bench = host(&format!("{RUNS}; {ORDER}"));
        assert_eq!(stopped_when_ready(&bench, why).await, HostEnd::Stopped(why));
        assert!(bench.ear.lines().contains(&"asked: stop".to_owned()), "{:?}", bench.ear.lines());
    }
    let mut late = host(&format!("{RUNS}; {ORDER}"));
    late.request.assignment.limits.timeout_ms = 500;
    assert_eq!(late.failure().await.reason, Reason::LimitTime);
    assert!(late.ear.lines().contains(&"asked: stop".to_owned()));
}

#[tokio::test]
async fn a_host_without_a_program_is_killed_at_once() {
    let over = r#"echo '{"type":"programs","running":0}'"#;
    for before in ["", RUNS] {
        let before = if before.is_empty() { String::new() } else { format!("{before}; {over};") };
        let bench = host(&format!("{before} {ORDER}"));
        assert_eq!(stopped_when_ready(&bench, Stop::Lost).await, HostEnd::Stopped(Stop::Lost));
        assert!(!bench.ear.lines().iter().any(|line| line.contains("asked")));
    }
}

#[tokio::test]
async fn a_host_that_does_not_stop_is_killed_after_the_grace() {
    let mut bench = host(&format!("{RUNS}; echo ready; exec sleep 1000"));
    bench.lost_grace = Duration::from_millis(50);
    assert_eq!(stopped_when_ready(&bench, Stop::Lost).await, HostEnd::Stopped(Stop::Lost));
}

#[tokio::test]
async fn a_lost_lease_ends_the_grace_of_a_worker_that_ends() {
    let bench = host(&format!("{RUNS}; echo ready; read -r order; echo asked; exec sleep 1000"));
    let (switch, mut stop) = StopSignal::new();
    let watch = crate::clock::Stopwatch::start();
    let (end, ()) = tokio::join!(run_host(bench.run(), &mut stop), async {
        let said = |word: &str| bench.ear.lines().iter().any(|line| line == word);
        let mut heard = bench.ear.heard.subscribe();
        heard.wait_for(|_| said("ready")).await.unwrap();
        switch.send_replace(Some(Stop::Shutdown));
        heard.wait_for(|_| said("asked")).await.unwrap();
        switch.send_replace(Some(Stop::Lost));
    });
    assert_eq!(end, HostEnd::Stopped(Stop::Shutdown));
    assert!(watch.elapsed() < Duration::from_millis(bounds::STOP_GRACE_MS));
}

/// The real host with a real program; this test binary plays it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_of_a_program_outlives_its_attempt_not_even_what_hides() {
    // The daemon drops its environment, so that only its parents lead to it.
    let daemon =
        "(env -i setsid sh -c 'echo pid $$; echo ready; exec /bin/sleep 1000 >/dev/null 2>&1' &)";
    for deaf in ["", "trap '' TERM;"] {
        let script = format!("{deaf} {daemon}; while :; do sleep 1000 & wait; done");
        let binary = std::env::current_exe().unwrap();
        let mut bench = bench(
            &format!(
                "export SAWAH_TEST_HOST=renders SAWAH_TEST_SCRIPT=\"{}\"\nexec '{}' --exact \
                 stages::host::tests::child --nocapture --test-threads=1",
                script.replace('$', "\\$"),
                binary.display()
            ),
            crate::stages::fixture::write_program,
        );
        bench.lost_grace = Duration::from_millis(500);
        assert_eq!(stopped_when_ready(&bench, Stop::Lost).await, HostEnd::Stopped(Stop::Lost));
        let lines = bench.ear.lines();
        let pid = lines.iter().find_map(|line| line.strip_prefix("pid ")).unwrap();
        assert!(!is_running(Pid::from_raw(pid.parse().unwrap()).unwrap()), "{lines:?}");
    }
}
