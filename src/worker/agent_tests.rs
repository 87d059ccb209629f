//! The whole worker against a scripted coordinator on loopback, with real child processes.

use super::*;
use crate::clock::{Clock, SystemClock};
use crate::model::{Checksum, Epoch, JobId, JobState, Reason, SessionId, Stage};
use crate::protocol::batch::{Report, ReportEvent, ReportOutcome, Reports, ReportsReply};
use crate::protocol::problem::Problem;
use crate::protocol::work::{
    Assignment, ClaimReply, Heartbeat, HeartbeatReply, InputFile, LogAppend,
};
use crate::stages::fixture::{assignment, is_running, write_script};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use rustix::process::Pid;
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;

const SOURCE: &[u8] = b"scene";

/// What the coordinator shall do, and what it was told.
struct Farm {
    lease_ms: u64,
    heartbeat_ms: u64,
    state: Mutex<Script>,
    /// Counts what was told.
    told: watch::Sender<usize>,
    /// Answers nothing, like a pulled cable.
    silent: AtomicBool,
}

#[derive(Default)]
struct Script {
    sessions: u8,
    jobs: VecDeque<Assignment>,
    stop: Vec<JobId>,
    forgets_session: bool,
    drain: bool,
    /// Answers to the next reports of a result.
    refusals: VecDeque<ProblemCode>,
    /// Jobs that another claim holds by now.
    lost: Vec<JobId>,
    calls: Vec<String>,
    message: String,
    logs: BTreeMap<i64, String>,
    failure: Option<crate::protocol::work::Failure>,
    outputs: Vec<crate::protocol::work::OutputFile>,
}

fn refusal(code: ProblemCode) -> Problem {
    Problem { code, message: "no".to_owned(), remedy: "none".to_owned(), reason: None }
}

fn problem(code: ProblemCode) -> Response {
    let status = match code {
        ProblemCode::Unauthorized => StatusCode::UNAUTHORIZED,
        ProblemCode::Busy => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::CONFLICT,
    };
    (status, Json(refusal(code))).into_response()
}

impl Farm {
    async fn hear(&self, call: String) {
        if self.silent.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        self.script(|script| script.calls.push(call));
        self.told.send_modify(|told| *told += 1);
    }

    fn script<T>(&self, act: impl FnOnce(&mut Script) -> T) -> T {
        act(&mut self.state.lock().unwrap())
    }

    /// Waits until the script looks like this; fails the test when it never does.
    async fn until<T>(&self, what: &str, mut look: impl FnMut(&mut Script) -> Option<T>) -> T {
        let mut told = self.told.subscribe();
        let found = async {
            loop {
                if let Some(found) = self.script(&mut look) {
                    return found;
                }
                told.changed().await.unwrap();
            }
        };
        let Ok(found) = tokio::time::timeout(Duration::from_secs(20), found).await else {
            panic!("never: {what}: {:?}", self.script(|script| script.calls.clone()))
        };
        found
    }

    async fn until_called(&self, call: &str) {
        self.until(call, |script| script.calls.iter().any(|said| said == call).then_some(())).await;
    }

    fn reports(&self) -> Vec<String> {
        let is_report = |call: &&String| {
            ["complete", "fail", "release"].iter().any(|verb| call.starts_with(verb))
        };
        self.script(|script| script.calls.iter().filter(is_report).cloned().collect())
    }

    fn queue(&self, job: Assignment) {
        self.script(|script| script.jobs.push_back(job));
        self.told.send_modify(|told| *told += 1);
    }
}

async fn open(State(farm): State<Arc<Farm>>, Json(open): Json<OpenSession>) -> Response {
    assert_eq!(open.instance.len(), 32);
    farm.hear(format!("open {}", open.worker)).await;
    let number = farm.script(|script| {
        script.sessions += 1;
        script.forgets_session = false;
        script.sessions
    });
    Json(SessionOpened {
        session: SessionId::from_random([number; 16]),
        lease_ms: farm.lease_ms,
        heartbeat_ms: farm.heartbeat_ms,
    })
    .into_response()
}

