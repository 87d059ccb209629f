//! What became of jobs and of pipelines, folded into what the watcher knows.

use super::book::shown;
use super::deliver::{Delivered, Delivery, RESULTS_FOLDER};
use super::engine::Engine;
use super::jobs::{Done, Job, Took};
use super::notes::{self, Note};
use super::tracked::{Noted, Stage};
use super::units::Look;
use crate::model::{Now, PipelineStatus, Reason, Sight};
use crate::protocol::watch::{AfterSuccess, DropOutcome, Results, WatchFileState};
use crate::store::{EndedDrop, StoreError, Taken, TakenAs};
use std::path::{Path, PathBuf};

/// How long nothing is taken after the farm could not.
const HELD_MS: u64 = 5_000;
/// Between two tries of a delivery.
const DELIVERY_AGAIN_MS: u64 = 10_000;

impl Engine {
    /// A job is done.
    pub(super) fn done(&mut self, done: Done, now: Now) -> Result<(), StoreError> {
        let now_ms = now.mono_ms;
        self.running = self.running.saturating_sub(1);
        match done {
            Done::Looked(key, plan) => self.looked(&key, plan),
            Done::Took(key, took) => {
                self.taking.remove(&key);
                self.took(&key, took, now_ms);
            }
            Done::Delivered(delivered) => self.delivered(delivered, now_ms)?,
        }
        self.book.write()
    }

    fn took(&mut self, key: &Path, took: Took, now_ms: u64) {
        match took {
            Took::In(taken, sights) => self.took_in(key, &taken, sights, now_ms),
            Took::Changed(path) => {
                self.put_back(key, now_ms);
                if let Some(sight) = self.get(&path).map(|tracked| tracked.sight) {
                    self.begin(&path, sight, now_ms);
                }
            }
            Took::Refused(refusal) => {
                let members =
                    self.units.get(key).map(|unit| unit.members.clone()).unwrap_or_default();
                self.put_back(key, now_ms);
                let is_gone =
                    |path: &&PathBuf| std::fs::symlink_metadata(self.root.join(path)).is_err();
                let gone: Vec<PathBuf> = members.iter().filter(is_gone).cloned().collect();
                if gone.is_empty() {
                    self.refuse_unit(key, refusal.reason, &refusal.message);
                }
                for path in gone {
                    self.gone(&path, now_ms);
                }
            }
            Took::Held(why) => {
                self.put_back(key, now_ms);
                self.held = Some((why, now_ms.saturating_add(HELD_MS)));
            }
            Took::Stopped => self.put_back(key, now_ms),
        }
    }

    /// The files of a unit that was not handed in wait again.
    fn put_back(&mut self, key: &Path, now_ms: u64) {
        let since_ms = self.units.get(key).map_or(now_ms, |unit| unit.still_since_ms);
        for path in self.read_for(key) {
            if let Some(tracked) = self.get_mut(&path) {
                match tracked.stage {
                    Stage::Taking(sight) if sight == tracked.sight => {
                        tracked.stage = Stage::Still { since_ms };
                    }
                    Stage::Taking(_) => {
                        let sight = tracked.sight;
                        self.begin(&path, sight, now_ms);
                    }
                    _ => {}
                }
            }
            self.plan_folder_of(&path);
        }
        if let Some(unit) = self.units.get_mut(key) {
            unit.look = Look::Wanted;
        }
    }

    /// Files that are read for a unit: its own, and those that go along.
    fn read_for(&self, key: &Path) -> Vec<PathBuf> {
        let mut paths = self.units.get(key).map(|unit| unit.members.clone()).unwrap_or_default();
        paths.extend(self.claims.along(key).cloned());
        paths
    }

    fn took_in(&mut self, key: &Path, taken: &Taken, sights: Vec<(PathBuf, Sight)>, now_ms: u64) {
        let (state, why) = match &taken.outcome {
            TakenAs::New | TakenAs::Unchanged => (WatchFileState::Accepted, None),
            TakenAs::Duplicate { of } => {
                (WatchFileState::Duplicate, Some(format!("the same as {of}")))
            }
        };
        for (path, sight) in sights {
            if path.as_path() != key {
                self.parts.insert(path.clone(), key.to_owned());
            }
            let Some(tracked) = self.get_mut(&path) else { continue };
            // The ledger has it by now, from the transaction that handed it in.
            tracked.noted = Noted { state: Some(state), why: why.clone(), reason: None };
            let is_same = tracked.sight == sight;
            let newest = tracked.sight;
            tracked.stage = Stage::Ended(state);
            if !is_same {
                self.begin(&path, newest, now_ms);
            }
            self.take_note_away(&path);
        }
        self.units.remove(key);
        self.release_claims(key);
        self.finish_orders(key);
    }

