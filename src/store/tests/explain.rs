//! The explanation says for each rule what the claim does by it.

use super::semaphores::{licensed, name, rated};
use super::{Farm, result_of};
use crate::model::{JobId, Mode, Reason, Target, limits};
use crate::protocol::control::Limit;
use crate::protocol::why::{Why, WhyCode};
use crate::protocol::work::Failure;
use crate::store::{SessionRecord, StoreError};

impl Farm {
    async fn why(&self, job: JobId) -> Why {
        self.store.explain(job).await.unwrap()
    }

    async fn first_job(&self, pipeline: crate::model::PipelineId) -> JobId {
        self.store.pipeline(pipeline).await.unwrap().jobs[0].job.id
    }

    /// The reasons, after checking that a claim agrees with them.
    async fn codes(&self, job: JobId, worker: &SessionRecord) -> Vec<WhyCode> {
        let why = self.why(job).await;
        let codes: Vec<_> = why.reasons.iter().map(|reason| reason.code).collect();
        let own = why.workers.iter().find(|one| one.worker == worker.worker).unwrap();
        let free = codes == [WhyCode::InLine] && own.reasons.is_empty();
        let before = self.store.job(job).await.unwrap().job.state;
        let got = self.claim(worker, 64).await;
        assert_eq!(got.iter().any(|one| one.job_id == job), free, "{before}: {why:#?}");
        for one in got {
            let fence =
                crate::protocol::work::Fence { session: worker.id.clone(), epoch: one.epoch };
            self.store.release(one.job_id, &fence).await.unwrap();
        }
        codes
    }

    async fn mode(&self, target: Target, mode: Mode) {
        self.store.set_control(target, mode, "ana", "").await.unwrap();
    }
}

#[tokio::test]
async fn what_operators_stopped_is_said_the_widest_first() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    let job = farm.first_job(farm.submit("dragon", "v1").await.pipeline).await;
    assert_eq!(farm.codes(job, &w1).await, [WhyCode::InLine]);
    let ingest = || Target::Queue { queue: "ingest".into() };
    farm.mode(ingest(), Mode::Paused).await;
    assert_eq!(farm.codes(job, &w1).await, [WhyCode::QueuePaused]);
    farm.mode(ingest(), Mode::Draining).await;
    farm.mode(Target::Farm, Mode::Paused).await;
    assert_eq!(farm.codes(job, &w1).await, [WhyCode::FarmPaused, WhyCode::QueueDraining]);
    farm.mode(Target::Farm, Mode::Draining).await;
    farm.mode(ingest(), Mode::Running).await;
    assert_eq!(farm.codes(job, &w1).await, [WhyCode::FarmDraining]);
    let why = farm.why(job).await;
    assert!(why.reasons[0].message.contains("sawah resume"), "what to do is said: {why:?}");
    assert_eq!(why.position, None);
}

#[tokio::test]
async fn a_full_semaphore_names_its_holders() {
    let mut farm = Farm::open();
    let (w1, w2) = (farm.worker("w1", &[]).await, farm.worker("w2", &[]).await);
    farm.places(Some(1)).await;
    farm.submit_as("a", licensed()).await;
    let (held, fence) = farm.begin(&w2).await;
    let job = farm.first_job(farm.submit_as("b", licensed()).await).await;
    assert_eq!(farm.codes(job, &w1).await, [WhyCode::SemaphoreFull]);
    let reason = farm.why(job).await.reasons.remove(0);
    assert_eq!((reason.holders[0].job, reason.holders[0].worker.as_str()), (held.job_id, "w2"));
    for word in ["licence.scan", "w2", &held.job_id.to_string()] {
        assert!(reason.message.contains(word), "{word}: {}", reason.message);
    }
    farm.store.complete(held.job_id, &fence, result_of(&held)).await.unwrap();
    assert_eq!(farm.codes(job, &w1).await, [WhyCode::InLine]);
}