async fn close(State(farm): State<Arc<Farm>>) -> StatusCode {
    farm.hear("close".to_owned()).await;
    StatusCode::NO_CONTENT
}

async fn beat(State(farm): State<Arc<Farm>>, Json(beat): Json<Heartbeat>) -> Response {
    farm.hear(format!("beat {}", beat.running.len())).await;
    let reply = farm.script(|script| {
        if let Some(running) = beat.running.first() {
            script.message.clone_from(&running.progress.message);
        }
        (!script.forgets_session).then(|| HeartbeatReply {
            stop: script.stop.clone(),
            lease_ms: farm.lease_ms,
            drain: script.drain,
        })
    });
    farm.told.send_modify(|told| *told += 1);
    reply.map_or_else(|| problem(ProblemCode::UnknownSession), |reply| Json(reply).into_response())
}

async fn claim(State(farm): State<Arc<Farm>>) -> Response {
    let job = farm.until_job().await;
    farm.hear(format!("claim {}", job.job_id)).await;
    Json(ClaimReply { jobs: vec![job] }).into_response()
}

impl Farm {
    async fn until_job(&self) -> Assignment {
        let mut told = self.told.subscribe();
        loop {
            if let Some(job) = self.script(|script| script.jobs.pop_front()) {
                return job;
            }
            told.changed().await.unwrap();
        }
    }
}

async fn log(
    State(farm): State<Arc<Farm>>,
    Path(job): Path<i64>,
    Json(append): Json<LogAppend>,
) -> StatusCode {
    farm.script(|script| {
        let log = script.logs.entry(job).or_default();
        assert_eq!(log.len() as u64, append.offset);
        log.push_str(&append.text);
    });
    StatusCode::NO_CONTENT
}

async fn release(State(farm): State<Arc<Farm>>, Path(job): Path<i64>) -> StatusCode {
    farm.hear(format!("release {job}")).await;
    StatusCode::NO_CONTENT
}

async fn report(State(farm): State<Arc<Farm>>, Json(said): Json<Reports>) -> Json<ReportsReply> {
    let mut outcomes = Vec::new();
    for Report { job, epoch, event } in said.reports {
        assert_eq!(epoch, Epoch(1));
        let mut outcome = ReportOutcome::State(JobState::Processing);
        match event {
            ReportEvent::Log { text } => {
                farm.script(|script| script.logs.insert(job.0, text));
            }
            ReportEvent::Start => {
                farm.hear(format!("start {job}")).await;
                if farm.script(|script| script.lost.contains(&job)) {
                    outcome = ReportOutcome::Refused(refusal(ProblemCode::Superseded));
                }
            }
            ReportEvent::Release => farm.hear(format!("release {job}")).await,
            ReportEvent::Fail { failure } => {
                farm.script(|script| script.failure = Some(failure));
                farm.hear(format!("fail {job}")).await;
            }
            ReportEvent::Complete { completion } => {
                farm.script(|script| script.outputs = completion.outputs);
                if farm.script(|script| script.lost.contains(&job)) {
                    outcome = ReportOutcome::Refused(refusal(ProblemCode::Superseded));
                }
                farm.hear(format!("complete {job}")).await;
                if let Some(code) = farm.script(|script| script.refusals.pop_front()) {
                    outcome = ReportOutcome::Refused(refusal(code));
                }
            }
        }
        outcomes.push(outcome);
    }
    Json(ReportsReply { outcomes })
}

async fn give() -> Bytes {
    Bytes::from_static(SOURCE)
}

async fn take(State(farm): State<Arc<Farm>>, Path(checksum): Path<String>) -> StatusCode {
    farm.hear(format!("put {checksum}")).await;
    StatusCode::CREATED
}

async fn absent() -> StatusCode {
    StatusCode::NOT_FOUND
}

/// A clock whose wall can jump, as after a sleep of the machine.
struct TestClock {
    system: SystemClock,
    asleep_ms: AtomicI64,
}

impl Clock for TestClock {
    fn now(&self) -> Now {
        let now = self.system.now();
        Now { wall_ms: now.wall_ms + self.asleep_ms.load(Ordering::Relaxed), ..now }
    }
}

