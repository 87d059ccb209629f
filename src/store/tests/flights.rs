//! Alike jobs: one runs for all, and nothing waits for one that no longer runs.

use super::{Farm, recipe, result_of, submission};
use crate::model::{JobId, JobState, PipelineId, PipelineStatus, Reason, Stage};
use crate::protocol::view::AttemptOutcome;
use crate::protocol::why::WhyCode;
use crate::protocol::work::{Failure, Fence, Warning};
use crate::store::{Page, SessionRecord, StoreError};
use std::collections::BTreeMap;

impl Farm {
    /// Submits one content under a name of its own.
    async fn submit_alike(&self, asset: &str) -> PipelineId {
        let mut alike = submission(asset, "the same");
        alike.main_file = "crate.glb".into();
        alike.files[0].name = "crate.glb".into();
        self.store.submit(alike, recipe(), [7; 16]).await.unwrap().pipeline
    }

    /// Runs every job of the stages before `stage`.
    async fn run_up_to(&self, worker: &SessionRecord, stage: Stage) {
        let mut later = Vec::new();
        while let Some(job) = self.claim(worker, 1).await.pop() {
            let fence = Fence { session: worker.id.clone(), epoch: job.epoch };
            if job.stage >= stage {
                later.push((job.job_id, fence));
            } else {
                self.store.start(job.job_id, &fence).await.unwrap();
                self.store.complete(job.job_id, &fence, result_of(&job)).await.unwrap();
            }
        }
        for (job, fence) in later {
            self.store.release(job, &fence).await.unwrap();
        }
    }

