//! The table of pipelines.

use super::empty;
use crate::desktop::action::{Action, Actions};
use crate::desktop::frame::FrameContext;
use crate::desktop::pictures::Picture;
use crate::desktop::screen::Selection;
use crate::desktop::theme::{ROW_TALL, Tokens, UNTINTED};
use crate::desktop::widgets::table::{Head, Table, finish_row, head, rest, selected_mark};
use crate::desktop::widgets::{strip, text};
use crate::desktop::words;
use crate::model::{AssetKind, JobState, PipelineStatus};
use crate::protocol::view::{JobView, PipelineView};
use eframe::egui::{
    CornerRadius, FontId, Image, Rect, RichText, Sense, TextStyle, Ui, load::SizedTexture, vec2,
};
use egui_extras::TableRow;

const THUMB: f32 = 30.0;
const STRIP: f32 = 168.0;
/// Thumbnails are cut from pictures of this edge in pixels, sharp on dense screens too.
const THUMB_PX: u32 = 128;
/// With less width than this, in points, the table does without its least telling column.
const WIDE: f32 = 1_060.0;
/// With less width than this it shows the least that tells what is what.
const NARROW: f32 = 700.0;
const STRIP_NARROW: f32 = 98.0;

/// How much there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    Narrow,
    Medium,
    Wide,
}

impl Room {
    const fn of(width: f32) -> Self {
        if width >= WIDE {
            Self::Wide
        } else if width >= NARROW {
            Self::Medium
        } else {
            Self::Narrow
        }
    }

    const fn strip(self) -> f32 {
        if matches!(self, Self::Narrow) { STRIP_NARROW } else { STRIP }
    }

    fn heads(self, width: f32) -> Vec<Head> {
        let mut heads = vec![head("", 50.0)];
        heads.push(match self {
            Self::Narrow => rest("Asset"),
            Self::Medium => head("Asset", 190.0),
            Self::Wide => head("Asset", (width * 0.2).clamp(230.0, 420.0)),
        });
        heads.push(head("Stages", self.strip() + 12.0));
        heads.push(head("Status", 104.0));
        if self != Self::Narrow {
            heads.push(rest("Now"));
        }
        if self == Self::Wide {
            heads.push(head("Recipe", 84.0));
        }
        heads.push(head("Age", 72.0));
        heads
    }
}

/// Draws the table.
pub fn show(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    let rows = &frame.lists.pipelines.shown;
    if rows.is_empty() {
        empty::show(frame, ui, actions);
        return;
    }
    let selected = frame.screen.selection.pipeline;
    let scroll_to = selected
        .filter(|_| frame.screen.once.scroll_to_selection)
        .and_then(|id| frame.lists.pipelines.position(id));
    let width = ui.available_width();
    let room = Room::of(width);
    let heads = room.heads(width);
    let table =
        Table { id: "pipelines", heads: &heads, row_height: ROW_TALL, rows: rows.len(), scroll_to };
    table.show(ui, |row| {
        let found = rows.get(row.index()).and_then(|id| frame.model.pipelines.get(id));
        if let Some(pipeline) = found {
            let looks = Looks { room, selected: selected == Some(pipeline.id) };
            row_ui(frame, row, pipeline, looks, actions);
        }
    });
}

#[derive(Clone, Copy)]
struct Looks {
    room: Room,
    selected: bool,
}

fn row_ui(
    frame: &FrameContext<'_>,
    row: &mut TableRow<'_, '_>,
    pipeline: &PipelineView,
    looks: Looks,
    actions: &mut Actions,
) {
    let selected = looks.selected;
    row.set_selected(selected);
    row.col(|ui| {
        selected_mark(ui, selected);
        ui.add_space(12.0);
        thumb_ui(frame, ui, pipeline);
    });
    row.col(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let version = format!("v{}", pipeline.asset_version);
        let room = ui.available_width() - 40.0;
        ui.scope(|ui| {
            ui.set_max_width(room.max(20.0));
            text::plain(ui, pipeline.asset.as_str());
        });
        text::small(ui, version);
    });
    row.col(|ui| {
        strip::strip(ui, pipeline, looks.room.strip());
    });
    let (word, tone) = words::pipeline_status(pipeline.status);
    row.col(|ui| {
        text::status(ui, tone, word);
    });
    if looks.room != Room::Narrow {
        row.col(|ui| now_ui(frame, ui, pipeline));
    }
    if looks.room == Room::Wide {
        row.col(|ui| {
            text::muted(ui, pipeline.recipe.as_str());
        });
    }
    row.col(|ui| {
        text::muted(ui, words::age(frame.now_ms, pipeline.created_at_ms))
            .on_hover_text(words::moment(pipeline.created_at_ms));
    });
    let name = format!("{}, {word}", words::asset(pipeline));
    if finish_row(row, &name, selected).clicked() {
        let next = if selected { Selection::NONE } else { Selection::pipeline(pipeline.id) };
        actions.push(Action::Select(next));
    }
}

