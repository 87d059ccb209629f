//! Dead letters, replays, quarantine and submission keys over HTTP.

use super::*;
use crate::model::{JobState, Reason};
use crate::protocol::batch::{Report, ReportEvent, ReportOutcome, Reports, ReportsReply};
use crate::protocol::dead::{
    BatchReply, DeadLetterDetail, DeadLetterFilter, DismissBatch, Edit, ReplayBatch,
};
use crate::protocol::work::{FailRequest, Failure};

async fn fail(house: &House, session: &SessionId, job: &Assignment, failure: Failure) {
    let fence = Fence { session: session.clone(), epoch: job.epoch };
    let request = FailRequest { fence, failure };
    let failed = house.send(&format!("/jobs/{}/fail", job.job_id), &request).await;
    assert_eq!(failed.status(), 200);
}

fn all() -> DeadLetterFilter {
    DeadLetterFilter { all: true, ..DeadLetterFilter::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_gets_the_end_of_its_log_and_is_replayed_and_dismissed_by_filter() {
    let farm = tempfile::tempdir().unwrap();
    let house = house(farm.path(), limits::LEASE_MS).await;
    let session = house.open("one").await;
    house.put(SOURCE).await;
    house.submit().await;
    let job = house.claim(&session).await.remove(0);
    let append = LogAppend {
        fence: Fence { session: session.clone(), epoch: job.epoch },
        offset: 0,
        text: (1..=30).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat(),
    };
    assert_eq!(house.send(&format!("/jobs/{}/log", job.job_id), &append).await.status(), 204);
    fail(&house, &session, &job, Failure::new(Reason::InputCorrupt, "no end")).await;
    let path = format!("/dead-letters/{}", job.job_id);
    let mut detail: DeadLetterDetail = house.get(&path).await;
    while detail.log.is_empty() {
        tokio::task::yield_now().await;
        detail = house.get(&path).await;
    }
    assert_eq!((detail.log.len(), detail.log[19].as_str()), (20, "line 30"));
    assert_eq!(detail.payload.unwrap().job_id, job.job_id);

    let order = |reason: &str, dry_run| ReplayBatch {
        actor: "ana".into(),
        reason: reason.into(),
        filter: all(),
        edit: Edit { timeout_s: Some(9), ..Edit::default() },
        dry_run,
    };
    let (status, refused) =
        problem(house.send("/dead-letters/replay", &order("", false)).await).await;
    assert_eq!((status, refused.code), (422, ProblemCode::Invalid));
    let dry: BatchReply = house.post("/dead-letters/replay", &order("copied", true)).await;
    assert!(dry.dry_run && dry.done == 1);
    let real: BatchReply = house.post("/dead-letters/replay", &order("copied", false)).await;
    let new = real.items[0].replayed_as.unwrap();
    let again = house.claim(&session).await.remove(0);
    assert_eq!((again.job_id, again.limits.timeout_ms), (new, 9_000));
    fail(&house, &session, &again, Failure::new(Reason::InputCorrupt, "no end")).await;
    let dismiss =
        DismissBatch { actor: "ana".into(), reason: "known".into(), filter: all(), dry_run: false };
    let gone: BatchReply = house.post("/dead-letters/dismiss", &dismiss).await;
    assert_eq!((gone.matched, gone.done), (1, 1));
    house.running.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_submission_repeated_under_its_key_gets_the_same_answer() {
    let farm = tempfile::tempdir().unwrap();
    let house = house(farm.path(), limits::LEASE_MS).await;
    house.put(SOURCE).await;
    let submission = |source_ref: &str| Submission {
        asset: AssetName::from_any("dragon"),
        source_ref: source_ref.into(),
        main_file: "dragon.obj".into(),
        sequence: false,
        files: vec![SourceFile {
            name: "dragon.obj".into(),
            checksum: Checksum::of(SOURCE),
            size_bytes: SOURCE.len() as u64,
        }],
        missing: Vec::new(),
        project: None,
        priority: None,
        recipe: None,
        settings: BTreeMap::new(),
        actor: "ana".into(),
    };
    let send = |key: &str, body: Submission| {
        let call = house.call(Method::POST, "/pipelines").header("idempotency-key", key);
        call.json(&body).send()
    };
    let first: Submitted = read(send("key-1", submission("/a")).await.unwrap()).await;
    let again: Submitted = read(send("key-1", submission("/a")).await.unwrap()).await;
    assert_eq!((&again, again.outcome), (&first, SubmitOutcome::Created));
    let other = problem(send("key-1", submission("/b")).await.unwrap()).await;
    assert_eq!((other.0, other.1.code), (422, ProblemCode::Invalid));
    let fresh: Submitted = read(send("key-2", submission("/a")).await.unwrap()).await;
    assert_eq!(fresh.outcome, SubmitOutcome::AlreadyRunning);
    let long = problem(send(&"x".repeat(129), submission("/a")).await.unwrap()).await;
    assert_eq!(long.0, 422);
    house.running.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_in_quarantine_is_shown_and_forgiven_by_its_name() {
    let farm = tempfile::tempdir().unwrap();
    let house = house(farm.path(), limits::LEASE_MS).await;
    let session = house.open("render 03/a").await;
    house.put(SOURCE).await;
    for asset in ["a", "b", "c"] {
        let submission = Submission {
            asset: AssetName::from_any(asset),
            source_ref: "/a".into(),
            main_file: "dragon.obj".into(),
            sequence: false,
            files: vec![SourceFile {
                name: "dragon.obj".into(),
                checksum: Checksum::of(SOURCE),
                size_bytes: SOURCE.len() as u64,
            }],
            missing: Vec::new(),
            project: None,
            priority: None,
            recipe: None,
            settings: BTreeMap::new(),
            actor: "ana".into(),
        };
        house.post::<Submitted>("/pipelines", &submission).await;
        let job = house.claim(&session).await.remove(0);
        fail(&house, &session, &job, Failure::new(Reason::DiskFull, "0 bytes left")).await;
    }
    let workers: Vec<WorkerView> = house.get("/workers").await;
    assert_eq!(workers[0].quarantine.as_ref().map(|one| one.evidence.len()), Some(3));
    let token = crate::client::Token::new(&house.running.token);
    let client = crate::client::Client::new(&house.running.url(), token).unwrap();
    let order = Order { actor: "ana".into(), reason: "new disk".into() };
    client.forgive("render 03/a", &order).await.unwrap();
    let workers: Vec<WorkerView> = house.get("/workers").await;
    assert_eq!(workers[0].quarantine, None);
    assert!(client.forgive("nobody", &order).await.is_err());
    house.running.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_comes_with_the_end_is_read_like_any_other() {
    let farm = tempfile::tempdir().unwrap();
    let house = house(farm.path(), limits::LEASE_MS).await;
    let session = house.open("one").await;
    house.put(SOURCE).await;
    house.submit().await;
    let job = house.claim(&session).await.remove(0);
    let text = (1..=30).map(|line| format!("zwölf {line}\n")).collect::<Vec<_>>().concat();
    let failure = Failure::new(Reason::InputCorrupt, "no end");
    let events = [
        ReportEvent::Start,
        ReportEvent::Log { text: text.clone() },
        ReportEvent::Fail { failure },
    ];
    let report = |event| Report { job: job.job_id, epoch: job.epoch, event };
    let reports = Reports { reports: events.map(report).to_vec() };
    let path = format!("/sessions/{session}/reports");
    // An answer that was lost: the same again changes nothing.
    for _ in 0..2 {
        let reply: ReportsReply = house.post(&path, &reports).await;
        let last = reply.outcomes.last().unwrap();
        assert_eq!(*last, ReportOutcome::State(JobState::FailedTerminal));
    }
    let log = format!("/jobs/{}/log", job.job_id);
    let read = |query: &str| house.call(Method::GET, &format!("{log}{query}")).send();
    let whole = read("").await.unwrap();
    assert_eq!(whole.headers()["x-log-size"], text.len().to_string());
    assert_eq!(whole.text().await.unwrap(), text);
    assert_eq!(read("?offset=-3").await.unwrap().text().await.unwrap(), "30\n");
    let path = format!("/dead-letters/{}", job.job_id);
    let mut detail: DeadLetterDetail = house.get(&path).await;
    while detail.log.is_empty() {
        tokio::task::yield_now().await;
        detail = house.get(&path).await;
    }
    assert_eq!((detail.log.len(), detail.log[0].as_str()), (20, "zwölf 11"));
}
