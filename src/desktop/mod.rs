//! The window. It sees the client's read model only; a click goes back as an order.
//!
//! `App::logic` takes what came from the farm, `App::ui` draws it and collects wishes
//! ([`action`]), which are carried out in one place after drawing. Reading order: [`view`],
//! [`frame`], [`app`], then `panels` and `widgets`.

pub mod action;
pub mod app;
mod carry_out;
pub mod carry_out_watch;
pub mod command;
pub mod farm_word;
pub mod frame;
pub mod icon;
pub mod index;
pub mod lists;
pub mod panels;
pub mod picker;
pub mod pictures;
pub mod screen;
pub mod theme;
pub mod toasts;
pub mod view;
pub mod waker;
pub mod watching;
pub mod widgets;
pub mod words;

pub use app::{App, AppParts};

use crate::client::live::LiveFarm;
use eframe::egui::ViewportBuilder;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use view::FarmView;
use waker::WindowWaker;

const SIZE: [f32; 2] = [1280.0, 800.0];
const SIZE_MIN: [f32; 2] = [860.0, 480.0];

/// The window could not be shown.
#[derive(Debug, thiserror::Error)]
pub enum DesktopError {
    /// There is no screen.
    #[error(
        "there is no display to open a window on (DISPLAY and WAYLAND_DISPLAY are not set): use `sawah serve` for a farm without a window, or `sawah demo --headless`"
    )]
    NoDisplay,
    /// The system refused.
    #[error(
        "the window could not be opened: {0}. Check the display and the graphics driver, or use `sawah serve` for a farm without a window, or `sawah demo --headless`"
    )]
    Window(String),
}

/// How to open the window.
#[derive(Debug, Clone, Default)]
pub struct DesktopOptions {
    /// The window's title, such as `Sawah` or `Sawah: farm in /srv/farm`.
    pub title: String,
    /// The handle whose waker the farm's view was made with.
    pub waker: WindowWaker,
    /// Recipes to choose from besides the default; none hides the choice.
    pub recipes: Vec<String>,
    /// Set it and wake the window to close it from outside, as on Ctrl-C.
    pub stop: Arc<AtomicBool>,
}

/// Whether a window can be expected to open. On Linux: a display server is named.
pub fn display_available() -> bool {
    if cfg!(any(target_os = "windows", target_os = "macos")) {
        return true;
    }
    ["WAYLAND_DISPLAY", "WAYLAND_SOCKET", "DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Shows the window until it is closed. Call it on the main thread.
pub fn run(farm: LiveFarm, options: DesktopOptions) -> Result<(), DesktopError> {
    run_view(Box::new(farm), options)
}

/// Shows the window over any view of a farm.
pub fn run_view(farm: Box<dyn FarmView>, options: DesktopOptions) -> Result<(), DesktopError> {
    if !display_available() {
        return Err(DesktopError::NoDisplay);
    }
    let viewport = ViewportBuilder::default()
        .with_title(options.title.clone())
        .with_app_id("sawah")
        .with_icon(icon::icon())
        .with_inner_size(SIZE)
        .with_min_inner_size(SIZE_MIN)
        .with_drag_and_drop(true);
    let native = eframe::NativeOptions { viewport, ..Default::default() };
    let parts = AppParts {
        farm,
        picker: Box::new(picker::SystemPicker),
        waker: options.waker,
        recipes: options.recipes,
        stop: options.stop,
    };
    eframe::run_native(
        "sawah",
        native,
        Box::new(move |creation| Ok(Box::new(App::new(&creation.egui_ctx, parts)))),
    )
    .map_err(|error| DesktopError::Window(reason_for_people(&error.to_string())))
}

/// The windowing library names the line of its own source first; people need what comes after.
fn reason_for_people(text: &str) -> String {
    let after = text.rsplit_once(".rs:").and_then(|(_, rest)| rest.split_once(": "));
    after.map_or(text, |(_, reason)| reason).to_owned()
}

#[cfg(test)]
mod tests {
    use super::reason_for_people;

    #[test]
    fn a_reason_has_no_line_of_source_in_it() {
        let text = "winit error: os error at /a/b/mod.rs:788: Failed to open connection";
        assert_eq!(reason_for_people(text), "Failed to open connection");
        assert_eq!(reason_for_people("No suitable adapter"), "No suitable adapter");
    }
}
