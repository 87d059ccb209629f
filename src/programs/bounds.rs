//! The bounds of running programs.

/// Most bytes of output in one piece.
pub const CHUNK_BYTES: usize = 64 << 10;
/// Pieces of output that wait to be heard; with more, the program waits.
pub const CHUNKS: usize = 16;
/// How soon after its start a program is measured first.
pub const FIRST_SAMPLE_MS: u64 = 50;
/// How often a program is measured.
pub const SAMPLE_MS: u64 = 500;
/// How often one with a memory limit is measured.
pub const LIMITED_SAMPLE_MS: u64 = 100;
/// Measuring takes at most this part of the time, one in so many, where no limit depends on it.
pub const SAMPLE_SHARE: u32 = 20;
/// Measurements in a row above the limit that end a program: while a process starts another one,
/// the memory of both is counted for a moment.
pub const OVER_SAMPLES: u32 = 2;
/// How often a tree that ends is looked at.
pub const LOOK_MS: u64 = 10;
/// How long killed processes may take to be gone.
pub const KILL_MS: u64 = 10_000;
/// How long output is still read when no process is left that we know.
pub const DRAIN_MS: u64 = 2_000;
/// Most bytes of a process's environment that are searched for a mark.
pub const ENVIRONMENT_BYTES: usize = 4 << 20;
/// How much of it is read at once.
pub const ENVIRONMENT_STEP_BYTES: usize = 64 << 10;
/// The badness of a stage host and its programs when memory runs out (0 to 1000): they go first.
pub const OOM_SCORE: i32 = 500;
/// The niceness of a stage host and its programs.
pub const NICENESS: i32 = 5;
