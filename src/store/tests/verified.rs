use super::Farm;
use crate::model::Reason;
use crate::protocol::work::Failure;
use crate::store::connection;

#[tokio::test]
async fn a_dismissed_dead_letter_that_is_replayed_is_counted_once() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    farm.submit("gear", "v1").await;
    for _ in 0..2 {
        farm.fail_next(&worker, Failure::new(Reason::InputCorrupt, "broken")).await;
    }
    let page = crate::store::Page { before: None, limit: 10 };
    let dead = farm.store.dead_letters(false, page).await.unwrap();
    farm.store.dismiss(dead[0].job, "ana", "known").await.unwrap();
    farm.store.replay(dead[0].job, "ana", "after all").await.unwrap();
    assert_eq!(farm.store.status().await.unwrap().dead_letters, 1);
    assert_eq!(farm.store.verify().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn the_tables_check_each_other() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    farm.begin(&worker).await;
    assert_eq!(farm.store.verify().await.unwrap(), Vec::<String>::new());
    farm.store.close().await;
    let db = connection::writer(farm.folder.path()).unwrap();
    db.execute_batch("UPDATE counter SET n = 7 WHERE name = 'queued'; UPDATE job SET epoch = 9")
        .unwrap();
    drop(db);
    let clock = std::sync::Arc::clone(&farm.clock) as std::sync::Arc<dyn crate::clock::Clock>;
    let (store, _control) = crate::store::Store::open_inline(farm.folder.path(), clock).unwrap();
    let broken = store.verify().await.unwrap();
    assert_eq!(broken.len(), 3, "{broken:?}");
    assert!(broken.iter().any(|why| why.contains("kept numbers of jobs")), "{broken:?}");
}