struct Bench {
    farm: Arc<Farm>,
    work: TempDir,
    clock: Arc<TestClock>,
    shutdown: CancellationToken,
    worker: JoinHandle<Result<(), WorkerError>>,
}

/// A worker with one slot whose stage host runs this shell script in its temporary folder.
async fn bench(script: &str, lease_ms: u64, heartbeat_ms: u64) -> Bench {
    let farm = Arc::new(Farm {
        lease_ms,
        heartbeat_ms,
        state: Mutex::default(),
        told: watch::Sender::new(0),
        silent: AtomicBool::new(false),
    });
    let verbs = Router::new()
        .route("/sessions", post(open))
        .route("/sessions/{session}", delete(close))
        .route("/sessions/{session}/heartbeat", post(beat))
        .route("/sessions/{session}/claim", post(claim))
        .route("/sessions/{session}/reports", post(report))
        .route("/jobs/{job}/log", post(log))
        .route("/jobs/{job}/release", post(release))
        .route("/artifacts/{checksum}", get(give).put(take).head(absent))
        .with_state(Arc::clone(&farm));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let coordinator = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().nest("/v1", verbs);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let work = tempfile::tempdir().unwrap();
    let stage_host = work.path().join("host.sh");
    write_script(&stage_host, script);
    let clock = Arc::new(TestClock { system: SystemClock::start(), asleep_ms: AtomicI64::new(0) });
    let shutdown = CancellationToken::new();
    let config = WorkerConfig {
        coordinator,
        token: "secret".to_owned(),
        name: "render-01".to_owned(),
        work_dir: work.path().to_owned(),
        slots: 1,
        gpus: Vec::new(),
        adapter: "auto".to_owned(),
        gpu_masks: Vec::new(),
        profiles_dir: None,
        paths: Vec::new(),
        stage_host,
        cache_bytes: 1 << 20,
        clock: Arc::<TestClock>::clone(&clock),
    };
    let worker = tokio::spawn(run(config, shutdown.clone()));
    Bench { farm, work, clock, shutdown, worker }
}

impl Bench {
    /// Queues job 2, waits until its host has said the id of its own child.
    async fn hanging_job(&self) -> Pid {
        self.farm.queue(job());
        let pid = self.farm.until("a running host", |script| script.message.parse().ok()).await;
        let pid = Pid::from_raw(pid).unwrap();
        assert!(is_running(pid));
        pid
    }

    async fn end(self) -> (Arc<Farm>, TempDir) {
        self.shutdown.cancel();
        let ended = tokio::time::timeout(Duration::from_secs(20), self.worker).await;
        ended.expect("the worker does not end").unwrap().unwrap();
        assert_eq!(fs::read_dir(self.work.path().join("staging")).unwrap().count(), 0);
        (self.farm, self.work)
    }
}

fn job() -> Assignment {
    let mut job = assignment(Stage::Ingest);
    job.dependencies.push(InputFile {
        made_by: None,
        name: "deep/dragon.glb".to_owned(),
        checksum: Checksum::of(SOURCE),
        size_bytes: SOURCE.len() as u64,
    });
    job
}

async fn gone(pid: Pid) {
    let dies = async {
        while is_running(pid) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), dies).await.expect("the child lives on");
}

const WORKS: &str = r#"cp ../in/source/deep/dragon.glb ../out/source.json
echo "copied" >&2
echo '{"type":"done","output":{"files":[{"name":"source.json","media_type":"application/json"}],"report":{"kind":"mesh","frame_count":null,"warnings":[],"drawn_by":null}}}'"#;
const HANGS: &str = r#"sleep 1000 & echo '{"type":"progress","percent":1,"message":"'$!'"}'; wait"#;

