//! A worker that was given up wakes and reports: it is refused with 409 and nothing changes.
//!
//! The test is the worker here, so that it can say what a real one never would.

use crate::farm::Farm;
use crate::inputs::picture;
use reqwest::StatusCode;
use sawah::model::{JobId, JobState, PipelineId, Reason};
use sawah::protocol::PROTOCOL_VERSION;
use sawah::protocol::event::Change;
use sawah::protocol::problem::ProblemCode;
use sawah::protocol::view::{AttemptOutcome, FarmStatus, JobDetail, PipelineDetail};
use sawah::protocol::work::{
    Assignment, Capabilities, ClaimReply, ClaimRequest, CompleteRequest, Completion, FailRequest,
    Failure, Fence, FenceRequest, Heartbeat, HeartbeatReply, LogAppend, OpenSession, Progress,
    RunningJob, SessionOpened, StageReport,
};

pub(crate) async fn open_session(farm: &Farm, worker: &str) -> SessionOpened {
    let capabilities = Capabilities {
        host: "test".to_owned(),
        os: "linux".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        cores: 1,
        memory_bytes: 1 << 30,
        slots: 1,
        gpus: Vec::new(),
        programs: Vec::new(),
        paths: Vec::new(),
    };
    let open = OpenSession {
        protocol: PROTOCOL_VERSION,
        worker: worker.to_owned(),
        instance: format!("folder of {worker}"),
        capabilities,
    };
    farm.post("/v1/sessions", &open).await
}

/// Claims the only job there is.
async fn claim(farm: &Farm, opened: &SessionOpened) -> (Assignment, Fence) {
    let path = format!("/v1/sessions/{}/claim", opened.session);
    let reply: ClaimReply = farm.post(&path, &ClaimRequest { max_jobs: 1, wait_ms: 20_000 }).await;
    let [assignment] = reply.jobs.as_slice() else { panic!("one job waits: {reply:#?}") };
    let fence = Fence { session: opened.session.clone(), epoch: assignment.epoch };
    (assignment.clone(), fence)
}

async fn submit_picture(farm: &Farm) -> PipelineId {
    let source = picture(&farm.new_folder("source").join("leaf.png"), 48, 32);
    farm.submit([source], &["--recipe", "quick"]).await
}

/// Everything that a report could change.
#[derive(Debug, PartialEq)]
struct State {
    seq: u64,
    job: JobDetail,
    pipeline: PipelineDetail,
    log: String,
}

async fn state(farm: &Farm, job: JobId, pipeline: PipelineId) -> State {
    let log = farm.request(reqwest::Method::GET, &format!("/v1/jobs/{job}/log"));
    State {
        seq: farm.get::<FarmStatus>("/v1/status").await.seq,
        job: farm.job(job).await,
        pipeline: farm.pipeline(pipeline).await,
        log: crate::farm::answer(log).await.1,
    }
}

/// Sends every report that a worker can make about a job; returns what each was told.
async fn report_everything(farm: &Farm, job: JobId, fence: &Fence) -> Vec<(String, ProblemCode)> {
    let fence = || fence.clone();
    let completion =
        Completion { outputs: Vec::new(), report: StageReport::default(), pointer_generation: 0 };
    let failure = Failure::new(Reason::InputCorrupt, "said by the dead");
    let text = "said by the dead\n".to_owned();
    let path = |verb: &str| format!("/v1/jobs/{job}/{verb}");
    let answers = [
        ("start", farm.refused(&path("start"), &FenceRequest { fence: fence() }).await),
        (
            "complete",
            farm.refused(&path("complete"), &CompleteRequest { fence: fence(), completion }).await,
        ),
        ("fail", farm.refused(&path("fail"), &FailRequest { fence: fence(), failure }).await),
        ("release", farm.refused(&path("release"), &FenceRequest { fence: fence() }).await),
        ("log", farm.refused(&path("log"), &LogAppend { fence: fence(), offset: 0, text }).await),
    ];
    let told = answers.into_iter().map(|(verb, (status, problem))| {
        assert_eq!(status, StatusCode::CONFLICT, "{verb}: {problem:?}");
        (verb.to_owned(), problem.code)
    });
    told.collect()
}

