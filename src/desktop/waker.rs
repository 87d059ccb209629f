//! Wakes the window from any thread. Made before the window exists, since the farm's view is.

use crate::client::live::Waker;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Many changes within this time make one repaint.
const COALESCE: Duration = Duration::from_millis(33);

/// A handle that repaints the window once there is one; before that it does nothing.
#[derive(Clone, Default)]
pub struct WindowWaker {
    window: Arc<OnceLock<eframe::egui::Context>>,
}

impl WindowWaker {
    /// Not attached yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds it to the window; the first call wins.
    pub fn attach(&self, ctx: &eframe::egui::Context) {
        if self.window.set(ctx.clone()).is_ok() {
            // What came before the window was there is drawn now.
            self.wake();
        }
    }

    /// Asks for a look at what changed.
    pub fn wake(&self) {
        if let Some(ctx) = self.window.get() {
            ctx.request_repaint_after(COALESCE);
        }
    }

    /// The callback that [`crate::client::live::LiveFarm`] takes.
    pub fn waker(&self) -> Waker {
        let handle = self.clone();
        Arc::new(move || handle.wake())
    }
}

impl std::fmt::Debug for WindowWaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WindowWaker").field("attached", &self.window.get().is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn wakes_only_an_attached_window_and_never_at_once() {
        let waker = WindowWaker::new();
        (waker.waker())();
        let ctx = eframe::egui::Context::default();
        let soonest = Arc::new(AtomicUsize::new(usize::MAX));
        let seen = Arc::clone(&soonest);
        ctx.set_request_repaint_callback(move |info| {
            seen.fetch_min(info.delay.as_millis() as usize, Ordering::Relaxed);
        });
        waker.attach(&ctx);
        (waker.waker())();
        let delay_ms = soonest.load(Ordering::Relaxed);
        assert!((1..=50).contains(&delay_ms), "{delay_ms} ms");
    }
}
