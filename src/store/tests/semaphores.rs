//! Semaphores and rates: held and taken by claims, given back by whatever ends a lease.

use super::{Farm, recipe, result_of, submission};
use crate::model::{Name, PipelineId, Reason, Stage};
use crate::protocol::control::Limit;
use crate::protocol::work::{Failure, Fence};
use crate::recipes::Recipe;
use crate::store::{SessionRecord, StoreError};

pub(super) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// The preview recipe, its ingest held by a licence.
pub(super) fn licensed() -> Recipe {
    let mut recipe = recipe();
    recipe.stages[0].semaphores.insert(name("licence.scan"));
    recipe
}

/// The preview recipe, its ingest bound to a rate.
pub(super) fn rated() -> Recipe {
    let mut recipe = recipe();
    recipe.stages[0].rates.insert(name("storage"));
    recipe
}

impl Farm {
    pub(super) async fn submit_as(&self, asset: &str, recipe: Recipe) -> PipelineId {
        let done = self.store.submit(submission(asset, "v1"), recipe, [7; 16]).await;
        done.unwrap().pipeline
    }

    pub(super) async fn places(&self, capacity: Option<u32>) {
        let limit = Limit::Semaphore { name: name("licence.scan"), capacity };
        self.store.set_limit(limit, "ana", "bought").await.unwrap();
    }

    async fn held(&self) -> u32 {
        self.check().await;
        let limits = self.store.limits().await.unwrap();
        limits.semaphores.iter().map(|one| one.held).sum()
    }

    /// Claims the one job that waits.
    async fn hold(&self, worker: &SessionRecord) -> (crate::protocol::work::Assignment, Fence) {
        let job = self.claim(worker, 1).await.pop().unwrap();
        assert_eq!(self.held().await, 1);
        let fence = Fence { session: worker.id.clone(), epoch: job.epoch };
        (job, fence)
    }
}

#[tokio::test]
async fn every_way_a_lease_ends_gives_the_semaphore_back() {
    let mut farm = Farm::open();
    farm.places(Some(1)).await;
    let w1 = farm.worker("w1", &[]).await;
    let pipeline = farm.submit_as("dragon", licensed()).await;

    let (job, fence) = farm.hold(&w1).await;
    farm.store.release(job.job_id, &fence).await.unwrap();
    assert_eq!(farm.held().await, 0, "released before it began");

    let (job, fence) = farm.hold(&w1).await;
    farm.store.start(job.job_id, &fence).await.unwrap();
    assert_eq!(farm.held().await, 1);
    farm.store.release(job.job_id, &fence).await.unwrap();
    assert_eq!(farm.held().await, 0, "interrupted");

    farm.hold(&w1).await;
    farm.store.close_session(&w1.id, false).await.unwrap();
    assert_eq!(farm.held().await, 0, "the worker said goodbye");

    let w2 = farm.worker("w2", &[]).await;
    let (job, fence) = farm.hold(&w2).await;
    let failure = Failure::new(Reason::NetworkError, "once");
    farm.store.fail(job.job_id, &fence, failure).await.unwrap();
    assert_eq!(farm.held().await, 0, "failed, runs again");
    farm.pass_ms(60_000);
    farm.store.promote_due().await.unwrap();

    farm.hold(&w2).await;
    farm.store.close_session(&w2.id, true).await.unwrap();
    assert_eq!(farm.held().await, 0, "the worker was lost");
    farm.pass_ms(60_000);
    farm.store.promote_due().await.unwrap();

    let w3 = farm.worker("w3", &[]).await;
    farm.hold(&w3).await;
    farm.store.cancel_pipeline(pipeline, "ana", "no").await.unwrap();
    assert_eq!(farm.held().await, 0, "cancelled");

    farm.submit_as("gear", licensed()).await;
    let (job, fence) = farm.hold(&w3).await;
    farm.store.complete(job.job_id, &fence, result_of(&job)).await.unwrap_err();
    assert_eq!(farm.held().await, 1, "a refused report frees nothing");
    farm.store.start(job.job_id, &fence).await.unwrap();
    farm.store.complete(job.job_id, &fence, result_of(&job)).await.unwrap();
    assert_eq!(farm.held().await, 0, "completed");

    farm.submit_as("broken", licensed()).await;
    farm.control_queue_of_others().await;
    let (job, fence) = farm.hold(&w3).await;
    let failure = Failure::new(Reason::InputCorrupt, "broken");
    farm.store.fail(job.job_id, &fence, failure).await.unwrap();
    assert_eq!(farm.held().await, 0, "given up");
}

