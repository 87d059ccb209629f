//! Real children: shell scripts play hosts that stay.

use super::*;
use crate::model::{Epoch, JobId, PipelineId, Reason, Stage};
use crate::programs::Mark;
use crate::protocol::work::{Failure, JobLimits};
use crate::stages::fixture::{is_running, request, write_program};
use crate::stages::may_share;
use crate::worker::process::{HostEnd, HostRun, run_in_pool};
use crate::worker::running::{Stop, StopSignal};
use rustix::process::Pid;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const LONG: Duration = Duration::from_mins(5);
const READY: &str = r#"echo '{"type":"ready"}'"#;
const DONE: &str = r#"echo '{"type":"done","output":{"files":[],"report":{"kind":null,"frame_count":null,"warnings":[],"drawn_by":null}}}'"#;
const FAILED: &str = r#"echo '{"type":"failed","failure":{"reason":"input.empty","class":"permanent","message":"no bytes"}}'"#;

/// Remembers what it hears.
#[derive(Default)]
struct Ear(Mutex<Vec<String>>);

impl Reporter for Ear {
    fn progress(&self, _percent: f32, _message: &str) {}
    fn log(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

impl Ear {
    /// The host says its id for each request.
    fn pid(&self) -> i32 {
        self.0.lock().unwrap()[0].parse().unwrap()
    }
}

struct Bench {
    folder: TempDir,
    program: PathBuf,
    pool: HostPool,
    limits: JobLimits,
}

/// A pool of hosts that say their id and do this for each request; `$count` counts from 1.
fn bench(each: &str, most: usize, idle_time: Duration) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("host.sh");
    let script = format!(
        "count=0; while read -r request; do count=$((count+1)); echo $$; {each}\n done; exit 9"
    );
    write_program(&program, &script);
    let work = Arc::new(WorkFolder::open(&folder.path().join("work")).unwrap());
    let pool = HostPool::new(work, most, idle_time);
    let limits = JobLimits { timeout_ms: 0, stall_ms: 0, memory_bytes: 0 };
    Bench { folder, program, pool, limits }
}

impl Bench {
    /// One attempt of a pipeline, and the id of the host that served it.
    async fn attempt(&self, pipeline: i64) -> (HostEnd, i32) {
        let (_switch, mut stop) = StopSignal::new();
        self.attempt_until(pipeline, &mut stop).await
    }

    async fn attempt_until(&self, pipeline: i64, stop: &mut StopSignal) -> (HostEnd, i32) {
        let mut request = request(Stage::Render, self.folder.path(), self.folder.path());
        request.assignment.pipeline_id = PipelineId(pipeline);
        request.assignment.limits = self.limits;
        let (ear, mark) = (Ear::default(), Mark::new("hosts-test", JobId(pipeline), Epoch(1)));
        let run = HostRun {
            program: HostProgram { path: &self.program, adapter: "auto", turn: 0 },
            request: &request,
            temporary: self.folder.path(),
            reporter: &ear,
            mark: &mark,
            lost_grace: Duration::from_millis(100),
        };
        let end = run_in_pool(run, &self.pool, stop).await;
        (end, ear.pid())
    }

