//! Tests of the verbs on a real database, with a clock that the test moves.

mod controls;
mod crash_disk;
mod explain;
mod fencing;
mod flights;
mod model;
mod flow;
mod semaphores;
mod placement;
mod admission;
mod audit_export;
mod intents;
mod kept;
mod measured;
mod short_logs;
mod webhooks;
mod sharing;
mod dead_letters;
mod quarantine;
mod plans;
mod retries;
mod verified;
mod retry_policy;
mod submission_keys;
mod writing;

use super::{Page, SessionRecord, Store};
use crate::clock::Clock;
use crate::model::{AssetKind, Checksum, Epoch, JobId, JobState, Now, SessionId, Stage, state};
use crate::protocol::event::Change;
use crate::protocol::submit::{SourceFile, Submission, Submitted};
use crate::protocol::view::JobView;
use crate::protocol::work::{
    Assignment, Capabilities, Completion, Failure, Fence, OutputFile, StageReport,
};
use crate::recipes::{Library, Recipe};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// A clock that stands until it is moved.
pub(super) struct TestClock(Mutex<Now>);

impl Clock for TestClock {
    fn now(&self) -> Now {
        *self.0.lock().unwrap()
    }
}

/// A store in its own folder.
pub(super) struct Farm {
    pub(super) folder: TempDir,
    pub(super) clock: Arc<TestClock>,
    pub(super) store: Store,
    sessions: u8,
}

impl Farm {
    pub(super) fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let now = Now { wall_ms: 1_800_000_000_000, mono_ms: 0 };
        let clock = Arc::new(TestClock(Mutex::new(now)));
        let store = Store::open(folder.path(), Arc::clone(&clock) as Arc<dyn Clock>).unwrap();
        Self { folder, clock, store, sessions: 0 }
    }

    /// Opens the farm's folder again, after the store was closed.
    pub(super) fn reopen(&mut self) {
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        self.store = Store::open(self.folder.path(), clock).unwrap();
    }

    pub(super) fn pass_ms(&self, ms: i64) {
        let mut now = self.clock.0.lock().unwrap();
        now.wall_ms += ms;
        now.mono_ms += ms.unsigned_abs();
    }

    pub(super) async fn worker(&mut self, name: &str, gpus: &[&str]) -> SessionRecord {
        self.sessions += 1;
        let session = SessionId::from_random([self.sessions; 16]);
        let capabilities = capabilities(gpus);
        self.store
            .open_session(session, name.into(), format!("folder of {name}"), capabilities)
            .await
            .unwrap()
    }

    pub(super) async fn submit(&self, asset: &str, content: &str) -> Submitted {
        self.store.submit(submission(asset, content), recipe(), [7; 16]).await.unwrap()
    }

    pub(super) async fn claim(&self, worker: &SessionRecord, max: u32) -> Vec<Assignment> {
        self.store.claim(&worker.id, max, vec![worker.capabilities.clone()]).await.unwrap()
    }

    /// Claims while these workers live.
    pub(super) async fn claim_among(
        &self,
        worker: &SessionRecord,
        max: u32,
        live: &[&SessionRecord],
    ) -> Vec<Assignment> {
        let live: Vec<_> = live.iter().map(|record| record.capabilities.clone()).collect();
        self.store.claim(&worker.id, max, live).await.unwrap()
    }

    /// Claims one job and starts it.
    pub(super) async fn begin(&self, worker: &SessionRecord) -> (Assignment, Fence) {
        let job = self.claim(worker, 1).await.pop().expect("a job is ready");
        let fence = Fence { session: worker.id.clone(), epoch: job.epoch };
        self.store.start(job.job_id, &fence).await.unwrap();
        (job, fence)
    }

    /// Claims, starts and completes one job.
    pub(super) async fn finish_one(&self, worker: &SessionRecord) -> Option<Stage> {
        let job = self.claim(worker, 1).await.pop()?;
        let fence = Fence { session: worker.id.clone(), epoch: job.epoch };
        self.store.start(job.job_id, &fence).await.unwrap();
        self.store.complete(job.job_id, &fence, result_of(&job)).await.unwrap();
        Some(job.stage)
    }

    /// Runs whatever is ready until nothing is, exports included; returns the stages seen.
    pub(super) async fn run_all(&self, worker: &SessionRecord) -> Vec<Stage> {
        let mut seen = Vec::new();
        loop {
            for export in self.store.pending_exports(10).await.unwrap() {
                self.store.export_done(export.id, "/published/here").await.unwrap();
            }
            match self.finish_one(worker).await {
                Some(stage) => seen.push(stage),
                None => return seen,
            }
        }
    }

    /// Fails one claimed job.
    pub(super) async fn fail(
        &self,
        worker: &SessionRecord,
        job: &Assignment,
        failure: Failure,
    ) -> JobState {
        let fence = Fence { session: worker.id.clone(), epoch: job.epoch };
        self.store.fail(job.job_id, &fence, failure).await.unwrap()
    }

    pub(super) async fn fail_next(&self, worker: &SessionRecord, failure: Failure) -> JobState {
        let (job, fence) = self.begin(worker).await;
        self.store.fail(job.job_id, &fence, failure).await.unwrap()
    }

    /// Everything clients can see, to compare before and after.
    pub(super) async fn all(&self) -> String {
        let snapshot = self.store.snapshot(1_000).await.unwrap();
        let status = self.store.status().await.unwrap();
        format!("{snapshot:#?}{status:#?}")
    }

    /// What must hold after every verb.
    pub(super) async fn check(&self) {
        let events = self.store.events_after(0, usize::MAX).await.unwrap();
        let mut states = HashMap::new();
        let mut epochs = HashMap::new();
        for (number, event) in (1..).zip(&events) {
            assert_eq!(event.seq, number, "the audit has no gaps");
            match &event.change {
                Change::JobCreated { job, .. } => {
                    states.insert(*job, JobState::Queued);
                }
                Change::JobChanged { job, from, to, verb, epoch, .. } => {
                    assert_eq!(states.insert(*job, *to), Some(*from), "job {job}");
                    assert_eq!(state::next(*from, *verb), Some(*to), "job {job}");
                    let before = epochs.insert(*job, *epoch);
                    assert!(before.is_none_or(|before| before <= *epoch), "job {job}");
                }
                _ => {}
            }
        }
        let jobs = self.store.jobs(None, Page { before: None, limit: 1_000 }).await.unwrap();
        for job in &jobs {
            assert_eq!(states.get(&job.id), Some(&job.state), "job {}", job.id);
        }
        let counted = |wanted: &[JobState]| {
            jobs.iter().filter(|job| wanted.contains(&job.state)).count() as u64
        };
        let kept = self.store.status().await.unwrap();
        assert_eq!(kept.queued, counted(&[JobState::Queued]));
        assert_eq!(kept.running, counted(&[JobState::Claimed, JobState::Processing]));
        assert_eq!(kept.retrying, counted(&[JobState::RetryScheduled]));
        let letters =
            self.store.dead_letters(false, Page { before: None, limit: 1_000 }).await.unwrap();
        assert_eq!(kept.dead_letters, letters.len() as u64);
        self.check_flow(&jobs).await;
        let mut live = BTreeMap::new();
        for job in jobs.iter().filter(|job| !job.state.is_terminal()) {
            let key = self.store.job(job.id).await.unwrap().idempotency_key;
            assert_eq!(live.insert(key, job.id), None, "one live job an effect");
        }
    }
}

