//! Many submissions or reports in one call: each has its own outcome.

use crate::farm::{Farm, answer};
use reqwest::{Method, StatusCode};
use sawah::model::{Checksum, JobId, JobState, Reason, limits};
use sawah::protocol::PROTOCOL_VERSION;
use sawah::protocol::batch::{
    BatchSubmission, BatchSubmitted, Report, ReportEvent, ReportOutcome, Reports, ReportsReply,
    SubmissionOutcome,
};
use sawah::protocol::problem::ProblemCode;
use sawah::protocol::submit::{SourceFile, Submission, SubmitOutcome};
use sawah::protocol::view::FarmStatus;
use sawah::protocol::work::{
    Assignment, Capabilities, ClaimReply, ClaimRequest, Completion, Failure, OpenSession,
    OutputFile, SessionOpened, StageReport,
};
use std::collections::BTreeMap;

const BYTES: &[u8] = b"v 0 0 0\n";

fn submission(asset: &str) -> Submission {
    let name = format!("{asset}.obj");
    let checksum = Checksum::of(BYTES);
    Submission {
        asset: asset.parse().expect("it is a name"),
        source_ref: name.clone(),
        main_file: name.clone(),
        sequence: false,
        files: vec![SourceFile { name, checksum, size_bytes: BYTES.len() as u64 }],
        missing: Vec::new(),
        recipe: Some("quick".to_owned()),
        settings: BTreeMap::new(),
        actor: "operator test".to_owned(),
        project: None,
        priority: None,
    }
}

async fn submit(farm: &Farm, submissions: Vec<Submission>) -> Vec<SubmissionOutcome> {
    let put = farm.request(Method::PUT, &format!("/v1/artifacts/{}", Checksum::of(BYTES)));
    assert!(answer(put.body(BYTES)).await.0.is_success());
    let reply: BatchSubmitted =
        farm.post("/v1/pipelines/batch", &BatchSubmission { submissions }).await;
    reply.outcomes
}

async fn open_session(farm: &Farm) -> SessionOpened {
    let capabilities = Capabilities {
        host: "test".to_owned(),
        os: "linux".to_owned(),
        version: "0".to_owned(),
        cores: 1,
        memory_bytes: 1 << 30,
        slots: 4,
        gpus: Vec::new(),
        programs: Vec::new(),
        paths: Vec::new(),
    };
    let (worker, instance) = ("many".to_owned(), "folder of many".to_owned());
    let open = OpenSession { protocol: PROTOCOL_VERSION, worker, instance, capabilities };
    farm.post("/v1/sessions", &open).await
}

async fn claim(farm: &Farm, opened: &SessionOpened) -> Vec<Assignment> {
    let path = format!("/v1/sessions/{}/claim", opened.session);
    let reply: ClaimReply = farm.post(&path, &ClaimRequest { max_jobs: 64, wait_ms: 0 }).await;
    reply.jobs
}

async fn report(
    farm: &Farm,
    opened: &SessionOpened,
    reports: &[(&Assignment, ReportEvent)],
) -> Vec<ReportOutcome> {
    let reports = reports.iter().map(|(job, event)| Report {
        job: job.job_id,
        epoch: job.epoch,
        event: event.clone(),
    });
    let path = format!("/v1/sessions/{}/reports", opened.session);
    let reply: ReportsReply = farm.post(&path, &Reports { reports: reports.collect() }).await;
    reply.outcomes
}

fn done(outputs: Vec<OutputFile>) -> ReportEvent {
    let completion = Completion { outputs, report: StageReport::default(), pointer_generation: 0 };
    ReportEvent::Complete { completion }
}

fn code(outcome: &ReportOutcome) -> Option<ProblemCode> {
    match outcome {
        ReportOutcome::Refused(problem) => Some(problem.code),
        ReportOutcome::State(_) => None,
    }
}

