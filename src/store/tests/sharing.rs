//! Priorities, projects, quotas and admission.

use super::semaphores::name;
use super::{Farm, recipe, submission};
use crate::model::limits;
use crate::protocol::control::Limit;
use crate::protocol::submit::{SubmitOutcome, Submitted};
use crate::store::{Page, SessionRecord, StoreError};

impl Farm {
    async fn submit_for(
        &self,
        asset: &str,
        project: Option<&str>,
        priority: Option<u8>,
    ) -> Result<Submitted, StoreError> {
        let mut given = submission(asset, "v1");
        given.project = project.map(name);
        given.priority = priority;
        self.store.submit(given, recipe(), [7; 16]).await
    }

    async fn set_limit(&self, limit: Limit) {
        self.store.set_limit(limit, "ana", "").await.unwrap();
    }

    async fn claimed(&self, worker: &SessionRecord, max: u32) -> Vec<String> {
        let jobs = self.claim(worker, max).await;
        jobs.iter().map(|job| job.asset.as_str().to_owned()).collect()
    }
}

#[tokio::test]
async fn urgent_work_goes_first_and_every_stage_inherits_it() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    farm.submit_for("slow", None, Some(1)).await.unwrap();
    farm.submit_for("plain", None, None).await.unwrap();
    farm.submit_for("fast", None, Some(9)).await.unwrap();
    while farm.store.pending_exports(1).await.unwrap().is_empty() {
        assert_eq!(farm.claimed_and_done(&w1).await, "fast");
    }
    assert_eq!(farm.claimed(&w1, 9).await, ["plain", "slow"]);
    farm.check().await;
}

impl Farm {
    async fn claimed_and_done(&self, worker: &SessionRecord) -> String {
        let (job, fence) = self.begin(worker).await;
        self.store.complete(job.job_id, &fence, super::result_of(&job)).await.unwrap();
        job.asset.as_str().to_owned()
    }
}

#[tokio::test]
async fn a_job_that_waits_long_passes_those_that_are_more_urgent() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    farm.submit_for("old", None, Some(4)).await.unwrap();
    farm.pass_ms(limits::AGEING_MS * 2 - 1);
    farm.submit_for("new", None, Some(6)).await.unwrap();
    farm.submit_for("newer", None, Some(6)).await.unwrap();
    assert_eq!(farm.claimed(&w1, 1).await, ["new"]);
    farm.pass_ms(1);
    assert_eq!(farm.claimed(&w1, 1).await, ["old"]);
}

#[tokio::test]
async fn a_priority_above_nine_is_refused() {
    let farm = Farm::open();
    let refused = farm.submit_for("dragon", None, Some(10)).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
}

#[tokio::test]
async fn projects_share_by_weight_also_over_single_claims() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    farm.set_limit(Limit::Project { name: name("film"), weight: 3, quota: None }).await;
    for n in 0..12 {
        farm.submit_for(&format!("own-{n}"), None, Some(9)).await.unwrap();
        farm.submit_for(&format!("film-{n}"), Some("film"), Some(0)).await.unwrap();
    }
    let mut film = 0;
    for _ in 0..12 {
        let got = farm.claimed(&w1, 1).await;
        film += usize::from(got[0].starts_with("film"));
    }
    assert_eq!(film, 9, "three of four");
    farm.check().await;
}

#[tokio::test]
async fn a_project_runs_no_more_jobs_than_its_quota() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    farm.set_limit(Limit::Project { name: name("film"), weight: 1, quota: Some(2) }).await;
    for n in 0..4 {
        farm.submit_for(&format!("film-{n}"), Some("film"), None).await.unwrap();
    }
    farm.submit_for("own", None, None).await.unwrap();
    let mut got = farm.claimed(&w1, 10).await;
    got.sort();
    assert_eq!(got, ["film-0", "film-1", "own"]);
    assert!(farm.claimed(&w1, 10).await.is_empty());
    farm.store.close_session(&w1.id, false).await.unwrap();
    let w2 = farm.worker("w2", &[]).await;
    assert_eq!(farm.claimed(&w2, 10).await.len(), 3, "places are free again");
    farm.check().await;
}

#[tokio::test]
async fn a_full_queue_refuses_new_work_and_drops_none() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    farm.set_limit(Limit::Queue { queue: "ingest".into(), max_queued: Some(2) }).await;
    let first = farm.submit("a", "v1").await;
    farm.submit("b", "v1").await;
    let before = farm.all().await;
    let refused = farm.submit_for("c", Some("film"), None).await;
    let words = match refused {
        Err(error @ StoreError::QueueFull { queued: 2, max_queued: 2, .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(words.contains("ingest") && words.contains("limit is 2"), "{words}");
    assert_eq!(farm.all().await, before, "nothing of it stays");
    let again = farm.submit("a", "v1").await;
    assert_eq!((again.pipeline, again.outcome), (first.pipeline, SubmitOutcome::AlreadyRunning));
    assert_eq!(farm.claimed(&w1, 1).await, ["a"]);
    farm.submit_for("c", Some("film"), None).await.unwrap();
    let jobs = farm.store.jobs(None, Page { before: None, limit: 10 }).await.unwrap();
    assert_eq!(jobs.len(), 3);
    farm.check().await;
}

#[tokio::test]
async fn limits_that_make_no_sense_are_refused() {
    let farm = Farm::open();
    for limit in [
        Limit::Project { name: name("film"), weight: 0, quota: None },
        Limit::Project { name: name("film"), weight: limits::PROJECT_WEIGHT + 1, quota: None },
        Limit::Rate { name: name("storage"), per_minute: Some(1), burst: 0 },
        Limit::Queue { queue: "rendering".into(), max_queued: Some(1) },
    ] {
        let refused = farm.store.set_limit(limit.clone(), "ana", "").await;
        assert!(refused.is_err(), "{limit:?}");
    }
    for n in 1..limits::PROJECTS {
        let name = name(&format!("p{n}"));
        farm.set_limit(Limit::Project { name, weight: 1, quota: None }).await;
    }
    let one_more = farm.submit_for("dragon", Some("one-more"), None).await;
    assert!(matches!(one_more, Err(StoreError::Invalid(_))), "{one_more:?}");
    assert_eq!(farm.store.limits().await.unwrap().projects.len(), limits::PROJECTS as usize);
}
