//! Text in its few roles, and words on a soft ground.

use crate::desktop::theme::{ROUND, Tokens, Tone};
use eframe::egui::{
    Button, CornerRadius, Frame, Label, Margin, Response, RichText, Role, Sense, Stroke, TextStyle,
    Ui, WidgetInfo, WidgetText, vec2,
};

/// Text that only explains, cut where there is no room.
pub fn muted(ui: &mut Ui, text: impl Into<String>) -> Response {
    let color = Tokens::of(ui).muted;
    ui.add(Label::new(RichText::new(text).color(color)).truncate())
}

/// Small text that only explains, cut where there is no room.
pub fn small(ui: &mut Ui, text: impl Into<String>) -> Response {
    let color = Tokens::of(ui).muted;
    ui.add(Label::new(RichText::new(text).small().color(color)).truncate())
}

/// Text that only explains, over as many lines as it needs.
pub fn explanation(ui: &mut Ui, text: impl Into<String>) -> Response {
    let color = Tokens::of(ui).muted;
    ui.add(Label::new(RichText::new(text).color(color)).wrap())
}

/// Text, cut where there is no room.
pub fn plain(ui: &mut Ui, text: impl Into<WidgetText>) -> Response {
    ui.add(Label::new(text).truncate())
}

/// Text in a tone.
pub fn toned(ui: &mut Ui, tone: Tone, text: impl Into<String>) -> Response {
    let color = Tokens::of(ui).tone(tone);
    ui.add(Label::new(RichText::new(text).color(color)).truncate())
}

/// A dot and a word in a tone.
pub fn status(ui: &mut Ui, tone: Tone, word: &str) -> Response {
    ui.spacing_mut().item_spacing.x = 6.0;
    dot(ui, tone);
    toned(ui, tone, word)
}

/// A dot in a tone; the word beside it says the same.
pub fn dot(ui: &mut Ui, tone: Tone) {
    let (rect, _) = ui.allocate_exact_size(vec2(8.0, 8.0), Sense::hover());
    ui.painter().circle_filled(rect.center(), 3.5, Tokens::of(ui).tone(tone));
}

/// A word on a soft ground.
pub fn tag(ui: &mut Ui, tone: Tone, word: &str) -> Response {
    let tokens = Tokens::of(ui);
    let font = TextStyle::Small.resolve(ui.style());
    let text = ui.painter().layout_no_wrap(word.to_owned(), font, tokens.tone(tone));
    let size = vec2(text.size().x + 16.0, 20.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, word));
    ui.painter().rect_filled(rect, CornerRadius::same(10), tokens.soft(tone));
    let at = rect.center() - text.size() / 2.0;
    ui.painter().galley(at, text, tokens.tone(tone));
    response
}

/// A button of small weight: its frame shows under the pointer only.
pub fn quiet_button(ui: &Ui, text: &str) -> Button<'static> {
    let color = Tokens::of(ui).muted;
    Button::new(RichText::new(text).small().color(color))
        .frame_when_inactive(false)
        .min_size(vec2(0.0, 20.0))
}

/// A button beside text.
pub fn small_button(text: &str) -> Button<'static> {
    Button::new(RichText::new(text).small())
}

/// A cross that closes or clears; the caller names it.
pub fn close_button() -> Button<'static> {
    Button::new(RichText::new("×").size(17.0)).frame_when_inactive(false).min_size(vec2(24.0, 24.0))
}

/// The title of a section.
pub fn section(ui: &mut Ui, title: &str) {
    ui.add_space(10.0);
    let color = Tokens::of(ui).muted;
    ui.label(RichText::new(title).small().color(color));
    let rect = ui.max_rect();
    let y = ui.cursor().top() - 2.0;
    ui.painter().hline(rect.x_range(), y, Stroke::new(1.0, Tokens::of(ui).outline));
    ui.add_space(2.0);
}

/// The one button that matters here.
pub fn primary_button(ui: &Ui, text: &str) -> Button<'static> {
    let tokens = Tokens::of(ui);
    Button::new(RichText::new(text).color(tokens.on_accent))
        .fill(tokens.accent)
        .stroke(Stroke::NONE)
        .corner_radius(ROUND)
}

/// A button that ends something.
pub fn danger_button(ui: &Ui, text: &str) -> Button<'static> {
    let tokens = Tokens::of(ui);
    Button::new(RichText::new(text).color(tokens.tone(Tone::Dead)))
        .fill(tokens.soft(Tone::Dead))
        .stroke(Stroke::NONE)
        .corner_radius(ROUND)
}

/// A card on a soft ground.
pub fn card(ui: &Ui, tone: Tone) -> Frame {
    Frame::new().fill(Tokens::of(ui).soft(tone)).corner_radius(ROUND).inner_margin(Margin::same(10))
}
