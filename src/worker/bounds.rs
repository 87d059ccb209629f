//! The bounds of a worker.

/// Longest wait for a connection.
pub const CONNECT_MS: u64 = 5_000;
/// Longest wait for the answer to a short call.
pub const CALL_MS: u64 = 15_000;
/// How long a claim waits for work in the coordinator.
pub const CLAIM_WAIT_MS: u64 = 20_000;
/// Longest silence inside a transfer of bytes.
pub const TRANSFER_SILENCE_MS: u64 = 30_000;
/// An upload may be as slow as this, in bytes a second, beyond [`TRANSFER_SILENCE_MS`].
pub const SLOWEST_UPLOAD_BYTES_S: u64 = 256 << 10;
/// Tries of a transfer that brought no new byte.
pub const TRANSFER_TRIES: u32 = 5;
/// Largest answer to a call, in bytes: a claim with many long lists of files.
pub const REPLY_BYTES: usize = 256 << 20;
/// First wait after a failed call; doubles up to [`BACKOFF_MAX_MS`].
pub const BACKOFF_MS: u64 = 250;
/// Longest wait between two tries.
pub const BACKOFF_MAX_MS: u64 = 5_000;
/// Least time between two heartbeats, however fast progress is.
pub const BEAT_GAP_MS: u64 = 1_000;
/// Longest wait for the answer to a heartbeat.
pub const BEAT_CALL_MS: u64 = 5_000;
/// Least time between two sessions.
pub const REOPEN_GAP_MS: u64 = 500;
/// How long the end of a session waits for its attempts to be gone.
pub const STOP_WAIT_MS: u64 = 15_000;
/// How long a worker that ends waits for the answers to its last calls.
pub const GOODBYE_MS: u64 = 3_000;
/// How long a stage whose programs were asked to end may take for it.
pub const STOP_GRACE_MS: u64 = 5_000;
/// The same where the job is lost; never more than half of the lease's margin.
pub const LOST_GRACE_MS: u64 = 3_000;
/// Jobs are asked for before a slot is free where they are worked off within this time.
pub const AHEAD_MS: u64 = 200;
/// At most so many for each slot.
pub const AHEAD_ROUNDS: usize = 4;
/// How long such a job waits for a slot before it is given back.
pub const AHEAD_WAIT_MS: u64 = 1_000;
/// How long a stage host that serves many attempts waits for its next one: long enough for the next
/// chunk of a busy farm, too short for a scene to hold memory that others need.
pub const HOST_IDLE_MS: u64 = 5_000;
/// How long what such a host keeps running may take to end well.
pub const IDLE_GRACE_MS: u64 = 2_000;
/// How long a killed process may take to be gone.
pub const KILL_MS: u64 = 10_000;
/// How long the output of a killed process is still read.
pub const DRAIN_MS: u64 = 2_000;
/// Log bytes that wait to be sent; later lines are dropped with a note.
pub const LOG_PENDING_BYTES: usize = 1 << 20;
/// Log bytes that are sent at once.
pub const LOG_BATCH_BYTES: usize = 32 << 10;
/// How long log lines wait for others.
pub const LOG_BATCH_MS: u64 = 1_000;
/// How long the end of an attempt waits for its log to be sent.
pub const LOG_FINISH_MS: u64 = 10_000;
/// Default size of the content cache, in bytes.
pub const CACHE_BYTES: u64 = 16 << 30;
/// Longest run of a program that is asked for its version.
pub const PROBE_MS: u64 = 5_000;
/// Most that is read of a program's answer, in bytes.
pub const PROBE_BYTES: u64 = 64 << 10;
/// Longest media type that a stage may name, in bytes.
pub const MEDIA_TYPE_BYTES: usize = 128;

/// The wait before try number `failures + 1`.
pub fn backoff_ms(failures: u32) -> u64 {
    let doublings = failures.saturating_sub(1).min(10);
    BACKOFF_MS.saturating_mul(1 << doublings).min(BACKOFF_MAX_MS)
}

/// Bytes that must fit into the work folder before a worker that ran out of room claims again.
pub const ROOM_BYTES: u64 = 64 << 20;
/// How often such a worker looks for room.
pub const ROOM_PROBE_MS: u64 = 5_000;
/// Faults of the coordinator on one report; after these the attempt counts as failed.
pub const REPORT_FAULTS: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_grows_to_its_bound() {
        let waits: Vec<_> = (0..=6).map(backoff_ms).collect();
        assert_eq!(waits, [250, 250, 500, 1_000, 2_000, 4_000, 5_000]);
        assert_eq!(backoff_ms(u32::MAX), BACKOFF_MAX_MS);
    }
}
