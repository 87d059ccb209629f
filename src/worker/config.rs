//! What a worker is told, and why it ends.

use super::bounds;
use crate::clock::Clock;
use crate::model::PathMapping;
use crate::protocol::problem::Problem;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything a worker needs.
#[derive(Clone)]
pub struct WorkerConfig {
    /// Base address of the coordinator: `http://10.0.0.5:7420`.
    pub coordinator: String,
    /// The farm's token.
    pub token: String,
    /// The worker's name, unique in the farm: a second worker of one name waits for the first's end.
    pub name: String,
    /// Its folder: `staging/`, `cache/` and `worker.lock` are made here.
    pub work_dir: PathBuf,
    /// Jobs at once, 1 or more.
    pub slots: u32,
    /// Graphics adapters that can draw.
    pub gpus: Vec<String>,
    /// Which adapter pictures are drawn with: `auto`, `off`, `software` or a part of a name.
    pub adapter: String,
    /// Which graphics cards the programs of each slot may see, one after the other; empty: all.
    pub gpu_masks: Vec<String>,
    /// The folder of the user's own renderer profiles.
    pub profiles_dir: Option<PathBuf>,
    /// What shared folders of other machines are called here.
    pub paths: Vec<PathMapping>,
    /// The program that is started as `PROGRAM stage-host`; usually this one.
    pub stage_host: PathBuf,
    /// Largest size of the content cache, in bytes.
    pub cache_bytes: u64,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
}

impl WorkerConfig {
    /// The default size of the content cache, in bytes.
    pub const CACHE_BYTES: u64 = bounds::CACHE_BYTES;
}

/// Why a worker cannot work.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// Another worker uses the work folder.
    #[error(
        "another worker uses the work folder: end it, or give this one its own with --work DIR: {0}"
    )]
    InUse(PathBuf),
    /// The work folder cannot be used.
    #[error("{what}: {error}: check the folder's rights and its disk: {}", path.display())]
    Folder {
        /// What failed.
        what: &'static str,
        /// Why.
        error: std::io::Error,
        /// Where.
        path: PathBuf,
    },
    /// The HTTP client cannot be made.
    #[error("the HTTP client cannot be set up: {0}")]
    Client(String),
    /// The coordinator does not take this worker.
    #[error("the coordinator refuses this worker: {}: {}", .0.message, .0.remedy)]
    Refused(Problem),
}
