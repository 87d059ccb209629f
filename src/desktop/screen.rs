//! What the window itself remembers: where it is, what is selected, what was asked for.

use super::toasts::Toasts;
use super::watching::Watching;
use crate::client::live::Draft;
use crate::model::{JobId, JobState, PipelineId, PipelineStatus, WatchFileId, WatchFolderId};
use crate::protocol::view::PipelineDetail;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tab {
    /// Assets on their way.
    #[default]
    Pipelines,
    /// Units of work.
    Jobs,
    /// Who does it.
    Workers,
    /// What was given up.
    DeadLetters,
    /// Where artists drop files.
    Watch,
}

impl Tab {
    /// All tabs in order.
    pub const ALL: [Self; 5] =
        [Self::Pipelines, Self::Jobs, Self::Workers, Self::DeadLetters, Self::Watch];

    /// Its title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Pipelines => "Pipelines",
            Self::Jobs => "Jobs",
            Self::Workers => "Workers",
            Self::DeadLetters => "Dead letters",
            Self::Watch => "Watch folders",
        }
    }
}

/// Which jobs, or pipelines with such jobs, to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateFilter {
    /// Ready to be claimed.
    Queued,
    /// A worker holds it.
    Running,
    /// Waits for its next attempt.
    Retrying,
    /// Given up.
    DeadLetters,
}

impl StateFilter {
    /// All filters in the order of the chips.
    pub const ALL: [Self; 4] = [Self::Queued, Self::Running, Self::Retrying, Self::DeadLetters];

    /// Its name.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Queued => "Queued",
            Self::Running => "Running",
            Self::Retrying => "Retrying",
            Self::DeadLetters => "Dead letters",
        }
    }

    /// The filter that a job in this state falls under.
    pub const fn of_job(state: JobState) -> Option<Self> {
        match state {
            JobState::Queued => Some(Self::Queued),
            JobState::Claimed | JobState::Processing => Some(Self::Running),
            JobState::RetryScheduled => Some(Self::Retrying),
            JobState::FailedTerminal => Some(Self::DeadLetters),
            JobState::Succeeded | JobState::Cancelled => None,
        }
    }

    /// Whether a pipeline falls under it by its own status, whatever its jobs.
    pub fn takes_status(self, status: PipelineStatus) -> bool {
        self == Self::DeadLetters && status == PipelineStatus::DeadLettered
    }
}

/// What is selected. A job or a dead letter also selects its pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Selection {
    /// The pipeline in the inspector.
    pub pipeline: Option<PipelineId>,
    /// The job whose log is shown.
    pub job: Option<JobId>,
}

impl Selection {
    /// Nothing.
    pub const NONE: Self = Self { pipeline: None, job: None };

    /// A pipeline.
    pub const fn pipeline(pipeline: PipelineId) -> Self {
        Self { pipeline: Some(pipeline), job: None }
    }

    /// A job of a pipeline.
    pub const fn job(pipeline: PipelineId, job: JobId) -> Self {
        Self { pipeline: Some(pipeline), job: Some(job) }
    }
}

/// What lies over the window; one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialog {
    /// How to submit.
    Submit,
    /// The keys.
    Help,
    /// All notices.
    History,
    /// Really cancel?
    ConfirmCancel(PipelineId),
    /// A watch folder that is added or changed.
    WatchFolder,
    /// Really watch it no more?
    ConfirmUnwatch(WatchFolderId),
    /// Really take a drop back?
    ConfirmWithdraw(WatchFileId),
    /// Really take all files again?
    RetakeAll(WatchFolderId),
}

/// An order whose effect has not been seen yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Request {
    /// Replay of a dead letter.
    Replay(JobId),
    /// Dismissal of a dead letter.
    Dismiss(JobId),
    /// Cancel of a pipeline.
    Cancel(PipelineId),
}

/// Something fetched for the selection; the last good answer stays while a newer one comes.
#[derive(Debug, Clone)]
pub struct Kept<K, T> {
    /// What it was fetched for.
    pub key: Option<K>,
    /// The last answer.
    pub value: Option<Arc<T>>,
    /// Why there is no newer one.
    pub failed: Option<String>,
}

impl<K, T> Default for Kept<K, T> {
    fn default() -> Self {
        Self { key: None, value: None, failed: None }
    }
}

/// What is done in the next frame and not again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Once {
    /// Give the search field the cursor.
    pub focus_search: bool,
    /// Give the dialog's first field the cursor.
    pub focus_dialog: bool,
    /// Scroll to the selected row.
    pub scroll_to_selection: bool,
}

/// The window's memory.
#[derive(Debug, Default)]
pub struct Screen {
    /// The table that is shown.
    pub tab: Tab,
    /// Rows of one state only.
    pub filter: Option<StateFilter>,
    /// Rows with this text only.
    pub search: String,
    /// What is selected.
    pub selection: Selection,
    /// Since when the connection is lost, Unix milliseconds.
    pub lost_since_ms: Option<i64>,
    /// What is done in the next frame only.
    pub once: Once,
    /// The inspector was put away though something is selected.
    pub inspector_closed: bool,
    /// What lies over the window.
    pub dialog: Option<Dialog>,
    /// Typed paths, one a line.
    pub typed_paths: String,
    /// The recipe for the next submission; none means the default.
    pub recipe: Option<String>,
    /// Frames of scenes, as typed.
    pub frames: String,
    /// Frames of one job, as typed.
    pub chunk: String,
    /// Changed settings, as typed.
    pub settings: String,
    /// Orders without effect yet, and when each was sent.
    pub requests: BTreeMap<Request, i64>,
    /// A dialog of the system is open.
    pub picking: bool,
    /// Watch folders.
    pub watching: Watching,
    /// Notices.
    pub toasts: Toasts,
    /// The selected pipeline in full.
    pub detail: Kept<PipelineId, PipelineDetail>,
    /// The end of a log.
    pub log: Kept<JobId, String>,
}

impl Screen {
    /// Whether an order waits for its effect.
    pub fn is_requested(&self, request: Request) -> bool {
        self.requests.contains_key(&request)
    }
}

impl Screen {
    /// A submission of these paths with what is typed beside them.
    pub fn draft(&self, paths: Vec<PathBuf>) -> Draft {
        Draft {
            paths,
            recipe: self.recipe.clone(),
            frames: self.frames.clone(),
            chunk: self.chunk.clone(),
            settings: self.settings.clone(),
        }
    }
}
