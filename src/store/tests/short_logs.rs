//! Short logs that come with the end of their attempt.

use super::Farm;
use crate::model::{Epoch, limits};
use crate::protocol::work::Fence;
use crate::store::StoreError;

#[tokio::test]
async fn only_who_holds_the_job_says_its_log_and_each_attempt_has_its_own() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("gear", "one").await;
    let (job, fence) = farm.begin(&worker).await;
    let note = |fence: &Fence, text: &str| {
        let (store, fence, text) = (farm.store.clone(), fence.clone(), text.to_owned());
        async move { store.note_log(job.job_id, &fence, text).await }
    };
    let stale = Fence { epoch: Epoch(fence.epoch.0 + 1), ..fence.clone() };
    let refused = note(&stale, "a zombie's").await;
    assert!(matches!(refused, Err(StoreError::Superseded(_))), "{refused:?}");
    let long = "x".repeat(limits::SHORT_LOG_BYTES + 1);
    assert!(matches!(note(&fence, &long).await, Err(StoreError::Invalid(_))));
    for _ in 0..2 {
        note(&fence, "drawn\n").await.unwrap();
    }
    let said = farm.store.short_log(job.job_id, fence.epoch).await.unwrap();
    assert_eq!(said.as_deref(), Some("drawn\n"));
    assert_eq!(farm.store.short_log(job.job_id, stale.epoch).await.unwrap(), None);
    farm.store.release(job.job_id, &fence).await.unwrap();
    assert!(note(&fence, "late").await.is_err());
}