    /// Attempts that ran, by stage.
    fn attempts(&self) -> BTreeMap<Stage, u32> {
        let db = rusqlite::Connection::open(self.folder.path().join("sawah.db")).unwrap();
        let mut query = db
            .prepare(
                "SELECT j.stage, count(*) FROM attempt a JOIN job j ON j.id = a.job GROUP BY stage",
            )
            .unwrap();
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    async fn states(&self, stage: Stage) -> Vec<JobState> {
        let jobs = self.store.jobs(None, Page { before: None, limit: 1_000 }).await.unwrap();
        jobs.iter().filter(|job| job.stage == stage).map(|job| job.state).collect()
    }

    /// The first waiting job of a stage that an alike one keeps back.
    async fn kept_back(&self, stage: Stage) -> Option<JobId> {
        let all = Page { before: None, limit: 1_000 };
        for job in self.store.jobs(Some(JobState::Queued), all).await.unwrap() {
            let why = self.store.explain(job.id).await.unwrap();
            let held = why.reasons.iter().any(|reason| reason.code == WhyCode::AlikeRuns);
            if job.stage == stage && held {
                return Some(job.id);
            }
        }
        None
    }

    async fn verified(&self) {
        assert_eq!(self.store.verify().await.unwrap(), Vec::<String>::new());
        self.check().await;
    }
}

/// Two alike transforms are ready.
async fn two_alike() -> (Farm, SessionRecord) {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit_alike("crate").await;
    farm.submit_alike("chest").await;
    farm.run_up_to(&worker, Stage::Transform).await;
    (farm, worker)
}

#[tokio::test]
async fn mass_cache_miss() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    for number in 0..200 {
        farm.submit_alike(&format!("crate-{number}")).await;
    }
    farm.run_all(&worker).await;
    let all = Page { before: None, limit: 200 };
    let pipelines = farm.store.pipelines(all).await.unwrap();
    assert_eq!(pipelines.len(), 200);
    assert!(pipelines.iter().all(|one| one.status == PipelineStatus::Succeeded));
    let attempts = farm.attempts();
    assert_eq!(attempts[&Stage::Transform], 1, "one computation for all");
    assert_eq!(attempts[&Stage::Render], 3, "the still and each run of frames once");
    assert_eq!(attempts[&Stage::Assemble], 1);
    assert_eq!(attempts[&Stage::Publish], 200, "each is verified and published by itself");
    assert_eq!(farm.store.verify().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_result_that_is_there_needs_no_attempt() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit_alike("crate").await;
    farm.run_all(&worker).await;
    let later = farm.submit_alike("chest").await;
    let seen = farm.run_all(&worker).await;
    assert!(!seen.contains(&Stage::Render), "{seen:?}");
    let detail = farm.store.pipeline(later).await.unwrap();
    let still = detail.jobs.iter().find(|job| job.job.stage == Stage::Render).unwrap();
    assert!(still.attempts.is_empty() && still.reused_from.is_some());
    assert!(!still.outputs.is_empty(), "the outputs are its own rows");
    assert!(detail.pipeline.still.is_some(), "the picture stands for the pipeline");
    farm.verified().await;
}

#[tokio::test]
async fn alike_jobs_of_one_claim_run_once() {
    let (farm, worker) = two_alike().await;
    assert_eq!(farm.claim(&worker, 8).await.len(), 1);
    assert!(farm.kept_back(Stage::Transform).await.is_some());
    farm.verified().await;
}

/// Two alike transforms, of which the first runs: the explanation of the second names it.
async fn one_runs_one_waits() -> (Farm, SessionRecord, JobId, Fence) {
    let (farm, worker) = two_alike().await;
    let (job, fence) = farm.begin(&worker).await;
    let held = farm.kept_back(Stage::Transform).await.expect("the other one waits");
    let why = farm.store.explain(held).await.unwrap();
    assert!(why.reasons[0].message.contains(&format!("job {}", job.job_id)), "{why:?}");
    assert!(farm.claim(&worker, 8).await.is_empty(), "nothing else is ready");
    (farm, worker, job.job_id, fence)
}

#[tokio::test]
async fn waiters_are_released_when_the_builder_fails() {
    let (farm, worker, job, fence) = one_runs_one_waits().await;
    let crash = Failure::new(Reason::ProcessCrashed, "it crashed");
    farm.store.fail(job, &fence, crash).await.unwrap();
    assert_eq!(farm.kept_back(Stage::Transform).await, None);
    assert_eq!(farm.claim(&worker, 8).await.len(), 1, "the other one goes on");
    farm.verified().await;
}

#[tokio::test]
async fn waiters_are_released_when_the_builder_is_cancelled_or_given_back() {
    let (farm, worker, job, fence) = one_runs_one_waits().await;
    farm.store.release(job, &fence).await.unwrap();
    assert_eq!(farm.kept_back(Stage::Transform).await, None);
    let (again, _) = farm.begin(&worker).await;
    let pipeline = farm.store.job(again.job_id).await.unwrap().job.pipeline;
    assert!(farm.kept_back(Stage::Transform).await.is_some());
    farm.store.cancel_pipeline(pipeline, "ana", "enough").await.unwrap();
    assert_eq!(farm.kept_back(Stage::Transform).await, None);
    assert_eq!(farm.claim(&worker, 8).await.len(), 1);
    farm.verified().await;
}

#[tokio::test]
async fn the_claim_of_a_builder_ends_with_its_lease() {
    let (mut farm, worker, job, fence) = one_runs_one_waits().await;
    farm.store.close_session(&worker.id, true).await.unwrap();
    let other = farm.worker("w2", &[]).await;
    let (second, _) = farm.begin(&other).await;
    assert_ne!(second.job_id, job);
    let late = farm.store.complete(job, &fence, result_of(&second)).await;
    assert!(matches!(late, Err(StoreError::UnknownSession)), "{late:?}");
    farm.verified().await;
}

#[tokio::test]
async fn a_retry_takes_the_result_that_was_made_meanwhile() {
    let (farm, worker, job, fence) = one_runs_one_waits().await;
    let crash = Failure::new(Reason::ProcessCrashed, "it crashed");
    farm.store.fail(job, &fence, crash).await.unwrap();
    farm.finish_one(&worker).await.unwrap();
    farm.pass_ms(3_600_000);
    assert_eq!(farm.store.promote_due().await.unwrap(), 1);
    farm.run_all(&worker).await;
    let retried = farm.store.job(job).await.unwrap();
    assert!(retried.job.state == JobState::Succeeded && retried.reused_from.is_some());
    let last = retried.attempts.last().map(|attempt| attempt.outcome);
    assert_eq!(last, Some(AttemptOutcome::Failed), "no attempt after that");
    farm.verified().await;
}

#[tokio::test]
async fn a_result_that_lacks_what_a_missing_program_makes_stands_for_itself() {
    let (farm, worker) = two_alike().await;
    let (job, fence) = farm.begin(&worker).await;
    let mut result = result_of(&job);
    let message = "ffmpeg is not installed".to_owned();
    result.report.warnings = vec![Warning { reason: Reason::ProgramMissing, message }];
    farm.store.complete(job.job_id, &fence, result).await.unwrap();
    let states = farm.states(Stage::Transform).await;
    assert!(states.contains(&JobState::Queued), "the other one runs itself: {states:?}");
    assert_eq!(farm.kept_back(Stage::Transform).await, None);
}

#[tokio::test]
async fn lost_bytes_are_made_again() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit_alike("crate").await;
    farm.run_all(&worker).await;
    farm.submit_alike("chest").await;
    farm.run_up_to(&worker, Stage::Publish).await;
    let lost = Failure::new(Reason::ArtifactMissing, "the store has lost still.png");
    farm.fail_next(&worker, lost).await;
    farm.submit_alike("box").await;
    farm.run_up_to(&worker, Stage::Transform).await;
    let (job, _) = farm.begin(&worker).await;
    assert_eq!(job.stage, Stage::Transform, "it is made again");
    farm.verified().await;
}

#[tokio::test]
async fn lock_lease_ends_in_mid_publish() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "v1").await;
    farm.submit("dragon", "v2").await;
    farm.run_up_to(&worker, Stage::Publish).await;
    let (first, lock) = farm.begin(&worker).await;
    assert_eq!(first.stage, Stage::Publish);
    let waits = farm.kept_back(Stage::Publish).await.expect("publishes of one asset take turns");
    let why = farm.store.explain(waits).await.unwrap();
    assert!(why.reasons[0].message.contains("publishes the same asset"), "{why:?}");
    // The holder's lease ends before it commits.
    farm.store.close_session(&worker.id, true).await.unwrap();
    let other = farm.worker("w2", &[]).await;
    let (second, fence) = farm.begin(&other).await;
    assert_eq!(second.job_id, waits);
    let late = farm.store.complete(first.job_id, &lock, result_of(&first)).await;
    assert!(matches!(late, Err(StoreError::UnknownSession)), "{late:?}");
    farm.store.complete(second.job_id, &fence, result_of(&second)).await.unwrap();
    farm.verified().await;
    // And the first one, in its next attempt, publishes on the pointers as they are now.
    farm.pass_ms(3_600_000);
    farm.store.promote_due().await.unwrap();
    farm.run_all(&other).await;
    let all = Page { before: None, limit: 10 };
    let pipelines = farm.store.pipelines(all).await.unwrap();
    assert!(pipelines.iter().all(|one| one.status == PipelineStatus::Succeeded), "{pipelines:?}");
    farm.verified().await;
}
