//! Lets the faults happen.

use super::faults::Fault;
use super::message::Party;
use super::worker::Tick;
use super::world::{Event, World};
use crate::store::CrashPoint;

impl World {
    /// One fault, and when the next one comes.
    pub(super) fn fault(&mut self) {
        if self.calm() {
            return;
        }
        let wait_ms = self.random.range(3_000, 60_000);
        self.queue.push(self.now_ms + wait_ms, Event::Fault);
        let Some(fault) = self.random.pick(&Fault::ALL).copied() else { return };
        let workers: Vec<usize> = (0..self.workers.len()).collect();
        let Some(index) = self.random.pick(&workers).copied() else { return };
        let length_ms = match self.random.range(0, 3) {
            0 => self.random.range(20_000, 120_000),
            _ => self.random.range(500, 20_000),
        };
        self.trace(&format!("fault {} {index} {length_ms}", fault.name()));
        self.count(fault.name());
        self.begin_fault(fault, index, length_ms);
    }

    fn begin_fault(&mut self, fault: Fault, index: usize, length_ms: u64) {
        let until_ms = self.now_ms + length_ms;
        match fault {
            Fault::CutTowards => drop(self.weather.cut_towards.insert(index, until_ms)),
            Fault::CutBack => drop(self.weather.cut_back.insert(index, until_ms)),
            Fault::Loss => self.weather.lossy_until_ms = until_ms,
            Fault::SlowNetwork => self.weather.slow_network_until_ms = until_ms,
            Fault::SlowDisk => self.weather.slow_disk_until_ms = until_ms,
            Fault::CoordinatorStall => self.weather.stalled_until_ms = until_ms,
            Fault::DiskFull => self.fill_disk(until_ms),
            Fault::WorkerCrash => self.stop_worker(index, length_ms),
            Fault::WorkerGoodbye => {
                self.farewell(index);
                self.stop_worker(index, length_ms);
            }
            Fault::WorkerFreeze => self.freeze(index, until_ms),
            Fault::WorkerWallStep => {
                let step_ms = self.hour_step_ms();
                if let Some(worker) = self.workers.get_mut(index) {
                    worker.wall_offset_ms += step_ms;
                    let session = worker.session.as_ref().map(|session| session.id.clone());
                    if let Some(session) = session {
                        self.worker_timer(index, 500, Tick::Guard(session));
                    }
                }
            }
            // Long enough for jobs of several pipelines.
            Fault::WorkerSick => drop(self.weather.sick.insert(index, self.now_ms + 4 * length_ms)),
            Fault::CoordinatorWallStep => self.wall_offset_ms += self.hour_step_ms(),
            Fault::CoordinatorCrash => self.crash(length_ms),
            Fault::CrashBeforeCommit => self.crash_at(CrashPoint::BeforeCommit),
            Fault::CrashAfterCommit => self.crash_at(CrashPoint::AfterCommit),
        }
    }

    fn hour_step_ms(&mut self) -> i64 {
        if self.random.permille(500) { 3_600_000 } else { -3_600_000 }
    }

    fn crash_at(&mut self, point: CrashPoint) {
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.crash = Some(point);
        }
    }

    fn stop_worker(&mut self, index: usize, back_in_ms: u64) {
        let Some(worker) = self.workers.get_mut(index).filter(|worker| worker.up) else { return };
        worker.die();
        self.queue.push(self.now_ms + back_in_ms, Event::Boot(index));
    }

    fn freeze(&mut self, index: usize, until_ms: u64) {
        let careless = self.random.permille(500);
        let Some(worker) = self.workers.get_mut(index).filter(|worker| worker.up) else { return };
        // A second freeze does not end the first one early.
        worker.frozen_until_ms = worker.frozen_until_ms.max(until_ms);
        let life = worker.life;
        let reports = match &worker.session {
            Some(session) if careless => session.careless_reports(),
            _ => Vec::new(),
        };
        for request in reports {
            self.count("zombie_report");
            let (from, call) = (Party::Worker(index), self.next_call());
            let late_ms = self.random.range(1, 40);
            self.queue.push(until_ms + late_ms, Event::Request { from, life, call, request });
        }
    }

    /// A message that was sent long ago arrives again.
    pub(super) fn echo(&mut self) {
        if self.calm() {
            return;
        }
        let wait_ms = self.random.range(1_000, 20_000);
        self.queue.push(self.now_ms + wait_ms, Event::Echo);
        let index = self.random.range(0, (self.recent.len() as u64).saturating_sub(1));
        let Some(old) = self.recent.get(usize::try_from(index).unwrap_or(0)) else { return };
        let (from, request) = old.clone();
        self.count("message_echoed");
        let call = self.next_call();
        self.queue.push(self.now_ms, Event::Request { from, life: 0, call, request });
    }
}
