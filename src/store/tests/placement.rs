//! Replays with other requirements, for one worker, or not for one; only what is missing.

use super::{Farm, capabilities, recipe, result_of};
use crate::model::{JobId, JobState, Reason, Requirements, SessionId, Stage};
use crate::protocol::dead::{DeadLetterFilter, Edit, ReplayBatch};
use crate::protocol::why::{Why, WhyCode};
use crate::protocol::work::{Capabilities, Failure, Fence, Program};
use crate::store::{Page, SessionRecord, StoreError};

const ALL: Page = Page { before: None, limit: 100 };

impl Farm {
    /// A worker on this machine.
    async fn machine(&mut self, name: &str, capabilities: Capabilities) -> SessionRecord {
        self.sessions += 1;
        let session = SessionId::from_random([self.sessions; 16]);
        let instance = format!("folder of {name}");
        self.store.open_session(session, name.into(), instance, capabilities).await.unwrap()
    }

    /// The dead letter of a new pipeline that failed at once.
    async fn dead(&self, worker: &SessionRecord, asset: &str) -> JobId {
        self.submit(asset, "x").await;
        self.fail_next(worker, Failure::new(Reason::InputCorrupt, "no end")).await;
        self.store.dead_letters(false, ALL).await.unwrap()[0].job
    }

    async fn replay_with(&self, job: JobId, edit: Edit) -> Result<JobId, StoreError> {
        self.store.replay_edited(job, edit, "ana", "on another machine").await
    }

    async fn why_now(&self, job: JobId) -> Why {
        self.store.explain(job).await.unwrap()
    }
}

fn codes_of(why: &Why, worker: &str) -> Vec<WhyCode> {
    let one = why.workers.iter().find(|one| one.worker == worker).unwrap();
    one.reasons.iter().map(|one| one.code).collect()
}

fn codes(why: &Why) -> Vec<WhyCode> {
    why.reasons.iter().map(|one| one.code).collect()
}

#[tokio::test]
async fn a_replay_for_one_worker_is_claimed_by_that_worker_only() {
    let mut farm = Farm::open();
    let (w1, w2) = (farm.worker("w1", &[]).await, farm.worker("w2", &[]).await);
    let dead = farm.dead(&w1, "dragon").await;
    let edit = Edit { only_worker: Some("w2".into()), ..Edit::default() };
    let new = farm.replay_with(dead, edit).await.unwrap();
    assert!(farm.claim_among(&w1, 9, &[&w1, &w2]).await.is_empty());
    let why = farm.why_now(new).await;
    assert_eq!(codes_of(&why, "w1"), [WhyCode::NotTarget]);
    assert!(codes_of(&why, "w2").is_empty());
    // A failure there is tried there again at once: there is no other to leave it to.
    let job = farm.claim_among(&w2, 9, &[&w1, &w2]).await.remove(0);
    assert_eq!(job.job_id, new);
    farm.fail(&w2, &job, Failure::new(Reason::ProcessCrashed, "signal 11")).await;
    farm.pass_ms(11_000);
    farm.store.promote_due().await.unwrap();
    assert!(farm.claim_among(&w1, 9, &[&w1, &w2]).await.is_empty());
    assert_eq!(farm.claim_among(&w2, 9, &[&w1, &w2]).await[0].job_id, new);
    farm.check().await;
}

#[tokio::test]
async fn a_target_worker_that_is_away_is_said_and_waited_for() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    let dead = farm.dead(&w1, "dragon").await;
    let edit = Edit { only_worker: Some("render-09".into()), ..Edit::default() };
    let new = farm.replay_with(dead, edit).await.unwrap();
    let why = farm.why_now(new).await;
    assert_eq!(why.reasons[0].code, WhyCode::TargetAway);
    assert!(why.reasons[0].message.contains("render-09"), "{why:?}");
    assert!(farm.claim(&w1, 9).await.is_empty());
    let target = farm.worker("render-09", &[]).await;
    assert_eq!(codes(&farm.why_now(new).await), [WhyCode::InLine]);
    assert_eq!(farm.claim(&target, 9).await[0].job_id, new);
}

