//! The failures that every pipeline meets some day, each by its name, with real processes.
#![cfg(target_os = "linux")]

use crate::farm::{Farm, answer, bounded, check_published, jobs_created, publishes};
use crate::inputs::{obj, picture, truncate};
use crate::kill_serve::check_jobs;
use crate::relay::{Message, Relay, Way};
use reqwest::{Method, StatusCode};
use sawah::model::{ErrorClass, JobId, JobState, PipelineId, Reason, Stage};
use sawah::protocol::batch::{Report, ReportEvent, ReportOutcome, Reports, ReportsReply};
use sawah::protocol::event::Change;
use sawah::protocol::problem::ProblemCode;
use sawah::protocol::view::{AttemptOutcome, FarmStatus};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tries of one transfer by a worker.
const TRIES: usize = 5;

/// What a message of a worker says about jobs.
fn verbs(message: &Message) -> Vec<&str> {
    if let Some(rest) = message.path.strip_prefix("/v1/jobs/") {
        return rest.split('/').nth(1).into_iter().collect();
    }
    let said = reports(message).into_iter().map(|report| match report.event {
        ReportEvent::Start => "start",
        ReportEvent::Log { .. } => "log",
        ReportEvent::Complete { .. } => "complete",
        ReportEvent::Fail { .. } => "fail",
        ReportEvent::Release => "release",
    });
    said.collect()
}

/// The reports of a message that holds some.
fn reports(message: &Message) -> Vec<Report> {
    if !message.path.ends_with("/reports") {
        return Vec::new();
    }
    serde_json::from_slice::<Reports>(&message.body).expect("reports").reports
}

/// What became of the ends that it told of: a start and a log before the end of their attempt are
/// refused after it, and nobody minds.
fn ends(message: &Message, answer: &[u8]) -> Vec<ReportOutcome> {
    let reply: ReportsReply = serde_json::from_slice(answer).expect("outcomes");
    let told = reports(message).into_iter().zip(reply.outcomes);
    let is_end = |report: &Report| {
        matches!(report.event, ReportEvent::Complete { .. } | ReportEvent::Fail { .. })
    };
    told.filter(|(report, _)| is_end(report)).map(|(_, outcome)| outcome).collect()
}

async fn outcomes(farm: &Farm, job: JobId) -> Vec<(String, AttemptOutcome)> {
    let attempts = farm.job(job).await.attempts;
    attempts.into_iter().map(|attempt| (attempt.worker, attempt.outcome)).collect()
}

fn owned(worker: &str, outcome: AttemptOutcome) -> (String, AttemptOutcome) {
    (worker.to_owned(), outcome)
}

