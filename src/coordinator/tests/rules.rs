//! Replays of one letter, the load with its hints, the audit, and lost answers, over real HTTP.

use super::*;
use crate::client::{AuditQuery, Client, Token};
use crate::model::{Reason, Requirements};
use crate::protocol::dead::{Edit, ReplayOrder};
use crate::protocol::scaling::Hint;
use crate::protocol::submit::Replayed;
use crate::protocol::view::FarmStatus;
use crate::protocol::work::{FailRequest, Failure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener as Listener, TcpStream};

fn client(url: &str, house: &House) -> Client {
    Client::new(url, Token::new(&house.running.token)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_letter_is_replayed_with_a_reason_for_one_worker_over_http() {
    let farm = tempfile::tempdir().unwrap();
    let house = house(farm.path(), limits::LEASE_MS).await;
    let (one, two) = (house.open("one").await, house.open("two").await);
    house.put(SOURCE).await;
    house.submit().await;
    let job = house.claim(&one).await.remove(0);
    let fence = Fence { session: one.clone(), epoch: job.epoch };
    let request = FailRequest { fence, failure: Failure::new(Reason::InputCorrupt, "no end") };
    assert_eq!(house.send(&format!("/jobs/{}/fail", job.job_id), &request).await.status(), 200);
    let path = format!("/dead-letters/{}", job.job_id);
    let order = |reason: &str| ReplayOrder {
        actor: "ana".into(),
        reason: reason.into(),
        edit: Edit {
            only_worker: Some("two".into()),
            requires: Some(Requirements { cores: Some(1), ..Requirements::default() }),
            ..Edit::default()
        },
    };
    for reason in ["", "  "] {
        for verb in ["replay", "dismiss"] {
            let answer = house.send(&format!("{path}/{verb}"), &order(reason)).await;
            let (status, refused) = problem(answer).await;
            assert_eq!((status, refused.code), (422, ProblemCode::Invalid), "{verb}");
            assert!(refused.message.contains("reason"), "{}", refused.message);
        }
    }
    let replayed: Replayed = house.post(&format!("{path}/replay"), &order("seen there")).await;
    let request = ClaimRequest { max_jobs: 1, wait_ms: 0 };
    let nothing: ClaimReply = house.post(&format!("/sessions/{one}/claim"), &request).await;
    assert!(nothing.jobs.is_empty());
    assert_eq!(house.claim(&two).await[0].job_id, replayed.job);
    house.running.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_hints_what_would_help_each_queue() {
    let farm = tempfile::tempdir().unwrap();
    let house = house(farm.path(), limits::LEASE_MS).await;
    house.put(SOURCE).await;
    let hint = async |queue: &str| {
        let load = house.get::<FarmStatus>("/status").await.load;
        let one = load.queues.iter().find(|one| one.queue == queue).unwrap().clone();
        (one.hint, one.queued, one.running, load.slots, load.utilisation_percent)
    };
    assert_eq!(hint("ingest").await, (Hint::Idle, 0, 0, 0, 100));
    house.submit().await;
    assert_eq!(hint("ingest").await, (Hint::AddWorkers { slots: 1 }, 1, 0, 0, 100));
    let session = house.open("one").await;
    assert_eq!(hint("ingest").await, (Hint::Enough, 1, 0, 2, 0), "a moment ago");
    house.claim(&session).await;
    assert_eq!(hint("ingest").await, (Hint::Enough, 0, 1, 2, 50));
    assert_eq!(hint("publish").await.0, Hint::Idle);
    house.running.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audit_is_paged_over_http_and_a_page_is_bounded() {
    let farm = tempfile::tempdir().unwrap();
    let house = house(farm.path(), limits::LEASE_MS).await;
    house.put(SOURCE).await;
    let pipeline = house.submit().await.pipeline;
    house.open("one").await;
    let client = client(&house.running.url(), &house);
    let asked = AuditQuery { limit: Some(2), ..AuditQuery::default() };
    let first = client.audit(&asked).await.unwrap();
    assert_eq!(first.rows.len(), 2);
    let rest = AuditQuery { after: first.after, limit: Some(u32::MAX), ..asked };
    let rest = client.audit(&rest).await.unwrap();
    assert_eq!(rest.rows[0].seq, 3);
    assert_eq!((rest.after, rest.rows.last().map(|row| row.seq)), (rest.last, Some(rest.last)));
    let own = AuditQuery { pipeline: Some(pipeline), ..AuditQuery::default() };
    let own = client.audit(&own).await.unwrap().rows;
    assert!(own.iter().all(|row| row.pipeline == Some(pipeline)) && own.len() >= 3);
    let both = house.call(Method::GET, "/audit?pipeline=1&job=1").send().await.unwrap();
    assert_eq!(problem(both).await.0, 422);
    house.running.shutdown().await;
}

/// Reads a message up to its last letters.
async fn whole(stream: &mut TcpStream, end: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    while !message.ends_with(end) {
        message.push(stream.read_u8().await.unwrap());
    }
    message
}

/// Passes calls on to `upstream`; the answer to the first one is read and thrown away.
async fn forgetful_proxy(listener: Listener, upstream: SocketAddr) -> usize {
    let mut calls = 0;
    loop {
        let (mut near, _) = listener.accept().await.unwrap();
        let mut far = TcpStream::connect(upstream).await.unwrap();
        let call = whole(&mut near, b"\"ana\"}").await;
        far.write_all(&call).await.unwrap();
        let answer = whole(&mut far, b"}").await;
        calls += 1;
        if calls > 1 {
            near.write_all(&answer).await.unwrap();
            return calls;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_submission_whose_answer_was_lost_gets_the_same_answer() {
    let farm = tempfile::tempdir().unwrap();
    let house = house(farm.path(), limits::LEASE_MS).await;
    house.put(SOURCE).await;
    let listener = Listener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&format!("http://{}", listener.local_addr().unwrap()), &house);
    let submission = Submission {
        asset: AssetName::from_any("dragon"),
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
    let proxy = forgetful_proxy(listener, house.running.address);
    let (submitted, calls) = tokio::join!(client.submit(&submission), proxy);
    assert_eq!(calls, 2);
    assert_eq!(submitted.unwrap().outcome, SubmitOutcome::Created, "as the first time");
    assert_eq!(house.get::<FarmStatus>("/status").await.queued, 1);
    house.running.shutdown().await;
}
