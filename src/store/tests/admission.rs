//! Work that is let in while a queue is full, and held until none is.

use super::{Farm, recipe, submission};
use crate::protocol::control::Limit;
use crate::protocol::why::WhyCode;
use crate::store::{StoreError, SubmissionKey};

impl Farm {
    async fn room(&self, queue: &str, max_queued: Option<u64>) {
        let limit = Limit::Queue { queue: queue.into(), max_queued };
        self.store.set_limit(limit, "ana", "").await.unwrap();
    }
}

#[tokio::test]
async fn an_admission_hold_is_explained_and_ends_when_there_is_room() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    farm.room("render.preview", Some(0)).await;
    let refused = farm.store.submit(submission("dragon", "x"), recipe(), [7; 16]).await;
    assert!(matches!(refused, Err(StoreError::QueueFull { .. })), "{refused:?}");
    let held = farm.store.submit_or_hold(None, submission("dragon", "x"), recipe(), [7; 16]);
    let pipeline = held.await.unwrap().pipeline;
    let job = farm.store.pipeline(pipeline).await.unwrap().jobs[0].job.id;
    assert!(farm.claim(&w1, 9).await.is_empty());
    let why = farm.store.explain(job).await.unwrap();
    assert_eq!(why.reasons[0].code, WhyCode::AdmissionHeld);
    assert!(why.reasons[0].message.contains("render.preview"), "{why:?}");
    assert_eq!(why.position, None);
    farm.room("render.preview", Some(1)).await;
    assert_eq!(farm.store.explain(job).await.unwrap().reasons[0].code, WhyCode::InLine);
    assert_eq!(farm.claim(&w1, 9).await[0].job_id, job);
    farm.check().await;
}

#[tokio::test]
async fn a_full_first_queue_refuses_also_what_would_wait_and_a_key_keeps_the_answer() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    farm.room("ingest", Some(1)).await;
    let key = || SubmissionKey { key: "k".into(), body: crate::model::Checksum::of(b"x") };
    let submit = |asset: &str, key| {
        farm.store.submit_or_hold(key, submission(asset, "x"), recipe(), [7; 16])
    };
    let first = submit("dragon", Some(key())).await.unwrap();
    let second = submit("gear", None).await;
    assert!(matches!(second, Err(StoreError::QueueFull { .. })), "{second:?}");
    assert_eq!(submit("dragon", Some(key())).await.unwrap(), first, "repeated under its key");
    assert_eq!(farm.claim(&w1, 9).await.len(), 1, "its own queue does not hold it");
}
