//! The farm in virtual time: one event after the other, and the rules checked after each.

use super::coordinator::{Call, Coordinator, ready};
use super::faults::{Weather, counters};
use super::ledger::{Expected, Ledger, ensure};
use super::message::{Party, Reply, Request, reply_label};
use super::random::Random;
use super::time::{Queue, VirtualClock};
use super::work;
use super::worker::{Tick, Worker};
use super::{Options, SimulationError};
use crate::recipes::{Library, Recipe};
use crate::store::{Store, StoreError};
use std::collections::{BTreeMap, VecDeque};
use tempfile::TempDir;

/// Old messages that may arrive again.
const RECENT: usize = 64;
/// Steps between two looks at all tables.
const STEPS_PER_VERIFY: u64 = 400;
/// After the faults everything must have ended within this time: the longest waits of all attempts
/// of a stage, through all stages, and a clock that was set back by hours.
const PATIENCE_MS: u64 = 24 * 3_600_000;

/// The write-ahead log never grows beyond this.
const LOG_BYTES: u64 = 64 << 20;
/// A message that takes longer is a late one.
const LATE_MS: u64 = 200;

/// What happens at a moment.
#[derive(Debug)]
pub(super) enum Event {
    /// A call arrives at the coordinator.
    Request {
        from: Party,
        life: u64,
        call: u64,
        request: Request,
    },
    /// An answer arrives at a worker.
    Answer {
        index: usize,
        life: u64,
        call: u64,
        reply: Reply,
    },
    Worker {
        index: usize,
        life: u64,
        tick: Tick,
    },
    Sweep(u64),
    Promote(u64),
    Restart,
    Boot(usize),
    Operator,
    Fault,
    Echo,
    /// The faults are over.
    Calm,
}

/// Why a step went wrong: a rule is broken.
pub(super) type Step = Result<(), String>;

/// The whole simulated farm.
pub(super) struct World {
    pub(super) now_ms: u64,
    pub(super) random: Random,
    pub(super) queue: Queue<Event>,
    pub(super) coordinator: Option<Coordinator>,
    pub(super) workers: Vec<Worker>,
    pub(super) weather: Weather,
    pub(super) ledger: Ledger,
    pub(super) recipes: Vec<Recipe>,
    pub(super) recent: VecDeque<(Party, Request)>,
    pub(super) orders: u64,
    pub(super) wall_offset_ms: i64,
    pub(super) counts: BTreeMap<&'static str, u64>,
    pub(super) steps: u64,
    pub(super) checks: u64,
    pub(super) clock: VirtualClock,
    pub(super) root: TempDir,
    pub(super) lives: u64,
    calls: u64,
    calm_at_ms: u64,
    trace: blake3::Hasher,
    log: Option<Vec<String>>,
    pub(super) promised: Vec<(Request, Reply)>,
    pub(super) exported: BTreeMap<String, i64>,
    /// When the last message on each way arrives: one that comes before it has overtaken it.
    arrivals: BTreeMap<(Party, bool), u64>,
}

impl World {
    pub(super) fn new(options: &Options) -> Result<Self, SimulationError> {
        let root = tempfile::tempdir().map_err(SimulationError::Folder)?;
        let mut recipes = Vec::new();
        let library = Library::load(None).map_err(SimulationError::Recipes)?;
        for name in ["preview", "quick"] {
            let recipe = library.get(name).ok_or(SimulationError::NoRecipe(name))?;
            recipes.push(work::recipe(recipe));
        }
        let mut world = Self {
            now_ms: 0,
            random: Random::new(options.seed),
            queue: Queue::new(),
            coordinator: None,
            workers: (0..options.workers).map(Worker::new).collect(),
            weather: Weather::default(),
            ledger: Ledger::default(),
            recipes,
            recent: VecDeque::new(),
            orders: 0,
            wall_offset_ms: 0,
            counts: counters(),
            steps: 0,
            checks: 0,
            clock: VirtualClock::new(),
            root,
            lives: 0,
            calls: 0,
            calm_at_ms: options.length_ms,
            trace: blake3::Hasher::new(),
            log: options.log.then(Vec::new),
            promised: Vec::new(),
            exported: BTreeMap::new(),
            arrivals: BTreeMap::new(),
        };
        world.begin();
        Ok(world)
    }

    fn begin(&mut self) {
        self.queue.push(0, Event::Restart);
        for index in 0..self.workers.len() {
            let late_ms = self.random.range(0, 3_000);
            self.queue.push(late_ms, Event::Boot(index));
        }
        for (at_ms, event) in [(500, Event::Operator), (8_000, Event::Fault), (9_000, Event::Echo)]
        {
            self.queue.push(at_ms, event);
        }
        self.queue.push(self.calm_at_ms, Event::Calm);
    }

    /// No new faults, no new orders.
    pub(super) fn calm(&self) -> bool {
        self.now_ms >= self.calm_at_ms
    }

    pub(super) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    pub(super) fn next_call(&mut self) -> u64 {
        self.calls += 1;
        self.calls
    }

