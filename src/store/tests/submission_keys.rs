use super::{Farm, recipe, submission};
use crate::model::{Checksum, limits};
use crate::protocol::submit::SubmitOutcome;
use crate::store::{StoreError, SubmissionKey};

fn key(key: &str, body: &str) -> SubmissionKey {
    SubmissionKey { key: key.into(), body: Checksum::of(body.as_bytes()) }
}

#[tokio::test]
async fn the_same_key_gets_the_same_answer_for_a_day_and_another_body_is_refused() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    let submit = async |farm: &Farm, key: SubmissionKey, content: &str| {
        farm.store.submit_once(key, submission("dragon", content), recipe(), [1; 16]).await
    };
    let first = submit(&farm, key("k1", "a"), "v1").await.unwrap();
    assert_eq!(first.outcome, SubmitOutcome::Created);
    farm.run_all(&worker).await;
    let again = submit(&farm, key("k1", "a"), "v1").await.unwrap();
    assert_eq!(again, first, "not 'already there'");
    assert_eq!(farm.store.remembered(key("k1", "a")).await.unwrap(), Some(first.clone()));
    let other = submit(&farm, key("k1", "b"), "v2").await;
    assert!(matches!(other, Err(StoreError::Invalid(_))), "{other:?}");
    assert!(farm.store.remembered(key("k1", "b")).await.is_err());
    let fresh = submit(&farm, key("k2", "a"), "v1").await.unwrap();
    assert_eq!(fresh.outcome, SubmitOutcome::AlreadyThere);
    farm.pass_ms(limits::SUBMISSION_KEY_MS);
    assert_eq!(farm.store.remembered(key("k1", "a")).await.unwrap(), None);
    let later = submit(&farm, key("k1", "b"), "v2").await.unwrap();
    assert_eq!((later.outcome, later.asset_version), (SubmitOutcome::Created, 2));
    farm.check().await;
}