#[tokio::test]
async fn a_rate_says_when_its_next_token_comes_and_it_does() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    let limit = Limit::Rate { name: name("storage"), per_minute: Some(2), burst: 1 };
    farm.store.set_limit(limit, "ana", "").await.unwrap();
    farm.submit_as("a", rated()).await;
    farm.begin(&w1).await;
    let job = farm.first_job(farm.submit_as("b", rated()).await).await;
    assert_eq!(farm.codes(job, &w1).await, [WhyCode::RateLimited]);
    let until_ms = farm.why(job).await.reasons[0].until_ms.unwrap();
    let now_ms = crate::clock::Clock::now(&*farm.clock).wall_ms;
    assert_eq!(until_ms - now_ms, 30_000);
    farm.pass_ms(30_000);
    let why = farm.why(job).await;
    assert_eq!(why.reasons[0].code, WhyCode::InLine);
    assert_eq!(farm.claim(&w1, 1).await[0].job_id, job);
}

#[tokio::test]
async fn a_retry_says_when_it_is_due_and_what_will_hold_it_then() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    let (job, fence) = farm.begin(&w1).await;
    let failure = Failure::new(Reason::NetworkError, "once");
    farm.store.fail(job.job_id, &fence, failure).await.unwrap();
    farm.mode(Target::Farm, Mode::Paused).await;
    let codes = farm.codes(job.job_id, &w1).await;
    assert_eq!(codes, [WhyCode::RetryNotDue, WhyCode::FarmPaused]);
    let due = farm.store.job(job.job_id).await.unwrap().job.run_at_ms;
    assert_eq!(farm.why(job.job_id).await.reasons[0].until_ms, due);
}

#[tokio::test]
async fn a_quota_that_is_used_up_is_said() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    let limit = Limit::Project { name: name("default"), weight: 1, quota: Some(1) };
    farm.store.set_limit(limit, "ana", "").await.unwrap();
    farm.submit("a", "v1").await;
    farm.begin(&w1).await;
    let job = farm.first_job(farm.submit("b", "v1").await.pipeline).await;
    assert_eq!(farm.codes(job, &w1).await, [WhyCode::QuotaUsed]);
}

