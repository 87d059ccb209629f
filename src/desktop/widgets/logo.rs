//! The mark: three terraces, water above.

use crate::desktop::theme::{Tokens, Tone};
use eframe::egui::{CornerRadius, Rect, Sense, Ui, vec2};

/// The terraces in a unit square: left, top, width, height, and whether it is water.
pub const TERRACES: [(f32, f32, f32, f32, bool); 3] = [
    (0.44, 0.10, 0.56, 0.22, true),
    (0.22, 0.40, 0.66, 0.22, false),
    (0.0, 0.70, 0.76, 0.22, false),
];

/// Draws the mark with this edge in points.
pub fn logo(ui: &mut Ui, edge: f32) {
    let (rect, _) = ui.allocate_exact_size(vec2(edge, edge), Sense::hover());
    let tokens = Tokens::of(ui);
    for (left, top, width, height, water) in TERRACES {
        let min = rect.min + vec2(left, top) * edge;
        let step = Rect::from_min_size(min, vec2(width, height) * edge);
        let color = tokens.fill(if water { Tone::Run } else { Tone::Good });
        ui.painter().rect_filled(step, CornerRadius::same(2), color);
    }
}
