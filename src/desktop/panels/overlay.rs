//! Over everything: toasts, and the sign that files may be dropped.

use crate::desktop::action::{Action, Actions};
use crate::desktop::frame::FrameContext;
use crate::desktop::theme::{ROUND, Tokens, Tone};
use crate::desktop::toasts::Toast;
use crate::desktop::widgets::text;
use crate::desktop::words;
use eframe::egui::{
    Align, Align2, Area, CornerRadius, Frame, Id, Label, LayerId, Layout, Margin, Order, Role,
    Stroke, StrokeKind, TextStyle, Ui, WidgetInfo, vec2,
};

const TOAST_WIDTH: f32 = 340.0;

/// Draws the toasts, newest at the bottom.
pub fn toasts(frame: &FrameContext<'_>, ui: &Ui, actions: &mut Actions) {
    let (shown, more) = frame.screen.toasts.on_screen();
    if shown.is_empty() {
        return;
    }
    Area::new(Id::unique("toasts"))
        .order(Order::Foreground)
        .anchor(Align2::LEFT_BOTTOM, vec2(12.0, -36.0))
        .show(ui.ctx(), |ui| {
            ui.set_width(TOAST_WIDTH);
            if more > 0 {
                let notices = words::plural(more, "more notice", "more notices");
                text::small(ui, notices);
            }
            for toast in shown.into_iter().rev() {
                toast_ui(ui, toast, actions);
            }
        });
}

fn toast_ui(ui: &mut Ui, toast: &Toast, actions: &mut Actions) {
    let tokens = Tokens::of(ui);
    let tone = if toast.is_error { Tone::Dead } else { Tone::Good };
    Frame::new()
        .fill(tokens.raised)
        .stroke(Stroke::new(1.0, tokens.tone(tone)))
        .corner_radius(ROUND)
        .shadow(ui.visuals().popup_shadow)
        .inner_margin(Margin::same(10))
        .show(ui, |ui| {
            ui.set_width(TOAST_WIDTH - 22.0);
            ui.horizontal_top(|ui| {
                ui.with_layout(Layout::right_to_left(Align::Min), |ui| {
                    let close = ui.add(text::close_button());
                    close.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Dismiss notice"));
                    if close.clicked() {
                        actions.push(Action::DropToast(toast.id));
                    }
                    ui.with_layout(Layout::top_down(Align::Min), |ui| {
                        ui.add(Label::new(toast.text.as_str()).wrap());
                    });
                });
            });
            let times = toast.times > 1;
            if times || toast.pipeline.is_some() {
                ui.horizontal(|ui| {
                    if let Some(pipeline) = toast.pipeline
                        && ui.add(text::small_button("Show pipeline")).clicked()
                    {
                        actions.push(Action::GoTo(pipeline));
                        actions.push(Action::DropToast(toast.id));
                    }
                    if times {
                        text::small(ui, format!("{} times", toast.times));
                    }
                });
            }
        });
}

/// Draws the sign over the window while files hover over it.
pub fn drop_sign(ui: &Ui) {
    let number = ui.input(|input| input.raw.hovered_files.len());
    if number == 0 {
        return;
    }
    let tokens = Tokens::of(ui);
    let rect = ui.ctx().content_rect();
    let painter = ui.ctx().layer_painter(LayerId::new(Order::Tooltip, Id::unique("drop sign")));
    painter.rect_filled(rect, CornerRadius::ZERO, tokens.veil);
    let box_rect = eframe::egui::Rect::from_center_size(rect.center(), vec2(360.0, 120.0));
    painter.rect(
        box_rect,
        CornerRadius::same(10),
        tokens.raised,
        Stroke::new(2.0, tokens.accent),
        StrokeKind::Inside,
    );
    let center = Align2::CENTER_CENTER;
    let heading = TextStyle::Heading.resolve(ui.style());
    let at = box_rect.center() - vec2(0.0, 12.0);
    painter.text(at, center, "Drop to submit", heading, tokens.text);
    let body = TextStyle::Body.resolve(ui.style());
    let what = words::plural(number, "file or folder", "files and folders");
    painter.text(box_rect.center() + vec2(0.0, 16.0), center, what, body, tokens.muted);
}
