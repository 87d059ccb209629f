use super::{Farm, recipe, submission};
use crate::clock::Clock;
use crate::store::{Page, Store, StoreError, connection, lanes};
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
    let plan = |sql: &str| -> Vec<String> {
        let mut query = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let nothing = vec![None::<i64>; query.parameter_count()];
        let rows = query.query_map(rusqlite::params_from_iter(nothing), |row| row.get(3)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    let next = plan(lanes::NEXT_LANE);
    assert_eq!(next.len(), 1, "no sorting step: {next:?}");
    let jump = "SEARCH job USING COVERING INDEX job_ready \
        (queue=? AND (class,project,priority,is_retry)>(?,?,?,?))";
    assert_eq!(next[0], jump);
    let heads = plan(lanes::HEADS);
    assert_eq!(heads.len(), 1, "no sorting step: {heads:?}");
    let lane = "SEARCH job USING COVERING INDEX job_ready \
        (queue=? AND class=? AND project=? AND priority=? AND is_retry=?)";
    assert_eq!(heads[0], lane);
    for (sql, step) in [
        (lanes::LEASED, "SEARCH job USING INDEX job_leased (project=?)"),
        (lanes::HELD, "SEARCH semaphore_holder USING PRIMARY KEY (semaphore=?)"),
    ] {
        let plan = plan(sql);
        assert!(plan.iter().any(|line| line == step), "{plan:?}");
        assert!(plan.iter().all(|line| !line.contains("SCAN job")), "{plan:?}");
    }
}

#[tokio::test]
async fn a_farm_of_the_first_schema_goes_on_with_what_it_has() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    farm.submit("gear", "v1").await;
    farm.finish_one(&worker).await;
    farm.store.close().await;
    // Back to how the first schema left it.
    let db = connection::writer(farm.folder.path()).unwrap();
    db.execute_batch(
        "DROP TABLE webhook; DROP TABLE webhook_outbox;
         DROP INDEX dead_letter_bare; DROP INDEX dead_letter_alike; DROP INDEX outbox_export_once;
         DROP TABLE worker_failure; DROP TABLE quarantine; DROP TABLE submission_key;
         ALTER TABLE dead_letter DROP COLUMN fingerprint;
         ALTER TABLE dead_letter DROP COLUMN log_tail;
         ALTER TABLE dead_letter DROP COLUMN payload;
         ALTER TABLE dead_letter DROP COLUMN dependencies;
         DROP INDEX job_ready; DROP INDEX job_leased;
         ALTER TABLE job DROP COLUMN max_attempts; ALTER TABLE job DROP COLUMN failed_on;
         ALTER TABLE job DROP COLUMN licence_waited_ms; ALTER TABLE job DROP COLUMN is_retry;
         ALTER TABLE job DROP COLUMN edit;
         ALTER TABLE job DROP COLUMN project;
         ALTER TABLE pipeline DROP COLUMN project; ALTER TABLE pipeline DROP COLUMN priority;
         DROP TABLE control; DROP TABLE queue_limit; DROP TABLE semaphore;
         DROP TABLE semaphore_holder; DROP TABLE rate_limit; DROP TABLE project;
         DROP TABLE fair_share; DROP TABLE class_semaphore; DROP TABLE resource_class;
         DELETE FROM counter WHERE name LIKE 'queued/%';
         CREATE INDEX job_ready ON job (queue, class, priority DESC, ready_ms, id)
            WHERE state = 'queued';
         PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(db);
    farm.reopen();
    let queues = farm.store.limits().await.unwrap().queues;
    let waiting: Vec<_> = queues.iter().map(|one| one.queued).collect();
    assert_eq!(waiting, [1, 1, 0, 0, 0, 0, 0]);
    assert!(!farm.run_all(&worker).await.is_empty());
    farm.check().await;
}