impl Farm {
    /// Leaves only ingest running, so that a claim gets what needs the semaphore.
    async fn control_queue_of_others(&self) {
        let queue = crate::model::Target::Queue { queue: "inspect".into() };
        self.store.set_control(queue, crate::model::Mode::Paused, "ana", "").await.unwrap();
    }
}

#[tokio::test]
async fn no_more_hold_a_semaphore_than_it_has_places_and_others_pass_by() {
    let mut farm = Farm::open();
    farm.places(Some(2)).await;
    let w1 = farm.worker("w1", &[]).await;
    for asset in ["a", "b", "c", "d"] {
        farm.submit_as(asset, licensed()).await;
    }
    farm.submit("free", "v1").await;
    let first = farm.claim(&w1, 10).await;
    let assets: Vec<_> = first.iter().map(|job| job.asset.as_str().to_owned()).collect();
    assert_eq!(assets, ["a", "b", "free"], "the full semaphore holds back its own jobs only");
    assert_eq!(farm.held().await, 2);
    let fence = Fence { session: w1.id.clone(), epoch: first[0].epoch };
    farm.store.release(first[0].job_id, &fence).await.unwrap();
    assert_eq!(farm.claim(&w1, 10).await.len(), 1, "one place is free again");
    assert_eq!(farm.held().await, 2);
}

#[tokio::test]
async fn a_semaphore_without_a_limit_has_holders_that_count_once_it_gets_one() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    for asset in ["a", "b", "c"] {
        farm.submit_as(asset, licensed()).await;
    }
    assert_eq!(farm.claim(&w1, 2).await.len(), 2);
    assert_eq!(farm.held().await, 2);
    farm.places(Some(1)).await;
    assert!(farm.claim(&w1, 1).await.is_empty(), "two hold it, one may");
    farm.places(None).await;
    assert_eq!(farm.claim(&w1, 1).await.len(), 1);
    farm.check().await;
}

#[tokio::test]
async fn a_zombie_frees_nothing_that_its_successor_holds() {
    let mut farm = Farm::open();
    farm.places(Some(1)).await;
    let zombie = farm.worker("w1", &[]).await;
    farm.submit_as("dragon", licensed()).await;
    let (job, old) = farm.begin(&zombie).await;
    farm.store.close_session(&zombie.id, true).await.unwrap();
    farm.pass_ms(60_000);
    farm.store.promote_due().await.unwrap();
    let other = farm.worker("w2", &[]).await;
    farm.hold(&other).await;
    assert!(farm.store.release(job.job_id, &old).await.is_err());
    let own = Fence { session: other.id.clone(), ..old };
    assert!(matches!(farm.store.release(job.job_id, &own).await, Err(StoreError::Superseded(_))));
    assert_eq!(farm.held().await, 1);
}

#[tokio::test]
async fn a_rate_lets_its_burst_through_and_then_one_as_each_token_comes() {
    let mut farm = Farm::open();
    let limit = Limit::Rate { name: name("storage"), per_minute: Some(6), burst: 2 };
    farm.store.set_limit(limit, "ana", "").await.unwrap();
    let w1 = farm.worker("w1", &[]).await;
    for asset in ["a", "b", "c", "d"] {
        farm.submit_as(asset, rated()).await;
    }
    assert_eq!(farm.claim(&w1, 10).await.len(), 2, "the burst");
    farm.pass_ms(9_999);
    assert!(farm.claim(&w1, 10).await.is_empty());
    farm.pass_ms(1);
    assert_eq!(farm.claim(&w1, 10).await.len(), 1, "six a minute is one in ten seconds");
    let rates = farm.store.limits().await.unwrap().rates;
    assert_eq!((rates[0].tokens, rates[0].per_minute), (0, 6));
    farm.store.close().await;
    farm.reopen();
    assert!(farm.claim(&w1, 10).await.is_empty(), "a restart fills no bucket");
    let none = Limit::Rate { name: name("storage"), per_minute: None, burst: 1 };
    farm.store.set_limit(none, "ana", "").await.unwrap();
    assert_eq!(farm.claim(&w1, 10).await.len(), 1);
    farm.check().await;
}

#[tokio::test]
async fn a_stage_that_names_no_limit_is_of_the_plain_class() {
    let farm = Farm::open();
    farm.submit("dragon", "v1").await;
    farm.submit_as("gear", licensed()).await;
    let stages = licensed().stages;
    assert!(stages[1..].iter().all(|rule| rule.semaphores.is_empty()));
    assert_eq!(stages[0].stage, Stage::Ingest);
    let db = rusqlite::Connection::open(farm.folder.path().join("sawah.db")).unwrap();
    let classes: Vec<i64> = db
        .prepare("SELECT class FROM job ORDER BY id")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(classes, [0, 2]);
}