    /// What follows from pipelines that have ended.
    pub(super) fn deliver_ended(&mut self, now: Now) -> Result<Vec<Job>, StoreError> {
        let store = self.tools.store.clone();
        let ended = self.tools.handle.block_on(store.ended_drops(self.id))?;
        let mut jobs = Vec::new();
        for drop in ended {
            match self.delivering.get(&drop.id) {
                Some(None) => continue,
                Some(Some(again_ms)) if now.mono_ms < *again_ms => continue,
                _ => {}
            }
            if drop.status != PipelineStatus::Succeeded {
                self.failed(&drop)?;
                continue;
            }
            let delivery = self.delivery(drop, now);
            if delivery.results.is_none() && self.rules.after == AfterSuccess::Stay {
                let outcome = DropOutcome::Succeeded;
                self.tools.handle.block_on(store.settle_drop(delivery.drop.id, outcome, None))?;
                self.take_notes_away(&delivery.drop);
                continue;
            }
            self.delivering.insert(delivery.drop.id, None);
            self.running += 1;
            jobs.push(Job::Deliver(Box::new(delivery)));
        }
        Ok(jobs)
    }

    fn failed(&mut self, drop: &EndedDrop) -> Result<(), StoreError> {
        if let Some((reason, message)) = &drop.failure {
            self.lay_note(&self.beside(drop), *reason, message);
        }
        let store = self.tools.store.clone();
        self.tools.handle.block_on(store.settle_drop(drop.id, DropOutcome::Failed, None))
    }

    /// The file that a note about a drop lies beside: its main file, or a series' first frame.
    fn beside(&self, drop: &EndedDrop) -> PathBuf {
        let main = super::path(drop.main.clone());
        if self.get(&main).is_some() {
            return main;
        }
        drop.files.first().map_or(main, |first| super::path(first.clone()))
    }

    fn delivery(&self, drop: EndedDrop, now: Now) -> Delivery {
        let main = super::path(drop.main.clone());
        let name = format!("{}_v{}_{}", drop.asset, drop.asset_version, drop.recipe);
        let results = match &self.rules.results {
            Results::Farm => None,
            Results::Beside => {
                let folder = self.root.join(main.parent().unwrap_or(Path::new("")));
                Some(folder.join(RESULTS_FOLDER).join(&name))
            }
            Results::Folder { path } => Some(PathBuf::from(path).join(&name)),
            Results::Project { path } => {
                let project = self.rules.project.as_ref().map_or("default", |name| name.as_str());
                Some(PathBuf::from(path).join(project).join(&name))
            }
        };
        let files = drop.files.iter().map(|path| super::path(path.clone()));
        // A file that changed since, or that another asset still waits for, stays.
        let settled = files.filter_map(|path| {
            let tracked = self.get(&path)?;
            (tracked.is_taken() && self.claims.of(&path).is_none())
                .then(|| (path.clone(), tracked.sight))
        });
        Delivery {
            root: self.root.clone(),
            results,
            after: self.rules.after,
            files: settled.collect(),
            date: date(now.wall_ms),
            drop,
        }
    }

    fn delivered(&mut self, delivered: Delivered, now_ms: u64) -> Result<(), StoreError> {
        let Delivered { drop, results, gone, stays } = delivered;
        for (path, to) in gone {
            let to = to.and_then(|to| to.strip_prefix(&self.root).map(shown).ok());
            let why = to.map_or_else(
                || "deleted after the success".to_owned(),
                |to| format!("moved to {to}"),
            );
            let state = self.get(&path).and_then(|tracked| tracked.noted.state);
            self.note(&path, Noted { state, why: Some(why), reason: None });
            self.lose(&path);
        }
        match results {
            Ok(results) => {
                let results = results.map(|path| path.display().to_string());
                let store = self.tools.store.clone();
                let settled = store.settle_drop(drop.id, DropOutcome::Succeeded, results);
                self.tools.handle.block_on(settled)?;
                self.delivering.remove(&drop.id);
                self.take_notes_away(&drop);
                self.around.trouble = stays;
            }
            Err(why) => {
                self.around.trouble = Some(why);
                let again_ms = now_ms.saturating_add(DELIVERY_AGAIN_MS);
                self.delivering.insert(drop.id, Some(again_ms));
            }
        }
        Ok(())
    }

    /// Lays a note beside a file that was refused or whose work was given up.
    pub(super) fn lay_note(&self, path: &Path, reason: Reason, what: &str) {
        if !self.rules.notes {
            return;
        }
        let note = Note {
            file_shown: shown(path),
            what: what.to_owned(),
            remedy: reason.remedy().to_owned(),
            code: reason.code(),
            when: date(self.tools.clock.now().wall_ms),
        };
        if let Err(error) = notes::write(&self.root.join(path), &note) {
            tracing::warn!(%error, path = %shown(path), "no note can be laid beside a refused file");
        }
    }

    fn take_note_away(&self, path: &Path) {
        if let Err(error) = notes::remove(&self.root.join(path)) {
            tracing::warn!(%error, path = %shown(path), "an old note cannot be taken away");
        }
    }

    fn take_notes_away(&self, drop: &EndedDrop) {
        for path in &drop.files {
            self.take_note_away(&super::path(path.clone()));
        }
    }
}

/// A day as people write it, in this machine's time zone.
fn date(wall_ms: i64) -> String {
    let stamp = jiff::Timestamp::from_millisecond(wall_ms).unwrap_or_default();
    stamp.to_zoned_datetime(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d").to_string()
}