#[tokio::test]
async fn a_worker_that_a_replay_excludes_never_gets_it() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    let dead = farm.dead(&w1, "dragon").await;
    let edit = Edit { not_worker: Some("w1".into()), ..Edit::default() };
    let new = farm.replay_with(dead, edit).await.unwrap();
    farm.pass_ms(3_600_000);
    assert!(farm.claim(&w1, 9).await.is_empty(), "not even where nobody else is");
    assert_eq!(codes_of(&farm.why_now(new).await, "w1"), [WhyCode::Excluded]);
    let w2 = farm.worker("w2", &[]).await;
    let job = farm.claim(&w2, 9).await.remove(0);
    assert_eq!(job.job_id, new);
    // A replay of the replay can take the exclusion back.
    farm.fail(&w2, &job, Failure::new(Reason::InputCorrupt, "no end")).await;
    let edit = Edit { not_worker: Some(String::new()), ..Edit::default() };
    let again = farm.replay_with(new, edit).await.unwrap();
    assert_eq!(farm.claim(&w1, 9).await[0].job_id, again);
    farm.check().await;
}

#[tokio::test]
async fn a_replay_with_other_requirements_runs_where_they_are_met() {
    let mut farm = Farm::open();
    let small = farm.worker("small", &[]).await;
    let machine = Capabilities {
        cores: 32,
        memory_bytes: 64 << 30,
        programs: vec![Program { name: "ffmpeg".into(), version: "7".into() }],
        ..capabilities(&["card"])
    };
    let dead = farm.dead(&small, "dragon").await;
    let requires = Requirements {
        cores: Some(16),
        memory_mib: Some(32 << 10),
        gpu: Some(true),
        programs: Some(["ffmpeg".parse().unwrap()].into()),
        sees: None,
    };
    let edit = Edit { requires: Some(requires), ..Edit::default() };
    let new = farm.replay_with(dead, edit).await.unwrap();
    assert!(farm.claim(&small, 9).await.is_empty());
    let large = farm.machine("large", machine).await;
    let why = farm.why_now(new).await;
    let lacks =
        [WhyCode::LacksCores, WhyCode::LacksMemory, WhyCode::LacksGpu, WhyCode::LacksProgram];
    assert_eq!(codes_of(&why, "small"), lacks);
    assert!(codes_of(&why, "large").is_empty());
    assert_eq!(farm.claim(&large, 9).await[0].job_id, new);
    farm.check().await;
}

#[tokio::test]
async fn why_no_worker_is_capable_names_the_requirement() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    let mut wanting = recipe();
    wanting.stages[0].requires.memory_mib = Some(99_000);
    let pipeline = farm.submit_as("dragon", wanting).await;
    let job = farm.store.pipeline(pipeline).await.unwrap().jobs[0].job.id;
    assert!(farm.claim(&w1, 9).await.is_empty());
    let why = farm.why_now(job).await;
    assert_eq!(why.reasons[0].code, WhyCode::NoCapableWorker);
    for word in ["99000 MiB", "w1", "1024"] {
        assert!(why.reasons[0].message.contains(word), "{word}: {}", why.reasons[0].message);
    }
    assert_eq!(codes_of(&why, "w1"), [WhyCode::LacksMemory]);
    farm.machine("w2", Capabilities { memory_bytes: 128 << 30, ..capabilities(&[]) }).await;
    assert_eq!(codes(&farm.why_now(job).await), [WhyCode::InLine]);
}

#[tokio::test]
async fn an_edit_that_no_worker_could_satisfy_is_refused() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    let dead = farm.dead(&w1, "dragon").await;
    let name = || Some("w1".to_owned());
    let both = Edit { only_worker: name(), not_worker: name(), ..Edit::default() };
    let long = Edit { only_worker: Some("x".repeat(129)), ..Edit::default() };
    for edit in [both, long] {
        let refused = farm.replay_with(dead, edit).await;
        assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    }
    assert_eq!(farm.store.dead_letters(false, ALL).await.unwrap().len(), 1);
}

#[tokio::test]
async fn one_letter_is_replayed_and_dismissed_with_a_reason_only() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    let dead = farm.dead(&w1, "dragon").await;
    for reason in ["", " \n"] {
        let replayed = farm.store.replay(dead, "ana", reason).await;
        assert!(matches!(replayed, Err(StoreError::Invalid(_))), "{replayed:?}");
        let dismissed = farm.store.dismiss(dead, "ana", reason).await;
        assert!(matches!(dismissed, Err(StoreError::Invalid(_))), "{dismissed:?}");
    }
    assert_eq!(farm.store.dead_letters(false, ALL).await.unwrap().len(), 1);
}

