//! The inspector's lower half: stages with their times, attempts, warnings, the log.

use super::jobs;
use crate::desktop::action::{Action, Actions};
use crate::desktop::frame::FrameContext;
use crate::desktop::screen::Selection;
use crate::desktop::theme::{Tokens, Tone};
use crate::desktop::widgets::{bar, strip, text};
use crate::desktop::words;
use crate::model::{Stage, StageStatus};
use crate::protocol::view::{
    AttemptOutcome, AttemptView, JobDetail, PipelineDetail, PipelineView, StageView,
};
use eframe::egui::{
    Align, CollapsingHeader, Frame, Label, Layout, Margin, RichText, Role, ScrollArea, TextStyle,
    Ui, WidgetInfo,
};

const LOG_HEIGHT: f32 = 190.0;
const STAGE_NAME: f32 = 84.0;
const STAGE_WORD: f32 = 104.0;
/// Most jobs whose attempts are listed.
const JOBS_SHOWN: usize = 200;

/// Each stage with its status, parts and time.
pub fn stages_ui(
    frame: &FrameContext<'_>,
    ui: &mut Ui,
    pipeline: &PipelineView,
    detail: Option<&PipelineDetail>,
) {
    text::section(ui, "Stages");
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        ui.spacing_mut().interact_size.y = 20.0;
        for stage in &pipeline.stages {
            let times = detail.and_then(|all| stage_times(all, stage.stage, frame.now_ms));
            stage_ui(ui, stage, times);
        }
    });
}

fn stage_ui(ui: &mut Ui, stage: &StageView, took_ms: Option<i64>) {
    let (word, tone) = words::stage_status(stage.status);
    ui.horizontal(|ui| {
        cell(ui, STAGE_NAME, |ui| _ = text::plain(ui, words::stage(stage.stage)));
        cell(ui, STAGE_WORD, |ui| _ = text::status(ui, tone, word));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if let Some(took_ms) = took_ms {
                text::small(ui, words::duration(took_ms));
            }
            let parts = strip::parts(stage);
            if !parts.is_empty() {
                text::small(ui, parts);
            }
            if stage.status == StageStatus::Running && stage.parts_total > 1 {
                let done = stage.parts_done as f32 / stage.parts_total as f32;
                bar::bar(ui, 48.0, done, Tone::Run, "Parts done");
            }
        });
    });
}

fn cell(ui: &mut Ui, width: f32, contents: impl FnOnce(&mut Ui)) {
    let size = eframe::egui::vec2(width, 20.0);
    ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), |ui| {
        ui.set_min_width(width);
        contents(ui);
    });
}

/// From the first claim of a stage's jobs to the last end, or to now where one still runs.
fn stage_times(detail: &PipelineDetail, stage: Stage, now_ms: i64) -> Option<i64> {
    let attempts =
        || detail.jobs.iter().filter(|job| job.job.stage == stage).flat_map(|job| &job.attempts);
    let begin = attempts().map(|attempt| attempt.claimed_at_ms).min()?;
    let end = attempts().map(|attempt| attempt.ended_at_ms.unwrap_or(now_ms)).max()?;
    Some(end.saturating_sub(begin))
}

/// What people should know though the stages succeeded.
pub fn warnings_ui(ui: &mut Ui, detail: &PipelineDetail) {
    let mut warnings = detail.jobs.iter().flat_map(|job| &job.warnings).peekable();
    if warnings.peek().is_none() {
        return;
    }
    ui.add_space(6.0);
    text::card(ui, Tone::Wait).show(ui, |ui| {
        ui.set_min_width(ui.available_width());
        for warning in warnings {
            let color = Tokens::of(ui).tone(Tone::Wait);
            ui.label(RichText::new(warning.reason.code()).color(color));
            ui.add(Label::new(warning.message.as_str()).wrap());
        }
    });
}

/// Every attempt; open by itself where one failed or runs.
pub fn attempts_ui(
    frame: &FrameContext<'_>,
    ui: &mut Ui,
    detail: &PipelineDetail,
    actions: &mut Actions,
) {
    let number: usize = detail.jobs.iter().map(|job| job.attempts.len()).sum();
    if number == 0 {
        return;
    }
    let telling = detail.jobs.iter().flat_map(|job| &job.attempts).any(|attempt| {
        matches!(
            attempt.outcome,
            AttemptOutcome::Failed | AttemptOutcome::Lost | AttemptOutcome::Running
        )
    });
    ui.add_space(8.0);
    let title = RichText::new(format!("Attempts ({number})")).small();
    CollapsingHeader::new(title.color(Tokens::of(ui).muted))
        .id_salt(("attempts", detail.pipeline.id))
        .default_open(telling)
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 2.0;
            ui.spacing_mut().interact_size.y = 20.0;
            for job in detail.jobs.iter().take(JOBS_SHOWN) {
                for attempt in &job.attempts {
                    attempt_ui(frame, ui, job, attempt, actions);
                }
            }
        });
}

