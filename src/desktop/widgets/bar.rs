//! A thin bar that is partly filled, with words on it for screen readers.

use crate::desktop::theme::{Tokens, Tone};
use eframe::egui::{CornerRadius, Rect, Response, Role, Sense, Ui, WidgetInfo, vec2};

const HEIGHT: f32 = 5.0;

/// Draws `fraction` (0 to 1) of `width` points; `name` says what it measures.
pub fn bar(ui: &mut Ui, width: f32, fraction: f32, tone: Tone, name: &str) -> Response {
    let (rect, response) = ui.allocate_exact_size(vec2(width.max(8.0), HEIGHT), Sense::hover());
    let fraction = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
    let tokens = Tokens::of(ui);
    let round = CornerRadius::same(2);
    ui.painter().rect_filled(rect, round, tokens.outline);
    let filled = Rect::from_min_size(rect.min, vec2(rect.width() * fraction, rect.height()));
    ui.painter().rect_filled(filled, round, tokens.fill(tone));
    response.widget_info(|| {
        let mut info = WidgetInfo::labeled(Role::ProgressIndicator, true, name);
        info.value = Some(f64::from(fraction));
        info
    });
    response
}