    pub(super) fn trace(&mut self, what: &str) {
        let line = format!("{} {what}\n", self.now_ms);
        self.trace.update(line.as_bytes());
        if let Some(log) = &mut self.log {
            log.push(line);
        }
    }

    /// The lines of the trace, where they are kept.
    pub(super) fn take_log(&mut self) -> Vec<String> {
        self.log.take().unwrap_or_default()
    }

    /// Runs until everything has ended after the faults.
    pub(super) fn run(&mut self) -> Step {
        while let Some((at_ms, event)) = self.queue.pop() {
            self.now_ms = self.now_ms.max(at_ms);
            self.steps += 1;
            self.handle(event)?;
            if self.steps.is_multiple_of(STEPS_PER_VERIFY) {
                self.verify()?;
            }
            if self.calm() && self.steps.is_multiple_of(16) {
                match self.ledger.unfinished() {
                    None => break,
                    Some(what) => ensure(self.now_ms < self.calm_at_ms + PATIENCE_MS, || {
                        format!("the farm is stuck: {what}")
                    })?,
                }
            }
        }
        self.verify()
    }

    /// The hash of all that happened and of all that is stored.
    pub(super) fn hash(&self) -> [u8; 32] {
        let mut hasher = self.trace.clone();
        hasher.update(&self.ledger.hash());
        if let Some(digest) = self.digest() {
            hasher.update(&digest);
        }
        *hasher.finalize().as_bytes()
    }

    fn digest(&self) -> Option<[u8; 32]> {
        self.coordinator.as_ref().and_then(|coordinator| ready(coordinator.store.digest()).ok())
    }

    fn verify(&mut self) -> Step {
        let Some(coordinator) = &self.coordinator else { return Ok(()) };
        let broken = ready(coordinator.store.verify()).map_err(|error| error.to_string())?;
        self.checks += Store::rules().count() as u64;
        ensure(broken.is_empty(), || broken.join("; "))?;
        let log = self.folder(self.lives).join("sawah.db-wal");
        let bytes = std::fs::metadata(log).map_or(0, |file| file.len());
        self.checks += 1;
        ensure(bytes <= LOG_BYTES, || format!("the write-ahead log has grown to {bytes} bytes"))
    }

    fn handle(&mut self, event: Event) -> Step {
        match event {
            Event::Request { from, life, call, request } => {
                return self.arrived(from, life, call, request);
            }
            Event::Answer { index, life, call, reply } => match self.alive(index, life) {
                None => {}
                Some(until_ms) if until_ms > self.now_ms => {
                    self.queue.push(until_ms, Event::Answer { index, life, call, reply });
                }
                Some(_) => self.answered(index, call, reply),
            },
            Event::Worker { index, life, tick } => match self.alive(index, life) {
                None => {}
                Some(until_ms) if until_ms > self.now_ms => {
                    self.queue.push(until_ms, Event::Worker { index, life, tick });
                }
                Some(_) => self.worker_tick(index, tick),
            },
            Event::Sweep(life) => return self.timer(life, Event::Sweep),
            Event::Promote(life) => return self.timer(life, Event::Promote),
            Event::Restart => return self.restart(),
            Event::Boot(index) => self.boot(index),
            Event::Operator => self.operate(),
            Event::Fault => self.fault(),
            Event::Echo => self.echo(),
            Event::Calm => {
                self.weather.clear(self.now_ms);
                self.fill_disk(self.now_ms);
            }
        }
        Ok(())
    }

    /// Until when the process is frozen; none where it is gone.
    fn alive(&self, index: usize, life: u64) -> Option<u64> {
        let worker = self.workers.get(index).filter(|worker| worker.up && worker.life == life)?;
        Some(worker.frozen_until_ms)
    }