#[tokio::test]
async fn a_lost_session_changes_nothing_any_more() {
    let mut farm =
        Farm::new("zombie").with("SAWAH_LEASE_MS", "1500").with("SAWAH_HEARTBEAT_MS", "500");
    let _serve = farm.serve().await;
    let pipeline = submit_picture(&farm).await;
    let mut events = farm.events(0).await;
    let dead = open_session(&farm, "dead").await;
    let (assignment, fence) = claim(&farm, &dead).await;
    let job = assignment.job_id;
    farm.post::<()>(&format!("/v1/jobs/{job}/start"), &FenceRequest { fence: fence.clone() }).await;

    // It falls silent; its lease ends, its job waits and is ready again.
    let left = events.until("the end of the session", |event| {
        matches!(&event.change, Change::WorkerLeft { session, lost: true, .. } if *session == dead.session)
    });
    left.await;
    farm.events(0).await.until_job_is(job, JobState::RetryScheduled).await;
    let ready = events.until("the job being ready again", |event| {
        matches!(event.change, Change::JobChanged { job: of, from: JobState::RetryScheduled, to: JobState::Queued, .. }
            if of == job)
    });
    ready.await;
    let before = state(&farm, job, pipeline).await;
    let told = report_everything(&farm, job, &fence).await;
    assert!(told.iter().all(|(_, code)| *code == ProblemCode::UnknownSession), "{told:?}");
    let beat = Heartbeat { running: Vec::new() };
    let path = format!("/v1/sessions/{}/heartbeat", dead.session);
    let (status, problem) = farm.refused(&path, &beat).await;
    assert_eq!((status, problem.code), (StatusCode::CONFLICT, ProblemCode::UnknownSession));
    assert_eq!(state(&farm, job, pipeline).await, before, "while the job waits");

    // Another worker does it all; the dead one still changes nothing.
    let worker = farm.worker("alive");
    events.until_succeeded(pipeline).await;
    worker.kill_hard().await;
    events
        .until(
            "the end of the worker",
            |event| matches!(&event.change, Change::WorkerLeft { worker, .. } if worker == "alive"),
        )
        .await;
    let before = state(&farm, job, pipeline).await;
    report_everything(&farm, job, &fence).await;
    assert_eq!(state(&farm, job, pipeline).await, before, "after the job is done");
    let outcomes: Vec<_> = before.job.attempts.iter().map(|attempt| attempt.outcome).collect();
    assert_eq!(outcomes, [AttemptOutcome::Lost, AttemptOutcome::Succeeded]);
}

#[tokio::test]
async fn an_older_claim_of_a_living_session_changes_nothing_either() {
    let mut farm = Farm::new("old-claim");
    let _serve = farm.serve().await;
    let pipeline = submit_picture(&farm).await;
    let session = open_session(&farm, "hasty").await;
    let (first, old) = claim(&farm, &session).await;
    let job = first.job_id;
    farm.post::<()>(&format!("/v1/jobs/{job}/release"), &FenceRequest { fence: old.clone() }).await;
    let (second, new) = claim(&farm, &session).await;
    assert_eq!(second.job_id, job);
    assert!(second.epoch > first.epoch, "each claim has a new number");
    assert_eq!(second.attempt, first.attempt, "a job given back unstarted uses no attempt");

    let before = state(&farm, job, pipeline).await;
    let told = report_everything(&farm, job, &old).await;
    assert!(told.iter().all(|(_, code)| *code == ProblemCode::Superseded), "{told:?}");
    assert_eq!(state(&farm, job, pipeline).await, before);

    // A heartbeat that names the old claim is told to stop it.
    let running = |fence: &Fence| RunningJob {
        job,
        epoch: fence.epoch,
        progress: Progress {
            percent: 50.0,
            message: "frame 1 of 2".to_owned(),
            ..Progress::default()
        },
    };
    let path = format!("/v1/sessions/{}/heartbeat", session.session);
    let reply: HeartbeatReply = farm.post(&path, &Heartbeat { running: vec![running(&old)] }).await;
    assert_eq!(reply.stop, [job]);
    let reply: HeartbeatReply = farm.post(&path, &Heartbeat { running: vec![running(&new)] }).await;
    assert_eq!(reply.stop, []);
    farm.post::<()>(&format!("/v1/jobs/{job}/start"), &FenceRequest { fence: new }).await;
    assert_eq!(farm.job(job).await.job.state, JobState::Processing);
}

#[tokio::test]
async fn a_cancelled_job_takes_no_report() {
    let mut farm = Farm::new("cancelled-job");
    let _serve = farm.serve().await;
    let pipeline = submit_picture(&farm).await;
    let session = open_session(&farm, "late").await;
    let (assignment, fence) = claim(&farm, &session).await;
    let job = assignment.job_id;
    farm.post::<()>(&format!("/v1/jobs/{job}/start"), &FenceRequest { fence: fence.clone() }).await;
    let id = pipeline.to_string();
    farm.run(["cancel", "--json", "--reason", "not wanted", id.as_str()]).await.expect_code(0);
    let before = state(&farm, job, pipeline).await;
    assert_eq!(before.job.job.state, JobState::Cancelled);
    let told = report_everything(&farm, job, &fence).await;
    assert!(told.iter().all(|(_, code)| *code == ProblemCode::Cancelled), "{told:?}");
    assert_eq!(state(&farm, job, pipeline).await, before);
}
