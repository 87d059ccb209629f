//! Webhooks to a real receiver on loopback.

use super::*;
use crate::model::Reason;
use crate::protocol::webhook::{News, NewsKind, WEBHOOK_ID};
use crate::protocol::work::{FailRequest, Failure};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use tokio::sync::mpsc;

type Calls = mpsc::Sender<(String, News)>;

/// Takes the second call and those after; the first is answered with 503.
async fn hear(
    State((calls, seen)): State<(Calls, Arc<std::sync::atomic::AtomicU32>)>,
    headers: HeaderMap,
    axum::Json(news): axum::Json<News>,
) -> StatusCode {
    let number = headers[WEBHOOK_ID].to_str().unwrap().to_owned();
    calls.try_send((number, news)).unwrap();
    match seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
        0 => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::NO_CONTENT,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_was_down_gets_the_news_again_with_the_same_number() {
    let (calls, mut heard) = mpsc::channel(16);
    let state = (calls, Arc::new(std::sync::atomic::AtomicU32::new(0)));
    let app = axum::Router::new().route("/news", axum::routing::post(hear)).with_state(state);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/news", listener.local_addr().unwrap());
    let receiver = tokio::spawn(axum::serve(listener, app).into_future());

    let farm = tempfile::tempdir().unwrap();
    let clock = Arc::new(SystemClock::start());
    let config = Config::new(farm.path().to_owned(), Library::load(None).unwrap(), clock);
    let webhooks = BTreeMap::from([(NewsKind::DeadLetter, url)]);
    let running = start(Config { webhooks, ..config }).await.unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let house = House { running, http };
    let session = house.open("one").await;
    house.put(SOURCE).await;
    house.submit().await;
    let job = house.claim(&session).await.remove(0);
    let fence = Fence { session, epoch: job.epoch };
    let request = FailRequest { fence, failure: Failure::new(Reason::InputCorrupt, "no end") };
    assert_eq!(house.send(&format!("/jobs/{}/fail", job.job_id), &request).await.status(), 200);
    let first = heard.recv().await.unwrap();
    let second = heard.recv().await.unwrap();
    assert_eq!(first, second, "the receiver knows doubles by the number");
    let News::DeadLetter { job: told, reason, .. } = first.1 else { panic!("{first:?}") };
    assert_eq!((told, reason), (job.job_id, Reason::InputCorrupt));
    house.running.shutdown().await;
    receiver.abort();
    assert!(heard.try_recv().is_err(), "taken news is not sent again");
}
