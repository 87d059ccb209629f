//! A whole coordinator over real HTTP, with a worker that answers by rote.

mod dead_letters;
mod rules;
mod webhooks;

use super::*;
use crate::clock::SystemClock;
use crate::model::{AssetKind, AssetName, Checksum, JobId, PipelineStatus, SessionId, Stage};
use crate::protocol::event::{Change, Event};
use crate::protocol::problem::{Problem, ProblemCode};
use crate::protocol::submit::{
    CancelReply, Order, SourceFile, Submission, SubmitOutcome, Submitted,
};
use crate::protocol::view::{JobDetail, PipelineDetail, WorkerView};
use crate::protocol::work::{
    Assignment, Capabilities, ClaimReply, ClaimRequest, CompleteRequest, Completion, Fence,
    FenceRequest, Heartbeat, HeartbeatReply, LogAppend, OpenSession, OutputFile, Progress,
    RunningJob, SessionOpened, StageReport,
};
use futures_util::StreamExt;
use reqwest::{Method, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

const SOURCE: &[u8] = b"v 0 0 0\n";

struct House {
    running: Running,
    http: reqwest::Client,
}

async fn house(farm: &std::path::Path, lease_ms: u64) -> House {
    let clock = Arc::new(SystemClock::start());
    let config = Config::new(farm.to_owned(), Library::load(None).unwrap(), clock);
    let running = start(Config { lease_ms, ..config }).await.unwrap();
    House { running, http: reqwest::Client::builder().no_proxy().build().unwrap() }
}

impl House {
    fn call(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/v1{path}", self.running.url());
        self.http.request(method, url).bearer_auth(&self.running.token)
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> T {
        read(self.call(Method::GET, path).send().await.unwrap()).await
    }

    async fn send(&self, path: &str, body: &impl Serialize) -> Response {
        self.call(Method::POST, path).json(body).send().await.unwrap()
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> T {
        read(self.send(path, body).await).await
    }

    async fn put(&self, bytes: &'static [u8]) -> u16 {
        let path = format!("/artifacts/{}", Checksum::of(bytes));
        self.call(Method::PUT, &path).body(bytes).send().await.unwrap().status().as_u16()
    }

    async fn submit(&self) -> Submitted {
        let file = SourceFile {
            name: "dragon.obj".into(),
            checksum: Checksum::of(SOURCE),
            size_bytes: SOURCE.len() as u64,
        };
        let submission = Submission {
            asset: AssetName::from_any("dragon"),
            source_ref: "/assets/dragon.obj".into(),
            main_file: "dragon.obj".into(),
            sequence: false,
            files: vec![file],
            missing: Vec::new(),
            recipe: Some("quick".into()),
            settings: BTreeMap::new(),
            actor: "ana".into(),
            project: None,
            priority: None,
        };
        self.post("/pipelines", &submission).await
    }

    async fn open(&self, worker: &str) -> SessionId {
        let capabilities = Capabilities {
            host: "h".into(),
            os: "linux".into(),
            version: "0".into(),
            cores: 1,
            memory_bytes: 1 << 30,
            slots: 2,
            gpus: vec!["test".into()],
            programs: Vec::new(),
            paths: Vec::new(),
        };
        let request = OpenSession {
            protocol: crate::protocol::PROTOCOL_VERSION,
            worker: worker.into(),
            instance: worker.into(),
            capabilities,
        };
        self.post::<SessionOpened>("/sessions", &request).await.session
    }

    async fn claim(&self, session: &SessionId) -> Vec<Assignment> {
        let request = ClaimRequest { max_jobs: 1, wait_ms: 20_000 };
        self.post::<ClaimReply>(&format!("/sessions/{session}/claim"), &request).await.jobs
    }

    /// Does one job by rote: one small file, plausible words.
    async fn work(&self, session: &SessionId, job: &Assignment) {
        let fence = Fence { session: session.clone(), epoch: job.epoch };
        let path = format!("/jobs/{}", job.job_id);
        let request = FenceRequest { fence: fence.clone() };
        let started = self.send(&format!("{path}/start"), &request).await;
        assert_eq!(started.status(), 204);
        let name = match job.stage {
            Stage::Ingest => "source.json",
            Stage::Inspect => "metadata.json",
            Stage::Transform => "scene.glb",
            Stage::Publish => "manifest.json",
            _ => "still.png",
        };
        let outputs = [(name, b"made" as &[u8])].into_iter().map(|(name, bytes)| OutputFile {
            name: name.into(),
            checksum: Checksum::of(bytes),
            size_bytes: bytes.len() as u64,
            media_type: "application/octet-stream".into(),
        });
        let kind = (job.stage == Stage::Ingest).then_some(AssetKind::Mesh);
        let completion = Completion {
            outputs: if job.stage == Stage::Cleanup { Vec::new() } else { outputs.collect() },
            report: StageReport { kind, ..StageReport::default() },
            pointer_generation: job.pointer_generation,
        };
        let request = CompleteRequest { fence, completion };
        let done = self.send(&format!("{path}/complete"), &request).await;
        assert_eq!(done.status(), 200, "{:?}", done.text().await);
    }

    /// Reads the event stream from `after` until an event answers the question.
    async fn until<T>(&self, after: u64, mut answer: impl FnMut(&Event) -> Option<T>) -> T {
        let call = self.call(Method::GET, &format!("/events?after={after}"));
        let mut stream = call.send().await.unwrap().bytes_stream();
        let (mut text, mut expected) = (String::new(), after + 1);
        loop {
            let piece = stream.next().await.unwrap().unwrap();
            text.push_str(std::str::from_utf8(&piece).unwrap());
            while let Some((block, rest)) = text.split_once("\n\n") {
                let data = block.lines().find_map(|line| line.strip_prefix("data: "));
                let is_change = block.lines().any(|line| line == "event: change");
                if let Some(data) = data.filter(|_| is_change) {
                    let event: Event = serde_json::from_str(data).unwrap();
                    assert_eq!(event.seq, expected, "no gap and no double");
                    expected += 1;
                    if let Some(found) = answer(&event) {
                        return found;
                    }
                }
                text = rest.to_owned();
            }
        }
    }
}

async fn read<T: DeserializeOwned>(response: Response) -> T {
    let status = response.status();
    let text = response.text().await.unwrap();
    assert!(status.is_success(), "{status}: {text}");
    serde_json::from_str(&text).unwrap()
}

async fn problem(response: Response) -> (u16, Problem) {
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_asset_goes_through_every_stage_to_its_folder() {
    let farm = tempfile::tempdir().unwrap();
    let house = house(farm.path(), limits::LEASE_MS).await;
    let session = house.open("one").await;
    assert_eq!(house.put(SOURCE).await, 201);
    assert_eq!(house.put(SOURCE).await, 200);
    assert_eq!(house.put(b"made").await, 201);
    // The claim waits first, so that the commit of the submission must wake it.
    let (mut jobs, submitted) = tokio::join!(house.claim(&session), house.submit());
    assert_eq!(submitted.outcome, SubmitOutcome::Created);
    let mut stages = Vec::new();
    while let Some(job) = jobs.pop() {
        house.work(&session, &job).await;
        stages.push(job.stage);
        if job.stage == Stage::Cleanup {
            break;
        }
        jobs = house.claim(&session).await;
    }
    assert_eq!(stages.first(), Some(&Stage::Ingest));
    let folder = house
        .until(0, |event| match &event.change {
            Change::Exported { folder, .. } => Some(folder.clone()),
            _ => None,
        })
        .await;
    assert_eq!(std::fs::read(Path::new(&folder).join("still.png")).unwrap(), b"made");
    assert!(folder.ends_with("dragon/v0001"), "{folder}");
    let path = format!("/pipelines/{}", submitted.pipeline);
    let detail: PipelineDetail = house.get(&path).await;
    assert_eq!(detail.pipeline.status, PipelineStatus::Succeeded);
    assert_eq!(house.submit().await.outcome, SubmitOutcome::AlreadyThere);
    house.running.shutdown().await;
    assert!(!farm.path().join("runtime.json").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_job_is_stopped_by_the_heartbeat_and_its_reports_are_refused() {
    let farm = tempfile::tempdir().unwrap();
    let house = house(farm.path(), limits::LEASE_MS).await;
    let session = house.open("one").await;
    house.put(SOURCE).await;
    let submitted = house.submit().await;
    let job = house.claim(&session).await.remove(0);
    let progress = Progress { percent: 150.0, message: "half".into(), ..Progress::default() };
    let run = RunningJob { job: job.job_id, epoch: job.epoch, progress };
    let beat = format!("/sessions/{session}/heartbeat");
    let body = Heartbeat { running: vec![run] };
    assert_eq!(house.post::<HeartbeatReply>(&beat, &body).await.stop, Vec::<JobId>::new());
    let detail: JobDetail = house.get(&format!("/jobs/{}", job.job_id)).await;
    assert_eq!(detail.job.progress.map(|progress| progress.percent), Some(100.0));

    let append = LogAppend {
        fence: Fence { session: session.clone(), epoch: job.epoch },
        offset: 0,
        text: "one\ntwo\n".into(),
    };
    let log = format!("/jobs/{}/log", job.job_id);
    assert_eq!(house.send(&log, &append).await.status(), 204);
    let end = house.call(Method::GET, &format!("{log}?offset=-4")).send().await.unwrap();
    assert_eq!(end.headers()["x-log-size"], "8");
    assert_eq!(end.text().await.unwrap(), "two\n");

    let order = Order { actor: "ana".into(), reason: "wrong file".into() };
    let cancel = format!("/pipelines/{}/cancel", submitted.pipeline);
    assert_eq!(house.post::<CancelReply>(&cancel, &order).await.jobs, 1);
    assert_eq!(house.post::<HeartbeatReply>(&beat, &body).await.stop, [job.job_id]);
    let (status, refused) = problem(house.send(&log, &append).await).await;
    assert_eq!((status, refused.code), (409, ProblemCode::Cancelled));
    house.running.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_worker_is_lost_and_told_so_when_it_comes_back() {
    let farm = tempfile::tempdir().unwrap();
    let house = house(farm.path(), 300).await;
    let session = house.open("one").await;
    house
        .until(0, |event| {
            matches!(event.change, Change::WorkerLeft { lost: true, .. }).then_some(())
        })
        .await;
    assert_eq!(house.get::<Vec<WorkerView>>("/workers").await, []);
    let beat = format!("/sessions/{session}/heartbeat");
    let (status, refused) =
        problem(house.send(&beat, &Heartbeat { running: Vec::new() }).await).await;
    assert_eq!((status, refused.code), (409, ProblemCode::UnknownSession));
    house.running.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_outlives_a_restart_of_the_coordinator() {
    let farm = tempfile::tempdir().unwrap();
    let first = house(farm.path(), limits::LEASE_MS).await;
    let session = first.open("one").await;
    let token = first.running.token.clone();
    first.running.shutdown().await;
    let second = house(farm.path(), limits::LEASE_MS).await;
    assert_eq!(second.running.token, token);
    let beat = format!("/sessions/{session}/heartbeat");
    let reply: HeartbeatReply = second.post(&beat, &Heartbeat { running: Vec::new() }).await;
    assert_eq!(reply.stop, Vec::<JobId>::new());
    let workers: Vec<WorkerView> = second.get("/workers").await;
    assert!(workers.iter().all(|worker| worker.lease_left_ms > 0) && workers.len() == 1);
    second.running.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_are_checked_on_their_way_in_and_read_in_parts() {
    let farm = tempfile::tempdir().unwrap();
    let house = house(farm.path(), limits::LEASE_MS).await;
    let path = format!("/artifacts/{}", Checksum::of(SOURCE));
    let head = || house.call(Method::HEAD, &path).send();
    assert_eq!(head().await.unwrap().status(), 404);
    let wrong = house.call(Method::PUT, &path).body("other").send().await.unwrap();
    assert_eq!(problem(wrong).await.0, 422);
    house.put(SOURCE).await;
    let answer = head().await.unwrap();
    assert_eq!(answer.headers()["content-length"], SOURCE.len().to_string());
    for (range, status, body) in [
        (None, 200, SOURCE),
        (Some("bytes=2-4"), 206, b"0 0" as &[u8]),
        (Some("bytes=-2"), 206, b"0\n"),
    ] {
        let mut call = house.call(Method::GET, &path);
        if let Some(range) = range {
            call = call.header("range", range);
        }
        let answer = call.send().await.unwrap();
        assert_eq!(answer.status(), status);
        assert_eq!(answer.bytes().await.unwrap(), body);
    }
    let outside = house.call(Method::GET, &path).header("range", "bytes=99-").send().await.unwrap();
    assert_eq!(outside.headers()["content-range"], "bytes */8");
    assert_eq!(problem(outside).await.0, 416);
    house.running.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_streams_and_waiting_claims_do_not_hold_up_the_end() {
    let farm = tempfile::tempdir().unwrap();
    let house = house(farm.path(), limits::LEASE_MS).await;
    let session = house.open("one").await;
    let stream = house.call(Method::GET, "/events?after=0").send().await.unwrap();
    let request = ClaimRequest { max_jobs: 1, wait_ms: 30_000 };
    let claim = house.call(Method::POST, &format!("/sessions/{session}/claim")).json(&request);
    let claim = tokio::spawn(claim.send());
    // The stream's first bytes show that it is being served.
    let mut stream = stream.bytes_stream();
    stream.next().await.unwrap().unwrap();
    let end = tokio::time::timeout(SHUTDOWN_TIME / 2, house.running.shutdown());
    assert!(end.await.is_ok(), "the end waits for its clients");
    // Whether the claim arrived before the end is open; it must not hang.
    let _ = claim.await.unwrap();
}

#[test]
fn clients_of_this_machine_reach_a_coordinator_on_all_addresses() {
    assert_eq!(url("0.0.0.0:7420".parse().unwrap()), "http://127.0.0.1:7420");
    assert_eq!(url("[::]:7420".parse().unwrap()), "http://[::1]:7420");
    assert_eq!(url("192.168.1.5:1".parse().unwrap()), "http://192.168.1.5:1");
}
