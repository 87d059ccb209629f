//! The stages of a pipeline as a strip of terraces: shape and colour both tell the status.

use crate::desktop::theme::{Tokens, Tone};
use crate::desktop::words;
use crate::model::StageStatus;
use crate::protocol::view::{PipelineView, StageView};
use eframe::egui::{
    CornerRadius, Painter, Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2,
    vec2,
};

const HEIGHT: f32 = 12.0;
const GAP: f32 = 2.0;
const ROUND: CornerRadius = CornerRadius::same(2);

/// Draws the strip over `width` points; hovering tells each stage.
pub fn strip(ui: &mut Ui, pipeline: &PipelineView, width: f32) -> Response {
    let (rect, response) = ui.allocate_exact_size(vec2(width, HEIGHT), Sense::hover());
    let name = words::stages(pipeline);
    response.widget_info(|| WidgetInfo::labeled(Role::ProgressIndicator, true, &name));
    if !ui.is_rect_visible(rect) {
        return response;
    }
    let number = pipeline.stages.len().max(1) as f32;
    let step = (rect.width() + GAP) / number;
    let mut left = rect.left();
    for stage in &pipeline.stages {
        let segment = Rect::from_min_max(
            pos2(left.round(), rect.top()),
            pos2((left + step - GAP).round(), rect.bottom()),
        );
        segment_ui(ui.painter(), segment, stage, Tokens::of(ui));
        left += step;
    }
    response.on_hover_ui(|ui| hover_ui(ui, pipeline))
}

fn segment_ui(painter: &Painter, rect: Rect, stage: &StageView, tokens: &Tokens) {
    let tone = words::stage_status(stage.status).1;
    let color = tokens.fill(tone);
    match stage.status {
        StageStatus::Pending => {
            painter.rect_filled(rect, ROUND, tokens.outline);
        }
        StageStatus::Skipped | StageStatus::Cancelled => {
            painter.hline(rect.x_range(), rect.center().y, Stroke::new(2.0, tokens.outline_strong));
        }
        StageStatus::Succeeded => {
            painter.rect_filled(rect, ROUND, color);
        }
        StageStatus::Running => {
            let done = stage.parts_done as f32 / stage.parts_total.max(1) as f32;
            let filled = Rect::from_min_size(
                rect.min,
                vec2(rect.width() * done.clamp(0.0, 1.0), rect.height()),
            );
            painter.rect_filled(rect, ROUND, tokens.soft(tone));
            painter.rect_filled(filled, ROUND, color);
            painter.rect_stroke(rect, ROUND, Stroke::new(1.0, color), StrokeKind::Inside);
        }
        StageStatus::DeadLettered => {
            painter.rect_filled(rect, ROUND, color);
            // A cross, so that colour is not the only sign.
            let cross = Rect::from_center_size(rect.center(), vec2(5.0, 5.0));
            let stroke = Stroke::new(1.5, tokens.sunken);
            painter.line_segment([cross.left_top(), cross.right_bottom()], stroke);
            painter.line_segment([cross.right_top(), cross.left_bottom()], stroke);
        }
    }
}

fn hover_ui(ui: &mut Ui, pipeline: &PipelineView) {
    eframe::egui::Grid::new("stages of a strip").num_columns(3).show(ui, |ui| {
        for stage in &pipeline.stages {
            let (word, tone) = words::stage_status(stage.status);
            ui.label(words::stage(stage.stage));
            ui.colored_label(Tokens::of(ui).tone(tone), word);
            ui.label(parts(stage));
            ui.end_row();
        }
    });
}

/// `3 of 5 parts`, or nothing where a stage is one part.
pub fn parts(stage: &StageView) -> String {
    if stage.parts_total > 1 {
        format!("{} of {} parts", stage.parts_done, stage.parts_total)
    } else {
        String::new()
    }
}

/// The tone of a share of something that runs out: amber past half.
pub const fn share_tone(left: f32) -> Tone {
    if left < 0.2 {
        Tone::Dead
    } else if left < 0.5 {
        Tone::Wait
    } else {
        Tone::Run
    }
}
