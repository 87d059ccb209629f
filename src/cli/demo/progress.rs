//! Live progress on stderr: one line for each pipeline, redrawn in place on a terminal.

use super::super::{output, words};
use crate::client::read_model::ReadModel;
use crate::model::PipelineId;
use crate::protocol::view::PipelineView;
use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};

/// Shortest time between two drawings on a terminal.
const REDRAW_MS: u64 = 100;
/// Longest line, so that none wraps and spoils the redrawing.
const LINE_CHARS: usize = 78;

/// The display of one run.
pub(super) struct Progress {
    pipelines: Vec<PipelineId>,
    on_terminal: bool,
    lines: BTreeMap<PipelineId, String>,
    drawn: usize,
    drawn_at_ms: Option<u64>,
}

impl Progress {
    pub(super) fn new(pipelines: Vec<PipelineId>) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        Self { pipelines, on_terminal, lines: BTreeMap::new(), drawn: 0, drawn_at_ms: None }
    }

    /// Shows the farm as it is; `now_ms` is monotonic.
    pub(super) fn show(&mut self, model: &ReadModel, now_ms: u64) {
        for changed in self.update(model) {
            if !self.on_terminal {
                output::note(&changed);
            }
        }
        let is_due = self.drawn_at_ms.is_none_or(|drawn| now_ms >= drawn + REDRAW_MS);
        if self.on_terminal && is_due {
            self.drawn_at_ms = Some(now_ms);
            self.draw();
        }
    }

    /// The last drawing, whatever the time.
    pub(super) fn finish(&mut self) {
        if self.on_terminal {
            self.draw();
        }
    }

    /// Takes the lines in; returns those that say something new.
    fn update(&mut self, model: &ReadModel) -> Vec<String> {
        let mut changed = Vec::new();
        for id in &self.pipelines {
            let Some(row) = model.pipelines.get(id) else { continue };
            let detail = if self.on_terminal { doing(model, row) } else { String::new() };
            let line: String = line(row, &detail).chars().take(LINE_CHARS).collect();
            if self.lines.get(id) != Some(&line) {
                self.lines.insert(*id, line.clone());
                changed.push(line);
            }
        }
        changed
    }

    fn draw(&mut self) {
        let mut text = String::new();
        if self.drawn > 0 {
            text = format!("\x1b[{}A", self.drawn);
        }
        for line in self.lines.values() {
            text = format!("{text}\x1b[2K{line}\n");
        }
        self.drawn = self.lines.len();
        // Progress that nobody can see is no failure of the demo.
        drop(std::io::stderr().lock().write_all(text.as_bytes()));
    }
}

fn line(row: &PipelineView, detail: &str) -> String {
    let asset = format!("{} v{}", row.asset, row.asset_version);
    format!("  {asset:<16} {:<18} {detail}", words::place(row)).trim_end().to_owned()
}

/// What the first of its running jobs says.
fn doing(model: &ReadModel, row: &PipelineView) -> String {
    model
        .jobs
        .values()
        .filter(|job| job.pipeline == row.id)
        .find_map(|job| job.progress.as_ref())
        .map(|progress| {
            format!("{:>3.0} %  {}", progress.percent, output::one_line(&progress.message))
        })
        .unwrap_or_default()
}
