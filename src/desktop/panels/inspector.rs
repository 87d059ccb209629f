//! The inspector: one pipeline in full, its picture first.

use super::{dead_letters, inspector_work, pipelines};
use crate::desktop::action::{Action, Actions};
use crate::desktop::frame::FrameContext;
use crate::desktop::pictures::Picture;
use crate::desktop::screen::{Dialog, Request, Selection};
use crate::desktop::theme::{ROUND, Tokens, UNTINTED};
use crate::desktop::widgets::text;
use crate::desktop::words;
use crate::model::{PipelineId, PipelineStatus};
use crate::protocol::view::{PipelineDetail, PipelineView, PublishedFile};
use eframe::egui::{
    Align, Align2, Frame, Image, Label, Layout, Margin, Panel, Rect, RichText, Role, ScrollArea,
    Sense, TextStyle, Ui, WidgetInfo, load::SizedTexture, vec2,
};

const WIDTH_MIN: f32 = 320.0;
const WIDTH_MAX: f32 = 860.0;
const PICTURE_SHAPE: f32 = 0.68;
const NO_PICTURE_SHAPE: f32 = 0.2;
/// Most published files that are listed; frames of a film are not among them.
const FILES_SHOWN: usize = 40;

/// Draws it where a pipeline is selected.
pub fn show(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    let Some(id) = frame.screen.selection.pipeline else { return };
    if frame.screen.inspector_closed {
        return;
    }
    let wanted = (ui.available_width() * 0.30).clamp(372.0, 620.0);
    let side = Frame::new().fill(Tokens::of(ui).raised).inner_margin(Margin::ZERO);
    Panel::right("inspector")
        .frame(side)
        .default_size(wanted)
        .size_range(WIDTH_MIN..=WIDTH_MAX)
        .resizable(true)
        .show(ui, |ui| {
            let detail = frame.screen.detail.value.as_deref().filter(|all| all.pipeline.id == id);
            let row = frame.model.pipelines.get(&id).map(AsRef::as_ref);
            match row.or(detail.map(|all| &all.pipeline)) {
                Some(pipeline) => pipeline_ui(frame, ui, pipeline, detail, actions),
                None => waiting_ui(frame, ui),
            }
        });
}

fn waiting_ui(frame: &FrameContext<'_>, ui: &mut Ui) {
    Frame::new().inner_margin(Margin::same(14)).show(ui, |ui| {
        match &frame.screen.detail.failed {
            Some(why) => text::explanation(ui, format!("The pipeline cannot be shown: {why}")),
            None => text::explanation(ui, "The pipeline is on its way"),
        };
    });
}

fn pipeline_ui(
    frame: &FrameContext<'_>,
    ui: &mut Ui,
    pipeline: &PipelineView,
    detail: Option<&PipelineDetail>,
    actions: &mut Actions,
) {
    Frame::new().inner_margin(Margin { left: 14, right: 10, top: 10, bottom: 4 }).show(ui, |ui| {
        head_ui(frame, ui, pipeline, actions);
    });
    let scroll = ScrollArea::vertical().id_salt(("inspector", pipeline.id)).auto_shrink(false);
    scroll.show(ui, |ui| {
        Frame::new().inner_margin(Margin { left: 14, right: 14, top: 4, bottom: 14 }).show(
            ui,
            |ui| {
                for letter in frame.model.dead_letters.values() {
                    if letter.pipeline == pipeline.id {
                        dead_letters::card_ui(frame, ui, letter, actions);
                        ui.add_space(4.0);
                    }
                }
                if pipeline.still.is_some() || pipeline.status != PipelineStatus::DeadLettered {
                    picture_ui(frame, ui, pipeline, detail);
                }
                if let Some(detail) = detail {
                    files_ui(ui, detail, actions);
                }
                inspector_work::stages_ui(frame, ui, pipeline, detail);
                if let Some(detail) = detail {
                    inspector_work::warnings_ui(ui, detail);
                    inspector_work::attempts_ui(frame, ui, detail, actions);
                    source_ui(ui, detail, actions);
                } else if let Some(why) = &frame.screen.detail.failed {
                    text::explanation(ui, format!("More could not be fetched: {why}"));
                }
                inspector_work::log_ui(frame, ui, actions);
            },
        );
    });
}

fn head_ui(frame: &FrameContext<'_>, ui: &mut Ui, pipeline: &PipelineView, actions: &mut Actions) {
    ui.horizontal(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let close = ui.add(text::close_button());
            close.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Close inspector"));
            if close.on_hover_text("Close (Esc)").clicked() {
                actions.push(Action::Select(Selection::NONE));
            }
            cancel_ui(frame, ui, pipeline.id, pipeline.status, actions);
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                ui.add(Label::new(pipelines::heading(pipeline)).truncate());
            });
        });
    });
    let (word, tone) = words::pipeline_status(pipeline.status);
    ui.horizontal(|ui| {
        text::tag(ui, tone, word);
        let mut about = vec![format!("v{}", pipeline.asset_version)];
        about.extend(pipeline.kind.map(|kind| kind.to_string()));
        about.push(format!("recipe {}", pipeline.recipe));
        about.push(took(frame, pipeline));
        text::small(ui, about.join(" · ")).on_hover_text(format!(
            "Pipeline {}, submitted {}",
            pipeline.id,
            words::moment(pipeline.created_at_ms)
        ));
    });
}

