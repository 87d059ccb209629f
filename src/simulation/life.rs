//! The coordinator's life: its timers, its answers, its crashes, and what must survive them.

use super::coordinator::{Coordinator, ready};
use super::faults::Weather;
use super::ledger::{Ledger, ensure};
use super::message::{Party, Reply};
use super::time::START_WALL_MS;
use super::world::{Event, Step, World};
use crate::model::{Now, SessionId, limits};
use crate::store::{PendingExport, Store, StoreError};

/// How often the sweep looks.
const SWEEP_MS: u64 = 1_000;
/// How often retries are promoted and exports written.
const PROMOTE_MS: u64 = 3_000;
/// Exports of one pass.
const EXPORTS: u32 = 16;
/// A process that was frozen needs a moment to notice.
const THAW_MS: u64 = 1_000;

impl World {
    /// The coordinator's clocks show this moment.
    pub(super) fn set_clock(&self) {
        let born_ms = self.coordinator.as_ref().map_or(self.now_ms, |process| process.born_ms);
        let wall_ms = START_WALL_MS
            .saturating_add(i64::try_from(self.now_ms).unwrap_or(i64::MAX))
            .saturating_add(self.wall_offset_ms);
        self.clock.set(Now { wall_ms, mono_ms: self.now_ms - born_ms });
    }

    /// An answer goes back.
    pub(super) fn reply(&mut self, to: Party, life: u64, call: u64, reply: Reply, after_ms: u64) {
        let Party::Worker(index) = to else { return };
        if Weather::lasts(&self.weather.cut_back, index, self.now_ms) {
            return self.count("answer_cut");
        }
        if self.is_lost() {
            return self.count("answer_lost");
        }
        let late_ms = after_ms + self.latency_ms();
        self.under_way((to, false), late_ms);
        self.queue.push(self.now_ms + late_ms, Event::Answer { index, life, call, reply });
    }

    /// Takes in what was committed since the last step.
    pub(super) fn follow(&mut self) -> Step {
        let Some(process) = &self.coordinator else { return Ok(()) };
        loop {
            let more = ready(process.store.events_after(self.ledger.seq, limits::EVENTS_PER_PAGE));
            let more = more.map_err(|error| error.to_string())?;
            if more.is_empty() {
                return Ok(());
            }
            for event in &more {
                self.ledger.take(event)?;
            }
        }
    }

    /// A timer of one life of the coordinator.
    pub(super) fn timer(&mut self, life: u64, again: fn(u64) -> Event) -> Step {
        if self.coordinator.is_none() || self.lives != life {
            return Ok(());
        }
        if self.now_ms < self.weather.stalled_until_ms {
            self.queue.push(self.weather.stalled_until_ms, again(life));
            return Ok(());
        }
        self.set_clock();
        let period_ms = if let Event::Sweep(_) = again(life) {
            self.sweep()?;
            SWEEP_MS
        } else {
            if self.weather.disk_full_until_ms <= self.now_ms {
                self.fill_disk(self.now_ms);
            }
            self.promote()?;
            PROMOTE_MS
        };
        self.queue.push(self.now_ms + period_ms, again(life));
        self.follow()
    }