#[tokio::test]
async fn each_worker_has_its_own_reasons() {
    let mut farm = Farm::open();
    let job = farm.first_job(farm.submit("dragon", "v1").await.pipeline).await;
    let codes: Vec<_> = farm.why(job).await.reasons.iter().map(|one| one.code).collect();
    assert_eq!(codes, [WhyCode::NoWorker, WhyCode::InLine]);
    let w1 = farm.worker("w1", &[]).await;
    let (drains, paused) = (farm.worker("w2", &[]).await, farm.worker("w3", &[]).await);
    farm.mode(Target::Worker { worker: "w2".into() }, Mode::Draining).await;
    farm.mode(Target::Worker { worker: "w3".into() }, Mode::Paused).await;
    let other = farm.first_job(farm.submit("gear", "v1").await.pipeline).await;
    farm.begin(&w1).await;
    let why = farm.why(other).await;
    let said: Vec<_> = why
        .workers
        .iter()
        .map(|one| {
            (one.worker.as_str(), one.reasons.iter().map(|one| one.code).collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(
        said,
        [
            ("w1", vec![WhyCode::SlotsBusy]),
            ("w2", vec![WhyCode::WorkerDraining]),
            ("w3", vec![WhyCode::WorkerPaused]),
        ]
    );
    for worker in [&drains, &paused] {
        assert_eq!(farm.codes(other, worker).await, [WhyCode::InLine]);
    }
}

#[tokio::test]
async fn what_keeps_a_retry_and_who_is_in_quarantine_is_said() {
    let mut farm = Farm::open();
    let (w1, w2) = (farm.worker("w1", &[]).await, farm.worker("w2", &[]).await);
    let crash = || Failure::new(Reason::ProcessCrashed, "signal 11");
    let mut jobs = Vec::new();
    for (asset, worker) in [("a", &w2), ("b", &w1), ("c", &w1), ("d", &w1)] {
        farm.submit(asset, "v1").await;
        let (job, fence) = farm.begin(worker).await;
        farm.store.fail(job.job_id, &fence, crash()).await.unwrap();
        jobs.push(job.job_id);
    }
    farm.pass_ms(11_000);
    farm.store.promote_due().await.unwrap();
    let of = |why: &Why, name: &str| -> Vec<WhyCode> {
        let one = why.workers.iter().find(|one| one.worker == name).unwrap();
        one.reasons.iter().map(|one| one.code).collect()
    };
    let why = farm.why(jobs[0]).await;
    assert_eq!(of(&why, &w1.worker), [WhyCode::Quarantined]);
    assert!(of(&why, &w2.worker).is_empty(), "w1 will not take it");
    farm.store.forgive(&w1.worker, "ana", "").await.unwrap();
    let why = farm.why(jobs[0]).await;
    assert!(of(&why, &w1.worker).is_empty());
    assert_eq!(of(&why, &w2.worker), [WhyCode::FailedHere]);
    farm.begin(&w1).await;
    let codes: Vec<_> = farm.why(jobs[3]).await.reasons.iter().map(|one| one.code).collect();
    assert_eq!(codes, [WhyCode::RetriesAtOnce], "one of two slots");
}

#[tokio::test]
async fn the_preference_for_a_gpu_says_until_when() {
    let mut farm = Farm::open();
    let (plain, gpu) = (farm.worker("plain", &[]).await, farm.worker("gpu", &["card"]).await);
    farm.submit("dragon", "v1").await;
    for _ in 0..3 {
        farm.finish_one(&plain).await.unwrap();
    }
    let page = crate::store::Page { before: None, limit: 10 };
    let waiting = farm.store.jobs(Some(crate::model::JobState::Queued), page).await.unwrap();
    let why = farm.why(waiting[0].id).await;
    let of = |name: &str| why.workers.iter().find(|one| one.worker == name).unwrap();
    assert!(of(&gpu.worker).reasons.is_empty());
    let reason = &of(&plain.worker).reasons[0];
    let now_ms = crate::clock::Clock::now(&*farm.clock).wall_ms;
    assert_eq!(reason.code, WhyCode::GpuPreferred);
    assert_eq!(reason.until_ms, Some(now_ms + limits::GPU_PREFERENCE_MS));
    farm.pass_ms(limits::GPU_PREFERENCE_MS);
    let why = farm.why(waiting[0].id).await;
    assert!(why.workers.iter().all(|one| one.reasons.is_empty()), "{why:#?}");
}

#[tokio::test]
async fn the_place_in_line_is_the_order_of_the_claims() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    farm.places(Some(0)).await;
    farm.submit_as("held", licensed()).await;
    for asset in ["a", "b", "c"] {
        farm.submit(asset, "v1").await;
    }
    let page = crate::store::Page { before: None, limit: 10 };
    let jobs = farm.store.jobs(None, page).await.unwrap();
    let mut places = std::collections::BTreeMap::new();
    for job in &jobs {
        places.insert(farm.why(job.id).await.position, job.id);
    }
    let places: Vec<_> =
        places.into_iter().filter_map(|(at, job)| at.map(|at| (at, job))).collect();
    assert_eq!(places.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1, 2, 3]);
    for (_, job) in places {
        assert_eq!(farm.why(job).await.position, Some(1));
        assert!(farm.why(job).await.reasons[0].message.contains("next in line"));
        assert_eq!(farm.claim(&w1, 1).await[0].job_id, job);
    }
}

#[tokio::test]
async fn what_runs_and_what_has_ended_says_so() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    let (job, fence) = farm.begin(&w1).await;
    let why = farm.why(job.job_id).await;
    assert_eq!((why.reasons[0].code, why.workers.len()), (WhyCode::Runs, 0));
    assert!(why.reasons[0].message.contains("w1"));
    farm.store.complete(job.job_id, &fence, result_of(&job)).await.unwrap();
    let why = farm.why(job.job_id).await;
    assert_eq!(why.reasons[0].code, WhyCode::Ended);
    assert!(why.reasons[0].message.contains("succeeded"));
    let nothing = farm.store.explain(JobId(999)).await;
    assert!(matches!(nothing, Err(StoreError::NotFound(_))), "{nothing:?}");
}