    fn host_folders(&self) -> usize {
        std::fs::read_dir(self.folder.path().join("work/staging")).unwrap().count()
    }
}

fn is_alive(pid: i32) -> bool {
    is_running(Pid::from_raw(pid).unwrap())
}

async fn until_gone(pid: i32) {
    let gone = async {
        while is_alive(pid) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.expect("the host lives on");
}

fn reason(end: &HostEnd) -> Option<Reason> {
    match end {
        HostEnd::Failed(Failure { reason, .. }) => Some(*reason),
        _ => None,
    }
}

#[tokio::test]
async fn one_host_serves_two_attempts_also_after_a_failure_that_it_said_itself() {
    for answer in [DONE, FAILED] {
        let bench = bench(&format!("{answer}; {READY}"), 2, LONG);
        let (first, one) = bench.attempt(1).await;
        let (second, two) = bench.attempt(1).await;
        assert_eq!((one, bench.pool.waiting()), (two, 1));
        assert_eq!(first, second);
        assert_eq!(reason(&first), (answer == FAILED).then_some(Reason::InputEmpty));
        bench.pool.end_all().await;
        assert!(!is_alive(one));
        assert_eq!(bench.host_folders(), 0);
    }
}

#[tokio::test]
async fn a_host_in_doubt_serves_nobody_else() {
    let cases = [
        ("kill -SEGV $$", Some(Reason::ProcessCrashed)),
        (&*format!("{DONE}; exit 0"), None),
        (&*format!("{READY}; sleep 1000"), Some(Reason::Unexpected)),
        (&*format!("{DONE}; {DONE}; {FAILED}; {READY}; sleep 1000"), Some(Reason::Unexpected)),
        ("exec sleep 1000", Some(Reason::LimitStall)),
    ];
    for (each, expected) in cases {
        let mut bench = bench(each, 2, LONG);
        bench.limits.stall_ms = 1_000;
        let (end, pid) = bench.attempt(1).await;
        assert_eq!(reason(&end), expected, "{each}: {end:?}");
        assert!(!is_alive(pid), "{each}");
        assert_eq!((bench.pool.waiting(), bench.host_folders()), (0, 0), "{each}");
    }
}

#[tokio::test]
async fn a_stopped_attempt_takes_its_host_with_it() {
    let bench = bench("exec sleep 1000", 2, LONG);
    let (switch, mut stop) = StopSignal::new();
    switch.send_replace(Some(Stop::Lost));
    // It may be over before the host has said anything.
    let mut request = request(Stage::Render, bench.folder.path(), bench.folder.path());
    request.assignment.limits = bench.limits;
    let mark = Mark::new("hosts-test", JobId(7), Epoch(1));
    let run = HostRun {
        program: HostProgram { path: &bench.program, adapter: "auto", turn: 0 },
        request: &request,
        temporary: bench.folder.path(),
        reporter: &Ear::default(),
        mark: &mark,
        lost_grace: Duration::from_millis(100),
    };
    assert_eq!(run_in_pool(run, &bench.pool, &mut stop).await, HostEnd::Stopped(Stop::Lost));
    assert_eq!((bench.pool.waiting(), bench.host_folders()), (0, 0));
}

#[tokio::test]
async fn two_attempts_at_once_never_share_a_host() {
    let bench = bench(&format!("{DONE}; {READY}"), 2, LONG);
    let (first, second) = tokio::join!(bench.attempt(1), bench.attempt(2));
    assert_ne!(first.1, second.1);
    // Each pipeline comes back to the host that knows it.
    assert_eq!(bench.attempt(1).await.1, first.1);
    assert_eq!(bench.attempt(2).await.1, second.1);
    bench.pool.end_all().await;
    assert!(!is_alive(first.1) && !is_alive(second.1));
}

#[tokio::test]
async fn an_idle_host_ends_by_time_by_a_word_and_for_room() {
    let quick = bench(&format!("{DONE}; {READY}"), 2, Duration::from_millis(50));
    until_gone(quick.attempt(1).await.1).await;
    let stray = bench(&format!("{DONE}; {READY}; (sleep 0.2; echo stray) &"), 2, LONG);
    until_gone(stray.attempt(1).await.1).await;
    let full = bench(&format!("{DONE}; {READY}"), 1, LONG);
    let (_, pid) = full.attempt(1).await;
    full.pool.make_room(0);
    assert!(is_alive(pid));
    full.pool.make_room(1);
    until_gone(pid).await;
    let (one, two) = tokio::join!(full.attempt(1), full.attempt(2));
    assert_eq!(full.pool.waiting(), 1);
    full.pool.end_all().await;
    assert!(!is_alive(one.1) && !is_alive(two.1));
}

#[tokio::test]
async fn a_host_that_died_unheard_costs_the_attempt_nothing() {
    // It answers once and is gone at the next request, before it says a word.
    let each = format!("{DONE}; {READY}; read -r next; exit 3");
    let bench = bench(&each, 2, LONG);
    let (first, one) = bench.attempt(1).await;
    let (second, two) = bench.attempt(1).await;
    assert_ne!(one, two);
    assert_eq!(first, second);
    assert!(matches!(second, HostEnd::Done(_)), "{second:?}");
    bench.pool.end_all().await;
}

#[test]
fn foreign_files_are_never_read_in_a_host_that_serves_others() {
    let here = Path::new(".");
    for stage in Stage::ALL {
        assert_eq!(may_share(&request(stage, here, here).assignment), stage == Stage::Render);
    }
}

#[tokio::test]
async fn a_host_that_draws_itself_runs_no_program_and_keeps_its_bound() {
    let pictures = |memory_bytes: u64| {
        let mut drawn = request(Stage::Render, Path::new("."), Path::new("."));
        drawn.assignment.limits.memory_bytes = memory_bytes;
        drawn
    };
    let mut programs = pictures(1 << 30);
    programs.assignment.settings.scene = Some(crate::recipes::SceneSettings::default());
    let bench = bench(&format!("{DONE}; {READY}"), 2, LONG);
    let (_, first) = bench.attempt(1).await;
    for other in [&programs, &pictures(1 << 30)] {
        assert!(bench.pool.take(&Served::of(other)).await.is_none());
    }
    assert!(bench.pool.take(&Served::of(&pictures(0))).await.is_some(), "{first}");
    bench.pool.end_all().await;
}
