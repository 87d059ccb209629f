//! A count that is also a filter.

use crate::desktop::theme::{Tokens, Tone};
use eframe::egui::{
    CornerRadius, FontId, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, vec2,
};

const HEIGHT: f32 = 26.0;
const PAD: f32 = 10.0;
const GAP: f32 = 6.0;

/// Draws a chip. It has a tone only where the count is not zero, so that trouble stands out.
pub fn chip(ui: &mut Ui, title: &str, count: &str, tone: Option<Tone>, active: bool) -> Response {
    let tokens = Tokens::of(ui);
    let number_color = tone.map_or(tokens.muted, |tone| tokens.tone(tone));
    let title_color = if active { tokens.text } else { tokens.muted };
    let font = FontId::proportional(13.0);
    let title_text = ui.painter().layout_no_wrap(title.to_owned(), font.clone(), title_color);
    let number = ui.painter().layout_no_wrap(count.to_owned(), font, number_color);
    let width = PAD * 2.0 + GAP + title_text.size().x + number.size().x;
    let (rect, response) = ui.allocate_exact_size(vec2(width, HEIGHT), Sense::click());
    let name = format!("{title}: {count}");
    response.widget_info(|| WidgetInfo::selected(Role::Button, ui.is_enabled(), active, &name));
    let fill = match tone {
        _ if active => tokens.selected,
        _ if response.hovered() => tokens.hover,
        Some(tone) => tokens.soft(tone),
        None => tokens.raised,
    };
    let edge = if active || response.has_focus() { tokens.accent } else { tokens.outline };
    let round = CornerRadius::same(13);
    let painter = ui.painter();
    painter.rect(rect, round, fill, Stroke::new(1.0, edge), StrokeKind::Inside);
    let mut at = rect.left_center() + vec2(PAD, -title_text.size().y / 2.0);
    let title_width = title_text.size().x;
    painter.galley(at, title_text, title_color);
    at.x += title_width + GAP;
    painter.galley(at, number, number_color);
    response
}
