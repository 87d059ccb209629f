//! Real children: shell scripts play the stage host.

use super::*;
use crate::model::Stage;
use crate::stages::fixture::{is_running, request, write_script};
use rustix::process::Pid;
use std::path::PathBuf;
use std::sync::Mutex;
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
}

/// A host that first reads its request, then runs `script`.
fn host(script: &str) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("host.sh");
    write_script(&program, script);
    let request = request(Stage::Inspect, folder.path(), folder.path());
    Bench { folder, program, request, ear: Ear::default() }
}

impl Bench {
    fn run(&self) -> HostRun<'_> {
        HostRun {
            program: &self.program,
            request: &self.request,
            temporary: self.folder.path(),
            reporter: &self.ear,
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