    fn sweep(&mut self) -> Step {
        let Some(process) = &self.coordinator else { return Ok(()) };
        let ended = match process.sweep(self.now_ms - process.born_ms) {
            Ok(ended) => ended,
            Err(StoreError::DiskFull) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        for session in ended {
            self.count("session_lost");
            self.trace(&format!("lost {session}"));
            self.stopped_before(&session)?;
        }
        Ok(())
    }

    /// Whoever held the session must have stopped by itself, unless it is frozen.
    fn stopped_before(&mut self, session: &SessionId) -> Step {
        self.checks += 1;
        let now_ms = self.now_ms;
        let at_work = self.workers.iter().find(|worker| {
            worker.up
                && now_ms >= worker.frozen_until_ms.saturating_add(THAW_MS)
                && worker
                    .session
                    .as_ref()
                    .is_some_and(|own| own.id == *session && !own.running.is_empty())
        });
        ensure(at_work.is_none(), || {
            format!("jobs of session {session} were handed on while its worker works on them")
        })
    }

    fn promote(&mut self) -> Step {
        let Some(process) = &self.coordinator else { return Ok(()) };
        let mut results = vec![ready(process.store.promote_due()).map(drop)];
        let pending = ready(process.store.pending_exports(EXPORTS));
        let pending = pending.map_err(|error| error.to_string())?;
        for export in pending {
            let result = self.export(&export);
            results.push(result?);
        }
        for result in results {
            match result {
                Ok(()) | Err(StoreError::DiskFull) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }

    /// Writes an export folder, which may fail, or be written without the store knowing.
    fn export(&mut self, export: &PendingExport) -> Result<Result<(), StoreError>, String> {
        let chance = if self.calm() { 0 } else { 100 };
        let (fails, forgotten) = (self.random.permille(chance), self.random.permille(chance));
        let Some(process) = &self.coordinator else { return Ok(Ok(())) };
        if fails {
            let failed = ready(process.store.export_failed(export.id, "the disk is away"));
            self.count("export_failed");
            return Ok(failed);
        }
        let folder = format!("{}/{}", export.asset, export.folder);
        let before = self.exported.insert(folder.clone(), export.pipeline.0);
        ensure(before.is_none_or(|before| before == export.pipeline.0), || {
            format!("two pipelines were exported into {folder}")
        })?;
        if forgotten {
            self.count("export_not_told");
            return Ok(Ok(()));
        }
        Ok(ready(process.store.export_done(export.id, &folder)))
    }

    /// The coordinator's disk is full until then.
    pub(super) fn fill_disk(&mut self, until_ms: u64) {
        self.weather.disk_full_until_ms = until_ms;
        let full = until_ms > self.now_ms;
        if let Some(process) = &self.coordinator
            && let Err(error) = process.control.fill_disk(full)
        {
            self.trace(&format!("the disk cannot be filled: {error}"));
        }
    }

    pub(super) fn folder(&self, life: u64) -> std::path::PathBuf {
        self.root.path().join(format!("life-{life}"))
    }

    /// The process dies now and comes back later.
    pub(super) fn crash(&mut self, back_in_ms: u64) {
        let Some(process) = self.coordinator.take() else { return };
        let next = self.folder(self.lives + 1);
        let died = std::fs::create_dir_all(&next)
            .map_err(|error| StoreError::Unusable(error.to_string()))
            .and_then(|()| process.die(&next));
        if let Err(error) = died {
            self.trace(&format!("the crash went wrong: {error}"));
        }
        self.weather.disk_full_until_ms = self.now_ms;
        self.queue.push(self.now_ms + back_in_ms, Event::Restart);
    }

    /// The process comes back: all that was committed must be there, word for word.
    pub(super) fn restart(&mut self) -> Step {
        if self.coordinator.is_some() {
            return Ok(());
        }
        self.lives += 1;
        let folder = self.folder(self.lives);
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        self.set_clock();
        let process = Coordinator::open(&folder, &self.clock, self.now_ms);
        let process = process.map_err(|error| format!("the farm cannot be opened: {error}"))?;
        self.remembers(&process.store)?;
        self.coordinator = Some(process);
        self.set_clock();
        self.follow()?;
        for (request, reply) in std::mem::take(&mut self.promised) {
            self.ledger.acknowledged(&request, &reply)?;
        }
        let life = self.lives;
        self.queue.push(self.now_ms, Event::Sweep(life));
        self.queue.push(self.now_ms + 1, Event::Promote(life));
        self.trace("coordinator up");
        Ok(())
    }

    fn remembers(&mut self, store: &Store) -> Step {
        self.checks += 1;
        let mut again = Ledger::default();
        while again.seq < self.ledger.seq {
            let left = usize::try_from(self.ledger.seq - again.seq).unwrap_or(usize::MAX);
            let page = left.min(limits::EVENTS_PER_PAGE);
            let events = ready(store.events_after(again.seq, page));
            let events = events.map_err(|error| error.to_string())?;
            ensure(!events.is_empty(), || {
                format!("a crash took {} of {} events", left, self.ledger.seq)
            })?;
            for event in &events {
                again.take(event)?;
            }
        }
        ensure(again.hash() == self.ledger.hash(), || "a crash changed the audit".into())
    }
}
