//! Time as an argument: pure code never reads a clock.

use serde::{Deserialize, Serialize};

/// One reading of both clocks.
///
/// The wall clock is for people and for stored dates; the monotonic clock alone decides leases,
/// since the wall clock may step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Now {
    /// Milliseconds since the Unix epoch.
    pub wall_ms: i64,
    /// Milliseconds since an arbitrary start; never goes back.
    pub mono_ms: u64,
}
