use super::*;
use crate::client::test_server::{Farm, serve};
use crate::clock::SystemClock;
use crate::protocol::event::{Change, Event};
use crate::protocol::view::Snapshot;
use std::io::Cursor;
use std::sync::Mutex;
use std::time::Duration;

/// A test that waits longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(10);

struct Desk {
    live: LiveFarm,
    woken: tokio::sync::watch::Receiver<u32>,
}

impl Desk {
    fn open(client: Client) -> Self {
        let (sender, woken) = tokio::sync::watch::channel(0);
        let sender = Mutex::new(sender);
        let waker: Waker = Arc::new(move || {
            sender.lock().expect("lock").send_modify(|count| *count += 1);
        });
        let clock = Arc::new(SystemClock::start());
        Self { live: LiveFarm::connect(client, waker, &Handle::current(), clock), woken }
    }

    /// Looks again at each waking until the test is content.
    async fn until<T>(&mut self, mut look: impl FnMut(&LiveFarm) -> Option<T>) -> T {
        let wait = async {
            loop {
                if let Some(found) = look(&self.live) {
                    return found;
                }
                self.woken.changed().await.expect("the waker lives");
            }
        };
        tokio::time::timeout(PATIENCE, wait).await.expect("it happens in time")
    }
}

fn snapshot(seq: u64) -> Snapshot {
    Snapshot {
        seq,
        at_ms: 0,
        pipelines: vec![],
        jobs: vec![],
        workers: vec![],
        dead_letters: vec![],
        pipelines_total: seq,
    }
}

fn event(seq: u64) -> String {
    let change = Change::Exported { pipeline: PipelineId(1), folder: "/f".to_owned() };
    let event = Event { seq, at_ms: 1, actor: "t".to_owned(), change };
    let data = serde_json::to_string(&event).expect("json");
    format!("id: {seq}\nevent: change\ndata: {data}\n\n")
}

#[tokio::test]
async fn events_are_followed_and_a_gap_asks_for_a_snapshot() {
    let farm = Arc::new(Farm::default());
    farm.snapshots.lock().expect("lock").extend([snapshot(3), snapshot(9)]);
    farm.streams.lock().expect("lock").push_back(format!("{}{}", event(3), event(4)) + &event(8));
    let mut desk = Desk::open(serve(farm).await);
    let model = desk.until(|live| Some(live.model()).filter(|model| model.seq == 9)).await;
    assert_eq!(model.pipelines_total, 9);
    assert_eq!(desk.live.connection(), Connection::Live);
    assert!(Arc::ptr_eq(&desk.live.model(), &desk.live.model()), "the same until it changes");
}

#[tokio::test]
async fn a_broken_stream_is_said_and_mended() {
    let farm = Arc::new(Farm::default());
    farm.snapshots.lock().expect("lock").push_back(snapshot(1));
    farm.streams.lock().expect("lock").push_back(event(2));
    let mut desk = Desk::open(serve(farm).await);
    desk.until(|live| matches!(live.connection(), Connection::Lost { .. }).then_some(())).await;
    desk.until(|live| (live.connection() == Connection::Live).then_some(())).await;
}

#[tokio::test]
async fn orders_are_answered_by_notices() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("gear.stl");
    std::fs::write(&path, b"solid").expect("write");
    let farm = Arc::new(Farm::default());
    let mut desk = Desk::open(serve(Arc::clone(&farm)).await);
    let absent = folder.path().join("absent.stl");
    desk.live.order(Order::Submit(Draft::new(vec![path, absent])));
    desk.live.order(Order::Replay { job: JobId(7) });
    let mut notices = Vec::new();
    desk.until(|live| {
        notices.extend(live.take_notices());
        (notices.len() == 3).then_some(())
    })
    .await;
    assert_eq!(desk.live.orders_pending(), 0);
    let good: Vec<_> = notices.iter().filter(|notice| !notice.is_error).collect();
    let [good] = good.as_slice() else { panic!("{notices:?}") };
    assert_eq!((good.text.as_str(), good.pipeline), ("gear v1 is handed in", Some(PipelineId(1))));
    assert!(notices.iter().any(|notice| notice.text.contains("input.unreadable")), "{notices:?}");
}

#[tokio::test]
async fn pictures_are_decoded_and_bad_ones_say_why() {
    let mut png = Cursor::new(Vec::new());
    image::RgbaImage::from_pixel(3, 2, image::Rgba([1, 2, 3, 4]))
        .write_to(&mut png, image::ImageFormat::Png)
        .expect("png");
    let png = png.into_inner();
    let (good, bad) = (Checksum::of(&png), Checksum::of(b"no picture"));
    let farm = Arc::new(Farm::default());
    farm.artifacts.lock().expect("lock").insert(good, png.into());
    farm.artifacts.lock().expect("lock").insert(bad, "no picture".into());
    let mut desk = Desk::open(serve(farm).await);
    let pixels = desk
        .until(|live| match live.picture(good) {
            Fetched::Ready(pixels) => Some(pixels),
            Fetched::Pending => None,
            Fetched::Failed(why) => panic!("{why}"),
        })
        .await;
    assert_eq!((pixels.width, pixels.height, pixels.rgba[..4].to_vec()), (3, 2, vec![1, 2, 3, 4]));
    let why = desk
        .until(|live| match live.picture(bad) {
            Fetched::Failed(why) => Some(why),
            _ => None,
        })
        .await;
    assert!(why.contains("cannot be shown"), "{why}");
}
