//! From a request to the stage that serves it.

use super::{
    Reporter, StageRequest, StageResult, assemble, cleanup, ingest, inspect, publish, render,
    transform,
};
use crate::model::Stage;

/// Runs the stage that the request names.
pub fn run(request: &StageRequest, reporter: &dyn Reporter) -> StageResult {
    match request.assignment.stage {
        Stage::Ingest => ingest::run(request, reporter),
        Stage::Inspect => inspect::run(request, reporter),
        Stage::Transform => transform::run(request, reporter),
        Stage::Render => render::run(request, reporter),
        Stage::Assemble => assemble::run(request, reporter),
        Stage::Publish => publish::run(request, reporter),
        Stage::Cleanup => cleanup::run(request, reporter),
    }
}