#[tokio::test]
async fn a_job_goes_from_claim_to_complete() {
    let bench = bench(WORKS, 30_000, 200).await;
    bench.farm.queue(job());
    bench.farm.until_called("complete 2").await;
    let (farm, _work) = bench.end().await;
    let calls: Vec<_> = farm.script(|script| script.calls.clone());
    let calls: Vec<_> =
        calls.iter().map(String::as_str).filter(|call| !call.starts_with("beat")).collect();
    let put = format!("put {}", Checksum::of(SOURCE));
    let expected = ["open render-01", "claim 2", "start 2", &put, "complete 2", "close"];
    assert_eq!(calls, expected);
    farm.script(|script| {
        assert_eq!(script.outputs[0].name, "source.json");
        assert_eq!(script.outputs[0].checksum, Checksum::of(SOURCE));
        assert!(script.logs[&2].contains("copied\n"), "{:?}", script.logs);
    });
}

#[tokio::test]
async fn a_result_that_comes_too_late_is_not_reported_again() {
    for code in [ProblemCode::Superseded, ProblemCode::Cancelled, ProblemCode::Finished] {
        let bench = bench(WORKS, 30_000, 200).await;
        bench.farm.script(|script| script.refusals.push_back(code));
        bench.farm.queue(job());
        bench.farm.until_called("complete 2").await;
        let mut next = job();
        next.job_id = JobId(3);
        bench.farm.queue(next);
        bench.farm.until_called("complete 3").await;
        let (farm, _work) = bench.end().await;
        assert_eq!(farm.reports(), ["complete 2", "complete 3"], "{code:?}");
    }
}

#[tokio::test]
async fn a_result_is_repeated_until_it_is_answered() {
    let bench = bench(WORKS, 30_000, 200).await;
    bench.farm.script(|script| script.refusals.push_back(ProblemCode::Busy));
    bench.farm.queue(job());
    bench
        .farm
        .until("two reports", |script| {
            (script.calls.iter().filter(|call| *call == "complete 2").count() == 2).then_some(())
        })
        .await;
    let (farm, _work) = bench.end().await;
    assert_eq!(farm.reports(), ["complete 2", "complete 2"]);
}

#[tokio::test]
async fn jobs_that_are_over_at_once_are_begun_before_they_end_and_one_that_is_lost_says_no_more() {
    let bench = bench(WORKS, 30_000, 200).await;
    for number in 2..40 {
        let mut next = job();
        next.job_id = JobId(number);
        bench.farm.queue(next);
        bench.farm.until_called(&format!("complete {number}")).await;
    }
    let mut last = job();
    last.job_id = JobId(99);
    bench.farm.script(|script| script.lost.push(JobId(99)));
    bench.farm.queue(last);
    bench.farm.until_called("start 99").await;
    bench.farm.until_called("beat 0").await;
    let (farm, _work) = bench.end().await;
    let calls = farm.script(|script| script.calls.clone());
    let place = |call: String| calls.iter().position(|said| *said == call);
    for number in 2..40 {
        let (start, end) = (place(format!("start {number}")), place(format!("complete {number}")));
        assert!(start.is_some() && start < end, "job {number}: {start:?} {end:?}");
        assert!(farm.script(|script| script.logs[&number].contains("copied")));
    }
    assert!(place("fail 99".to_owned()).or(place("release 99".to_owned())).is_none(), "{calls:?}");
}

#[tokio::test]
async fn a_crash_is_reported_with_its_reason() {
    let bench = bench("exit 7", 30_000, 200).await;
    bench.farm.queue(job());
    bench.farm.until_called("fail 2").await;
    let (farm, _work) = bench.end().await;
    let failure = farm.script(|script| script.failure.clone()).unwrap();
    assert_eq!(failure.reason, Reason::ProcessCrashed);
    assert!(farm.script(|script| script.logs[&2].contains("process.crashed")));
}

#[tokio::test]
async fn a_stop_in_a_heartbeats_answer_kills_and_reports_nothing() {
    let bench = bench(HANGS, 30_000, 200).await;
    let pid = bench.hanging_job().await;
    bench.farm.script(|script| script.stop.push(JobId(2)));
    gone(pid).await;
    bench.farm.until_called("beat 0").await;
    let (farm, _work) = bench.end().await;
    assert!(farm.reports().is_empty(), "{:?}", farm.reports());
}

