//! The table of jobs: who does what, for how long yet, and what is tried again when.

use super::empty;
use crate::desktop::action::{Action, Actions};
use crate::desktop::frame::FrameContext;
use crate::desktop::screen::Selection;
use crate::desktop::theme::{ROW, Tone};
use crate::desktop::widgets::table::{Head, Table, finish_row, head, rest, selected_mark};
use crate::desktop::widgets::{bar, strip, text};
use crate::desktop::words;
use crate::model::{JobState, limits};
use crate::protocol::view::JobView;
use eframe::egui::{Align, Layout, Ui, vec2};
use egui_extras::TableRow;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const PROGRESS: f32 = 96.0;
const LEASE: f32 = 44.0;
const LEASE_WORDS: f32 = 26.0;
/// Below this width of the table, in points, names have less room.
const WIDE: f32 = 1_060.0;

fn heads(wide: bool) -> [Head; 7] {
    [
        head("", 4.0),
        head("Asset", if wide { 220.0 } else { 140.0 }),
        head("Job", 146.0),
        head("State", 104.0),
        head("Attempt", 58.0),
        rest("Progress"),
        head("Lease and worker", if wide { 220.0 } else { 180.0 }),
    ]
}

/// Draws the table.
pub fn show(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    let rows = &frame.lists.jobs.shown;
    if rows.is_empty() {
        empty::show(frame, ui, actions);
        return;
    }
    let selection = frame.screen.selection;
    let scroll_to = selection
        .job
        .filter(|_| frame.screen.once.scroll_to_selection)
        .and_then(|id| frame.lists.jobs.position(id));
    let heads = heads(ui.available_width() >= WIDE);
    let table = Table { id: "jobs", heads: &heads, row_height: ROW, rows: rows.len(), scroll_to };
    table.show(ui, |row| {
        let found = rows.get(row.index()).and_then(|id| frame.model.jobs.get(id));
        if let Some(job) = found {
            row_ui(frame, row, job, selection.job == Some(job.id), actions);
        }
    });
}

fn row_ui(
    frame: &FrameContext<'_>,
    row: &mut TableRow<'_, '_>,
    job: &JobView,
    selected: bool,
    actions: &mut Actions,
) {
    let pipeline = frame.model.pipelines.get(&job.pipeline);
    let asset =
        pipeline.map_or_else(|| format!("pipeline {}", job.pipeline), |row| words::asset(row));
    row.set_selected(selected);
    row.col(|ui| selected_mark(ui, selected));
    row.col(|ui| {
        text::plain(ui, asset.as_str());
    });
    row.col(|ui| {
        text::plain(ui, words::job_title(job)).on_hover_text(format!("Queue {}", job.queue));
    });
    let (word, tone) = words::job_state(job.state);
    row.col(|ui| {
        text::status(ui, tone, word);
    });
    row.col(|ui| {
        text::muted(ui, format!("{} of {}", job.attempt, job.max_attempts));
    });
    row.col(|ui| progress_ui(frame, ui, job, actions));
    row.col(|ui| worker_ui(frame, ui, job, actions));
    let name = format!("{asset}, {}, {word}", words::job_title(job));
    if finish_row(row, &name, selected).clicked() {
        let next = if selected { Selection::NONE } else { Selection::job(job.pipeline, job.id) };
        actions.push(Action::Select(next));
    }
}

fn progress_ui(frame: &FrameContext<'_>, ui: &mut Ui, job: &JobView, actions: &mut Actions) {
    match (job.state, &job.progress, job.run_at_ms) {
        (JobState::Processing, Some(progress), _) => {
            let name = format!("{} progress", words::job_title(job));
            bar::bar(ui, PROGRESS, progress.percent / 100.0, Tone::Run, &name)
                .on_hover_text(&progress.message);
            text::small(ui, format!("{:.0} %  {}", progress.percent, progress.message));
        }
        (JobState::RetryScheduled, _, Some(due_ms)) => {
            let left = words::countdown(due_ms.saturating_sub(frame.now_ms));
            text::toned(ui, Tone::Wait, format!("next try in {left}"));
            if let Some(failure) = &job.last_failure {
                text::small(ui, format!("after {}", failure.reason))
                    .on_hover_text(&failure.message);
            }
            actions.push(Action::Tick(SECOND));
        }
        (JobState::FailedTerminal, ..) => {
            if let Some(failure) = &job.last_failure {
                text::small(ui, format!("{}: {}", failure.reason, failure.message));
            }
        }
        _ => {}
    }
}

fn worker_ui(frame: &FrameContext<'_>, ui: &mut Ui, job: &JobView, actions: &mut Actions) {
    if job.state.is_leased()
        && let Some(session) = &job.session
    {
        lease_ui(frame, ui, session, actions);
    }
    if let Some(worker) = &job.worker {
        text::plain(ui, worker.as_str());
    }
}

/// The lease of a session as a bar and a countdown; amber past half.
pub fn lease_ui(
    frame: &FrameContext<'_>,
    ui: &mut Ui,
    session: &crate::model::SessionId,
    actions: &mut Actions,
) {
    let Some(left_ms) = frame.leases.left_ms(session, frame.now_ms) else {
        text::small(ui, "no lease");
        return;
    };
    let left = left_ms as f32 / limits::LEASE_MS as f32;
    let tone = strip::share_tone(left);
    let text = words::countdown(left_ms);
    let name = format!("Lease {text} left");
    bar::bar(ui, LEASE, left, tone, &name).on_hover_text(format!("{name} unless the worker beats"));
    let room = vec2(LEASE_WORDS, ui.available_height().min(20.0));
    ui.allocate_ui_with_layout(room, Layout::left_to_right(Align::Center), |ui| {
        ui.set_min_width(LEASE_WORDS);
        text::small(ui, text);
    });
    actions.push(Action::Tick(SECOND));
}
