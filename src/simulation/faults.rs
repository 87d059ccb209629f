//! What goes wrong, and how often it did.

use std::collections::BTreeMap;

/// Everything else that is counted: what the faults did to messages and processes, and orders.
const COUNTED: [&str; 23] = [
    "request_lost",
    "request_cut",
    "request_doubled",
    "answer_lost",
    "answer_cut",
    "message_delayed",
    "message_echoed",
    "message_reordered",
    "session_lost",
    "worker_fenced_itself",
    "zombie_report",
    "export_failed",
    "export_not_told",
    "disk_refused",
    "order_submit",
    "order_cancel",
    "order_replay",
    "order_dismiss",
    "order_forgive",
    "order_pause",
    "order_resume",
    "order_drain",
    "order_limit",
];

/// Counters of every kind, so that one that never happens is seen.
pub(super) fn counters() -> BTreeMap<&'static str, u64> {
    Fault::ALL.into_iter().map(Fault::name).chain(COUNTED).map(|kind| (kind, 0)).collect()
}

/// A kind of fault that begins at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Requests of one worker do not arrive.
    CutTowards,
    /// Answers to one worker do not arrive.
    CutBack,
    /// Many messages are lost.
    Loss,
    /// Every message takes long.
    SlowNetwork,
    WorkerCrash,
    /// Stopped with all its timers, and continued later.
    WorkerFreeze,
    /// Ends orderly and comes back.
    WorkerGoodbye,
    WorkerWallStep,
    /// Everything fails on it.
    WorkerSick,
    CoordinatorCrash,
    CrashBeforeCommit,
    CrashAfterCommit,
    CoordinatorStall,
    CoordinatorWallStep,
    DiskFull,
    SlowDisk,
}

impl Fault {
    pub(super) const ALL: [Self; 16] = [
        Self::CutTowards,
        Self::CutBack,
        Self::Loss,
        Self::SlowNetwork,
        Self::WorkerCrash,
        Self::WorkerFreeze,
        Self::WorkerGoodbye,
        Self::WorkerWallStep,
        Self::WorkerSick,
        Self::CoordinatorCrash,
        Self::CrashBeforeCommit,
        Self::CrashAfterCommit,
        Self::CoordinatorStall,
        Self::CoordinatorWallStep,
        Self::DiskFull,
        Self::SlowDisk,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::CutTowards => "network_cut_towards",
            Self::CutBack => "network_cut_back",
            Self::Loss => "network_loss",
            Self::SlowNetwork => "network_slow",
            Self::WorkerCrash => "worker_crash",
            Self::WorkerFreeze => "worker_freeze",
            Self::WorkerGoodbye => "worker_goodbye",
            Self::WorkerWallStep => "worker_clock_step",
            Self::WorkerSick => "worker_sick",
            Self::CoordinatorCrash => "coordinator_crash",
            Self::CrashBeforeCommit => "crash_before_commit",
            Self::CrashAfterCommit => "crash_after_commit",
            Self::CoordinatorStall => "coordinator_stall",
            Self::CoordinatorWallStep => "coordinator_clock_step",
            Self::DiskFull => "disk_full",
            Self::SlowDisk => "disk_slow",
        }
    }
}

/// Until when each lasting fault lasts, in virtual milliseconds.
#[derive(Debug, Default)]
pub(super) struct Weather {
    pub(super) cut_towards: BTreeMap<usize, u64>,
    pub(super) cut_back: BTreeMap<usize, u64>,
    pub(super) sick: BTreeMap<usize, u64>,
    pub(super) lossy_until_ms: u64,
    pub(super) slow_network_until_ms: u64,
    pub(super) slow_disk_until_ms: u64,
    pub(super) disk_full_until_ms: u64,
    pub(super) stalled_until_ms: u64,
}

impl Weather {
    /// Everything works again.
    pub(super) fn clear(&mut self, now_ms: u64) {
        self.cut_towards.clear();
        self.cut_back.clear();
        self.sick.clear();
        for until_ms in [
            &mut self.lossy_until_ms,
            &mut self.slow_network_until_ms,
            &mut self.slow_disk_until_ms,
            &mut self.disk_full_until_ms,
            &mut self.stalled_until_ms,
        ] {
            *until_ms = (*until_ms).min(now_ms);
        }
    }

    /// Whether the fault lasts for this worker.
    pub(super) fn lasts(faults: &BTreeMap<usize, u64>, worker: usize, now_ms: u64) -> bool {
        faults.get(&worker).is_some_and(|until_ms| now_ms < *until_ms)
    }
}