#[tokio::test]
async fn one_refused_submission_does_not_stop_the_others() {
    let mut farm = Farm::new("batch-submit");
    let _serve = farm.serve().await;
    let unknown = Submission { recipe: Some("no-such".to_owned()), ..submission("b") };
    let outcomes =
        submit(&farm, vec![submission("a"), unknown, submission("a"), submission("c")]).await;
    let [
        SubmissionOutcome::Submitted(first),
        SubmissionOutcome::Refused(problem),
        SubmissionOutcome::Submitted(again),
        SubmissionOutcome::Submitted(last),
    ] = outcomes.as_slice()
    else {
        panic!("{outcomes:#?}")
    };
    assert_eq!(first.outcome, SubmitOutcome::Created);
    assert_eq!(problem.reason, Some(Reason::SettingInvalid));
    assert_eq!((again.outcome, again.pipeline), (SubmitOutcome::AlreadyRunning, first.pipeline));
    assert_eq!(last.outcome, SubmitOutcome::Created);
    assert_eq!(farm.get::<FarmStatus>("/v1/status").await.queued, 2);

    let submissions = vec![submission("d"); limits::SUBMISSIONS_PER_CALL + 1];
    let batch = BatchSubmission { submissions };
    let (status, problem) = farm.refused("/v1/pipelines/batch", &batch).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{problem:?}");
    assert_eq!(farm.get::<FarmStatus>("/v1/status").await.queued, 2, "refused whole");
}

#[tokio::test]
async fn reports_are_done_in_order_and_each_is_fenced() {
    let mut farm = Farm::new("batch-report");
    let _serve = farm.serve().await;
    submit(&farm, ["a", "b", "c", "d"].map(submission).into()).await;
    let opened = open_session(&farm).await;
    let jobs = claim(&farm, &opened).await;
    let [a, b, c, d] = jobs.as_slice() else { panic!("four jobs wait: {jobs:#?}") };
    let stale = Assignment { epoch: sawah::model::Epoch(a.epoch.0 + 1), ..a.clone() };
    let absent = OutputFile {
        name: "x.json".to_owned(),
        checksum: Checksum::of(b"never uploaded"),
        size_bytes: 14,
        media_type: "application/json".to_owned(),
    };
    let failure = Failure::new(Reason::InputCorrupt, "broken");
    let outcomes = report(
        &farm,
        &opened,
        &[
            (a, ReportEvent::Start),
            (&stale, done(Vec::new())),
            (a, done(Vec::new())),
            (a, done(Vec::new())),
            (b, done(Vec::new())),
            (b, ReportEvent::Start),
            (b, ReportEvent::Fail { failure }),
            (c, ReportEvent::Release),
            (d, ReportEvent::Start),
            (d, done(vec![absent])),
        ],
    )
    .await;
    assert_eq!(outcomes[0], ReportOutcome::State(JobState::Processing));
    assert_eq!(code(&outcomes[1]), Some(ProblemCode::Superseded), "{outcomes:#?}");
    assert_eq!(outcomes[2], ReportOutcome::State(JobState::Succeeded));
    assert_eq!(outcomes[3], outcomes[2], "the same report gets the same answer");
    assert_eq!(code(&outcomes[4]), Some(ProblemCode::Conflict), "not started yet");
    assert_eq!(outcomes[5], ReportOutcome::State(JobState::Processing));
    assert_eq!(outcomes[6], ReportOutcome::State(JobState::FailedTerminal));
    assert_eq!(outcomes[7], ReportOutcome::State(JobState::Queued));
    assert_eq!(code(&outcomes[9]), Some(ProblemCode::Invalid), "its bytes are not there");
    let now = async |job: JobId| farm.job(job).await.job.state;
    assert_eq!(now(a.job_id).await, JobState::Succeeded);
    assert_eq!(now(b.job_id).await, JobState::FailedTerminal);
    assert_eq!(now(c.job_id).await, JobState::Queued);
    assert_eq!(now(d.job_id).await, JobState::Processing, "still held");
}