impl Farm {
    /// Every semaphore is held by exactly the leased jobs that need it, by their present claims;
    /// every queue's count is that of its jobs.
    async fn check_flow(&self, jobs: &[JobView]) {
        let limits = self.store.limits().await.unwrap();
        let mut held = BTreeSet::new();
        for semaphore in &limits.semaphores {
            assert_eq!(semaphore.held as usize, semaphore.holders.len());
            for holder in &semaphore.holders {
                held.insert((semaphore.name.to_string(), holder.job, holder.epoch));
            }
        }
        let db = rusqlite::Connection::open(self.folder.path().join("sawah.db")).unwrap();
        let mut query = db
            .prepare(
                "SELECT c.semaphore, j.id, j.epoch FROM job j
                 JOIN class_semaphore c ON c.class = j.class
                 WHERE j.state IN ('claimed', 'processing')",
            )
            .unwrap();
        let needed = query
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap()
            .collect::<Result<BTreeSet<(String, JobId, Epoch)>, _>>()
            .unwrap();
        assert_eq!(held, needed, "holders are the leased jobs that need the semaphore");
        for queue in &limits.queues {
            let waits = |job: &&JobView| job.state == JobState::Queued && job.queue == queue.queue;
            assert_eq!(queue.queued, jobs.iter().filter(waits).count() as u64, "{}", queue.queue);
        }
    }
}

pub(super) fn recipe() -> Recipe {
    Library::load(None).unwrap().get("preview").unwrap().clone()
}

pub(super) fn capabilities(gpus: &[&str]) -> Capabilities {
    Capabilities {
        host: "host".into(),
        os: "linux".into(),
        version: "0".into(),
        cores: 2,
        memory_bytes: 1 << 30,
        slots: 1,
        gpus: gpus.iter().map(|gpu| (*gpu).to_owned()).collect(),
        programs: Vec::new(),
        paths: Vec::new(),
    }
}

pub(super) fn submission(asset: &str, content: &str) -> Submission {
    Submission {
        asset: asset.parse().unwrap(),
        source_ref: format!("/somewhere/{asset}.glb"),
        main_file: format!("{asset}.glb"),
        sequence: false,
        files: vec![SourceFile {
            name: format!("{asset}.glb"),
            checksum: Checksum::of(content.as_bytes()),
            size_bytes: content.len() as u64,
        }],
        missing: Vec::new(),
        recipe: None,
        settings: BTreeMap::new(),
        actor: "ana".into(),
        project: None,
        priority: None,
    }
}

/// A plausible result: a file named after stage and chunk.
pub(super) fn result_of(job: &Assignment) -> Completion {
    let name = match (job.stage, job.chunk.to_string().as_str()) {
        (Stage::Render, "still") => "still.png".to_owned(),
        (Stage::Transform, _) => "scene.glb".to_owned(),
        (stage, chunk) => format!("{stage}/{}", chunk.replace(':', "-")),
    };
    let checksum = Checksum::of(name.as_bytes());
    Completion {
        outputs: vec![OutputFile {
            name,
            checksum,
            size_bytes: 10,
            media_type: "image/png".into(),
        }],
        report: StageReport {
            kind: (job.stage == Stage::Ingest).then_some(AssetKind::Mesh),
            ..StageReport::default()
        },
        pointer_generation: job.pointer_generation,
    }
}
