//! Every bound of the farm, by name. Nothing grows without one of these.

/// Longest asset name, in bytes of UTF-8. Leaves room for suffixes in a 255-byte file name.
pub const ASSET_NAME_BYTES: usize = 96;
/// Longest relative file name inside a file set or a set of outputs, in bytes.
pub const FILE_NAME_BYTES: usize = 512;
/// Most files in one asset version.
pub const FILES_PER_ASSET: usize = 20_000;
/// Largest single source file.
pub const SOURCE_FILE_BYTES: u64 = 16 << 30;
/// Most frames of a sequence or turntable.
pub const FRAMES: u32 = 10_000;
/// Longest text that says which frames, in bytes.
pub const FRAME_TEXT_BYTES: usize = 4_096;
/// Most outputs of one job.
pub const OUTPUTS_PER_JOB: usize = 20_000;
/// Largest JSON body of an API call.
pub const JSON_BODY_BYTES: usize = 16 << 20;
/// Longest message kept with a failure.
pub const MESSAGE_BYTES: usize = 4_096;
/// Largest log kept of one attempt; later lines are dropped with a note.
pub const ATTEMPT_LOG_BYTES: u64 = 4 << 20;
/// Largest log that is stored beside its attempt and not as a file.
pub const SHORT_LOG_BYTES: usize = 4 << 10;
/// Longest line kept of a child's output.
pub const LOG_LINE_BYTES: usize = 8_192;
/// Most warnings of one job.
pub const WARNINGS_PER_JOB: usize = 64;
/// Most jobs handed out by one claim.
pub const JOBS_PER_CLAIM: u32 = 64;
/// Most submissions in one call.
pub const SUBMISSIONS_PER_CALL: usize = 1_000;
/// Most reports of a session in one call.
pub const REPORTS_PER_CALL: usize = 256;
/// Longest wait of a long-polled claim.
pub const CLAIM_WAIT_MS: u64 = 30_000;
/// Events sent in one page.
pub const EVENTS_PER_PAGE: usize = 1_000;
/// Rows in one page of a listing.
pub const ROWS_PER_PAGE: u32 = 1_000;
/// How long a session may be silent before its jobs are handed on.
pub const LEASE_MS: u64 = 30_000;
/// How often a session says that it lives.
pub const HEARTBEAT_MS: u64 = 10_000;
/// A worker stops its jobs this long before the coordinator may hand them on.
pub const LEASE_MARGIN_MS: u64 = 6_000;
/// How long a job that draws meshes waits for a free GPU before any worker may take it.
pub const GPU_PREFERENCE_MS: i64 = 15_000;
/// Two different workers lost on one job make it poison.
pub const POISON_WORKERS: u32 = 2;
/// Rows named for one rule that the tables break.
pub const BROKEN_ROWS_SHOWN: usize = 8;
/// Longest name of a project, a semaphore or a rate, in bytes.
pub const NAME_BYTES: usize = 64;
/// Longest name of a queue or a worker in an order, in bytes.
pub const TARGET_BYTES: usize = 128;
/// The highest priority; 0 is the lowest.
pub const HIGHEST_PRIORITY: u8 = 9;
/// The priority of submissions that name none.
pub const DEFAULT_PRIORITY: u8 = 5;
/// A job that waits rises by one level of priority each time this has passed.
pub const AGEING_MS: i64 = 30 * 60_000;
/// The greatest weight of a project.
pub const PROJECT_WEIGHT: u32 = 1_000;
/// Most projects.
pub const PROJECTS: u32 = 200;
/// Most semaphores that have a limit.
pub const SEMAPHORES: u32 = 500;
/// Most rate limits.
pub const RATES: u32 = 500;
/// Most distinct sets of what jobs ask for.
pub const RESOURCE_CLASSES: u32 = 1_000;
/// Most semaphores, and most rates, that one stage of a recipe names.
pub const NEEDS_PER_STAGE: usize = 8;
/// Jobs that wait in one queue before submissions are refused, unless its own limit says otherwise.
pub const QUEUED_PER_QUEUE: u64 = 5_000_000;
/// How far ahead of a waiting job its explanation counts.
pub const EXPLAIN_AHEAD: u32 = 1_000;
/// Most holders of one semaphore that are named.
pub const HOLDERS_NAMED: u32 = 100;
/// Most paused or draining queues and workers.
pub const CONTROLS: u32 = 1_000;
/// Dead letters that one order replays or dismisses.
pub const LETTERS_PER_ORDER: usize = 1_000;
/// Files kept of what a dead letter's job read.
pub const DEAD_DEPENDENCIES: usize = 100;
/// Lines of the log kept with a dead letter.
pub const DEAD_LOG_LINES: usize = 20;
/// Bytes of the log kept with a dead letter.
pub const DEAD_LOG_BYTES: u64 = 16 << 10;
/// Looks at all lanes that one claim takes, where jobs were passed over for alike ones.
pub const CLAIM_ROUNDS: u32 = 8;
/// Jobs that take an alike job's result in the transaction that accepts it; others follow when
/// they are claimed.
pub const REUSED_AT_ONCE: u32 = 64;
/// How long the key of a submission is remembered.
pub const SUBMISSION_KEY_MS: i64 = 86_400_000;
/// Longest key of a submission, in bytes.
pub const SUBMISSION_KEY_BYTES: usize = 128;
/// A worker that failed jobs of this many pipelines in a row is given no more work.
pub const QUARANTINE_PIPELINES: u32 = 3;
/// How long a ready job is kept from the worker that it failed on, where another one lives.
pub const ANOTHER_WORKER_MS: i64 = 30_000;
/// Ready retries that a claim passes over because they are left to another worker.
pub const RETRY_HEADS_PASSED_OVER: u32 = 64;
/// Share of all live workers' slots that the retries of one queue may take; at least one slot.
pub const RETRY_SHARE_PERCENT: u32 = 50;
/// Longest run of an attempt of a stage that computes, unless its recipe says otherwise.
pub const CPU_TIMEOUT_S: u64 = 3_600;
/// Longest time without progress of an attempt of a stage that computes.
pub const CPU_STALL_S: u64 = 600;
/// Longest run of an attempt of a stage that copies: slow storage takes its time.
pub const IO_TIMEOUT_S: u64 = 7_200;
/// Longest time without progress of an attempt of a stage that copies: one large file is one step.
pub const IO_STALL_S: u64 = 900;
/// How long a job of a cancelled pipeline may still be held before the cancel is applied again.
pub const CANCEL_PATIENCE_MS: u64 = 60_000;
/// How long a worker may name a job that it was told to stop before somebody is told.
pub const STOP_PATIENCE_MS: u64 = 60_000;
/// How long a drain may take before it is looked after.
pub const DRAIN_PATIENCE_MS: u64 = 600_000;
/// A queue whose oldest job has waited for this long wants more workers, or is held by a limit.
pub const SCALE_WAIT_MS: u64 = 300_000;
/// From this share of taken slots on more workers help a queue that waits.
pub const SCALE_BUSY_PERCENT: u8 = 90;
/// Tries of one webhook, over some hours, before it is given up.
pub const WEBHOOK_TRIES: u32 = 30;
/// Longest address of a webhook, in bytes.
pub const WEBHOOK_URL_BYTES: usize = 2_048;
/// Rows of the audit looked through for one page of an export.
pub const AUDIT_ROWS_PER_PAGE: u32 = 10_000;
/// Longest line of an attempt's log that a heartbeat carries, in bytes.
pub const PROGRESS_LINE_BYTES: usize = 256;
/// Most attempts that a recipe can allow.
pub const ATTEMPTS_PER_JOB: u32 = 50;
/// Longest wait before a retry that a recipe can ask for.
pub const RETRY_WAIT_S: u64 = 86_400;
/// Time between two tries of a job that waits for a licence.
pub const LICENCE_RETRY_MS: u64 = 60_000;
/// How long a job waits for licences in all when the recipe does not say.
pub const LICENCE_WAIT_DEFAULT_S: u64 = 86_400;
/// Longest wait for licences that a recipe can ask for.
pub const LICENCE_WAIT_S: u64 = 604_800;
/// Largest file of a renderer profile.
pub const PROFILE_BYTES: u64 = 64 << 10;
/// Most renderer profiles of a user's own.
pub const PROFILES: usize = 200;
/// Most patterns of one renderer profile.
pub const PATTERNS_PER_PROFILE: usize = 160;
/// Longest pattern of a renderer profile, in bytes.
pub const PATTERN_BYTES: usize = 1_024;
/// Memory that one compiled pattern may take.
pub const PATTERN_MEMORY_BYTES: usize = 2 << 20;
/// Lines of a renderer's log that are read for progress; errors are looked for in all of them.
pub const RENDERER_LOG_LINES: u64 = 10_000_000;
/// Longest argument given to a renderer, in bytes.
pub const ARGUMENT_BYTES: usize = 32 << 10;
/// Most arguments of a job's own.
pub const ARGUMENTS: usize = 1_024;
/// Longest version that a renderer is believed to have, in characters.
pub const VERSION_CHARS: usize = 60;
/// Most watch folders of a farm: each has a thread.
pub const WATCH_FOLDERS: u32 = 64;
/// Most files looked at in one watch folder.
pub const WATCH_FILES: usize = 1_000_000;
/// Patterns of names that one watch folder leaves alone.
pub const WATCH_PATTERNS: usize = 256;
/// Longest of them, in bytes.
pub const WATCH_PATTERN_BYTES: usize = 256;
/// Longest path of a watch folder, or of a file in it, in bytes.
pub const WATCH_PATH_BYTES: usize = 4_096;
/// Longest wait that a watch folder's rules may name.
pub const WATCH_WAIT_MS: u64 = 24 * 3_600_000;
/// How long a file of a local disk must be still, unless the rules say otherwise.
pub const SETTLE_LOCAL_MS: u64 = 5_000;
/// The same on storage of other machines, where writes are seen late.
pub const SETTLE_REMOTE_MS: u64 = 15_000;
/// How long an asset waits for side files that it names, unless the rules say otherwise.
pub const SIDE_WAIT_MS: u64 = 30_000;
/// How long a file may stay empty or without its end, unless the rules say otherwise.
pub const GIVE_UP_MS: u64 = 600_000;
/// How often a folder without events is looked through, unless the rules say otherwise.
pub const POLL_MS: u64 = 10_000;
/// Nothing is taken from watch folders while the farm's disk has less room than this,
/// unless the settings say otherwise.
pub const FREE_FLOOR_MIB: u64 = 512;
