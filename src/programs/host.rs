//! What a process that exists to run programs does first.

use std::sync::atomic::{AtomicBool, Ordering};

static HOST: AtomicBool = AtomicBool::new(false);

/// Makes this process the parent of every process below it that loses its own, lets it and its
/// programs go first when memory runs out, and lets the machine's other work go before theirs.
///
/// To be called before any thread or program is started. What the system refuses is left as it is.
pub fn become_host() {
    #[cfg(target_os = "linux")]
    {
        let own = rustix::process::getpid();
        let adopts = rustix::process::set_child_subreaper(Some(own)).is_ok();
        HOST.store(adopts, Ordering::Release);
        go_first();
    }
    #[cfg(unix)]
    be_nice();
}

/// Whether everything that programs of this process start stays below it.
pub(super) fn is_host() -> bool {
    HOST.load(Ordering::Acquire)
}

#[cfg(target_os = "linux")]
fn go_first() {
    use super::bounds::OOM_SCORE;
    const FILE: &str = "/proc/self/oom_score_adj";
    let now = std::fs::read_to_string(FILE).ok().and_then(|text| text.trim().parse::<i32>().ok());
    if now.is_some_and(|now| now < OOM_SCORE) {
        let _ = std::fs::write(FILE, OOM_SCORE.to_string());
    }
}

/// Who started us with another niceness meant it.
#[cfg(unix)]
fn be_nice() {
    use rustix::process::{getpriority_process, setpriority_process};
    if getpriority_process(None) == Ok(0) {
        let _ = setpriority_process(None, super::bounds::NICENESS);
    }
}