/// What a pipeline does now, or why it does not.
fn now_ui(frame: &FrameContext<'_>, ui: &mut Ui, pipeline: &PipelineView) {
    match pipeline.status {
        PipelineStatus::DeadLettered => {
            let jobs = frame.index.jobs_of(pipeline.id).iter();
            let mut letters = jobs.filter_map(|id| frame.model.dead_letters.get(id));
            if let Some(letter) = letters.next() {
                text::plain(ui, format!("{}: {}", letter.reason, letter.message));
            }
        }
        PipelineStatus::Succeeded => {
            if let Some(end_ms) = pipeline.finished_at_ms {
                let took = words::duration(end_ms.saturating_sub(pipeline.created_at_ms));
                text::muted(ui, format!("took {took}"));
            }
        }
        PipelineStatus::Running => {
            let jobs = frame.index.jobs_of(pipeline.id).iter();
            let live = jobs
                .filter_map(|id| frame.model.jobs.get(id))
                .filter(|job| !job.state.is_terminal())
                .max_by_key(|job| telling(job.state));
            if let Some(job) = live {
                text::muted(ui, live_words(frame, job));
            }
        }
        PipelineStatus::Cancelled => {}
    }
}

/// Which of a pipeline's live jobs says most about it.
const fn telling(state: JobState) -> u8 {
    match state {
        JobState::Processing => 4,
        JobState::Claimed => 3,
        JobState::RetryScheduled => 2,
        JobState::Queued => 1,
        JobState::Succeeded | JobState::FailedTerminal | JobState::Cancelled => 0,
    }
}

fn live_words(frame: &FrameContext<'_>, job: &JobView) -> String {
    let title = words::job_title(job);
    let why = job.last_failure.as_ref().map_or("a failure", |failure| failure.reason.code());
    match (job.state, &job.progress) {
        (JobState::Processing, Some(progress)) if !progress.message.is_empty() => {
            format!("{title}: {}, {:.0} %", progress.message, progress.percent)
        }
        (JobState::RetryScheduled, _) => format!("{title} is tried again after {why}"),
        (JobState::Queued, _) if frame.model.workers.is_empty() => {
            format!("{title} waits for a worker")
        }
        (JobState::Queued, _) => format!("{title} waits its turn"),
        _ => match &job.worker {
            Some(worker) => format!("{title} on {worker}"),
            None => title,
        },
    }
}

fn thumb_ui(frame: &FrameContext<'_>, ui: &mut Ui, pipeline: &PipelineView) {
    let (rect, _) = ui.allocate_exact_size(vec2(THUMB, THUMB), Sense::hover());
    let tokens = Tokens::of(ui);
    ui.painter().rect_filled(rect, CornerRadius::same(4), tokens.sunken);
    let picture =
        pipeline.still.map(|still| frame.pictures.get(ui.ctx(), frame.farm, still, THUMB_PX));
    if let Some(Picture::Ready(texture)) = picture {
        let size = fit(texture.size_vec2(), rect.size());
        Image::from_texture(SizedTexture::new(texture.id(), size))
            .tint(UNTINTED)
            .corner_radius(CornerRadius::same(4))
            .paint_at(ui, Rect::from_center_size(rect.center(), size));
        return;
    }
    let font = FontId::new(9.5, TextStyle::Small.resolve(ui.style()).family);
    let kind = pipeline.kind.map_or("", kind_mark);
    let center = eframe::egui::Align2::CENTER_CENTER;
    ui.painter().text(rect.center(), center, kind, font, tokens.muted);
}

const fn kind_mark(kind: AssetKind) -> &'static str {
    match kind {
        AssetKind::Mesh => "mesh",
        AssetKind::Image => "img",
        AssetKind::Sequence => "seq",
        AssetKind::Scene => "scn",
    }
}

/// The largest size of the same shape that fits.
pub fn fit(size: eframe::egui::Vec2, room: eframe::egui::Vec2) -> eframe::egui::Vec2 {
    let scale = (room.x / size.x.max(1.0)).min(room.y / size.y.max(1.0));
    size * scale.max(0.0)
}

/// The name of an asset as a heading.
pub fn heading(pipeline: &PipelineView) -> RichText {
    RichText::new(pipeline.asset.as_str()).heading()
}
