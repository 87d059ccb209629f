//! A farm of its own process that also works, and what it takes to bring a scene through it.

use super::BenchError;
use super::served::Served;
use super::wire::Wire;
use crate::cli::context::Context;
use crate::client::intake::{self, Handover, SceneOrder};
use crate::client::{Client, Token};
use crate::clock::{Clock, Stopwatch};
use crate::model::{PipelineId, PipelineStatus, Stage};
use crate::protocol::view::{FarmStatus, PipelineDetail, PipelineView};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How often it is looked whether the work is done; the farm's own times say when it was.
const LOOK: Duration = Duration::from_millis(500);

/// Longest wait for the work of one measurement: on a machine where it takes longer, nothing can be
/// measured.
const WAIT: Duration = Duration::from_mins(10);

/// The farm.
pub(super) struct Crew {
    served: Served,
    wire: Wire,
    client: Client,
    clock: Arc<dyn Clock>,
    renderers: Arc<crate::renderers::Library>,
}

impl Crew {
    /// Starts it, and waits until its worker is there.
    pub(super) async fn start(
        context: &Context,
        folder: &Path,
        slots: u32,
    ) -> Result<Self, BenchError> {
        std::fs::create_dir_all(folder)?;
        let served = Served::start_working(&folder.join("farm"), slots).await?;
        let line = &served.line;
        let client = Client::new(&format!("http://{}", line.address), Token::new(&line.token));
        let client = client.map_err(|error| BenchError::Nothing(error.to_string()))?;
        let mut wire = Wire::open(line).await?;
        loop {
            let status: FarmStatus = wire.call("GET", "/v1/status", &()).await?;
            if status.workers > 0 {
                break;
            }
            tokio::time::sleep(LOOK / 10).await;
        }
        let renderers = crate::renderers::Library::load(None);
        let renderers = renderers.map_err(|error| BenchError::Nothing(error.to_string()))?;
        let clock = Arc::clone(&context.clock);
        Ok(Self { served, wire, client, clock, renderers: Arc::new(renderers) })
    }

    /// Hands a scene in and waits for its end; the time from handing it in to the commit of its last
    /// frame.
    pub(super) async fn draw(
        &mut self,
        scene: &Path,
        order: SceneOrder,
    ) -> Result<Duration, BenchError> {
        let mut handover = Handover::new(vec![scene.to_owned()]);
        handover.what.scene = order;
        handover.what.renderers = Arc::clone(&self.renderers);
        let begin_ms = self.clock.now().wall_ms;
        let items = intake::hand_in(&self.client, &handover, &|_| {}).await;
        let item = items.into_iter().next();
        let item = item.ok_or_else(|| BenchError::Nothing("nothing was handed in".to_owned()))?;
        let submitted = item.outcome.map_err(|error| BenchError::Nothing(error.to_string()))?;
        let detail = self.until_ended(submitted.pipeline).await?;
        let drawn = detail.jobs.iter().filter(|job| job.job.stage == Stage::Render);
        let ends = drawn.flat_map(|job| &job.attempts).filter_map(|attempt| attempt.ended_at_ms);
        let end_ms = ends.max().unwrap_or(begin_ms);
        Ok(Duration::from_millis(u64::try_from(end_ms - begin_ms).unwrap_or_default()))
    }

    async fn until_ended(&mut self, id: PipelineId) -> Result<PipelineDetail, BenchError> {
        let watch = Stopwatch::start();
        loop {
            tokio::time::sleep(LOOK).await;
            if watch.elapsed() > WAIT {
                let why = "the farm did not end its work in time: is the machine busy?";
                return Err(BenchError::Nothing(why.to_owned()));
            }
            // The whole pipeline would be long; looked at often, it would be measured itself.
            let page: Vec<PipelineView> =
                self.wire.call("GET", "/v1/pipelines?limit=1", &()).await?;
            let status = page.iter().find(|one| one.id == id).map(|one| one.status);
            match status {
                Some(PipelineStatus::Running) => {}
                Some(PipelineStatus::Succeeded) => break,
                other => {
                    let why = format!("its pipeline ended as {other:?}");
                    return Err(BenchError::Answer { path: "/v1/pipelines".to_owned(), why });
                }
            }
        }
        self.wire.call("GET", &format!("/v1/pipelines/{id}"), &()).await
    }

    /// Ends it.
    pub(super) async fn stop(self) -> Result<(), BenchError> {
        self.served.stop().await
    }
}
