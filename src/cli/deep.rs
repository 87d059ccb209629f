//! Reads foreign files in this process as a stage host would: on a thread with its stack.

use super::error::{CliError, Exit};
use crate::stages::host::STAGE_STACK_BYTES;

/// Runs `work` on such a thread and waits for it.
pub(super) fn run(work: impl FnOnce() -> Result<Exit, CliError> + Send) -> Result<Exit, CliError> {
    let done = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STAGE_STACK_BYTES);
        thread.spawn_scoped(scope, work).map(std::thread::ScopedJoinHandle::join)
    });
    let done = done.map_err(|error| CliError::internal(&format!("no thread: {error}")))?;
    done.unwrap_or_else(|_| Err(CliError::internal("a fault inside Sawah: please report it")))
}
