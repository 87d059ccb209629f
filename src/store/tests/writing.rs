use super::{Farm, TestClock, recipe, submission};
use crate::clock::Clock;
use crate::model::Now;
use crate::store::batch::CrashPoint;
use crate::store::{Page, Store, StoreError, connection, lanes, schema};
use std::path::Path;
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

/// The process ends at the commit: who was told "done" must find it, who was not told may not rely
/// on it.
#[tokio::test]
async fn nothing_is_answered_before_its_commit() {
    for (point, survivors) in [(CrashPoint::BeforeCommit, 0), (CrashPoint::AfterCommit, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let now = Now { wall_ms: 1_800_000_000_000, mono_ms: 0 };
        let clock: Arc<dyn Clock> = Arc::new(TestClock(std::sync::Mutex::new(now)));
        let (store, control) = Store::open_inline(folder.path(), Arc::clone(&clock)).unwrap();
        control.crash_at(point);
        let answer = store.submit(submission("dragon", "v1"), recipe(), [0; 16]).await;
        assert!(matches!(answer, Err(StoreError::Closed)), "{point:?}: {answer:?}");
        let survives = tempfile::tempdir().unwrap();
        control.crash(folder.path(), survives.path()).unwrap();
        drop(store);
        let store = Store::open(survives.path(), clock).unwrap();
        let found = store.pipelines(Page { before: None, limit: 10 }).await.unwrap();
        assert_eq!(found.len(), survivors, "{point:?}");
    }
}

/// The verbs look before they write. Where one of them did not, the database itself refuses.
#[tokio::test]
async fn the_database_itself_refuses_doubles() {
    let farm = Farm::open();
    farm.submit("dragon", "v1").await;
    farm.store.close().await;
    let db = connection::writer(farm.folder.path()).unwrap();
    for table in ["pipeline", "job"] {
        let columns: String = db
            .query_row(
                "SELECT group_concat(name) FROM pragma_table_info(?1) WHERE pk = 0",
                [table],
                |row| row.get(0),
            )
            .unwrap();
        let double = format!("INSERT INTO {table} ({columns}) SELECT {columns} FROM {table}");
        let refused = db.execute_batch(&double).unwrap_err().to_string();
        assert!(refused.contains("UNIQUE constraint failed"), "{table}: {refused}");
        let ended = match table {
            "pipeline" => "UPDATE pipeline SET status = 'cancelled'",
            _ => "UPDATE job SET state = 'cancelled', finished_ms = 1",
        };
        // What has ended stands in nobody's way.
        db.execute_batch(&format!("BEGIN; {ended}; {double}; ROLLBACK")).unwrap();
    }
}

#[tokio::test]
async fn the_database_itself_refuses_alike_jobs_that_are_leased_together() {
    let farm = Farm::open();
    farm.submit("dragon", "v1").await;
    farm.store.close().await;
    let db = connection::writer(farm.folder.path()).unwrap();
    let leased = "UPDATE job SET state = 'claimed', session = 'one', flight = zeroblob(32)";
    db.execute_batch(leased).unwrap();
    let columns: String = db
        .query_row(
            "SELECT group_concat(name) FROM pragma_table_info('job') WHERE pk = 0",
            [],
            |row| row.get(0),
        )
        .unwrap();
    let alike = |key: &str| {
        let values = columns.replace("idempotency_key", key);
        db.execute_batch(&format!("INSERT INTO job ({columns}) SELECT {values} FROM job LIMIT 1"))
    };
    let refused = alike("'another'").unwrap_err().to_string();
    assert!(refused.contains("UNIQUE constraint failed: job.flight"), "{refused}");
    db.execute_batch("UPDATE job SET state = 'queued', session = NULL").unwrap();
    alike("'another'").unwrap();
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
        ((queue,class,project,priority,is_retry,ready_ms)>(?,?,?,?,?,?))";
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

/// A farm of an older schema with the rows of `farm`, as far as that schema knows them.
fn as_of_schema(version: usize, farm: &Path, older: &Path) {
    let db = rusqlite::Connection::open(older.join(connection::DATABASE)).unwrap();
    for step in &schema::STEPS[..version] {
        db.execute_batch(step).unwrap();
    }
    let newer = farm.join(connection::DATABASE);
    db.execute("ATTACH ?1 AS newer", [newer.to_str().unwrap()]).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    let strings = |sql: &str| -> Vec<String> {
        let mut query = db.prepare(sql).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    for table in strings("SELECT name FROM main.sqlite_schema WHERE type = 'table'") {
        let columns = strings(&format!("SELECT name FROM pragma_table_info('{table}')")).join(", ");
        db.execute_batch(&format!(
            "INSERT OR REPLACE INTO main.{table} ({columns}) SELECT {columns} FROM newer.{table}"
        ))
        .unwrap();
    }
    if version < 2 {
        db.execute_batch("DELETE FROM counter WHERE name LIKE 'queued/%'").unwrap();
    }
    db.pragma_update(None, "application_id", schema::APPLICATION_ID).unwrap();
    db.pragma_update(None, "user_version", i64::try_from(version).unwrap()).unwrap();
}

#[tokio::test]
async fn a_farm_of_any_older_schema_goes_on_with_what_it_has() {
    for version in 1..schema::STEPS.len() {
        let mut farm = Farm::open();
        let worker = farm.worker("w1", &[]).await;
        farm.submit("dragon", "v1").await;
        farm.submit("gear", "v1").await;
        farm.finish_one(&worker).await;
        farm.store.close().await;
        let older = tempfile::tempdir().unwrap();
        as_of_schema(version, farm.folder.path(), older.path());
        std::fs::copy(
            older.path().join(connection::DATABASE),
            farm.folder.path().join(connection::DATABASE),
        )
        .unwrap();
        farm.reopen();
        let queues = farm.store.limits().await.unwrap().queues;
        let waiting: Vec<_> = queues.iter().map(|one| one.queued).collect();
        assert_eq!(waiting, [1, 1, 0, 0, 0, 0, 0, 0], "from schema {version}");
        assert!(!farm.run_all(&worker).await.is_empty(), "from schema {version}");
        farm.check().await;
    }
}
