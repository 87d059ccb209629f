//! Placeholder.

use super::{Reporter, StageOutput, StageRequest, StageResult};

/// Placeholder.
pub fn run(_request: &StageRequest, _reporter: &dyn Reporter) -> StageResult {
    Ok(StageOutput::default())
}
