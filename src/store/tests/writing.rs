use super::{Farm, recipe, submission};
use crate::clock::Clock;
use crate::store::{Page, Store, StoreError, claim, connection};
use std::sync::Arc;

#[tokio::test]
async fn a_refused_verb_leaves_the_others_of_its_commit_alone() {
    let farm = Farm::open();
    let good = (0..50).map(|n| farm.submit("dragon", if n % 2 == 0 { "a" } else { "b" }));
    let bad = (0..50).map(|_| {
        let mut submission = submission("dragon", "x");
        // Two files of one name break the table's key in the middle of the verb.
        submission.files.push(submission.files[0].clone());
        farm.store.submit(submission, recipe(), [0; 16])
    });
    let (good, bad) = futures_util::future::join(
        futures_util::future::join_all(good),
        futures_util::future::join_all(bad),
    )
    .await;
    assert_eq!(good.len(), 50);
    assert!(bad.iter().all(|result| matches!(result, Err(StoreError::Sqlite(_)))));
    let pipelines = farm.store.pipelines(Page { before: None, limit: 100 }).await.unwrap();
    assert_eq!(pipelines.len(), 2, "one of each content");
    farm.check().await;
}

#[tokio::test]
async fn what_was_answered_is_there_after_reopening() {
    let farm = Farm::open();
    let pipeline = farm.submit("dragon", "v1").await.pipeline;
    let before = farm.all().await;
    farm.store.close().await;
    let clock = Arc::clone(&farm.clock) as Arc<dyn Clock>;
    let store = Store::open(farm.folder.path(), clock).unwrap();
    assert!(store.pipeline(pipeline).await.is_ok());
    let reopened = Farm { store, ..farm };
    assert_eq!(reopened.all().await, before);
    reopened.check().await;
}

#[tokio::test]
async fn a_closed_store_refuses_and_does_not_hang() {
    let farm = Farm::open();
    farm.store.close().await;
    let refused = farm.store.submit(submission("a", "b"), recipe(), [0; 16]).await;
    assert!(matches!(refused, Err(StoreError::Closed)));
    assert!(matches!(farm.store.status().await, Err(StoreError::Closed)));
}

#[tokio::test]
async fn a_commit_wakes_those_who_wait_for_it() {
    let farm = Farm::open();
    let mut committed = farm.store.committed();
    assert_eq!(*committed.borrow_and_update(), 0);
    farm.submit("dragon", "v1").await;
    committed.changed().await.unwrap();
    assert!(*committed.borrow() > 0);
}

#[test]
fn a_claim_reads_only_the_index_of_ready_jobs() {
    let farm = tempfile::tempdir().unwrap();
    let db = connection::writer(farm.path()).unwrap();
    let plan: Vec<String> = db
        .prepare(&format!("EXPLAIN QUERY PLAN {}", claim::READY))
        .unwrap()
        .query_map(rusqlite::params!["render.preview", 0, 0, 1], |row| row.get(3))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(plan.len(), 1, "no sorting step: {plan:?}");
    assert!(plan[0].contains("SEARCH job USING COVERING INDEX job_ready"), "{plan:?}");
}
