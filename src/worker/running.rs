//! The attempts that this session holds: how far they are, and how they are told to stop.

use crate::model::{Epoch, JobId};
use crate::protocol::work::{Progress, RunningJob};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};

/// Why an attempt must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The job is no longer ours: report nothing.
    Lost,
    /// The worker ends: give the job back.
    Shutdown,
}

/// Tells one attempt to stop.
#[derive(Debug, Clone)]
pub struct StopSignal(watch::Receiver<Option<Stop>>);

impl StopSignal {
    /// A signal and its switch.
    pub fn new() -> (watch::Sender<Option<Stop>>, Self) {
        let (switch, signal) = watch::channel(None);
        (switch, Self(signal))
    }

    /// Waits until the attempt must stop.
    pub async fn stopped(&mut self) -> Stop {
        match self.0.wait_for(Option::is_some).await {
            Ok(stop) => stop.unwrap_or(Stop::Lost),
            // Nobody is left who could say that the job is still ours.
            Err(_) => Stop::Lost,
        }
    }

    /// Waits until the job is lost, also after another reason to stop.
    pub async fn lost(&mut self) {
        let _ = self.0.wait_for(|stop| *stop == Some(Stop::Lost)).await;
    }

    /// Runs `work` unless the attempt must stop before it ends.
    pub async fn guard<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Stop> {
        tokio::select! {
            biased;
            stop = self.stopped() => Err(stop),
            done = work => Ok(done),
        }
    }
}

/// All attempts of one session.
#[derive(Debug)]
pub struct Running {
    table: Mutex<Table>,
    count: watch::Sender<usize>,
    /// Wakes the heartbeat when progress has changed.
    pub progress_changed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    attempts: BTreeMap<(JobId, Epoch), Attempt>,
    closed: bool,
}

#[derive(Debug)]
struct Attempt {
    progress: Progress,
    switch: watch::Sender<Option<Stop>>,
}

/// The place of one attempt; free again when dropped.
#[derive(Debug)]
pub struct Slot {
    running: Arc<Running>,
    key: (JobId, Epoch),
}