fn attempt_ui(
    frame: &FrameContext<'_>,
    ui: &mut Ui,
    job: &JobDetail,
    attempt: &AttemptView,
    actions: &mut Actions,
) {
    let (word, tone) = words::outcome(attempt.outcome);
    let title = words::job_title(&job.job);
    ui.horizontal(|ui| {
        ui.spacing_mut().button_padding.x = 4.0;
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let log = ui.add(text::quiet_button(ui, "Log"));
            let name = format!("Log of {title}, attempt {}", attempt.attempt);
            log.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
            if log.clicked() {
                let selection = Selection::job(job.job.pipeline, job.job.id);
                actions.push(Action::Select(selection));
            }
            let end_ms = attempt.ended_at_ms.unwrap_or(frame.now_ms);
            text::small(ui, words::duration(end_ms.saturating_sub(attempt.claimed_at_ms)));
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                text::dot(ui, tone);
                text::plain(ui, title.as_str()).on_hover_text(format!(
                    "Job {}, epoch {}, claimed {}",
                    job.job.id,
                    attempt.epoch,
                    words::moment(attempt.claimed_at_ms)
                ));
            });
        });
    });
    let inset = Frame::new().inner_margin(Margin { left: 16, ..Margin::ZERO });
    inset.show(ui, |ui| {
        ui.horizontal(|ui| {
            text::small(ui, format!("attempt {} {word} · {}", attempt.attempt, attempt.worker));
            if attempt.outcome == AttemptOutcome::Running {
                jobs::lease_ui(frame, ui, &attempt.session, actions);
            }
        });
    });
    if let Some(failure) = &attempt.failure {
        Frame::new().inner_margin(Margin { left: 16, ..Margin::ZERO }).show(ui, |ui| {
            text::toned(ui, Tone::Dead, failure.reason.code());
            text::explanation(ui, failure.message.as_str());
        });
    }
}

/// The end of the log of the job that tells most.
pub fn log_ui(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    let log = &frame.screen.log;
    let Some(job) = log.key else { return };
    let title = frame.model.jobs.get(&job).map_or_else(
        || format!("Log of job {job}"),
        |row| format!("Log of {}", words::job_title(row).to_lowercase()),
    );
    ui.add_space(10.0);
    ui.horizontal(|ui| {
        text::small(ui, title);
        if let Some(lines) = log.value.as_ref().filter(|lines| !lines.is_empty()) {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if ui.add(text::quiet_button(ui, "Copy log")).clicked() {
                    actions.push(Action::Copy(lines.as_str().to_owned()));
                }
            });
        }
    });
    let tokens = Tokens::of(ui);
    Frame::new().fill(tokens.sunken).corner_radius(5.0).inner_margin(Margin::same(8)).show(
        ui,
        |ui| {
            ui.set_min_width(ui.available_width());
            match (&log.value, &log.failed) {
                (Some(lines), _) if !lines.trim().is_empty() => lines_ui(ui, lines, job.0),
                (_, Some(why)) => {
                    text::explanation(ui, format!("The log could not be fetched: {why}"));
                }
                (Some(_), None) => _ = text::muted(ui, "The attempt wrote nothing"),
                (None, None) => _ = text::muted(ui, "The log is on its way"),
            }
        },
    );
}

fn lines_ui(ui: &mut Ui, log: &str, salt: i64) {
    let lines: Vec<&str> = log.lines().collect();
    let height = ui.text_style_height(&TextStyle::Monospace);
    ui.spacing_mut().item_spacing.y = 1.0;
    ScrollArea::both()
        .id_salt(("log", salt))
        .max_height(LOG_HEIGHT)
        .auto_shrink([false, true])
        .stick_to_bottom(true)
        .show_rows(ui, height, lines.len(), |ui, range| {
            for line in lines.get(range).unwrap_or_default() {
                ui.add(Label::new(RichText::new(*line).monospace()).extend());
            }
        });
}
