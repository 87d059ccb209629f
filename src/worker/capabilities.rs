//! What this machine can do.

use super::bounds;
use super::probe::{self, State};
use crate::protocol::work::{Capabilities, Program};
use crate::renderers::Library;
use crate::stages::{FoundProgram, Workshop};
use std::process::Stdio;
use std::time::Duration;
use sysinfo::{MemoryRefreshKind, RefreshKind, System};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

/// Programs that stages use where they are installed.
const PROGRAMS: [&str; 2] = ["ffmpeg", "ffprobe"];
/// Longest version text kept, in bytes.
const VERSION_BYTES: usize = 64;

/// Looks at the machine; `gpus` are the adapters that can draw, `library` names the programs of
/// others that are looked for.
pub async fn probe(slots: u32, gpus: Vec<String>, library: &Library) -> (Capabilities, Workshop) {
    let (mut programs, found) = tokio::join!(programs(), renderers(library));
    for one in &found {
        if !programs.iter().any(|program| program.name == one.profile) {
            let version = one.version.clone().unwrap_or_else(|| "unknown".to_owned());
            programs.push(Program { name: one.profile.clone(), version });
        }
    }
    let capabilities = Capabilities {
        host: host_name(),
        os: std::env::consts::OS.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        cores: cores(),
        memory_bytes: memory_bytes(),
        slots,
        gpus,
        programs,
        paths: Vec::new(),
    };
    let threads = (cores() / slots.max(1)).max(1);
    (capabilities, Workshop { programs: found, threads, ..Workshop::default() })
}

/// The programs of renderer profiles that are here and run.
async fn renderers(library: &Library) -> Vec<FoundProgram> {
    let looks = library.profiles().map(|profile| async {
        let state = probe::look(&profile.program).await;
        match state {
            State::Found { path, version } => {
                Some(FoundProgram { profile: profile.name.clone(), path, version })
            }
            State::Broken { path, why } => {
                tracing::warn!(profile = profile.name, why, "not used: {}", path.display());
                None
            }
            State::GivenByJob | State::Missing => None,
        }
    });
    futures_util::future::join_all(looks).await.into_iter().flatten().collect()
}

/// Processor cores that this process may use; at least 1.
pub fn cores() -> u32 {
    std::thread::available_parallelism()
        .map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX))
}

/// The machine's name.
pub fn host_name() -> String {
    let name = hostname::get().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// Memory in bytes, or the container's share of it; 0 where it cannot be read.
pub fn memory_bytes() -> u64 {
    let what = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let Ok(system) = System::new_with_specifics(what) else { return 0 };
    let total = system.total_memory();
    system.cgroup_limits().map_or(total, |limits| match limits.total_memory {
        0 => total,
        limit => limit.min(total),
    })
}

/// Programs that were found, with their versions.
pub async fn programs() -> Vec<Program> {
    let mut found = Vec::new();
    for name in PROGRAMS {
        let limit = Duration::from_millis(bounds::PROBE_MS);
        match tokio::time::timeout(limit, first_line(name)).await {
            Ok(Some(line)) => {
                found.push(Program { name: name.to_owned(), version: version(name, &line) });
            }
            Ok(None) => {}
            Err(_) => tracing::warn!(name, "the program does not say its version: not used"),
        }
    }
    found
}

async fn first_line(program: &str) -> Option<String> {
    let mut child = Command::new(program)
        .arg("-version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .ok()?;
    let mut bytes = Vec::new();
    child.stdout.take()?.take(bounds::PROBE_BYTES).read_to_end(&mut bytes).await.ok()?;
    if !child.wait().await.ok()?.success() {
        return None;
    }
    String::from_utf8_lossy(&bytes).lines().next().map(str::to_owned)
}

/// `ffmpeg version 5.1.9-0+deb12u1 Copyright …` says `5.1.9-0+deb12u1`.
fn version(name: &str, line: &str) -> String {
    let rest = line.strip_prefix(name).unwrap_or(line).trim_start();
    let rest = rest.strip_prefix("version").unwrap_or(rest);
    let word = rest.split_whitespace().next().unwrap_or("unknown");
    crate::stages::message::cut(word, VERSION_BYTES).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        let line = "ffmpeg version 5.1.9-0+deb12u1 Copyright (c) 2000-2026 the FFmpeg developers";
        assert_eq!(version("ffmpeg", line), "5.1.9-0+deb12u1");
        assert_eq!(version("ffprobe", "ffprobe version n8.0"), "n8.0");
        assert_eq!(version("ffmpeg", ""), "unknown");
    }

    #[tokio::test]
    async fn this_machine_has_a_name_cores_and_memory() {
        let library = Library::load(None).unwrap();
        let (found, workshop) = super::probe(3, vec!["llvmpipe".to_owned()], &library).await;
        assert!(workshop.threads > 0);
        assert!(!found.host.is_empty() && found.cores > 0 && found.memory_bytes > 0, "{found:?}");
        assert_eq!((found.slots, found.gpus.len()), (3, 1));
        assert_eq!(first_line("no-such-program-of-sawah").await, None);
    }
}