#[tokio::test]
async fn only_missing_replays_the_failed_chunks_of_a_pipeline_and_no_other() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &["card"]).await;
    let pipeline = farm.submit("dragon", "x").await.pipeline;
    for _ in 0..3 {
        farm.finish_one(&worker).await.unwrap();
    }
    // Three parts of render: one is made, two fail, one of these is dismissed.
    assert_eq!(farm.finish_one(&worker).await, Some(Stage::Render));
    let broken = || Failure::new(Reason::InputCorrupt, "no end");
    for _ in 0..2 {
        assert_eq!(farm.fail_next(&worker, broken()).await, JobState::FailedTerminal);
    }
    let letters = farm.store.dead_letters(false, ALL).await.unwrap();
    farm.store.dismiss(letters[0].job, "ana", "by mistake").await.unwrap();
    farm.dead(&worker, "other").await;
    let filter = DeadLetterFilter {
        pipeline: Some(pipeline),
        only_missing: true,
        ..DeadLetterFilter::default()
    };
    let order = |filter: DeadLetterFilter| ReplayBatch {
        actor: "ana".into(),
        reason: "storage is back".into(),
        filter,
        edit: Edit::default(),
        dry_run: false,
    };
    let reply = farm.store.replay_many(order(filter.clone())).await.unwrap();
    assert_eq!((reply.matched, reply.done, reply.refused), (2, 2, 0), "{reply:?}");
    let twice = farm.store.replay_many(order(filter.clone())).await.unwrap();
    assert_eq!(twice.matched, 0, "they are on their way");
    assert_eq!(farm.run_all(&worker).await.iter().filter(|one| **one == Stage::Render).count(), 2);
    let after = farm.store.replay_many(order(filter.clone())).await.unwrap();
    assert_eq!(after.matched, 0, "nothing is missing");
    let everywhere = DeadLetterFilter { pipeline: None, ..filter };
    let refused = farm.store.replay_many(order(everywhere)).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    farm.check().await;
}

#[tokio::test]
async fn an_edited_replay_of_publish_delivers_its_export_once() {
    let mut farm = Farm::open();
    let worker = farm.worker("w1", &[]).await;
    farm.submit("dragon", "x").await;
    let dead = loop {
        let (job, fence) = farm.begin(&worker).await;
        if job.stage == Stage::Publish {
            let broken = Failure::new(Reason::InputCorrupt, "no end");
            farm.store.fail(job.job_id, &fence, broken).await.unwrap();
            break job.job_id;
        }
        farm.store.complete(job.job_id, &fence, result_of(&job)).await.unwrap();
    };
    let edit = Edit {
        only_worker: Some("w1".into()),
        requires: Some(Requirements { cores: Some(1), ..Requirements::default() }),
        ..Edit::default()
    };
    let new = farm.replay_with(dead, edit.clone()).await.unwrap();
    let (job, fence) = farm.begin(&worker).await;
    assert_eq!(job.job_id, new);
    farm.store.complete(new, &fence, result_of(&job)).await.unwrap();
    let export = farm.store.pending_exports(9).await.unwrap().remove(0);
    farm.store.export_done(export.id, "/published/here").await.unwrap();
    for job in [dead, new] {
        let again = farm.replay_with(job, edit.clone()).await;
        assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    }
    farm.run_all(&worker).await;
    assert!(farm.store.pending_exports(9).await.unwrap().is_empty());
    farm.check().await;
}

#[tokio::test]
async fn classes_that_no_live_job_has_make_room_for_new_ones() {
    let mut farm = Farm::open();
    let w1 = farm.worker("w1", &[]).await;
    let db = rusqlite::Connection::open(farm.folder.path().join("sawah.db")).unwrap();
    let known = || -> u32 {
        db.query_row("SELECT count(*) FROM resource_class", [], |row| row.get(0)).unwrap()
    };
    let mut dead = farm.dead(&w1, "dragon").await;
    for number in 0..1_003_u32 {
        let edit = Edit { not_worker: Some(format!("away-{number}")), ..Edit::default() };
        let new = farm.replay_with(dead, edit).await.unwrap();
        let job = farm.claim(&w1, 1).await.remove(0);
        let fence = Fence { session: w1.id.clone(), epoch: job.epoch };
        let broken = Failure::new(Reason::InputCorrupt, "no end");
        farm.store.fail(new, &fence, broken).await.unwrap();
        dead = new;
    }
    assert!(known() < 1_003, "{}", known());
    assert!(farm.store.explain(dead).await.is_ok(), "its class may be forgotten");
}
