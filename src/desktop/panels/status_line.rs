//! The line at the bottom: where the farm is and what is under way.

use crate::client::live::Connection;
use crate::desktop::frame::FrameContext;
use crate::desktop::theme::{Tokens, Tone};
use crate::desktop::widgets::text;
use crate::desktop::words;
use eframe::egui::{Align, Frame, Layout, Margin, Panel, Ui};

/// Draws it.
pub fn show(frame: &FrameContext<'_>, ui: &mut Ui) {
    let line = Frame::new().fill(Tokens::of(ui).raised).inner_margin(Margin::symmetric(12, 3));
    Panel::bottom("status line").frame(line).show(ui, |ui| {
        ui.horizontal(|ui| {
            let (tone, word) = match frame.connection {
                Connection::Connecting => (Tone::Calm, "Connecting"),
                Connection::Live => (Tone::Good, "Live"),
                Connection::Lost { .. } => (Tone::Dead, "Cut off"),
            };
            text::dot(ui, tone);
            text::small(ui, format!("{word} · {}", frame.farm.address()));
            let pending = frame.farm.orders_pending();
            if pending > 0 {
                let orders = words::plural(pending, "order", "orders");
                text::small(ui, format!("· {orders} on the way…"));
            }
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| totals_ui(frame, ui));
        });
    });
}

fn totals_ui(frame: &FrameContext<'_>, ui: &mut Ui) {
    let here = frame.model.pipelines.len() as u64;
    let total = frame.model.pipelines_total;
    let pipelines = if total > here {
        format!("newest {} of {} pipelines", words::count(here), words::count(total))
    } else {
        words::plural(here as usize, "pipeline", "pipelines")
    };
    let workers = words::plural(frame.model.workers.len(), "worker", "workers");
    text::small(ui, format!("{pipelines} · {workers}"));
}
