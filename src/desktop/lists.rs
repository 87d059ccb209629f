//! Which rows the tables show and in which order. While something is selected the order is held.

use super::index::Index;
use super::screen::{Screen, StateFilter};
use crate::client::read_model::ReadModel;
use crate::model::{JobId, JobState, PipelineId, SessionId, WatchFileId};
use std::collections::HashSet;
use std::hash::Hash;

/// The rows of one table.
#[derive(Debug)]
pub struct Rows<T> {
    /// Ids in the order shown.
    pub shown: Vec<T>,
    /// Rows that would be shown if the order were not held.
    pub waiting: usize,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { shown: Vec::new(), waiting: 0 }
    }
}

impl<T: Copy + Eq + Hash> Rows<T> {
    fn follow(&mut self, fresh: Vec<T>, hold: bool, exists: impl Fn(&T) -> bool) {
        if hold {
            self.shown.retain(exists);
            let shown: HashSet<T> = self.shown.iter().copied().collect();
            self.waiting = fresh.iter().filter(|id| !shown.contains(id)).count();
        } else {
            self.shown = fresh;
            self.waiting = 0;
        }
    }

    /// Where a row stands.
    pub fn position(&self, id: T) -> Option<usize> {
        self.shown.iter().position(|shown| *shown == id)
    }
}

/// The rows of all tables.
#[derive(Debug, Default)]
pub struct Lists {
    /// Newest first.
    pub pipelines: Rows<PipelineId>,
    /// Those that run first, then those that wait, then newest first.
    pub jobs: Rows<JobId>,
    /// Newest first.
    pub dead_letters: Rows<JobId>,
    /// Files of the watch folder that is shown, the newest change first.
    pub watched: Rows<WatchFileId>,
    /// By name.
    pub workers: Vec<SessionId>,
}

impl Lists {
    /// Follows the model; rows that are held stay in place, those that are gone leave.
    pub fn follow(&mut self, model: &ReadModel, index: &Index, screen: &Screen, hold: bool) {
        let needle = screen.search.trim().to_lowercase();
        let pipelines = pipelines(model, index, screen.filter, &needle);
        let jobs = jobs(model, screen.filter, &needle);
        let letters = dead_letters(model, &needle);
        self.pipelines.follow(pipelines, hold, |id| model.pipelines.contains_key(id));
        self.jobs.follow(jobs, hold, |id| model.jobs.contains_key(id));
        self.dead_letters.follow(letters, hold, |id| model.dead_letters.contains_key(id));
        let watching = &screen.watching;
        let files = watching.files.value.as_deref().into_iter().flatten();
        let files = files.filter(|file| {
            let asset = file.drop.as_ref().map_or("", |drop| drop.asset.as_str());
            matches(&needle, [file.path.as_str(), asset])
        });
        let files = files.map(|file| file.id).collect();
        self.watched.follow(files, hold, |id| watching.places.contains_key(id));
        let mut workers: Vec<_> = model
            .workers
            .values()
            .filter(|worker| {
                matches(&needle, [worker.name.as_str(), worker.capabilities.host.as_str()])
            })
            .collect();
        workers.sort_by(|one, other| one.name.cmp(&other.name));
        self.workers = workers.into_iter().map(|worker| worker.session.clone()).collect();
    }
}

fn matches<'a>(needle: &str, texts: impl IntoIterator<Item = &'a str>) -> bool {
    needle.is_empty() || texts.into_iter().any(|text| text.to_lowercase().contains(needle))
}

fn pipelines(
    model: &ReadModel,
    index: &Index,
    filter: Option<StateFilter>,
    needle: &str,
) -> Vec<PipelineId> {
    let wanted = |id: PipelineId, status| {
        filter.is_none_or(|filter| index.has(id, filter) || filter.takes_status(status))
    };
    let rows = model.pipelines.values().rev();
    rows.filter(|row| wanted(row.id, row.status))
        .filter(|row| {
            let kind = row.kind.map_or("", |kind| kind.as_str());
            matches(needle, [row.asset.as_str(), &row.source_ref, &row.recipe, kind])
        })
        .map(|row| row.id)
        .collect()
}

fn jobs(model: &ReadModel, filter: Option<StateFilter>, needle: &str) -> Vec<JobId> {
    let rank = |state| match state {
        JobState::Processing | JobState::Claimed => 0,
        JobState::RetryScheduled => 1,
        JobState::Queued => 2,
        JobState::Succeeded | JobState::FailedTerminal | JobState::Cancelled => 3,
    };
    let mut rows: Vec<_> = model
        .jobs
        .values()
        .filter(|job| {
            filter.is_none_or(|filter| match filter {
                // A job that was replayed or dismissed is nobody's concern any more.
                StateFilter::DeadLetters => model.dead_letters.contains_key(&job.id),
                live => StateFilter::of_job(job.state) == Some(live),
            })
        })
        .filter(|job| {
            let asset = model.pipelines.get(&job.pipeline).map_or("", |row| row.asset.as_str());
            let worker = job.worker.as_deref().unwrap_or_default();
            matches(needle, [asset, worker, job.stage.as_str(), &job.queue])
        })
        .collect();
    rows.sort_by_key(|job| (rank(job.state), std::cmp::Reverse(job.id)));
    rows.into_iter().map(|job| job.id).collect()
}

fn dead_letters(model: &ReadModel, needle: &str) -> Vec<JobId> {
    let mut rows: Vec<_> = model
        .dead_letters
        .values()
        .filter(|row| {
            let worker = row.worker.as_deref().unwrap_or_default();
            let texts = [row.asset.as_str(), row.reason.code(), &row.message, worker];
            matches(needle, texts)
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.at_ms, row.job)));
    rows.into_iter().map(|row| row.job).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_rows_keep_their_order_and_count_what_waits() {
        let mut rows = Rows::default();
        rows.follow(vec![3, 2, 1], false, |_| true);
        rows.follow(vec![5, 4, 2, 3], true, |id| *id != 1);
        assert_eq!((rows.shown.as_slice(), rows.waiting), (&[3, 2][..], 2));
        rows.follow(vec![5, 4, 2, 3], false, |_| true);
        assert_eq!((rows.shown.as_slice(), rows.waiting), (&[5, 4, 2, 3][..], 0));
    }
}