/// The still picture is drawn and stored, and its worker dies before it can say so.
#[tokio::test]
async fn worker_dies_after_the_output_was_made() {
    let mut farm =
        Farm::new("dies-after").with("SAWAH_LEASE_MS", "3000").with("SAWAH_HEARTBEAT_MS", "500");
    let _serve = farm.serve().await;
    let (relay, mut held) = Relay::to(farm.url(), |message| {
        let draws = String::from_utf8_lossy(&message.body).contains("\"still.png\"");
        if verbs(message).contains(&"complete") && draws { Way::Hold } else { Way::Pass }
    })
    .await;
    let first = farm.worker_at("first", relay.url());
    let source = picture(&farm.new_folder("source").join("leaf.png"), 64, 64);
    let pipeline = farm.submit([source], &["--recipe", "quick"]).await;
    let message = bounded("the result", held.recv()).await.expect("the relay runs");
    let said = reports(&message);
    let result = said.iter().find_map(|report| match &report.event {
        ReportEvent::Complete { completion } => Some((report.job, completion.clone())),
        _ => None,
    });
    let (job, completion) = result.expect("a result");

    // All is made and stored; only the word is missing.
    for output in &completion.outputs {
        let stored = farm.request(Method::GET, &format!("/v1/artifacts/{}", output.checksum));
        assert_eq!(answer(stored).await.0, StatusCode::OK, "{output:?}");
    }
    assert_eq!(farm.job(job).await.job.state, JobState::Processing);
    first.kill_hard().await;
    let second = farm.worker("second");
    farm.events(0).await.until_succeeded(pipeline).await;

    let expected =
        [owned("first", AttemptOutcome::Lost), owned("second", AttemptOutcome::Succeeded)];
    assert_eq!(outcomes(&farm, job).await, expected);
    let made = farm.job(job).await.outputs;
    let sums = |outputs: &[sawah::protocol::work::OutputFile]| -> BTreeMap<String, _> {
        outputs.iter().map(|output| (output.name.clone(), output.checksum)).collect()
    };
    assert_eq!(sums(&made), sums(&completion.outputs), "the same work makes the same bytes");
    check_published(&farm.pipeline(pipeline).await);

    // The word of the dead one arrives after all.
    assert_eq!(second.stop().await, Some(0), "a worker ends orderly");
    let before = farm.get::<FarmStatus>("/v1/status").await.seq;
    let late: ReportsReply = farm.post(&message.path, &Reports { reports: said }).await;
    for outcome in late.outcomes {
        let ReportOutcome::Refused(problem) = outcome else { panic!("{outcome:?}") };
        assert_eq!(problem.code, ProblemCode::UnknownSession);
    }
    assert_eq!(farm.get::<FarmStatus>("/v1/status").await.seq, before, "it changes nothing");
    assert_eq!(publishes(&farm.history().await, pipeline), (1, 1));
}

/// Every report and every beat of a worker, and the submission itself, arrives twice.
#[tokio::test]
async fn message_delivered_twice() {
    let mut farm = Farm::new("twice-delivered");
    let _serve = farm.serve().await;
    let (relay, mut doubled) = Relay::to(farm.url(), |message| {
        let is_report = !verbs(message).is_empty() && message.method == Method::POST;
        let is_submission = message.method == Method::POST && message.path == "/v1/pipelines";
        let is_beat = message.path.ends_with("/heartbeat");
        if is_report || is_submission || is_beat { Way::Twice } else { Way::Pass }
    })
    .await;
    let worker = farm.worker_at("render-01", relay.url());
    let folder = farm.new_folder("source");
    let settings =
        ["--set", "turntable_frames=4", "--set", "turntable_px=32", "--set", "chunk_frames=2"];
    let pipeline =
        submit_through(&farm, &relay, obj(&folder.join("box.obj"), None), &settings).await;
    farm.events(0).await.until_succeeded(pipeline).await;
    let broken = truncate(&picture(&folder.join("cut.png"), 64, 64), 50);
    let dead = submit_through(&farm, &relay, broken, &[]).await;
    let mut events = farm.events(0).await;
    let letter = events.until("the dead letter", |event| {
        matches!(event.change, Change::JobChanged { pipeline, to: JobState::FailedTerminal, .. }
            if pipeline == dead)
    });
    letter.await;
    assert_eq!(worker.stop().await, Some(0), "a worker ends orderly");

    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    while let Ok(message) = doubled.try_recv() {
        let verbs = verbs(&message);
        for verb in if verbs.is_empty() { vec!["other"] } else { verbs.clone() } {
            *seen.entry(verb.to_owned()).or_default() += 1;
        }
        let [first, second] = message.answers.as_slice() else { panic!("{message:?}") };
        if message.path == "/v1/pipelines" {
            let id = |answer: &[u8]| -> Option<i64> {
                serde_json::from_slice::<serde_json::Value>(answer).ok()?["pipeline"].as_i64()
            };
            assert!(id(&first.1).is_some() && id(&first.1) == id(&second.1), "{message:?}");
        } else if message.path.ends_with("/reports") {
            assert_eq!((first.0, second.0), (StatusCode::OK, StatusCode::OK), "{message:?}");
            assert_eq!(ends(&message, &first.1), ends(&message, &second.1), "{message:?}");
        } else if !verbs.is_empty() {
            assert_eq!(first, second, "{message:?}");
        } else {
            assert_eq!((first.0, second.0), (StatusCode::OK, StatusCode::OK), "{message:?}");
        }
    }
    for verb in ["start", "complete", "fail", "log", "other"] {
        assert!(seen.contains_key(verb), "no {verb} was doubled: {seen:?}");
    }
    check_made_once(&farm, pipeline).await;
    let letters = farm.dead_letters(dead).await;
    assert!(matches!(letters.as_slice(), [letter] if letter.attempts == 1), "{letters:#?}");
}

