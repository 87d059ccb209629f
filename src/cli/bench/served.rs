//! A coordinator of its own process, so that its memory and its processor time are its own.

use super::BenchError;
use super::wire::{Line, Wire};
use crate::clock::Stopwatch;
use crate::protocol::view::FarmStatus;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// Sessions must outlive the whole run; the longest lease there is.
const LEASE_MS: &str = "600000";

/// The process.
pub(super) struct Served {
    pub(super) line: Line,
    /// From the start of the process to its first answer.
    pub(super) started_in: Duration,
    child: Child,
}

impl Served {
    /// Serves `farm` on a free port.
    pub(super) async fn start(farm: &Path) -> Result<Self, BenchError> {
        Self::start_with(farm, None).await
    }

    /// [`Served::start`] with a worker of this many slots in it.
    pub(super) async fn start_working(farm: &Path, slots: u32) -> Result<Self, BenchError> {
        Self::start_with(farm, Some(slots)).await
    }

    async fn start_with(farm: &Path, slots: Option<u32>) -> Result<Self, BenchError> {
        let watch = Stopwatch::start();
        let mut command = Command::new(std::env::current_exe()?);
        for key in std::env::vars_os().map(|(key, _)| key) {
            if key.to_string_lossy().starts_with("SAWAH_") {
                command.env_remove(key);
            }
        }
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--farm"]).arg(farm);
        if let Some(slots) = slots {
            command.arg("--with-worker").env("SAWAH_WORKER_SLOTS", slots.to_string());
        }
        command.env("SAWAH_LEASE_MS", LEASE_MS).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        let mut said = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut said).await?;
        }
        let address = said.trim().strip_prefix("Listening on http://");
        let address = address.and_then(|address| address.parse().ok()).ok_or_else(|| {
            BenchError::Nothing(format!("the coordinator did not start: '{}'", said.trim()))
        })?;
        let token = std::fs::read_to_string(farm.join("token"))?.trim().to_owned();
        let line = Line { address, token };
        let _: FarmStatus = Wire::open(&line).await?.call("GET", "/v1/status", &()).await?;
        Ok(Self { line, started_in: watch.elapsed(), child })
    }

    /// Memory that the process holds now, in bytes.
    pub(super) fn resident_bytes(&self) -> Option<u64> {
        self.look(ProcessRefreshKind::nothing().with_memory(), sysinfo::Process::memory)
    }

    /// Processor time used since its start.
    pub(super) fn processor_time(&self) -> Option<Duration> {
        self.look(ProcessRefreshKind::nothing().with_cpu(), |process| {
            Duration::from_millis(process.accumulated_cpu_time())
        })
    }

    fn look<T>(
        &self,
        what: ProcessRefreshKind,
        read: impl FnOnce(&sysinfo::Process) -> T,
    ) -> Option<T> {
        let pid = Pid::from_u32(self.child.id()?);
        let mut system = System::new().ok()?;
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, what);
        system.process(pid).map(read)
    }

    /// Ends the process.
    pub(super) async fn stop(mut self) -> Result<(), BenchError> {
        Ok(self.child.kill().await?)
    }
}
