//! A store with shots in it, called as the coordinator calls it.

use super::samples::{capabilities, completion, recipe, session, submission};
use super::{BenchError, Context};
use crate::model::{Mode, Stage, Target, limits};
use crate::policy::flow;
use crate::protocol::work::{Assignment, Fence};
use crate::recipes::Recipe;
use crate::recipes::library::DEFAULT_RECIPE;
use crate::store::{SessionRecord, Store};
use futures_util::future::try_join_all;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Submissions that wait for one commit while the store is filled.
const FILL: usize = 500;

/// The store and what is handed in.
pub(super) struct Studio {
    pub(super) store: Store,
    recipe: Recipe,
    shots: AtomicUsize,
    sessions: AtomicUsize,
}

impl Studio {
    /// A new store in `folder`.
    pub(super) fn open(context: &Context, folder: &Path) -> Result<Self, BenchError> {
        let store = Store::open(folder, context.clock.clone())?;
        let library = crate::recipes::Library::load(None)
            .map_err(|error| BenchError::Nothing(error.to_string()))?;
        let shipped = library
            .get(DEFAULT_RECIPE)
            .ok_or_else(|| BenchError::Nothing("no recipe".to_owned()))?;
        let recipe = recipe(shipped);
        Ok(Self { store, recipe, shots: AtomicUsize::new(0), sessions: AtomicUsize::new(0) })
    }

    /// Hands in one new shot.
    pub(super) async fn submit(&self) -> Result<(), BenchError> {
        let number = self.shots.fetch_add(1, Ordering::Relaxed);
        let submission = submission(&format!("shot-{number}"))?;
        self.store.submit(submission, self.recipe.clone(), [7; 16]).await?;
        Ok(())
    }

    /// Hands in `count` shots that share commits.
    pub(super) async fn submit_together(&self, count: usize) -> Result<(), BenchError> {
        try_join_all((0..count).map(|_| self.submit())).await?;
        Ok(())
    }

    /// Hands in shots until `jobs` wait.
    pub(super) async fn fill(&self, jobs: usize) -> Result<(), BenchError> {
        let queued = usize::try_from(self.store.status().await?.queued).unwrap_or(usize::MAX);
        let mut missing = jobs.saturating_sub(queued);
        while missing > 0 {
            let now = missing.min(FILL);
            self.submit_together(now).await?;
            missing -= now;
        }
        Ok(())
    }

    /// A new worker.
    pub(super) async fn worker(&self) -> Result<SessionRecord, BenchError> {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let name = format!("bench-{number}");
        let instance = format!("folder of {name}");
        Ok(self.store.open_session(session(number), name, instance, capabilities()).await?)
    }

    /// Claims one job.
    pub(super) async fn claim(
        &self,
        worker: &SessionRecord,
    ) -> Result<Option<Assignment>, BenchError> {
        let live = vec![worker.capabilities.clone()];
        Ok(self.store.claim(&worker.id, 1, live).await?.pop())
    }

    /// Brings one job from its claim to its end.
    pub(super) async fn live(
        &self,
        worker: &SessionRecord,
        frames: u32,
    ) -> Result<Option<Stage>, BenchError> {
        let Some(job) = self.claim(worker).await? else { return Ok(None) };
        let fence = Fence { session: worker.id.clone(), epoch: job.epoch };
        self.store.start(job.job_id, &fence).await?;
        self.store.complete(job.job_id, &fence, completion(&job, frames)).await?;
        Ok(Some(job.stage))
    }

    /// Brings this many shots so far that their frames wait to be drawn.
    pub(super) async fn prepare_frames(
        &self,
        worker: &SessionRecord,
        shots: usize,
    ) -> Result<(), BenchError> {
        // Frames that are left over would come first.
        self.set_frames(Mode::Paused).await?;
        let mut prepared = 0;
        while prepared < shots {
            self.submit().await?;
            let stage = self.live(worker, limits::FRAMES).await?;
            prepared += usize::from(stage == Some(Stage::Transform));
        }
        self.set_frames(Mode::Running).await
    }

    async fn set_frames(&self, mode: Mode) -> Result<(), BenchError> {
        let target = Target::Queue { queue: flow::queue(Stage::Render).to_owned() };
        self.store.set_control(target, mode, "bench", "frames are prepared").await?;
        Ok(())
    }

    /// Closes the database.
    pub(super) async fn close(self) {
        self.store.close().await;
    }
}