impl Running {
    /// No attempts.
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            table: Mutex::default(),
            count: watch::Sender::new(0),
            progress_changed: Notify::new(),
        })
    }

    /// Takes a place; none when everything was stopped, or the very claim runs already.
    pub fn add(self: &Arc<Self>, job: JobId, epoch: Epoch) -> Option<(Slot, StopSignal)> {
        let (switch, signal) = StopSignal::new();
        let mut table = self.table();
        if table.closed || table.attempts.contains_key(&(job, epoch)) {
            return None;
        }
        table.attempts.insert((job, epoch), Attempt { progress: Progress::default(), switch });
        self.count.send_replace(table.attempts.len());
        drop(table);
        self.progress_changed.notify_one();
        Some((Slot { running: Arc::clone(self), key: (job, epoch) }, signal))
    }

    /// How many attempts run.
    pub fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// Waits until fewer than `slots` attempts run; returns how many places are free.
    pub async fn wait_free(&self, slots: usize) -> usize {
        let mut count = self.count.subscribe();
        match count.wait_for(|count| *count < slots).await {
            Ok(count) => slots.saturating_sub(*count),
            Err(_) => 0,
        }
    }

    /// What a heartbeat says. Attempts that are being stopped are no longer held.
    pub fn report(&self) -> Vec<RunningJob> {
        let table = self.table();
        let held = table.attempts.iter().filter(|(_, attempt)| attempt.switch.borrow().is_none());
        held.map(|((job, epoch), attempt)| RunningJob {
            job: *job,
            epoch: *epoch,
            progress: attempt.progress.clone(),
        })
        .collect()
    }

    /// Stops the attempts of `reported` whose job is in `jobs`: a later claim of the same job is
    /// not meant.
    pub fn stop_reported(&self, reported: &[RunningJob], jobs: &[JobId]) {
        let table = self.table();
        for entry in reported.iter().filter(|entry| jobs.contains(&entry.job)) {
            if let Some(attempt) = table.attempts.get(&(entry.job, entry.epoch)) {
                attempt.stop(Stop::Lost);
            }
        }
    }

    /// Stops every attempt and takes no new one.
    pub fn stop_all(&self, stop: Stop) {
        let mut table = self.table();
        table.closed = true;
        table.attempts.values().for_each(|attempt| attempt.stop(stop));
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attempt {
    /// The first reason stays, but a lost job is never given back.
    fn stop(&self, stop: Stop) {
        self.switch.send_if_modified(|now| {
            let changes = now.is_none() || (*now == Some(Stop::Shutdown) && stop == Stop::Lost);
            if changes {
                *now = Some(stop);
            }
            changes
        });
    }
}

impl Slot {
    /// The coordinator says that the job is not ours.
    pub fn stop(&self) {
        if let Some(attempt) = self.running.table().attempts.get(&self.key) {
            attempt.stop(Stop::Lost);
        }
    }

    /// Says how far the attempt is.
    pub fn progress(&self, percent: f32, message: &str) {
        let mut table = self.running.table();
        let Some(attempt) = table.attempts.get_mut(&self.key) else { return };
        attempt.progress.percent = percent;
        message.clone_into(&mut attempt.progress.message);
        drop(table);
        self.running.progress_changed.notify_one();
    }

    /// Says which frame is done; goes out with the progress that follows.
    pub fn frame(&self, frame: i32) {
        let mut table = self.running.table();
        if let Some(attempt) = table.attempts.get_mut(&self.key) {
            attempt.progress.frame = Some(frame);
        }
    }

    /// The last line of the log; goes out with the next heartbeat, and hurries none.
    pub fn line(&self, line: &str) {
        let mut table = self.running.table();
        if let Some(attempt) = table.attempts.get_mut(&self.key) {
            line.clone_into(&mut attempt.progress.line);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut table = self.running.table();
        table.attempts.remove(&self.key);
        self.running.count.send_replace(table.attempts.len());
        drop(table);
        self.running.progress_changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_reported_claim_is_stopped() {
        let running = Running::new();
        let (_old, mut old_stop) = running.add(JobId(1), Epoch(1)).unwrap();
        let reported = running.report();
        let (_new, mut new_stop) = running.add(JobId(1), Epoch(2)).unwrap();
        running.stop_reported(&reported, &[JobId(1), JobId(9)]);
        assert_eq!(old_stop.stopped().await, Stop::Lost);
        assert_eq!(new_stop.guard(async { 5 }).await, Ok(5));
        let held: Vec<_> = running.report().iter().map(|entry| entry.epoch).collect();
        assert_eq!(held, [Epoch(2)]);
    }

    #[test]
    fn a_heartbeat_carries_the_last_frame_and_line_until_they_change() {
        let running = Running::new();
        let (slot, _stop) = running.add(JobId(1), Epoch(1)).unwrap();
        slot.frame(7);
        slot.progress(58.0, "frame 7 of 12");
        slot.line("tile 3 done");
        slot.progress(59.0, "joining");
        let said = running.report().remove(0).progress;
        assert_eq!((said.frame, said.line.as_str()), (Some(7), "tile 3 done"));
        assert_eq!((said.percent, said.message.as_str()), (59.0, "joining"));
    }

    #[tokio::test]
    async fn places_are_counted_and_closed() {
        let running = Running::new();
        let (one, mut stop) = running.add(JobId(1), Epoch(1)).unwrap();
        assert!(running.add(JobId(1), Epoch(1)).is_none());
        assert_eq!(running.wait_free(3).await, 2);
        running.stop_all(Stop::Shutdown);
        assert_eq!(stop.stopped().await, Stop::Shutdown);
        running.stop_all(Stop::Lost);
        assert_eq!(stop.stopped().await, Stop::Lost);
        stop.lost().await;
        drop(one);
        assert_eq!(running.wait_free(1).await, 1);
        assert!(running.add(JobId(2), Epoch(1)).is_none());
    }
}