    /// A call goes into the network.
    pub(super) fn send(&mut self, from: Party, life: u64, call: u64, request: Request) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((from, request.clone()));
        if let Party::Worker(index) = from
            && Weather::lasts(&self.weather.cut_towards, index, self.now_ms)
        {
            return self.count("request_cut");
        }
        if self.is_lost() {
            return self.count("request_lost");
        }
        if !self.calm() && self.random.permille(30) {
            self.count("request_doubled");
            let late_ms = self.latency_ms() * 40;
            let request = request.clone();
            let event = Event::Request { from, life, call, request };
            self.queue.push(self.now_ms + late_ms, event);
        }
        let late_ms = self.latency_ms();
        self.under_way((from, true), late_ms);
        self.queue.push(self.now_ms + late_ms, Event::Request { from, life, call, request });
    }

    /// Counts what happens to a message on its way.
    pub(super) fn under_way(&mut self, way: (Party, bool), late_ms: u64) {
        if late_ms >= LATE_MS {
            self.count("message_delayed");
        }
        let arrives_ms = self.now_ms + late_ms;
        let last_ms = self.arrivals.entry(way).or_default();
        if arrives_ms < *last_ms {
            self.count("message_reordered");
        } else {
            *last_ms = arrives_ms;
        }
    }

    pub(super) fn is_lost(&mut self) -> bool {
        let chance = if self.now_ms < self.weather.lossy_until_ms { 300 } else { 10 };
        !self.calm() && self.random.permille(chance)
    }

    pub(super) fn latency_ms(&mut self) -> u64 {
        if self.now_ms < self.weather.slow_network_until_ms {
            self.random.range(200, 12_000)
        } else {
            self.random.range(1, 40)
        }
    }

    fn arrived(&mut self, from: Party, life: u64, call: u64, request: Request) -> Step {
        if self.coordinator.is_none() {
            self.reply(from, life, call, Err(StoreError::Closed), 1);
            return Ok(());
        }
        if self.now_ms < self.weather.stalled_until_ms {
            let event = Event::Request { from, life, call, request };
            self.queue.push(self.weather.stalled_until_ms, event);
            return Ok(());
        }
        let mut group = vec![(from, life, call, request)];
        let window_ms = if self.random.permille(400) { self.random.range(0, 4) } else { 0 };
        // At most one order of the operator in a commit, so that each can be judged.
        let mut orders = u32::from(from == Party::Operator);
        while let Some((at_ms, event)) = self.queue.pop_if(self.now_ms + window_ms, |event| {
            matches!(event, Event::Request { from, .. } if *from != Party::Operator || orders == 0)
        }) {
            if let Event::Request { from, life, call, request } = event {
                self.now_ms = self.now_ms.max(at_ms);
                orders += u32::from(from == Party::Operator);
                group.push((from, life, call, request));
            }
        }
        self.serve(group)
    }

    fn serve(&mut self, group: Vec<(Party, u64, u64, Request)>) -> Step {
        self.set_clock();
        let alone = group.len() == 1;
        let expected = group.first().filter(|_| alone).and_then(|one| self.ledger.expect(&one.3));
        let may_refuse = group.first().is_some_and(|one| {
            matches!(
                one.3,
                Request::Cancel(_)
                    | Request::Replay(_)
                    | Request::Dismiss(_)
                    | Request::Forgive(_)
                    | Request::Control(..)
                    | Request::Submit(_)
            )
        });
        let unchanged =
            matches!(expected, Some(Expected::Stale | Expected::Repeated)) || may_refuse;
        let before = if alone && unchanged { self.digest() } else { None };
        let mut calls = Vec::new();
        for (_, _, _, request) in &group {
            calls.push(Call { request: request.clone(), chance: self.random.bytes() });
        }
        let Some(coordinator) = &self.coordinator else { return Ok(()) };
        let mono_ms = self.now_ms - coordinator.born_ms;
        let crash = coordinator.crash;
        if let Some(point) = crash {
            coordinator.control.crash_at(point);
        }
        let replies = coordinator.answer(&calls, mono_ms);
        if crash.is_some() {
            let away_ms = self.random.range(200, 60_000);
            self.crash(away_ms);
        } else {
            self.follow()?;
            let refused = replies.first().is_some_and(Result::is_err);
            if before.is_some() && (expected.is_some() || refused) {
                self.checks += 1;
                let same = before == self.digest();
                let label = calls.first().map(|call| call.request.label()).unwrap_or_default();
                ensure(same, || format!("'{label}' is stale or refused, but changed something"))?;
            }
        }
        for ((from, life, call, request), reply) in group.into_iter().zip(replies) {
            self.trace(&format!("{} → {}", request.label(), reply_label(&reply)));
            if crash.is_some() {
                // Nobody hears it, but what was said must be true.
                self.promised.push((request, reply));
                continue;
            }
            judge(expected, &request, &reply)?;
            if matches!(reply, Err(StoreError::DiskFull)) {
                self.count("disk_refused");
            }
            self.ledger.acknowledged(&request, &reply)?;
            let slow = self.now_ms < self.weather.slow_disk_until_ms;
            let disk_ms = if slow { self.random.range(100, 8_000) } else { 0 };
            self.reply(from, life, call, reply, disk_ms);
        }
        Ok(())
    }
}

/// Whether a report came to what the ledger expects, and whether an error is one that may come.
fn judge(expected: Option<Expected>, request: &Request, reply: &Reply) -> Step {
    use StoreError::{
        Cancelled, Closed, Conflict, DiskFull, Finished, Invalid, Sqlite, Superseded,
        UnknownSession, Unusable,
    };
    let fits = match (expected, reply) {
        (_, Err(Sqlite(_) | Unusable(_) | Closed | Invalid(_))) => false,
        (Some(Expected::Taken), reply) => matches!(reply, Ok(_) | Err(Conflict(_))),
        (Some(Expected::Repeated), reply) => reply.is_ok(),
        (Some(Expected::Stale), reply) => {
            matches!(reply, Err(UnknownSession | Superseded(_) | Cancelled(_) | Finished(_)))
        }
        (None, _) => true,
    } || matches!(reply, Err(DiskFull));
    ensure(fits, || {
        format!("'{}' should be {expected:?}, but was '{}'", request.label(), reply_label(reply))
    })
}
