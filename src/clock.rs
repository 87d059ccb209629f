//! The only place, with telemetry, that reads the clock.

use crate::model::Now;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Tells the time. Tests use their own.
pub trait Clock: Send + Sync + 'static {
    /// Both clocks at once.
    fn now(&self) -> Now;
}

/// The clocks of this machine.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A monotonic clock that starts at zero now.
    #[expect(clippy::disallowed_methods, reason = "this is the module that reads the clock")]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the module that reads the clock")]
    fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Now {
            wall_ms: i64::try_from(wall.as_millis()).unwrap_or(i64::MAX),
            mono_ms: u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Measures short times; never decides anything.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Runs from now on.
    #[expect(clippy::disallowed_methods, reason = "this is the module that reads the clock")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How long it has run.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