#[tokio::test]
async fn an_unknown_session_kills_and_a_new_one_is_opened() {
    let bench = bench(HANGS, 30_000, 200).await;
    let pid = bench.hanging_job().await;
    bench.farm.script(|script| script.forgets_session = true);
    gone(pid).await;
    bench.farm.until("a second session", |script| (script.sessions == 2).then_some(())).await;
    let (farm, _work) = bench.end().await;
    assert!(farm.reports().is_empty(), "{:?}", farm.reports());
}

#[tokio::test]
async fn a_worker_that_reaches_nobody_stops_before_its_lease_ends() {
    let bench = bench(HANGS, 2_000, 100).await;
    let pid = bench.hanging_job().await;
    let before = bench.clock.now().mono_ms;
    bench.farm.silent.store(true, Ordering::Relaxed);
    gone(pid).await;
    let after = bench.clock.now().mono_ms;
    assert!(after - before < 2_000, "killed after {} ms", after - before);
    bench.farm.silent.store(false, Ordering::Relaxed);
    bench.farm.until("a second session", |script| (script.sessions == 2).then_some(())).await;
    let (farm, _work) = bench.end().await;
    assert!(farm.reports().is_empty(), "{:?}", farm.reports());
}

#[tokio::test]
async fn after_a_sleep_of_the_machine_the_lease_is_asked_for_at_once() {
    let bench = bench(HANGS, 300_000, 200_000).await;
    let pid = bench.hanging_job().await;
    let beats = |script: &Script| script.calls.iter().filter(|call| *call == "beat 1").count();
    let before = bench.farm.script(|script| beats(script));
    bench.clock.asleep_ms.store(3_600_000, Ordering::Relaxed);
    bench.farm.until("a beat", |script| (beats(script) > before).then_some(())).await;
    assert!(is_running(pid));
    bench.end().await;
    gone(pid).await;
}

#[tokio::test]
async fn a_worker_that_ends_gives_its_job_back() {
    let bench = bench(HANGS, 30_000, 200).await;
    let pid = bench.hanging_job().await;
    let (farm, work) = bench.end().await;
    gone(pid).await;
    assert_eq!(farm.reports(), ["release 2"]);
    assert_eq!(farm.script(|script| script.calls.last().cloned()).unwrap(), "close");
    WorkFolder::open(work.path()).unwrap();
}

#[tokio::test]
async fn a_draining_worker_finishes_and_claims_no_more() {
    let bench = bench(WORKS, 30_000, 100).await;
    bench.farm.script(|script| script.drain = true);
    bench.farm.until_called("beat 0").await;
    bench.farm.queue(job());
    // The claim that waited already may bring this one; after it there is no other.
    bench.farm.until_called("complete 2").await;
    let mut next = job();
    next.job_id = JobId(3);
    bench.farm.queue(next);
    let beats = |script: &Script| script.calls.iter().filter(|call| *call == "beat 0").count();
    let before = bench.farm.script(|script| beats(script));
    bench.farm.until("more beats", |script| (beats(script) > before + 5).then_some(())).await;
    assert!(!bench.farm.script(|script| script.calls.contains(&"claim 3".to_owned())));
    bench.farm.script(|script| script.drain = false);
    bench.farm.until_called("complete 3").await;
    bench.end().await;
}

#[tokio::test]
async fn a_wrong_token_ends_the_worker() {
    async fn refuse() -> Response {
        problem(ProblemCode::Unauthorized)
    }
    let router = Router::new().route("/v1/sessions", post(refuse));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let coordinator = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let work = tempfile::tempdir().unwrap();
    let config = WorkerConfig {
        coordinator,
        token: "wrong".to_owned(),
        name: "render-01".to_owned(),
        work_dir: work.path().to_owned(),
        slots: 1,
        gpus: Vec::new(),
        adapter: "auto".to_owned(),
        gpu_masks: Vec::new(),
        profiles_dir: None,
        paths: Vec::new(),
        stage_host: "none".into(),
        cache_bytes: 0,
        clock: Arc::new(SystemClock::start()),
    };
    let error = run(config, CancellationToken::new()).await.unwrap_err();
    assert!(matches!(error, WorkerError::Refused(_)), "{error}");
}