fn took(frame: &FrameContext<'_>, pipeline: &PipelineView) -> String {
    match pipeline.finished_at_ms {
        Some(end_ms) => {
            format!("took {}", words::duration(end_ms.saturating_sub(pipeline.created_at_ms)))
        }
        None => format!("submitted {}", words::ago(frame.now_ms, pipeline.created_at_ms)),
    }
}

fn cancel_ui(
    frame: &FrameContext<'_>,
    ui: &mut Ui,
    id: PipelineId,
    status: PipelineStatus,
    actions: &mut Actions,
) {
    if status != PipelineStatus::Running {
        return;
    }
    if frame.screen.is_requested(Request::Cancel(id)) {
        text::small(ui, "Cancel requested…");
    } else if ui.button("Cancel…").clicked() {
        actions.push(Action::Ask(Dialog::ConfirmCancel(id)));
    }
}

fn picture_ui(
    frame: &FrameContext<'_>,
    ui: &mut Ui,
    pipeline: &PipelineView,
    detail: Option<&PipelineDetail>,
) {
    let width = ui.available_width();
    let shape = if pipeline.still.is_some() { PICTURE_SHAPE } else { NO_PICTURE_SHAPE };
    let size = vec2(width, (width * shape).round());
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let tokens = Tokens::of(ui);
    ui.painter().rect_filled(rect, ROUND, tokens.sunken);
    let name = format!("Picture of {}", words::asset(pipeline));
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &name));
    let say = |text: &str| {
        let font = TextStyle::Body.resolve(ui.style());
        ui.painter().text(rect.center(), Align2::CENTER_CENTER, text, font, tokens.muted);
    };
    let Some(still) = pipeline.still else {
        say(match pipeline.status {
            PipelineStatus::Running => "No picture yet",
            _ => "No picture was drawn",
        });
        return;
    };
    let edge_px = (rect.width() * ui.ctx().pixels_per_point()).ceil() as u32;
    match frame.pictures.get(ui.ctx(), frame.farm, still, edge_px) {
        Picture::Pending => say("The picture is on its way"),
        Picture::Failed(why) => {
            say("The picture could not be fetched");
            response.on_hover_text(why);
        }
        Picture::Ready(texture) => {
            let fitted = pipelines::fit(texture.size_vec2(), rect.size());
            Image::from_texture(SizedTexture::new(texture.id(), fitted))
                .tint(UNTINTED)
                .corner_radius(ROUND)
                .paint_at(ui, Rect::from_center_size(rect.center(), fitted));
        }
    }
    let drawn_by = detail.and_then(|all| all.jobs.iter().find_map(|job| job.drawn_by.as_deref()));
    if let Some(drawn_by) = drawn_by {
        text::small(ui, format!("Drawn by {drawn_by}"));
    }
}

fn files_ui(ui: &mut Ui, detail: &PipelineDetail, actions: &mut Actions) {
    if !detail.published.is_empty() {
        ui.scope(|ui| published_ui(ui, detail, actions));
    }
}

fn published_ui(ui: &mut Ui, detail: &PipelineDetail, actions: &mut Actions) {
    text::section(ui, "Published files");
    ui.spacing_mut().item_spacing.y = 2.0;
    if let Some(folder) = &detail.export_folder {
        copy_row(ui, folder, "", "Copy folder path", folder, actions);
    }
    for file in detail.published.iter().take(FILES_SHOWN) {
        file_ui(ui, file, actions);
    }
    let more = detail.published.len().saturating_sub(FILES_SHOWN);
    if more > 0 {
        text::small(ui, format!("and {} more in the folder", words::count(more as u64)));
    }
}

fn file_ui(ui: &mut Ui, file: &PublishedFile, actions: &mut Actions) {
    let size = words::size(file.size_bytes);
    let name = format!("Copy path of {}", file.output);
    if let Some(path) = &file.path {
        copy_row(ui, &file.output, &size, &name, path, actions);
    } else {
        ui.horizontal(|ui| {
            text::plain(ui, file.output.as_str());
            text::small(ui, format!("{size} · waits for its export"));
        });
    }
}

/// A name, a remark and a button that copies `copied`.
fn copy_row(
    ui: &mut Ui,
    title: &str,
    remark: &str,
    name: &str,
    copied: &str,
    actions: &mut Actions,
) {
    ui.horizontal(|ui| {
        ui.spacing_mut().button_padding.x = 4.0;
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let button = ui.add(text::quiet_button(ui, "Copy path"));
            button.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
            if button.on_hover_text(copied).clicked() {
                actions.push(Action::Copy(copied.to_owned()));
            }
            if !remark.is_empty() {
                ui.add(
                    Label::new(RichText::new(remark).small().color(Tokens::of(ui).muted)).extend(),
                );
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                text::plain(ui, title).on_hover_text(copied);
            });
        });
    });
}

fn source_ui(ui: &mut Ui, detail: &PipelineDetail, actions: &mut Actions) {
    text::section(ui, "Source");
    let files = words::plural(detail.sources.len(), "file", "files");
    let bytes = detail.sources.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size_bytes));
    let source = &detail.pipeline.source_ref;
    copy_row(ui, source, "", "Copy source path", source, actions);
    text::small(ui, format!("{files}, {} · trace {}", words::size(bytes), detail.trace_id));
}
