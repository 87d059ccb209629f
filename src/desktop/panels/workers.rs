//! The table of workers.

use super::{empty, jobs};
use crate::desktop::action::Actions;
use crate::desktop::frame::FrameContext;
use crate::desktop::theme::{ROW, Tone};
use crate::desktop::widgets::table::{Head, Table, finish_row, head, rest};
use crate::desktop::widgets::text;
use crate::desktop::words;
use crate::protocol::view::WorkerView;
use eframe::egui::Ui;
use egui_extras::TableRow;

const HEADS: [Head; 8] = [
    head("", 4.0),
    head("Worker", 130.0),
    head("Jobs", 104.0),
    head("Lease", 96.0),
    head("Cores", 44.0),
    head("Memory", 72.0),
    head("Draws with", 220.0),
    rest("Programs"),
];

/// Draws the table.
pub fn show(frame: &FrameContext<'_>, ui: &mut Ui, actions: &mut Actions) {
    let rows = &frame.lists.workers;
    if rows.is_empty() {
        empty::show(frame, ui, actions);
        return;
    }
    let table =
        Table { id: "workers", heads: &HEADS, row_height: ROW, rows: rows.len(), scroll_to: None };
    table.show(ui, |row| {
        let found = rows.get(row.index()).and_then(|id| frame.model.workers.get(id));
        if let Some(worker) = found {
            row_ui(frame, row, worker, actions);
        }
    });
}

fn row_ui(
    frame: &FrameContext<'_>,
    row: &mut TableRow<'_, '_>,
    worker: &WorkerView,
    actions: &mut Actions,
) {
    let can = &worker.capabilities;
    row.col(|_| {});
    row.col(|ui| {
        let about = format!(
            "Host {}\n{}, Sawah {}\nHere since {}",
            can.host,
            can.os,
            can.version,
            words::moment(worker.opened_at_ms)
        );
        text::plain(ui, worker.name.as_str()).on_hover_text(about);
    });
    row.col(|ui| jobs_ui(frame, ui, worker));
    row.col(|ui| {
        if worker.jobs.is_empty() {
            // A lease without jobs puts nothing at stake; a countdown would only keep the window busy.
            text::muted(ui, "alive").on_hover_text("It beats and holds no job");
        } else {
            jobs::lease_ui(frame, ui, &worker.session, actions);
        }
    });
    row.col(|ui| {
        text::muted(ui, can.cores.to_string());
    });
    row.col(|ui| {
        text::muted(ui, words::size(can.memory_bytes));
    });
    row.col(|ui| {
        if can.gpus.is_empty() {
            text::muted(ui, "CPU only").on_hover_text("No graphics adapter was found");
        } else {
            text::plain(ui, can.gpus.join(", "));
        }
    });
    row.col(|ui| {
        let programs: Vec<_> =
            can.programs.iter().map(|one| format!("{} {}", one.name, one.version)).collect();
        if programs.is_empty() {
            text::muted(ui, "none found");
        } else {
            text::muted(ui, programs.join(", "));
        }
    });
    let name = format!("{}, {}", worker.name, held(worker));
    finish_row(row, &name, false);
}

fn held(worker: &WorkerView) -> String {
    format!("{} of {} slots", worker.jobs.len(), worker.capabilities.slots)
}

fn jobs_ui(frame: &FrameContext<'_>, ui: &mut Ui, worker: &WorkerView) {
    let titles: Vec<_> = worker
        .jobs
        .iter()
        .filter_map(|id| frame.model.jobs.get(id))
        .map(|job| {
            let asset = frame.model.pipelines.get(&job.pipeline);
            let asset = asset.map_or_else(String::new, |row| words::asset(row));
            format!("{asset} · {}", words::job_title(job))
        })
        .collect();
    if let Some(quarantine) = &worker.quarantine {
        let evidence: Vec<_> = quarantine.evidence.iter().map(|one| one.message.as_str()).collect();
        let response = text::status(ui, Tone::Dead, "in quarantine");
        response.on_hover_text(format!(
            "It failed jobs of several pipelines in a row and is given no work:\n{}\nCorrect the machine, then: sawah forgive {}",
            evidence.join("\n"),
            worker.name
        ));
    } else if worker.jobs.is_empty() {
        text::status(ui, Tone::Good, "ready");
    } else {
        let response = text::status(ui, Tone::Run, &held(worker));
        response.on_hover_text(titles.join("\n"));
    }
}