async fn submit_through(
    farm: &Farm,
    relay: &Relay,
    source: std::path::PathBuf,
    more: &[&str],
) -> PipelineId {
    let token = std::fs::read_to_string(farm.folder().join("token")).expect("there is a token");
    let mut args = vec!["--coordinator", relay.url(), "--token", token.trim()];
    args.extend(more);
    farm.submit([source], &args).await
}

async fn check_made_once(farm: &Farm, pipeline: PipelineId) {
    let detail = farm.pipeline(pipeline).await;
    check_published(&detail);
    check_jobs(&detail);
    let history = farm.history().await;
    assert_eq!(publishes(&history, pipeline), (1, 1));
    // A still and two chunks of frames.
    assert_eq!(jobs_created(&history, pipeline, Stage::Render).len(), 3);
    for job in &detail.jobs {
        let expected = [owned("render-01", AttemptOutcome::Succeeded)];
        assert_eq!(outcomes(farm, job.job.id).await, expected, "{job:#?}");
        let log = farm.request(Method::GET, &format!("/v1/jobs/{}/log", job.job.id));
        let log = answer(log).await.1;
        let begins = format!("attempt 1 of job {} ", job.job.id);
        assert_eq!(log.matches(&begins).count(), 1, "each line is there once:\n{log}");
    }
}

/// The content store does not answer a worker: each call ends by its own time limit, the attempt
/// fails as transient while the lease is held, and the job is tried again.
#[tokio::test]
async fn dependency_timeout() {
    let mut farm = Farm::new("dependency");
    let _serve = farm.serve().await;
    let away = Arc::new(AtomicBool::new(true));
    let asks = Arc::clone(&away);
    let (relay, mut held) = Relay::to(farm.url(), move |message| {
        let is_store = message.path.starts_with("/v1/artifacts/") && message.method == Method::HEAD;
        if is_store && asks.load(Ordering::Acquire) { Way::Hold } else { Way::Pass }
    })
    .await;
    let source = picture(&farm.new_folder("source").join("leaf.png"), 32, 32);
    let mut events = farm.events(0).await;
    let pipeline = farm.submit([source], &["--recipe", "quick"]).await;
    let _worker = farm.worker_at("render-01", relay.url());
    let failed = events.until("the failure", |event| {
        matches!(&event.change, Change::JobChanged { failure: Some(_), .. })
    });
    let Change::JobChanged { job, to, failure: Some(failure), .. } = failed.await.change else {
        unreachable!()
    };
    assert_eq!((failure.reason, failure.class), (Reason::NetworkError, ErrorClass::Transient));
    assert_eq!(to, JobState::RetryScheduled);
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    while let Ok(message) = held.try_recv() {
        *asked.entry(message.path).or_default() += 1;
    }
    assert!(asked.values().any(|tries| *tries == TRIES), "{asked:?}");
    assert!(asked.values().all(|tries| *tries <= TRIES), "{asked:?}");

    away.store(false, Ordering::Release);
    events.until_succeeded(pipeline).await;
    let expected =
        [owned("render-01", AttemptOutcome::Failed), owned("render-01", AttemptOutcome::Succeeded)];
    assert_eq!(outcomes(&farm, job).await, expected);
    let history = farm.history().await;
    let left = history.iter().filter(|event| matches!(event.change, Change::WorkerLeft { .. }));
    assert_eq!(left.count(), 0, "the lease was held all the time");
    assert_eq!(publishes(&history, pipeline), (1, 1));
    check_published(&farm.pipeline(pipeline).await);
}
